// An entry is the files of the folder, and beside them what a compilation says: its summary and its warnings.
#include "tools/cs-compile/cached.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/program/folder.h"
#include "tools/api/program_key.h"

namespace cs {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kReport = "compile_report.json";
constexpr const char* kInFolder = "out/";  // parts that are files
constexpr const char* kSummary = "summary";
constexpr const char* kProblems = "problems.json";
constexpr const char* kModel = "\1model\1";  // stands for the model's name in warnings

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string dump(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  if (from.empty()) return;
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// Warnings with their lines, since the text that they stand in may not be read again.
std::string problems_text(const Diag& diag, const std::string& model) {
  const auto without_name = [&](std::string text) {
    replace_all(text, model, kModel);
    return text;
  };
  Json list = Json::array();
  for (const Diagnostic& d : diag.all()) {
    const bool placed = d.loc.valid();
    list.push_back({{"note", d.severity == Severity::note},
                    {"path", placed ? without_name(diag.sources.path(d.loc.file)) : ""},
                    {"line", d.loc.line},
                    {"column", d.loc.column},
                    {"text", placed ? std::string(diag.sources.line(d.loc.file, d.loc.line)) : ""},
                    {"message", without_name(d.where.empty() ? d.message : d.where + ": " + d.message)},
                    {"help", without_name(d.help)}});
  }
  return dump(list);
}

bool add_problems(std::string_view text, const std::string& model, Diag& diag) {
  const Json list = Json::parse(text, nullptr, false);
  if (!list.is_array()) return false;
  try {
    for (const Json& row : list) {
      SourceLoc loc;
      const auto filled = [&](const char* key) {
        std::string value = row.at(key).get<std::string>();
        replace_all(value, kModel, model);
        return value;
      };
      if (const std::string path = filled("path"); !path.empty()) {
        loc.line = row.at("line").get<uint32_t>();
        loc.column = row.at("column").get<uint32_t>();
        if (loc.line == 0 || loc.line > 10'000'000) return false;
        loc.file =
            diag.sources.add(path, std::string(loc.line - 1, '\n') + row.at("text").get<std::string>());
      }
      if (row.at("note").get<bool>())
        diag.note(loc, filled("message"));
      else
        diag.warning(loc, filled("message"), filled("help"));
    }
  } catch (const Json::exception&) {
    return false;
  }
  return true;
}

std::optional<std::string_view> part(const cache::Parts& parts, std::string_view name) {
  for (const auto& [other, bytes] : parts)
    if (other == name) return bytes;
  return std::nullopt;
}

// Files below the folder in the order of their names, and their bytes together.
std::pair<std::vector<fs::path>, uint64_t> files_of(const std::string& folder) {
  std::vector<fs::path> files;
  uint64_t bytes = 0;
  std::error_code ec;
  for (const auto& entry : fs::recursive_directory_iterator(folder, ec)) {
    if (!entry.is_regular_file(ec)) continue;
    files.push_back(entry.path());
    bytes += entry.file_size(ec) + 1000;  // its name too
  }
  std::sort(files.begin(), files.end());
  return {files, bytes};
}

// A name that stays below the folder.
bool is_inside(const std::string& name) {
  const fs::path path(name);
  return !name.empty() && path.is_relative() && *path.lexically_normal().begin() != "..";
}

}  // namespace

// A trial as text: "INTERVAL FIRST" in hexadecimal floating point, or "none".
class CachedCompile::Trials : public api::TrialRecords {
 public:
  Trials(cache::Cache& cache, const std::string& label) : cache_(cache), label_("trial of " + label) {}

  From look_up(const std::string& digest, std::optional<api::Trial>& trial) override {
    const cache::Key key{cache::Space::measurements, digest};
    const std::optional<cache::Found> found = cache_.find(key);
    if (!found) return From::nowhere;
    const From from = found->remote() ? From::remote : From::local;
    const std::string text(found->value());
    double interval = 0, first = 0;
    char end = 0;
    trial.reset();
    if (text == "none") return from;
    if (std::sscanf(text.c_str(), "%la %la%c", &interval, &first, &end) == 2 && interval > 0) {
      trial = {interval, first};
      return from;
    }
    cache_.refuse(key, "it is no trial");
    return From::nowhere;
  }
  void keep(const std::string& digest, const std::optional<api::Trial>& trial) override {
    cache_.keep({cache::Space::measurements, digest}, label_,
                trial ? fmt::format("{:a} {:a}", trial->interval, trial->first) : "none");
  }

 private:
  cache::Cache& cache_;
  std::string label_;
};

CachedCompile::CachedCompile(std::unique_ptr<cache::Cache> cache, const api::CompileOptions& options,
                             std::string not_used)
    : cache_(std::move(cache)), not_used_(std::move(not_used)), model_(options.input), began_(seconds()) {
  label_ = fmt::format("{} for {}", fs::path(options.input).filename().string(),
                       fs::path(options.machine).filename().string());
  trials_ = std::make_unique<Trials>(*cache_, label_);
  if (!not_used_.empty()) return;
  if (const auto digest = api::program_key(options))
    key_ = cache::Key{cache::Space::programs, *digest};
  else
    not_used_ = "the model cannot be read, or it is none";
}

CachedCompile::~CachedCompile() = default;

api::TrialRecords* CachedCompile::trials() const { return trials_.get(); }

std::optional<CachedCompile::Hit> CachedCompile::take(const std::string& output, Diag& diag,
                                                      const std::function<void()>& check) {
  if (!key_ || !may_replace_program(output, diag)) return std::nullopt;
  const std::optional<cache::Found> found = cache_->find(*key_);
  if (!found) return std::nullopt;
  const cache::Parts parts = cache::split_parts(found->value()).value_or(cache::Parts{});
  const auto summary = part(parts, kSummary), problems = part(parts, kProblems),
             report = part(parts, std::string(kInFolder) + kReport);
  Diag replayed;
  if (!summary || !report || !problems || !Json::accept(*report) ||
      !add_problems(*problems, model_, replayed)) {
    cache_->refuse(*key_, "it is no compiled program");
    return std::nullopt;
  }
  add_problems(*problems, model_, diag);
  check();
  if (!diag.ok()) return std::nullopt;
  result_ = "hit";
  Hit hit{std::string(*summary), with_counters(*report, true)};
  FolderWriter out(output, diag);
  for (const auto& [name, bytes] : parts) {
    if (!name.starts_with(kInFolder)) continue;
    const std::string file(name.substr(std::string_view(kInFolder).size()));
    const bool is_report = file == kReport;
    if (!is_inside(file) || !out.write(file, is_report ? std::string_view(hit.report) : bytes))
      return std::nullopt;
  }
  if (!out.commit()) return std::nullopt;
  return hit;
}

// The whole folder is in memory once.
void CachedCompile::keep_program(const api::Compiled& compiled, const std::string& output, const Diag& diag) {
  const auto [files, bytes] = files_of(output);
  cache::Sealing sealing(*key_, label_, bytes);
  for (const fs::path& file : files) {
    const std::string name = kInFolder + file.lexically_relative(output).generic_string();
    if (!cache::add_file_part(sealing.bytes, name, file.string())) return;
  }
  cache::add_part(sealing.bytes, kSummary, api::summary(compiled));
  cache::add_part(sealing.bytes, kProblems, problems_text(diag, model_));
  if (!files.empty()) cache_->keep_sealed(*key_, std::move(sealing).finish());
}

std::string CachedCompile::keep(const api::Compiled& compiled, const std::string& output, const Diag& diag,
                                Diag& problems) {
  result_ = "miss";
  if (key_ && compiled.tuning.repeatable) keep_program(compiled, output, diag);
  std::string report = with_counters(api::compile_report(compiled), false);
  const fs::path file = fs::path(output) / kReport;
  std::error_code ec;
  if (!output.empty() && fs::is_regular_file(file, ec)) write_file_atomic(file.string(), report, problems);
  return report;
}

// What this run did: the passes of a hit are not its own.
std::string CachedCompile::with_counters(std::string_view report, bool hit) const {
  Json json = Json::parse(report, nullptr, false);
  Json counters = Json::parse(cache_->json());
  counters["result"] = not_used_.empty() ? result_ : "not used";
  if (!not_used_.empty()) counters["not_used"] = not_used_;
  if (key_) counters["key"] = key_->digest;
  if (hit) {
    const double took = seconds() - began_;
    counters["compiled_in_seconds"] = json.value("seconds", 0.0);
    json["passes"] = Json::array({{{"name", "cache"}, {"seconds", took}}});
    json["seconds"] = took;
  }
  json["cache"] = counters;
  return dump(json);
}

std::string CachedCompile::line() const {
  if (!not_used_.empty()) return fmt::format("cache not used: {}\n", not_used_);
  const cache::Counters trials = cache_->counters(cache::Space::measurements);
  const cache::Counters programs = cache_->counters(cache::Space::programs);
  if (result_ == "hit") return fmt::format("from the {}cache\n", programs.remote_hits > 0 ? "remote " : "");
  return fmt::format("not in the cache{}{}\n", programs.puts > 0 ? " until now" : "",
                     trials.hits() == 0 ? ""
                                        : fmt::format("; {} of {} trials were", trials.hits(),
                                                      trials.hits() + trials.misses));
}

}  // namespace cs
