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
#include "tools/cs-regress/golden_losses.h"
#include "tools/cs-regress/golden_optim.h"

namespace cs::golden {
namespace {

namespace fs = std::filesystem;

struct Prepared {
  Case one;
  const Operation* operation = nullptr;  // null: an optimizer
  DataType dtype = DataType::f32;
  bool wide_between = false;  // nodes are not joined to kernels
  bool use_autogen = false;
};

bool build(const Prepared& p, CaseGraph& g) {
  return p.operation == nullptr ? build_optimizer(p.one, g) : build_case(*p.operation, g, p.wide_between);
}

bool write_model(const Prepared& p, Job& job, const std::string& folder, std::string& error) {
  CaseGraph g(p.one, p.dtype);
  g.use_autogen = p.use_autogen;
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

bool is_gradient(const std::string& name) { return name.starts_with("grad."); }

// One expected tensor; nothing if it could not be compared (result.message says why).
std::optional<Verdict> judge_tensor(const Prepared& p, const std::string& name, const ops::Tensor& expected,
                                    const std::vector<NamedArray>& arrays, Result& result) {
  const NamedArray* output = find_array(arrays, name);
  if (output == nullptr) {
    result.message = "the run wrote no tensor '" + name + "'";
    return std::nullopt;
  }
  std::vector<double> magnitudes;
  double terms = 1;
  if (p.operation->accuracy == Accuracy::products) {
    CaseGraph g(p.one, p.dtype);
    if (!build(p, g)) {
      result.message = g.error();
      return std::nullopt;
    }
    auto found = magnitudes_of(g, name, result.message);
    if (!found) return std::nullopt;
    magnitudes = std::move(*found);
    terms = terms_of(g.graph, name);
  }
  const auto floor = p.one.floors.find(name);
  return check_output(output->tensor, expected, floor != p.one.floors.end() ? floor->second : Floor{},
                      p.operation->accuracy, p.dtype, magnitudes, terms,
                      name == "output" || name == "grad.x" ? free_elements(p) : std::vector<bool>{});
}

// Every expected tensor; the figures are those of the one that uses most of its tolerance.
void judge(const Prepared& p, const std::string& outputs, Result& result) {
  if (p.operation == nullptr) return judge_optimizer(p.one, p.dtype, outputs, result);
  Diag diag;
  const auto arrays = read_npz(outputs, diag);
  if (!arrays) {
    result.message = diag.to_string();
    return;
  }
  result.ok = true;
  for (const auto& [name, t] : p.one.tensors) {
    if (t.role != "expected") continue;
    std::string before = std::move(result.message);
    result.message.clear();
    const auto v = judge_tensor(p, name, t.tensor, *arrays, result);
    if (v) {
      if (!result.check || v->used > result.check->used)
        result.check = CheckFigures{v->error, v->used, v->rule};
      if (!v->ok) result.message = (name == "output" ? "" : name + ": ") + v->mismatch;
    }
    const bool ok = v && v->ok;
    result.right += ok && is_gradient(name) ? 1 : 0;
    result.ok = result.ok && ok;
    if (!before.empty()) result.message = before + (ok ? "" : "; " + result.message);
  }
}

Job make_job(const Case& c, const std::string& kind, DataType dtype, const std::string& machine,
             const std::string& policy, bool use_autogen) {
  Job job;
  job.name = c.id + "/" + (dtype == DataType::f16 ? "fp16" : "fp32");
  job.group = c.op;
  job.machine = machine;
  job.policy = policy;
  for (const auto& [name, t] : c.tensors)
    if (t.role == "expected" && is_gradient(name)) ++job.gradients;
  const Operation* operation = kind == "losses" ? find_loss(c.op)
                               : kind == "ops"  ? find_operation(c.op)
                                                : nullptr;
  job.wafer_only = policy != "disabled" && (operation == nullptr || !operation->may_use_host);
  auto p = std::make_shared<Prepared>(Prepared{c, operation, dtype, policy == "disabled", use_autogen});
  std::string problem;
  if (kind != "optim" && operation == nullptr)
    problem = fmt::format("'{}' is not in the table of golden {}", c.op, kind == "ops" ? "operations" : kind);
  else if (kind != "optim" && !c.tensors.contains("output"))
    problem = "the case has no expected 'output'";
  job.prepare = [p, problem](Job& own, const std::string& folder, std::string& error) {
    error = problem;
    return problem.empty() && write_model(*p, own, folder, error);
  };
  job.judge = [p](const std::string& outputs, Result& result) { judge(*p, outputs, result); };
  return job;
}

struct Summary {
  int cases = 0, passed = 0, with_host = 0;  // with_host: passed, though a step ran on the host
  int gradients = 0, right = 0;
  double used = 0;
};

std::map<std::string, Summary> summarise(const std::vector<Result>& results) {
  std::map<std::string, Summary> by_op;
  for (const Result& r : results) {
    Summary& s = by_op[r.group];
    ++s.cases;
    s.passed += r.ok ? 1 : 0;
    s.with_host += r.ok && r.figures && r.figures->host_operators > 0 ? 1 : 0;
    s.gradients += r.gradients;
    s.right += r.right;
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
    if (selection.fp32)
      jobs.push_back(make_job(c, collection->kind, DataType::f32, machine, policy, selection.use_autogen));
    if (selection.fp16 && c.quant == "f16")
      jobs.push_back(make_job(c, collection->kind, DataType::f16, machine, policy, selection.use_autogen));
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
  int gradients = 0, right = 0;
  for (const auto& [op, s] : summarise(results)) {
    out += fmt::format("{:<20} {:>6} {:>7} {:>10} {:>7.2f} {:>11}\n", op, s.cases, s.passed, s.with_host,
                       s.used, fmt::format("{}/{}", s.right, s.gradients));
    gradients += s.gradients;
    right += s.right;
  }
  return out + fmt::format("gradients {}/{}\n", right, gradients);
}

nlohmann::json to_json(const std::vector<Result>& results) {
  nlohmann::json rows = nlohmann::json::array(), by_op = nlohmann::json::array();
  size_t passed = 0;
  int gradients = 0, right = 0;
  for (const Result& r : results) {
    nlohmann::json row{{"name", r.name},
                       {"op", r.group},
                       {"ok", r.ok},
                       {"message", r.message},
                       {"gradients", r.gradients},
                       {"gradients_right", r.right},
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
    by_op.push_back({{"op", op},
                     {"cases", s.cases},
                     {"passed", s.passed},
                     {"with_host", s.with_host},
                     {"used", s.used},
                     {"gradients", s.gradients},
                     {"gradients_right", s.right}});
    gradients += s.gradients;
    right += s.right;
  }
  return {{"schema", "wafersmith-golden/1"},
          {"passed", passed},
          {"failed", results.size() - passed},
          {"gradients", gradients},
          {"gradients_right", right},
          {"ops", by_op},
          {"rows", rows}};
}

}  // namespace cs::golden
