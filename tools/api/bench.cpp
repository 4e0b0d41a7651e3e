// Workers take jobs in turn; a line of the log waits for those before it, so that the log does not depend on
// how many workers there are.
#include "tools/api/bench.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cs::api {

namespace {

using Json = nlohmann::ordered_json;
constexpr const char* kLevels[] = {"off", "default", "max"};
constexpr const char* kStatus[] = {"ok",     "no-end", "not-compiled", "slow",
                                   "killed", "memory", "crashed",      "stopped"};

std::string line_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace

std::string_view measure_status_name(MeasureStatus s) { return kStatus[size_t(s)]; }

bool is_repeatable(MeasureStatus s) {
  return s == MeasureStatus::ok || s == MeasureStatus::no_end || s == MeasureStatus::not_compiled;
}

std::optional<TuneLevel> tune_level_from_name(std::string_view name) {
  for (const TuneLevel level : {TuneLevel::off, TuneLevel::normal, TuneLevel::full})
    if (name == tune_level_name(level)) return level;
  return std::nullopt;
}

std::string_view tune_level_name(TuneLevel level) { return kLevels[size_t(level)]; }

Bench::Bench(const Tuning& tuning, const Machine& machine, TrialRecords* records, TuneReport& report)
    : tuning_(tuning), machine_(machine), records_(records), report_(report) {}

bool Bench::stopping() {
  const double spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  const bool stop =
      (tuning_.budget_seconds > 0 && spent > tuning_.budget_seconds) || (tuning_.stop && *tuning_.stop);
  if (stop) report_.cut_short = true, report_.repeatable = false;
  return stop;
}

std::vector<Measurement> Bench::run(const std::vector<TuneJob>& jobs) {
  std::vector<size_t> first(jobs.size());  // of those with the same key
  std::vector<size_t> order;
  std::map<std::string, size_t> seen;
  for (size_t i = 0; i < jobs.size(); ++i) {
    first[i] = seen.emplace(jobs[i].key, i).first->second;
    if (first[i] == i && !known_.contains(jobs[i].key)) order.push_back(i);
  }
  std::vector<Measurement> results(jobs.size());
  std::vector<std::string> from(jobs.size());
  std::vector<char> done(jobs.size(), 0);
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  size_t told = 0;
  stopping();
  const auto work = [&] {
    for (size_t k = next++; k < order.size(); k = next++) {
      const size_t i = order[k];
      Measurement m = measure(jobs[i], from[i]);
      const std::lock_guard lock(mutex);
      results[i] = std::move(m);
      done[i] = 1;
      for (; told < order.size() && done[order[told]]; ++told)
        tell(jobs[order[told]], results[order[told]], from[order[told]]);
    }
  };
  const size_t count = std::min(order.size(), size_t(std::max(1, tuning_.measurer->workers())));
  std::vector<std::thread> threads;
  for (size_t t = 1; t < count; ++t) threads.emplace_back(work);
  work();
  for (std::thread& t : threads) t.join();
  stopping();
  for (const size_t i : order)
    if (results[i].status != MeasureStatus::stopped) known_.emplace(jobs[i].key, results[i]);
  for (size_t i = 0; i < jobs.size(); ++i) {
    const auto known = known_.find(jobs[i].key);
    if (known != known_.end()) results[i] = known->second;
  }
  return results;
}

// Of a worker's thread: nothing here may be changed without a lock.
Measurement Bench::measure(const TuneJob& job, std::string& from) {
  const double spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  const auto stop = [&] {
    return (tuning_.budget_seconds > 0 && spent > tuning_.budget_seconds) || (tuning_.stop && *tuning_.stop);
  };
  if (stop()) return {};
  Measurement m;
  std::optional<MadeCandidate> made = job.make(m.why);
  if (!made) {
    m.status = MeasureStatus::not_compiled;
    return m;
  }
  std::string key;
  if (records_ != nullptr) {
    key = trial_key(made->program, made->weights, machine_, made->most_cycles);
    const TrialRecords::From where = records_->look_up(key, m.trial);
    if (where != TrialRecords::From::nowhere) {
      from = where == TrialRecords::From::local ? "local-hit" : "remote-hit";
      m.status = m.trial ? MeasureStatus::ok : MeasureStatus::no_end;
      return m;
    }
  }
  if (stop()) return {};
  m = tuning_.measurer->run(made->program, made->weights, machine_, made->most_cycles);
  if (records_ != nullptr && is_repeatable(m.status)) records_->keep(key, m.trial);
  return m;
}

// With the lock of a batch, or between batches.
void Bench::tell(const TuneJob& job, const Measurement& m, const std::string& from) {
  if (m.status == MeasureStatus::stopped) return;
  const std::string status = from.empty() ? std::string(measure_status_name(m.status)) : from;
  ++report_.measured[status];
  if (!is_repeatable(m.status)) report_.repeatable = false;
  ++count_;
  if (tuning_.log == nullptr) return;
  const Candidate& c = job.candidate;
  Json json{{"n", count_},
            {"phase", c.phase},
            {"kernel", c.kernel},
            {"op", c.op},
            {"formal", c.formal},
            {"family", c.family},
            {"origin", c.origin},
            {"epilogue", c.epilogue},
            {"exec", {{"w", c.rect.w}, {"h", c.rect.h}}},
            {"estimated_cycles", c.estimated_cycles},
            {"cycles", m.trial ? Json(m.trial->interval) : Json(nullptr)},
            {"first_sample_cycles", m.trial ? Json(m.trial->first) : Json(nullptr)},
            {"status", status},
            {"wall_ms", m.wall_ms}};
  if (!m.why.empty()) json["why"] = m.why;
  tuning_.log->add(line_of(json));
}

}  // namespace cs::api
