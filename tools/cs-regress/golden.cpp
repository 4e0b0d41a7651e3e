// A case becomes a graph file with its weights and an .npz of inputs; the job's own judge compares the
// outputs.
#include "tools/cs-regress/golden.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "compiler/graph/graph_yaml.h"
#include "runtime/support/files.h"
#include "tools/cs-regress/golden_check.h"

namespace cs::golden {
namespace {

namespace fs = std::filesystem;

struct Prepared {
  Case one;
  const Operation* operation = nullptr;
  DataType dtype = DataType::f32;
};

bool build(const Prepared& p, CaseGraph& g) {
  return g.finish(p.operation->build != nullptr ? p.operation->build(g)
                                                : g.op(std::string(p.operation->row), {g.input("x")}));
}

bool write_model(const Prepared& p, Job& job, const std::string& folder, std::string& error) {
  CaseGraph g(p.one, p.dtype);
  if (!build(p, g)) {
    error = g.error();
    return false;
  }
  Diag diag;
  fs::create_directories(folder);
  const graph::GraphText text = graph::graph_text(g.graph, "model.bin");
  const std::string_view weights(reinterpret_cast<const char*>(text.weights.data()), text.weights.size());
  job.program = folder + "/model.yaml";
  job.inputs = folder + "/inputs.npz";
  if (write_file_atomic(job.program, text.yaml, diag) && write_npz(job.inputs, g.inputs, diag) &&
      (weights.empty() || write_file_atomic(folder + "/model.bin", weights, diag)))
    return true;
  error = diag.to_string();
  return false;
}

// Elements about which the vectors say nothing: NaN operands where the source had a quirk.
std::vector<bool> free_elements(const Prepared& p) {
  std::vector<bool> free;
  if (!p.operation->nan_input_is_free) return free;
  const ops::Tensor& x = p.one.tensors.at("x").tensor;
  for (int64_t i = 0; i < x.elements(); ++i) free.push_back(std::isnan(x.get(i)));
  return free;
}

void judge(const Prepared& p, const std::string& outputs, Result& result) {
  Diag diag;
  const auto arrays = read_npz(outputs, diag);
  const NamedArray* output = arrays ? find_array(*arrays, "output") : nullptr;
  if (output == nullptr) {
    result.message = "the run wrote no tensor 'output'\n" + diag.to_string();
    return;
  }
  std::vector<double> magnitudes;
  double terms = 1;
  if (p.operation->accuracy == Accuracy::products) {
    CaseGraph g(p.one, p.dtype);
    auto found = build(p, g) ? magnitudes_of(g, result.message) : std::nullopt;
    if (!found) return;
    magnitudes = std::move(*found);
    terms = terms_of(g.graph);
  }
  const auto floor = p.one.floors.find("output");
  const Verdict v = check_output(output->tensor, p.one.tensors.at("output").tensor,
                                 floor != p.one.floors.end() ? floor->second : Floor{}, p.operation->accuracy,
                                 p.dtype, magnitudes, terms, free_elements(p));
  result.check = CheckFigures{v.error, v.used, v.rule};
  result.message = v.mismatch;
  result.ok = v.ok;
}

Job make_job(const Case& c, const std::string& kind, DataType dtype, const std::string& machine,
             const std::string& policy) {
  Job job;
  job.name = c.id + "/" + (dtype == DataType::f16 ? "fp16" : "fp32");
  job.group = c.op;
  job.wafer_only = policy != "disabled";
  job.machine = machine;
  job.policy = policy;
  for (const auto& [name, t] : c.tensors)
    if (dtype == DataType::f32 && t.role == "expected" && name.starts_with("grad.")) ++job.skipped;
  auto p = std::make_shared<Prepared>(Prepared{c, kind == "ops" ? find_operation(c.op) : nullptr, dtype});
  std::string problem;
  if (kind != "ops")
    problem = fmt::format("not yet: {} ({}) needs the training half of the compiler", c.op, kind);
  else if (p->operation == nullptr)
    problem = "operation '" + c.op + "' is not in the table of golden operations";
  else if (!c.tensors.contains("output"))
    problem = "the case has no expected 'output'";
  job.prepare = [p, problem](Job& own, const std::string& folder, std::string& error) {
    error = problem;
    return problem.empty() && write_model(*p, own, folder, error);
  };
  job.judge = [p](const std::string& outputs, Result& result) { judge(*p, outputs, result); };
  return job;
}

struct Summary {
  int cases = 0, passed = 0, with_host = 0,
      gradients = 0;  // with_host: passed, though a step ran on the host
  double used = 0;
};

std::map<std::string, Summary> summarise(const std::vector<Result>& results) {
  std::map<std::string, Summary> by_op;
  for (const Result& r : results) {
    Summary& s = by_op[r.group];
    ++s.cases;
    s.passed += r.ok ? 1 : 0;
    s.with_host += r.ok && r.figures && r.figures->uses_host ? 1 : 0;
    s.gradients += r.skipped;
    if (r.check) s.used = std::max(s.used, r.check->used);
  }
  return by_op;
}

}  // namespace

std::optional<std::vector<Job>> find_jobs(const std::string& folder, const Selection& selection,
                                          const std::string& machine, const std::string& policy, Diag& diag) {
  const auto collection = read_collection(folder, diag);
  if (!collection) return std::nullopt;
  std::set<std::string> missing = selection.groups, operations;
  for (const Case& c : collection->cases) operations.insert(c.op);
  // A name of both means the operation.
  const auto chosen = [&](const Case& c) {
    return selection.groups.empty() || selection.groups.contains(c.op) ||
           (selection.groups.contains(c.group) && !operations.contains(c.group));
  };
  std::vector<Job> jobs;
  for (const Case& c : collection->cases) {
    if (!chosen(c)) continue;
    missing.erase(c.group);
    missing.erase(c.op);
    if (selection.fp32) jobs.push_back(make_job(c, collection->kind, DataType::f32, machine, policy));
    if (selection.fp16 && c.quant == "f16")
      jobs.push_back(make_job(c, collection->kind, DataType::f16, machine, policy));
  }
  for (const std::string& name : missing)
    diag.error_at(folder, "no case has the group or operation '" + name + "'");
  if (diag.ok() && jobs.empty()) diag.error_at(folder, "the collection has no such cases");
  if (!diag.ok()) return std::nullopt;
  return jobs;
}

std::string table_text(const std::vector<Result>& results) {
  std::string out = fmt::format("{:<26} {:<18} {:>10} {:>7}  {:<32} {}\n", "case", "operation", "error",
                                "used", "tolerance", "origins");
  for (const Result& r : results) {
    out += fmt::format("{:<26} {:<18} ", r.name, r.group);
    if (r.check)
      out += fmt::format("{:>10.3g} {:>7.2f}  {:<32} ", r.check->error, r.check->used, r.check->rule);
    else
      out += fmt::format("{:>10} {:>7}  {:<32} ", "-", "-", "-");
    out += r.figures ? r.figures->origins : "-";
    out += r.ok ? "\n" : "  FAILED: " + r.message + "\n";
  }
  out += fmt::format("\n{:<20} {:>6} {:>7} {:>10} {:>7} {:>11}\n", "operation", "cases", "passed",
                     "with host", "used", "gradients");
  int gradients = 0;
  for (const auto& [op, s] : summarise(results)) {
    out += fmt::format("{:<20} {:>6} {:>7} {:>10} {:>7.2f} {:>11}\n", op, s.cases, s.passed, s.with_host,
                       s.used, s.gradients);
    gradients += s.gradients;
  }
  return out + fmt::format("{} expected gradients were skipped: forward only\n", gradients);
}

nlohmann::json to_json(const std::vector<Result>& results) {
  nlohmann::json rows = nlohmann::json::array(), by_op = nlohmann::json::array();
  size_t passed = 0;
  int gradients = 0;
  for (const Result& r : results) {
    nlohmann::json row{{"name", r.name},
                       {"op", r.group},
                       {"ok", r.ok},
                       {"message", r.message},
                       {"gradients_skipped", r.skipped},
                       {"seconds", r.seconds}};
    if (r.check) {
      row["error"] = r.check->error;
      row["used"] = r.check->used;
      row["tolerance"] = r.check->rule;
    }
    if (r.figures) row["origins"] = r.figures->origins;
    passed += r.ok ? 1 : 0;
    rows.push_back(std::move(row));
  }
  for (const auto& [op, s] : summarise(results)) {
    by_op.push_back(
        {{"op", op}, {"cases", s.cases}, {"passed", s.passed}, {"with_host", s.with_host}, {"used", s.used}});
    gradients += s.gradients;
  }
  return {{"schema", "wafersmith-golden/1"}, {"passed", passed}, {"failed", results.size() - passed},
          {"gradients_skipped", gradients},  {"ops", by_op},     {"rows", rows}};
}

}  // namespace cs::golden
