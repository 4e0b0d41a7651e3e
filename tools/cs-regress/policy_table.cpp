// Jobs of one row lie together: for each cost of the host the policies in the order of kPolicies.
#include "tools/cs-regress/policy_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "runtime/machine/machine.h"

namespace cs {
namespace {

constexpr const char* kPolicies[] = {"disabled", "medium", "aggressive"};
constexpr size_t kMedium = 1, kOfCost = std::size(kPolicies);
constexpr int kCosts[] = {1, 10};
constexpr size_t kOfRow = kOfCost * std::size(kCosts);
constexpr double kSlower = 1.02;
constexpr int kSteady = 8;   // samples of which an interval is seen, where the host has no part
constexpr int kPeriods = 4;  // of the host's cores, for an interval (decision 10)

// What a crossing and an operator of the host cost, so many times as dear.
std::vector<std::string> host_costs(const Machine& machine, int times) {
  const auto& h = machine.host;
  return {fmt::format("machine.host.host_crossing_us={}", h.host_crossing_us * times),
          fmt::format("machine.host.host_op_us={}", h.host_op_us * times),
          fmt::format("machine.host.host_gflops={}", h.host_gflops / times),
          fmt::format("machine.host.host_gb_per_s={}", h.host_gb_per_s / times)};
}

bool add_row(Job job, std::vector<Job>& jobs, Diag& diag) {
  const auto machine = load_machine(job.machine, diag);
  if (!machine) return false;
  const std::string name = job.name.substr(0, job.name.rfind('/'));
  for (const int times : kCosts) {
    job.set = times == 1 ? std::vector<std::string>{} : host_costs(*machine, times);
    for (const char* policy : kPolicies) {
      job.policy = policy;
      job.name = fmt::format("{}/host-x{}/{}", name, times, policy);
      jobs.push_back(job);
    }
  }
  return true;
}

// The same row, machine and cost under each policy.
using Results = std::span<const Result>;

bool has_intervals(Results results) {
  return std::ranges::all_of(results, [](const Result& r) { return !r.ok || r.figures->interval > 0; });
}

double quantity_of(const Result& r, bool interval) {
  return !r.ok ? 0 : interval ? r.figures->interval : r.figures->cycles;
}

// The figure of the faster one; 0: there is none.
double faster(double a, double b) { return a <= 0 || b <= 0 ? std::max(a, b) : std::min(a, b); }

std::string percent_slower(const PolicyRow& row) {
  std::string out;
  for (const auto& [policy, cycles] : {std::pair{kPolicies[0], row.disabled}, {kPolicies[2], row.aggressive}})
    if (cycles > 0 && row.medium > kSlower * cycles)
      out += fmt::format("{}{:.1f} % slower than {}", out.empty() ? "" : ", ", 100 * (row.medium / cycles - 1), policy);
  return out;
}

PolicyRow judge(const std::string& job, Results results) {
  PolicyRow row;
  const bool interval = has_intervals(results);
  row.name = job.substr(0, job.rfind('/'));
  row.quantity = interval ? "interval" : "cycles";
  row.disabled = quantity_of(results[0], interval);
  row.medium = quantity_of(results[kMedium], interval);
  row.aggressive = quantity_of(results[2], interval);
  const double other = faster(row.disabled, row.aggressive);
  if (other > 0) row.ratio = row.medium / other;
  if (!results[kMedium].ok) {
    row.wrong = results[kMedium].message;
    return row;
  }
  row.host_operators = results[kMedium].figures->host_operators;
  row.wrong = percent_slower(row);
  return row;
}

// What has no host operator takes the same cycles whatever the host costs.
std::string depends_on_host(Results cheap, Results dear) {
  std::string out;
  for (size_t p = 0; p < kOfCost; ++p) {
    if (!cheap[p].ok || !dear[p].ok || cheap[p].figures->host_operators + dear[p].figures->host_operators > 0) continue;
    if (cheap[p].figures->cycles != dear[p].figures->cycles)
      out += fmt::format("{}{} takes {:.0f} cycles, with the host at its own costs {:.0f}", out.empty() ? "" : ", ",
                         kPolicies[p], dear[p].figures->cycles, cheap[p].figures->cycles);
  }
  return out;
}

// Of how many samples the interval of a row is seen.
int samples_of(const Job& job, bool with_host) {
  Diag ignored;  // the machine was read before
  return with_host ? kPeriods * load_machine(job.machine, ignored)->host.host_cores : kSteady;
}

// The rows that have no interval yet, of more samples: of all policies and costs.
void run_longer(const std::vector<Job>& jobs, const RunJobs& run, bool with_host, std::vector<Result>& results) {
  std::vector<Job> again;
  std::vector<size_t> which;
  for (size_t first = 0; first < jobs.size(); first += kOfRow) {
    const int samples = samples_of(jobs[first], with_host);
    if (jobs[first].iterations >= samples || has_intervals(Results(results).subspan(first, kOfRow))) continue;
    for (size_t i = first; i < first + kOfRow; ++i) {
      again.push_back(jobs[i]);
      again.back().iterations = samples;
      which.push_back(i);
    }
  }
  if (again.empty()) return;
  std::vector<Result> longer = run(again);
  for (size_t i = 0; i < which.size(); ++i) results[which[i]] = std::move(longer[i]);
}

std::string figure(double value) { return value > 0 ? fmt::format("{:.1f}", value) : "-"; }

}  // namespace

std::optional<std::vector<Job>> jobs_of_policies(const std::vector<Job>& rows, Diag& diag) {
  std::vector<Job> jobs;
  std::string last;
  for (const Job& row : rows) {
    // Jobs of one row that differ in their policy follow each other.
    const std::string name = row.name.substr(0, row.name.rfind('/'));
    if (row.is_layout() || row.kernel_case || name == last) continue;
    if (!add_row(row, jobs, diag)) return std::nullopt;
    last = name;
  }
  return jobs;
}

std::vector<Result> run_policies(const std::vector<Job>& jobs, const RunJobs& run) {
  std::vector<Result> results = run(jobs);
  for (const bool with_host : {false, true}) run_longer(jobs, run, with_host, results);
  return results;
}

std::vector<PolicyRow> judge_policies(const std::vector<Job>& jobs, const std::vector<Result>& results) {
  std::vector<PolicyRow> rows;
  for (size_t first = 0; first < jobs.size(); first += kOfCost) {
    rows.push_back(judge(jobs[first].name, Results(results).subspan(first, kOfCost)));
    const size_t cheap = first / kOfRow * kOfRow;
    if (first == cheap || !rows.back().wrong.empty()) continue;
    rows.back().wrong =
        depends_on_host(Results(results).subspan(cheap, kOfCost), Results(results).subspan(first, kOfCost));
  }
  return rows;
}

std::string policy_text(const std::vector<PolicyRow>& rows) {
  size_t width = 4, on_wafer = 0;
  for (const PolicyRow& r : rows) {
    width = std::max(width, r.name.size());
    on_wafer += r.medium > 0 && r.host_operators == 0 ? 1 : 0;
  }
  std::string out = fmt::format("{:<{}}  {:<8} {:>10} {:>10} {:>10} {:>9} {:>8}\n", "name", width, "quantity",
                                "disabled", "medium", "aggressive", "m/fastest", "host ops");
  for (const PolicyRow& r : rows)
    out += fmt::format("{:<{}}  {:<8} {:>10} {:>10} {:>10} {:>9.3f} {:>8}{}\n", r.name, width, r.quantity,
                       figure(r.disabled), figure(r.medium), figure(r.aggressive), r.ratio, r.host_operators,
                       r.wrong.empty() ? "" : "  FAILED: " + r.wrong);
  return out + fmt::format("without host operators under medium: {} of {}\n", on_wafer, rows.size());
}

nlohmann::json policy_json(const std::vector<PolicyRow>& rows) {
  nlohmann::json out = nlohmann::json::array();
  size_t failed = 0;
  for (const PolicyRow& r : rows) {
    failed += r.wrong.empty() ? 0 : 1;
    out.push_back({{"name", r.name},
                   {"ok", r.wrong.empty()},
                   {"message", r.wrong},
                   {"quantity", r.quantity},
                   {"disabled", r.disabled},
                   {"medium", r.medium},
                   {"aggressive", r.aggressive},
                   {"ratio", r.ratio},
                   {"host_operators", r.host_operators}});
  }
  return {{"schema", "wafersmith-policies/1"}, {"passed", rows.size() - failed}, {"failed", failed}, {"rows", out}};
}

}  // namespace cs
