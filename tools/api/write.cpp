// Writing results: OUT with baselines and report, the CSL folder, graphs; and compile_report.json.
#include <cmath>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "compiler/mapping/transfers.h"
#include "runtime/program/folder.h"
#include "runtime/support/workarounds.h"
#include "tools/api/api.h"
#include "tools/api/vendor_files.h"

namespace cs::api {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string_view view(const std::vector<uint8_t>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool write_baselines(const Compiled& c, FolderWriter& out) {
  for (const CompiledBaseline& b : c.baselines) {
    const std::string below = "baselines/" + b.kernel + "/";
    Manifest manifest = c.manifest;
    manifest.entries.emplace_back("baseline_of", b.kernel);
    manifest.entries.emplace_back("counterpart", b.counterpart);
    std::sort(manifest.entries.begin(), manifest.entries.end());
    if (!write_program_files(out, below + "this.csp/", b.self, b.self_weights, manifest)) return false;
    for (size_t i = 0; i < b.bases.size(); ++i) {
      const std::string folder = below + (i == 0 ? "base.csp/" : fmt::format("base{}.csp/", i + 1));
      if (!write_program_files(out, folder, b.bases[i].program, b.bases[i].weights, manifest)) return false;
    }
  }
  return true;
}

bool write_advice(const Compiled& c, FolderWriter& out) {
  for (size_t i = 0; i < c.advice.size(); ++i) {
    const CompiledAdvice& a = c.advice[i];
    const std::string below = fmt::format("advice/{}/", i + 1);
    if (!out.write(below + "command", fmt::format("# {}\n{}\n", a.why, a.command)) ||
        !write_program_files(out, below + "this.csp/", a.program, a.weights, a.manifest))
      return false;
  }
  return true;
}

Json kernel_json(const KernelRow& k) {
  return {{"name", k.name},
          {"op", k.op},
          {"kernel", k.kernel},
          {"copy", k.copy},
          {"origin", std::string(origin_name(k.origin))},
          {"reason", k.reason},
          {"rect", {k.rect.x, k.rect.y, k.rect.w, k.rect.h}},
          {"flops", k.flops},
          {"ideal_cycles", k.ideal_cycles},
          {"estimated_cycles", k.estimated_cycles},
          {"bytes_per_pe", k.bytes_per_pe},
          {"colors", k.colors},
          {"nodes", k.nodes},
          {"baseline", k.baseline}};
}

Json choice_json(const passes::Choice& choice) {
  Json row{{"pass", choice.pass}, {"operators", choice.subject}, {"taken", choice.taken}};
  const auto number = [](double v) { return std::isfinite(v) ? Json(v) : Json(nullptr); };
  for (const passes::Candidate& one : choice.candidates) {
    const kernels::Cost cost = one.cost.value_or(kernels::Cost{HUGE_VAL, HUGE_VAL, HUGE_VAL});
    row["candidates"].push_back({{"what", one.what},
                                 {"interval_cycles", number(cost.interval_cycles)},
                                 {"latency_cycles", number(cost.latency_cycles)},
                                 {"pes", number(cost.pes)},
                                 {"note", one.note}});
  }
  return row;
}

Json form_json(const ConsideredForm& form) {
  const auto number = [](std::optional<double> v) { return v ? Json(*v) : Json(nullptr); };
  return {{"form", form.form},
          {"planned_cycles", form.planned > 0 ? Json(form.planned) : Json(nullptr)},
          {"walked_cycles", number(form.walked)},
          {"simulated_cycles", number(form.simulated)},
          {"first_sample_cycles", number(form.first_sample)},
          {"taken", form.taken},
          {"left", form.left}};
}

Json tuning_json(const TuneReport& t) {
  Json networks = Json::array();
  const auto number = [](double v) { return v > 0 ? Json(v) : Json(nullptr); };
  for (const TunedNetwork& n : t.networks)
    networks.push_back({{"what", n.what},
                        {"interval_cycles", number(n.interval)},
                        {"first_sample_cycles", number(n.first_sample)},
                        {"taken", n.taken}});
  return {{"level", std::string(tune_level_name(t.level))},
          {"measured", t.measured},
          {"networks", networks},
          {"decisions", t.decisions},
          {"not_tuned", t.not_tuned},
          {"command", t.command},
          {"cut_short", t.cut_short},
          {"repeatable", t.repeatable}};
}

// A program without a host part is driven by a host program, which looks for these.
bool write_vendor_files(const Compiled& c, FolderWriter& out) {
  if (c.program->host) return true;
  return out.write("out.json", out_json(c)) && out.write("bin/out_rpc.json", out_rpc_json(*c.program));
}

// A folder with anything that --emit csl does not write is never replaced.
bool may_replace_csl(const std::string& folder, Diag& diag) {
  std::error_code ec;
  if (!fs::exists(folder, ec)) return true;
  std::string other = fs::is_directory(folder, ec) ? "" : folder;
  for (const auto& entry : fs::recursive_directory_iterator(folder, ec)) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_directory(ec) && !name.ends_with(".csl") && name != "host.yaml" && name != "weights.bin")
      other = name;
  }
  if (other.empty()) return true;
  diag.error_at(folder, fmt::format("holds {}, which --emit csl did not write, so it is not replaced", other),
                "choose another name or remove it");
  return false;
}

Json transfer_json(const mapping::InputTransfer& t) {
  Json out = {{"name", t.name}, {"assumed", t.assumed}, {"cycles", {{"elements", t.elements}}}};
  if (!t.possible) {
    out["not_in_words"] = t.why;
    return out;
  }
  out["cycles"]["words"] = t.words;
  out["cycles"]["clone"] = t.clone;
  out["cheaper_if_unaligned"] = t.clone_pays() ? "clone" : "elements";
  return out;
}

// Inputs that are copied to PEs.
Json alignment_json(const Compiled& c) {
  Json out = Json::array();
  if (c.mapped)
    for (const mapping::InputTransfer& t : mapping::transfers_of(c.mapped->host, c.machine))
      out.push_back(transfer_json(t));
  return out;
}

}  // namespace

bool write_compiled(const Compiled& c, const std::string& folder, Diag& diag) {
  CS_CHECK(c.program.has_value(), "nothing was compiled");
  if (!may_replace_program(folder, diag)) return false;
  FolderWriter out(folder, diag);
  return write_program_files(out, "", *c.program, c.weights, c.manifest) && write_baselines(c, out) &&
         write_advice(c, out) && write_vendor_files(c, out) &&
         out.write("compile_report.json", compile_report(c)) && out.commit();
}

bool write_csl(const mapping::Mapped& mapped, const std::string& folder, Diag& diag) {
  if (!may_replace_csl(folder, diag)) return false;
  FolderWriter out(folder, diag);
  for (const auto& [name, text] : mapped.files)
    if (!out.write(name, text)) return false;
  return out.write("host.yaml", host_part_to_yaml(mapped.host, mapped.ports)) &&
         out.write("weights.bin", [&](const auto& take) { return mapped.weights.read(take); }) && out.commit();
}

bool write_graph(const graph::Graph& g, const graph::PlanHeader& plan, const std::string& path, Diag& diag) {
  fs::path weights = fs::path(path).replace_extension(".bin");
  graph::GraphText text = graph::graph_text(g, weights.filename().string(), plan);
  return write_file_atomic(path, text.yaml, diag) &&
         (text.weights.empty() || write_file_atomic(weights.string(), view(text.weights), diag));
}

std::string compile_report(const Compiled& c) {
  Json report;
  report["schema"] = "wafersmith-compile/1";
  report["machine"] = c.machine.name;
  double total = 0;
  for (const passes::PassRecord& p : c.passes) {
    Json pass{{"name", p.name}, {"seconds", p.seconds}};
    for (const auto& [step, seconds] : p.steps)
      pass["steps"].push_back({{"name", step}, {"seconds", seconds}});
    report["passes"].push_back(pass);
    total += p.seconds;
  }
  report["seconds"] = total;
  if (c.program) {
    report["name"] = c.program->name;
    report["fabric"] = {c.program->fabric_width, c.program->fabric_height};
    report["tiles"] = c.program->tiles.size();
    report["weights_bytes"] = c.weights.size();
  }
  const HostPart* host = c.program && c.program->host ? &*c.program->host
                         : c.mapped                   ? &c.mapped->host
                                                      : nullptr;
  if (host != nullptr) {
    report["policy"] = host->policy;
    report["copies"] = host->copies;
    report["kernels"] = Json::array();
    for (const KernelRow& k : host->kernels) report["kernels"].push_back(kernel_json(k));
    report["ops"] = Json::array();
    for (const OpRow& o : host->ops) {
      report["ops"].push_back({{"name", o.name},
                               {"op", o.op},
                               {"origin", std::string(origin_name(o.origin))},
                               {"reason", o.reason},
                               {"kernels", o.kernels},
                               {"where", o.where}});
      if (const auto unfused = c.unfused.find(o.name); unfused != c.unfused.end())
        report["ops"].back()["cost_vs_fused"] = unfused->second > 0 ? Json(unfused->second) : Json();
    }
  }
  report["alignment"] = alignment_json(c);
  if (c.mapped) {
    for (const mapping::Placement& p : c.mapped->placement) {
      Json row = {{"name", p.name},
                  {"kernel", p.kernel},
                  {"role", p.role},
                  {"rect", {p.rect.x, p.rect.y, p.rect.w, p.rect.h}},
                  {"interval_cycles", p.interval_cycles},
                  {"bytes", p.bytes}};
      if (p.role == "kernel") {
        row["ideal"] = {{"compute", p.ideal.compute},
                        {"memory", p.ideal.memory},
                        {"ramp", p.ideal.ramp},
                        {"link", p.ideal.link},
                        {"hops", p.ideal.hops},
                        {"cycles", p.ideal.cycles()},
                        {"largest", std::string(p.ideal.largest())}};
      }
      report["placement"].push_back(std::move(row));
    }
    const mapping::PlacementFigures& p = c.mapped->figures;
    report["floorplan"] = {{"area", p.area},
                           {"least_area", p.least_area},
                           {"interval_cycles", p.interval},
                           {"interval_bound", p.interval_bound},
                           {"wire_length", p.wire_length}};
    const mapping::NetworkEstimate& e = c.mapped->estimate;
    report["estimate"] = {{"interval_cycles", e.interval_cycles},
                          {"host_cycles", e.host_cycles},
                          {"slowest_cycles", e.slowest_cycles},
                          {"slowest", e.slowest},
                          {"circle", e.circle},
                          {"link", e.link}};
    for (const mapping::FlowReport& f : c.mapped->flows) {
      report["flows"].push_back({{"name", f.name}, {"color", f.color}, {"hops", f.hops}});
    }
  }
  report["workarounds"] = Json::array();  // that this process met
  for (size_t i = 0; i < workaround_rows().size(); ++i)
    if (times_worked_around(Workaround(i)) > 0) report["workarounds"].push_back(workaround_rows()[i].id);
  for (const ConsideredForm& form : c.forms) report["forms"].push_back(form_json(form));
  if (c.tuning.level != TuneLevel::off) report["tuning"] = tuning_json(c.tuning);
  for (const passes::Choice& choice : c.choices) report["choices"].push_back(choice_json(choice));
  report["baselines"] = Json::array();
  for (const CompiledBaseline& b : c.baselines) {
    report["baselines"].push_back({{"kernel", b.kernel},
                                   {"counterpart", b.counterpart},
                                   {"origin", std::string(origin_name(b.origin))}});
  }
  for (const mapping::MissingBaseline& b : c.missing_baselines)
    report["baselines"].push_back({{"kernel", b.kernel}, {"counterpart", b.counterpart}, {"missing", b.reason}});
  report["advice"] = Json::array();
  for (const CompiledAdvice& a : c.advice)
    report["advice"].push_back({{"options", a.options}, {"why", a.why}, {"command", a.command}});
  return report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace cs::api
