// Reading a suite: one strict map per row, lists expanded as a cross product (machine, policy, params).
#include "tools/cs-regress/suite.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include <fmt/ranges.h>

#include "runtime/support/yaml.h"
#include "tools/cs-regress/classes.h"
#include "tools/cs-regress/expression.h"
#include "tools/cs-regress/loss_case.h"

namespace cs {
namespace {

struct Row {
  Job job;  // what all its jobs share
  std::vector<std::string> machines{"wse2"}, policies;
  std::vector<std::pair<std::string, std::vector<std::string>>> params;
  std::vector<std::map<std::string, std::string>> points;
  std::vector<KernelCase> cases;
  std::string value, tolerance, source, missed;  // of expect
  std::string result_measure, result_value;  // of result
};

// A scalar or a list of scalars.
bool read_one_or_many(const YamlNode& node, const std::string& what, std::vector<std::string>& out,
                      Diag& diag) {
  if (node.is_sequence()) return node.read(out, what, diag);
  std::string one;
  if (!node.read(one, what, diag)) return false;
  out = {one};
  return true;
}

bool read_params(const YamlNode& node, Row& row, Diag& diag) {
  if (!node.is_map()) {
    diag.error(node.loc(), "'params' must be a map of names to values");
    return false;
  }
  for (const auto& [key, value] : node.entries()) {
    std::vector<std::string> values;
    if (!read_one_or_many(value, key.text(), values, diag)) return false;
    row.params.emplace_back(key.text(), values);
  }
  return true;
}

// points: a list of maps, each a combination of parameters.
bool read_points(const YamlNode& node, Row& row, Diag& diag) {
  if (!node.is_sequence()) {
    diag.error(node.loc(), "'points' must be a list of maps of parameters to values");
    return false;
  }
  for (const YamlNode& item : node.items()) {
    std::map<std::string, std::string> point;
    if (!item.is_map()) {
      diag.error(item.loc(), "a point must be a map of parameters to values");
      return false;
    }
    for (const auto& [key, value] : item.entries())
      if (!value.read(point[key.text()], key.text(), diag)) return false;
    row.points.push_back(std::move(point));
  }
  return true;
}

bool read_expectations(YamlMap& map, Row& row, Diag& diag) {
  bool ok = true;
  if (const YamlNode* n = map.child("expect")) {
    YamlMap expect(*n, "expect", diag);
    ok = expect.required("value", row.value) && expect.required("tolerance", row.tolerance) &&
         expect.required("source", row.source);
    expect.optional("missed", row.missed);
    expect.finish();
  }
  if (const YamlNode* n = map.child("result")) {
    YamlMap result(*n, "result", diag);
    ok = result.required("measure", row.result_measure) && result.required("value", row.result_value) && ok;
    result.finish();
  }
  return ok;
}

// Rows with `op`: one kernel, measured by its interval.
bool read_kernel_row(YamlMap& map, const std::string& op, Row& row, Diag& diag) {
  const YamlNode* attrs = map.child("attrs");
  const YamlNode* cases = map.child("cases");
  row.job.measure = "interval";
  if (cases != nullptr) {
    if (!read_kernel_cases(op, attrs, *cases, row.cases, diag)) return false;
    std::vector<KernelCase> both;
    for (const KernelCase& c : row.cases) {
      both.push_back(c);
      if (!is_loss_case(c)) continue;
      both.back().fused = true;
      both.push_back(c);
      both.back().fused = false;
    }
    row.cases = std::move(both);
    return true;
  }
  diag.error(map.loc(), "a row with 'op' needs 'cases': rectangles and operands");
  return false;
}

bool read_row(const YamlNode& node, const std::filesystem::path& folder, Row& row, Diag& diag) {
  YamlMap map(node, "suite row", diag);
  if (!map.valid()) return false;
  row.job.loc = node.loc();
  std::string program, op, inputs, check, reason;
  bool ok = map.required("name", row.job.name) && map.optional("op", op) &&
            (op.empty() ? map.required("program", program) : read_kernel_row(map, op, row, diag));
  ok = map.optional("group", row.job.group) && map.optional("inputs", inputs) &&
       map.optional("check", check) && ok;
  ok = map.optional("fabric", row.job.fabric) && map.optional("launch", row.job.launch) && ok;
  ok = map.optional("measure", row.job.measure) && map.optional("allow", row.job.allow) && ok;
  ok = map.optional("reason", reason) && map.optional("iterations", row.job.iterations) && ok;
  row.job.network = map.child("baseline_interval") != nullptr;
  ok = map.optional("baseline_interval", row.job.baseline_interval) && map.optional("joins", row.job.joins) &&
       ok;
  if (const YamlNode* n = map.child("machine"))
    ok = read_one_or_many(*n, "machine", row.machines, diag) && ok;
  if (const YamlNode* n = map.child("policy")) ok = read_one_or_many(*n, "policy", row.policies, diag) && ok;
  if (const YamlNode* n = map.child("params")) ok = read_params(*n, row, diag) && ok;
  if (const YamlNode* n = map.child("points")) ok = read_points(*n, row, diag) && ok;
  ok = map.optional("silicon_calibration", row.job.silicon) && map.optional("checkout", row.job.checkout) &&
       map.optional("class", row.job.error_class) && ok;
  ok = read_expectations(map, row, diag) && ok;
  map.finish();
  if (!row.job.allow.empty() && reason.empty()) {
    diag.error(node.loc(), "'allow' without a 'reason'", "say why the fault is acceptable in this row");
    ok = false;
  }
  const auto classes = error_classes();
  if (!row.job.error_class.empty() && std::ranges::find(classes, row.job.error_class) == classes.end()) {
    diag.error(node.loc(), "there is no class '" + row.job.error_class + "'",
               fmt::format("a class is one of {}", fmt::join(classes, ", ")));
    ok = false;
  }
  const auto resolve = [&](const std::string& p) {
    return p.empty() ? p : (folder / p).lexically_normal().string();
  };
  row.job.program = !op.empty() ? op : row.job.checkout.empty() ? resolve(program) : program;
  row.job.inputs = resolve(inputs);
  row.job.check = resolve(check);
  if (row.policies.empty()) row.policies = {row.job.is_layout() ? "" : "medium"};
  return ok;
}

// "2 %" of the value, or an absolute figure ("2", "2 cycles").
bool read_tolerance(const std::string& text, double value, double& out) {
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (ec != std::errc() || out < 0) return false;
  const std::string_view unit(end, size_t(text.data() + text.size() - end));
  if (unit.find('%') != std::string_view::npos) out = out / 100 * std::abs(value);
  return true;
}

// A number, or a formula over the parameters of the job and of its point.
std::optional<double> formula(const Row& row, const std::string& text,
                              const std::map<std::string, std::string>& params, Diag& diag) {
  const Lookup lookup = [&](const std::string& name) -> std::optional<std::vector<double>> {
    const auto it = params.find(name);
    double v = 0;
    if (it == params.end()) return std::nullopt;
    std::from_chars(it->second.data(), it->second.data() + it->second.size(), v);
    return std::vector{v};
  };
  std::string error;
  const auto value = evaluate_expression(text, lookup, error);
  if (!value)
    diag.error(row.job.loc, "expected value '" + text + "': " + error,
               "a number, or a formula over the row's params");
  return value;
}

bool add_expectation(const Row& row, Job& job, const std::map<std::string, std::string>& params, Diag& diag) {
  if (!row.result_measure.empty()) {
    const auto result = formula(row, row.result_value, params, diag);
    if (!result) return false;
    job.result_measure = row.result_measure;
    job.result_value = *result;
  }
  if (row.value.empty()) return true;
  const auto value = formula(row, row.value, params, diag);
  if (!value) return false;
  Expectation e;
  e.value = *value;
  e.source = row.source;
  e.missed = row.missed;
  e.tolerance_text = row.tolerance;
  e.gates = row.tolerance != "none";
  if (e.gates && !read_tolerance(row.tolerance, e.value, e.tolerance)) {
    diag.error(row.job.loc, "tolerance '" + row.tolerance + "' is no number of cycles and no percentage");
    return false;
  }
  job.expect = e;
  return true;
}

// Every combination of the listed parameters, at every point.
std::vector<std::map<std::string, std::string>> combinations_of(const Row& row) {
  std::vector<std::map<std::string, std::string>> combinations = row.points;
  if (combinations.empty()) combinations.emplace_back();
  for (const auto& [name, values] : row.params) {
    std::vector<std::map<std::string, std::string>> next;
    for (const auto& base : combinations)
      for (const std::string& value : values) {
        next.push_back(base);
        next.back()[name] = value;
      }
    combinations = std::move(next);
  }
  return combinations;
}

// What tells the jobs of a row apart: parameters with several values, and those of points.
std::vector<std::string> varying(const Row& row, const std::map<std::string, std::string>& params) {
  std::vector<std::string> out;
  for (const auto& [name, values] : row.params)
    if (values.size() > 1) out.push_back(name + "=" + params.at(name));
  if (row.points.empty()) return out;
  for (const auto& [name, value] : row.points.front())
    if (const auto it = params.find(name); it != params.end() && name != "value")
      out.push_back(name + "=" + it->second);
  return out;
}

// A job per case, which makes its own graph.
void add_cases(const Row& row, const Job& base, std::vector<Job>& jobs) {
  std::map<std::string, int> seen;  // of one rectangle, several cases are numbered
  for (const KernelCase& c : row.cases) {
    Job job = base;
    job.kernel_case = c;
    if (c.resident || c.fused) job.measure = "cycles";
    job.point = c.point();
    if (const int n = ++seen[c.point() + (c.fused && *c.fused ? "/fused" : "")]; n > 1)
      job.point += "-" + std::to_string(n);
    job.name += "/" + job.point;
    if (c.fused) job.name += *c.fused ? "/fused" : "/primitives";
    job.prepare = [](Job& own, const std::string& folder, std::string& error) {
      own.program = folder + "/model.yaml";
      own.inputs = folder + "/inputs.npz";
      own.check = folder + "/expected.npz";
      return write_kernel_case(*own.kernel_case, folder, error);
    };
    jobs.push_back(std::move(job));
  }
}

// One job per machine, policy and combination of parameters.
bool expand(const Row& row, std::vector<Job>& jobs, Diag& diag) {
  bool ok = true;
  for (const std::string& machine : row.machines)
    for (const std::string& policy : row.policies)
      for (const auto& params : combinations_of(row)) {
        Job job = row.job;
        job.machine = machine;
        job.policy = policy;
        job.params = params;
        job.params.erase("value");
        job.name += "/" + std::filesystem::path(machine).stem().string();
        if (!policy.empty()) job.name += "/" + policy;
        for (const std::string& part : varying(row, params)) {
          job.name += "/" + part;
          job.point += (job.point.empty() ? "" : " ") + part;
        }
        ok = add_expectation(row, job, params, diag) && ok;
        if (row.cases.empty())
          jobs.push_back(std::move(job));
        else
          add_cases(row, job, jobs);
      }
  return ok;
}

// Programs of public checkouts: found below `sources`, left out when there is none.
bool place_checkouts(std::vector<Job>& jobs, const std::string& sources, Diag& diag) {
  if (sources.empty()) {
    for (Job& job : jobs) job.left_out = !job.checkout.empty();
    return true;
  }
  namespace fs = std::filesystem;
  bool ok = true;
  for (Job& job : jobs) {
    if (job.checkout.empty()) continue;
    std::string joined = job.checkout;
    std::replace(joined.begin(), joined.end(), '/', '+');
    const std::string name = fs::path(job.checkout).filename().string();
    std::string found;
    for (const std::string& folder : {job.checkout, joined, name})
      if (found.empty() && fs::exists(fs::path(sources) / folder / job.program))
        found = (fs::path(sources) / folder / job.program).string();
    if (found.empty()) {
      diag.error(job.loc, "'" + job.program + "' of " + job.checkout + " is not below " + sources,
                 "check it out there as " + name + ", or leave --sources away");
      ok = false;
    }
    job.program = found;
  }
  return ok;
}

}  // namespace

std::optional<std::vector<Job>> read_suite(const std::string& path, const std::string& sources, Diag& diag) {
  const auto doc = YamlDoc::parse_file(path, diag);
  if (!doc) return std::nullopt;
  YamlMap top(doc->root(), "suite file", diag);
  if (!top.valid()) return std::nullopt;
  bool walks = false;
  const bool read = top.optional("walks", walks);
  const YamlNode* rows = top.child("suite");
  top.finish();
  if (rows == nullptr || !rows->is_sequence()) {
    diag.error(doc->root().loc(), "a suite file has one list 'suite'");
    return std::nullopt;
  }
  std::vector<Job> jobs;
  for (const YamlNode& node : rows->items()) {
    Row row;
    if (read_row(node, std::filesystem::path(path).parent_path(), row, diag)) expand(row, jobs, diag);
  }
  if (!read || !diag.ok() || !place_checkouts(jobs, sources, diag)) return std::nullopt;
  for (Job& job : jobs)
    if (job.kernel_case) job.kernel_case->holds_walk = walks && job.kernel_case->shards == 1;
  return jobs;
}

}  // namespace cs
