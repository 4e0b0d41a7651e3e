// Tables for people: the graph, origins, placement, memory; and the lists of rows.
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/kernels/kind.h"
#include "compiler/kernels/library.h"
#include "compiler/mapping/transfers.h"
#include "tools/api/api.h"

namespace cs::api {

namespace {

// Columns as wide as their widest cell; the last one is not padded.
class Table {
 public:
  explicit Table(std::vector<std::string> head) { add(std::move(head)); }
  void add(std::vector<std::string> row) {
    widths_.resize(std::max(widths_.size(), row.size()), 0);
    for (size_t i = 0; i < row.size(); ++i) widths_[i] = std::max(widths_[i], row[i].size());
    rows_.push_back(std::move(row));
  }
  std::string text() const {
    std::string out;
    for (const std::vector<std::string>& row : rows_) {
      std::string line;
      for (size_t i = 0; i < row.size(); ++i) {
        line += i + 1 == row.size() ? row[i] : fmt::format("{:<{}}  ", row[i], widths_[i]);
      }
      while (!line.empty() && line.back() == ' ') line.pop_back();
      out += "  " + line + "\n";
    }
    return out;
  }

 private:
  std::vector<size_t> widths_;
  std::vector<std::vector<std::string>> rows_;
};

const HostPart* host_of(const Compiled& c) {
  if (c.program && c.program->host) return &*c.program->host;
  return c.mapped ? &c.mapped->host : nullptr;
}

std::string rect_text(const Rect& r) {
  return r.area() == 0 ? "-" : fmt::format("{}x{} at ({}, {})", r.w, r.h, r.x, r.y);
}

std::string sample_note(const graph::Graph& g) {
  for (graph::ValueId v : g.inputs) {
    if (g.value(v).sample_dim >= 0) return ", compiled for one sample";
  }
  return "";
}

std::string placement_figures(const mapping::Mapped& m) {
  const mapping::PlacementFigures& f = m.figures;
  if (f.area == 0) return "";
  const double gap = f.interval_bound > 0 ? 100 * (f.interval / f.interval_bound - 1) : 0;
  return fmt::format(
      "Placement: {} PEs in rectangles, the smallest that keep up have {}; on {}x{} PEs ({:.0f} % used)\n"
      "  interval {:.0f} cycles, no less than {:.0f} on this fabric: gap {:.1f} %\n"
      "  wire length {:.0f} hops between kernels\n",
      f.area, f.least_area, m.fabric_width, m.fabric_height,
      100.0 * double(f.area) / (double(m.fabric_width) * m.fabric_height), f.interval, f.interval_bound, gap,
      f.wire_length);
}

}  // namespace

std::string graph_table(const graph::Graph& g) {
  std::vector<graph::NodeId> nodes = g.nodes();
  int64_t flops = 0, weights = 0;
  Table table({"node", "op", "operands", "result", "flops"});
  for (graph::NodeId id : nodes) {
    const graph::Node& n = g.node(id);
    std::string operands;
    for (graph::ValueId v : n.inputs) {
      if (v.valid()) operands += (operands.empty() ? "" : ", ") + ops::type_text(g.value(v).type);
    }
    std::string result = n.outputs.empty() ? "" : ops::type_text(g.value(n.outputs[0]).type);
    table.add({n.name, n.op, operands, result, std::to_string(g.flops(id))});
    flops += g.flops(id);
  }
  for (size_t i = 0; i < g.value_slots(); ++i) {
    const graph::Value& v = g.value({int32_t(i)});
    if (v.is_constant() && !v.users.empty()) weights += v.type.bytes();
  }
  return fmt::format("Graph {}: {} nodes, {} bytes of constants, {} flops per sample{}\n{}", g.name,
                     nodes.size(), weights, flops, sample_note(g), table.text());
}

std::string explain_origins(const Compiled& c) {
  const HostPart* host = host_of(c);
  if (host == nullptr) return "";
  Table table({"operator", "op", "origin", "kernels", "why"});
  for (const OpRow& o : host->ops) {
    table.add({o.name, o.op, std::string(origin_name(o.origin)),
               fmt::format("{}", fmt::join(o.kernels, ", ")), o.reason});
  }
  return fmt::format("Origins under policy {}\n{}", host->policy, table.text());
}

std::string explain_alignment(const Compiled& c) {
  const std::string head = "Alignment of inputs\n";
  const auto all = c.mapped ? mapping::transfers_of(c.mapped->host, c.machine) : std::vector<mapping::InputTransfer>{};
  if (all.empty())
    return head + "  No operand is copied to PEs: what streams is a wavelet per element, wherever it lies\n";
  Table table({"input", "assumed", "as words", "as elements", "clone", "if it is not aligned"});
  for (const mapping::InputTransfer& t : all) {
    if (!t.possible) {
      table.add({t.name, "no", "-", fmt::format("{:.0f}", t.elements), "-", "the same: " + t.why});
      continue;
    }
    table.add({t.name, t.assumed ? "yes" : "no", fmt::format("{:.0f}", t.words), fmt::format("{:.0f}", t.elements),
               fmt::format("{:.0f}", t.clone),
               fmt::format("{}: {:.0f} cycles instead of {:.0f}", t.clone_pays() ? "clone" : "elements",
                           std::min(t.words + t.clone, t.elements), std::max(t.words + t.clone, t.elements))});
  }
  return head + table.text();
}

std::string explain_placement(const Compiled& c) {
  const HostPart* host = host_of(c);
  if (host == nullptr) return "";
  Table table({"kernel", "made by", "rectangle", "ideal", "estimated", "bytes/PE", "colors"});
  for (const KernelRow& k : host->kernels) {
    table.add({k.name, k.kernel, rect_text(k.rect), fmt::format("{:.0f}", k.ideal_cycles),
               fmt::format("{:.0f}", k.estimated_cycles), std::to_string(k.bytes_per_pe),
               fmt::format("{}", fmt::join(k.colors, " "))});
  }
  std::string out = "Kernels (cycles per sample)\n" + table.text();
  if (!c.mapped) return out;
  if (!c.mapped->flows.empty()) {
    Table flows({"stream", "color", "hops"});
    for (const mapping::FlowReport& f : c.mapped->flows)
      flows.add({f.name, std::to_string(f.color), std::to_string(f.hops)});
    out += "Streams\n" + flows.text();
  }
  out += placement_figures(*c.mapped);
  return out + fmt::format("Floorplan, {}x{} PEs\n{}", c.mapped->fabric_width, c.mapped->fabric_height,
                           c.mapped->floorplan);
}

std::string explain_passes(const Compiled& c) {
  double total = 0;
  for (const passes::PassRecord& p : c.passes) total += p.seconds;
  const auto share = [&](double seconds) {
    return fmt::format("{:.1f} %", total > 0 ? 100 * seconds / total : 0);
  };
  Table table({"pass", "ms", "share"});
  for (const passes::PassRecord& p : c.passes) {
    table.add({p.name, fmt::format("{:.2f}", 1000 * p.seconds), share(p.seconds)});
    for (const auto& [step, seconds] : p.steps)
      table.add({"  " + step, fmt::format("{:.2f}", 1000 * seconds), share(seconds)});
  }
  return fmt::format("Passes, {:.2f} ms together\n{}", 1000 * total, table.text());
}

std::string explain_forms(const Compiled& c) {
  if (c.forms.empty()) return "";
  Table table({"form", "formulas", "walk", "simulated", "first sample", "taken"});
  const auto number = [](std::optional<double> v) { return v ? fmt::format("{:.0f}", *v) : std::string("-"); };
  for (const ConsideredForm& f : c.forms)
    table.add({f.form, number(f.planned > 0 ? std::optional(f.planned) : std::nullopt), number(f.walked),
               number(f.simulated), number(f.first_sample), f.taken ? "taken" : f.left});
  return fmt::format("Forms of the network, by cycles from one sample to the next\n{}", table.text());
}

std::string explain_choices(const Compiled& c) {
  Table table({"pass", "operators", "candidate", "interval", "latency", "PEs", "taken"});
  const auto number = [](double v) { return std::isfinite(v) ? fmt::format("{:.0f}", v) : std::string("-"); };
  for (const passes::Choice& choice : c.choices)
    for (size_t i = 0; i < choice.candidates.size(); ++i) {
      const passes::Candidate& one = choice.candidates[i];
      const bool fits = one.cost && std::isfinite(one.cost->interval_cycles);
      const std::string note = one.cost && !fits ? "no estimate: it fits on no rectangle" : one.note;
      std::vector<std::string> row{i == 0 ? choice.pass : "", i == 0 ? choice.subject : "", one.what};
      for (const double v : {fits ? one.cost->interval_cycles : HUGE_VAL, fits ? one.cost->latency_cycles : HUGE_VAL,
                             fits ? one.cost->pes : HUGE_VAL})
        row.push_back(number(v));
      const std::string taken = i == choice.taken ? "taken" : "";
      row.push_back(taken.empty() ? note : taken);
      table.add(std::move(row));
    }
  return fmt::format("Choices, by estimated cycles per sample of the kernel alone\n{}{}", table.text(),
                     explain_forms(c));
}

std::string explain_fit(const Compiled& c) {
  std::string out = c.mapped ? c.mapped->fit : "";
  if (!c.program) return out;
  Table table({"tile program", "code", "data", "free"});
  for (const TileProgram& tile : c.program->tiles) {
    uint32_t code = 0, rest = 0;
    for (const Section& s : tile.sections) (s.kind == SectionKind::code ? code : rest) += s.bytes;
    table.add({tile.name, std::to_string(code), std::to_string(rest),
               std::to_string(int64_t(c.machine.core.memory_bytes) - code - rest)});
  }
  return out + fmt::format("Memory of the tile programs, {} bytes per PE\n{}", c.machine.core.memory_bytes,
                           table.text());
}

namespace {

// What sets the estimated interval.
std::string set_by(const mapping::NetworkEstimate& e) {
  if (!e.link.empty()) return fmt::format("a link that carries {}", fmt::join(e.link, " and "));
  if (e.circle.empty()) return e.slowest;
  constexpr size_t kMostNamed = 6;  // compile_report.json has them all
  const size_t named = std::min(e.circle.size(), kMostNamed);
  const std::string more =
      named < e.circle.size() ? fmt::format(" and {} more", e.circle.size() - named) : std::string();
  return fmt::format("{}{}, which wait for each other (the slowest kernel, {}, takes {:.0f})",
                     fmt::join(e.circle.begin(), e.circle.begin() + std::ptrdiff_t(named), ", "), more,
                     e.slowest, e.slowest_cycles);
}

}  // namespace

namespace {

std::string tuning_text(const TuneReport& t) {
  int count = 0;
  std::string how;
  for (const auto& [status, n] : t.measured) {
    count += n;
    how += fmt::format("{}{} {}", how.empty() ? "" : ", ", n, status);
  }
  std::string out = fmt::format("tuned ({}): {} candidates{}\n", tune_level_name(t.level), count,
                                how.empty() ? "" : ": " + how);
  if (!t.not_tuned.empty()) out += fmt::format("  nothing was tuned: {}\n", t.not_tuned);
  for (const std::string& d : t.decisions) out += "  " + d + "\n";
  for (const TunedNetwork& n : t.networks)
    out += fmt::format("  {} {}: {}\n", n.taken ? "taken" : "     ", n.what,
                       n.interval > 0 ? fmt::format("interval {:.1f} cycles, first sample {:.0f}", n.interval,
                                                    n.first_sample)
                                      : "does not come to an end");
  if (t.cut_short) out += "  cut short: the best until then\n";
  if (!t.command.empty()) out += fmt::format("  again: {}\n", t.command);
  return out;
}

}  // namespace

std::string summary(const Compiled& c) {
  const HostPart* host = host_of(c);
  std::string out;
  if (host != nullptr) {
    std::map<std::string_view, int> origins;
    for (const OpRow& o : host->ops) ++origins[origin_name(o.origin)];
    std::string counts;
    for (const auto& [name, n] : origins)
      counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", n, name);
    const mapping::NetworkEstimate e = c.mapped ? c.mapped->estimate : mapping::NetworkEstimate{};
    out += fmt::format("{} for {}: operators {}\n", host->model, c.machine.name, counts);
    if (e.interval_cycles > 0)
      out +=
          fmt::format("estimated interval {:.0f} cycles per sample{}, set by {}\n", e.interval_cycles,
                      host->copies > 1 ? fmt::format(" of {} copies together", host->copies) : "", set_by(e));
    if (c.shards > 1 || c.columns > 1)
      out += fmt::format("a sample in {} shard{}{}\n", c.shards, c.shards > 1 ? "s" : "",
                         c.columns > 1 ? fmt::format(", products that make outputs in {} parts", c.columns) : "");
    if (!c.form.empty()) out += fmt::format("form {}\n", c.form);
    if (c.tuning.level != TuneLevel::off) out += tuning_text(c.tuning);
    for (const OpRow& o : host->ops) {
      const auto found = c.unfused.find(o.name);
      if (found == c.unfused.end()) continue;
      const std::string ratio = found->second > 0 ? fmt::format("x{:.2f}", found->second) : "not known";
      out += fmt::format("unfused loss {}: {} kernels, estimated cost vs fused {}\n", o.name,
                         o.kernels.size(), ratio);
    }
  }
  if (c.program) {
    out += fmt::format("{}x{} PEs, {} tile programs, {} bytes of weights\n", c.program->fabric_width,
                       c.program->fabric_height, c.program->tiles.size(), c.weights.size());
  }
  if (!c.missing_baselines.empty())
    out += fmt::format("no baseline for {} of {} generated kernels, compile_report.json says why\n",
                       c.missing_baselines.size(), c.missing_baselines.size() + c.baselines.size());
  return out;
}

namespace {
// How a row is differentiated.
std::string gradient_text(const ops::OpDef& d) {
  if (!d.no_gradient.empty()) return "none: " + std::string(d.no_gradient);
  if (d.gradient != nullptr) return "rule";
  if (!d.derivative.empty()) return d.derivative == "0" ? "0" : "derivative";
  return d.kind == ops::OpKind::compound ? "of its steps" : "0";
}
}  // namespace

std::string list_ops() {
  Table table({"operator", "kind", "ONNX", "attributes", "computes", "gradient", "notes"});
  for (const ops::OpDef& d : ops::op_table()) {
    std::vector<std::string_view> attrs;
    for (const ops::AttrDef& a : d.attrs) attrs.push_back(a.name);
    std::string computes(d.expression.empty() ? d.decomposition : d.expression);
    std::replace(computes.begin(), computes.end(), '\n', ';');
    constexpr size_t kWidth = 120;  // a table of lines, also where an expression is a polynomial
    if (computes.size() > kWidth) computes = computes.substr(0, kWidth) + " ...";
    if (computes.empty()) computes = d.loops != nullptr ? "loops" : d.steps != nullptr ? "steps" : "";
    table.add({std::string(d.name), std::string(ops::op_kind_name(d.kind)),
               fmt::format("{}", fmt::join(d.onnx, ", ")), fmt::format("{}", fmt::join(attrs, ", ")),
               computes, gradient_text(d), std::string(d.note)});
  }
  return table.text();
}

std::string list_kernels() {
  const kernels::Library& library = kernels::library();
  Table table({"kernel", "file", "pattern", "operators", "can", "what it is"});
  for (const kernels::Row* row : kernels::table()) {
    const kernels::Row& r = *row;
    const auto can = library.capabilities.find(r.name);
    table.add({std::string(r.name), std::string(r.file), std::string(r.kind->name()),
               fmt::format("{}", fmt::join(r.ops, ", ")),
               can == library.capabilities.end() ? "" : fmt::format("{}", fmt::join(can->second, ", ")),
               std::string(r.summary)});
  }
  return table.text() + fmt::format("Version {} of the library{}\n", library.version,
                                    library.folder.empty() ? "" : ", " + library.folder);
}

std::string list_passes() {
  Table table({"pass", "what it does"});
  for (const passes::Pass& p : passes::pass_table()) table.add({std::string(p.name), std::string(p.summary)});
  return table.text();
}

}  // namespace cs::api
