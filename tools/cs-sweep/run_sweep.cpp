// Workers take the next point that the journal does not have; the files are written from all results in
// order.
#include "tools/cs-sweep/run_sweep.h"

#include <fmt/format.h>

#include <filesystem>
#include <thread>

#include "runtime/support/files.h"
#include "tools/cs-sweep/journal.h"
#include "tools/cs-sweep/output.h"

namespace cs::sweep {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kJournal = "/points.jsonl";

// A folder that holds something else is left alone.
bool prepare_folder(const std::string& out, Diag& diag) {
  std::error_code ec;
  if (fs::exists(out, ec) &&
      !(fs::is_directory(out, ec) && (fs::is_empty(out, ec) || fs::exists(out + kJournal, ec)))) {
    diag.error_at(out, "exists and is no folder of a sweep", "choose another one with -o");
    return false;
  }
  fs::remove_all(out + "/work", ec);  // of a run that was killed
  fs::create_directories(out + "/work", ec);
  if (ec) diag.error_at(out, "the folder cannot be made: " + ec.message());
  return !ec;
}

bool write_files(const SweepSettings& settings, const Json& rows, Diag& diag) {
  const Json file{{"schema", "wafersmith-sweep/1"}, {"rows", rows}};
  return write_file_atomic(settings.out + "/sweep.csv", csv(rows), diag) &&
         write_file_atomic(settings.out + "/sweep.json",
                           file.dump(1, ' ', false, Json::error_handler_t::replace) + "\n", diag) &&
         write_file_atomic(settings.out + "/sweep.html", page(rows), diag);
}

class Run {
 public:
  Run(const std::vector<Point>& points, const SweepSettings& settings)
      : points_(points), settings_(settings) {}

  bool open(Diag& diag) { return journal_.open(settings_.out + kJournal, diag); }

  void all() {
    results.resize(points_.size());
    std::vector<std::jthread> pool;
    for (int i = 1; i < settings_.jobs; ++i) pool.emplace_back([this] { work(); });
    work();
  }

  std::vector<Json> results;  // null: stopped before
  std::atomic<size_t> reused = 0;
  std::atomic<bool> disk_full = false;

 private:
  void work() {
    const RunSettings run{settings_.tools, settings_.out + "/work", settings_.timeout_seconds,
                          settings_.stop};
    for (size_t i = next_++; i < points_.size(); i = next_++) {
      if ((settings_.stop != nullptr && *settings_.stop) || disk_full) return;
      const std::string key = key_of(points_[i]);
      if (const Json* row = journal_.find(key)) {
        results[i] = *row;
        ++reused;
        continue;
      }
      results[i] = run_point(points_[i], i, run);
      if (!results[i].is_null() && !journal_.add(key, results[i])) disk_full = true;
    }
  }

  const std::vector<Point>& points_;
  const SweepSettings& settings_;
  Journal journal_;
  std::atomic<size_t> next_ = 0;
};

}  // namespace

std::optional<SweepSummary> run_sweep(const Sweep& sweep, const SweepSettings& settings, Diag& diag) {
  const std::vector<Point> points = points_of(sweep);
  Run run(points, settings);
  if (!prepare_folder(settings.out, diag) || !run.open(diag)) return std::nullopt;
  run.all();
  std::error_code ec;
  fs::remove_all(settings.out + "/work", ec);
  if (run.disk_full) {
    diag.error_at(settings.out, "what a point gave could not be written", "is the disk full?");
    return std::nullopt;
  }
  SweepSummary summary{.points = points.size(), .reused = run.reused};
  for (const Json& row : run.results) {
    summary.stopped |= row.is_null();
    const std::string outcome = row.is_object() ? row.value("outcome", "") : "";
    summary.failed += outcome == "refused" || outcome == "failed";
    summary.differ += outcome == "differs";
  }
  if (summary.stopped) return summary;
  summary.rows = rows_json(points, run.results);
  if (!write_files(settings, summary.rows, diag)) return std::nullopt;
  return summary;
}

}  // namespace cs::sweep
