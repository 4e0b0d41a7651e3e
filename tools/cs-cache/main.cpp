// cs-cache: what a cache folder holds, whether it is whole, and less of it.
//
//   1. read the command line: one of list, verify, prune
//   2. go through the entries of the folder
//   3. a table, or with --json the same as an object
#include <ctime>
#include <filesystem>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/support/files.h"
#include "tools/cache/folder_backend.h"
#include "tools/cache/settings.h"
#include "tools/cli/tool.h"

namespace cs::cache {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kExamples = R"(Examples:
  cs-cache list --cache-dir ~/.cache/wafersmith              entries, those that were used last first
  cs-cache verify --cache-dir ~/.cache/wafersmith            is every entry whole? exit code 1 if not
  cs-cache verify --drop --cache-dir /shared                 and remove those that are not
  cs-cache prune --max-size 1G --cache-dir /shared           remove what was used longest ago, until 1 GB is left
  cs-cache prune --older-than 30 --cache-dir /shared         what was not used for 30 days

Compiling with a cache: cs-compile --cache-dir DIR.

Exit codes: 0 ok, 1 damaged entries or input error, 2 usage, 70 internal error, 130 interrupted.)";

struct Flags {
  std::string dir, max_size;
  double older_than = 0;
  bool drop = false, json = false;
  int threads = 1;
  uint64_t seed = 0;
};

// An entry as it is on the disk. A file that another process removed meanwhile is none.
struct Looked {
  FolderBackend::Row row;
  std::string label, damage;
};

std::vector<Looked> look(FolderBackend& cache, bool reads) {
  std::vector<Looked> all;
  for (FolderBackend::Row& row : cache.list()) {
    Looked one{row, "", ""};
    std::string why;
    Diag diag;
    const std::optional<std::string> bytes = reads ? read_file(row.path, diag) : std::nullopt;
    if (reads && !bytes) continue;
    if (bytes) {
      const std::optional<Entry> entry = unseal(row.key, *bytes, why);
      (entry ? one.label : one.damage) = entry ? std::string(entry->label) : why;
    }
    all.push_back(std::move(one));
  }
  return all;
}

std::string time_text(int64_t ns) {
  const auto seconds = time_t(ns / 1'000'000'000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", parts);
}

uint64_t sum_of(const std::vector<Looked>& all) {
  uint64_t bytes = 0;
  for (const Looked& one : all) bytes += one.row.bytes;
  return bytes;
}

Json json_of(const Looked& one) {
  Json row = {{"space", space_name(one.row.key.space)},
              {"key", one.row.key.digest},
              {"bytes", one.row.bytes},
              {"used", time_text(one.row.used_ns)},
              {"label", one.label}};
  if (!one.damage.empty()) row["damage"] = one.damage;
  return row;
}

void answer(const Flags& f, cli::Reply& reply, const Json& json, const std::string& text) {
  if (f.json)
    reply.object(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  else
    reply.text(text);
}

int list(const Flags& f, FolderBackend& cache, cli::Reply& reply) {
  const std::vector<Looked> all = look(cache, true);
  std::string text;
  Json rows = Json::array();
  for (const Looked& one : all) {
    text += fmt::format("{:<12} {}  {:>13}  {}  {}\n", space_name(one.row.key.space), one.row.key.digest,
                        fmt::format("{} bytes", one.row.bytes), time_text(one.row.used_ns),
                        one.damage.empty() ? one.label : "damaged: " + one.damage);
    rows.push_back(json_of(one));
  }
  text += fmt::format("{} entries, {} bytes\n", all.size(), sum_of(all));
  answer(f, reply, {{"schema", "wafersmith-cache-list/1"}, {"bytes", sum_of(all)}, {"entries", rows}}, text);
  return kOk;
}

int verify(const Flags& f, FolderBackend& cache, cli::Reply& reply) {
  const std::vector<Looked> all = look(cache, true);
  size_t damaged = 0, dropped = 0;
  std::string text;
  Json rows = Json::array();
  for (const Looked& one : all) {
    if (one.damage.empty()) continue;
    ++damaged;
    if (f.drop && cache.remove(one.row)) ++dropped;
    text += fmt::format("{}: {}{}\n", one.row.path, one.damage, f.drop ? "; removed" : "");
    rows.push_back(json_of(one));
  }
  text +=
      fmt::format("{} entries, {} damaged{}\n", all.size(), damaged,
                  damaged > dropped ? "; --drop removes them, and a compilation that finds one does" : "");
  answer(f, reply,
         {{"schema", "wafersmith-cache-verify/1"},
          {"entries", all.size()},
          {"damaged", damaged},
          {"dropped", dropped},
          {"rows", rows}},
         text);
  return damaged > dropped ? kInputError : kOk;
}

int prune(const Flags& f, FolderBackend& cache, cli::Reply& reply) {
  if (f.max_size.empty() && f.older_than <= 0)
    throw cli::Usage{"prune needs --max-size SIZE or --older-than DAYS"};
  const uint64_t most = f.max_size.empty() ? UINT64_MAX : *parse_size(f.max_size);
  const int64_t before = f.older_than > 0 ? now_ns() - int64_t(f.older_than * 86'400e9) : 0;
  const FolderBackend::Pruned gone = cache.prune(most, before);
  uint64_t left = 0;
  const std::vector<FolderBackend::Row> rows = cache.list();
  for (const FolderBackend::Row& row : rows) left += row.bytes;
  answer(f, reply,
         {{"schema", "wafersmith-cache-prune/1"},
          {"removed", gone.entries},
          {"removed_bytes", gone.bytes},
          {"removed_temporaries", gone.temporaries},
          {"entries", rows.size()},
          {"bytes", left}},
         fmt::format("{} entries with {} bytes removed; {} with {} bytes are left\n", gone.entries,
                     gone.bytes, rows.size(), left));
  return kOk;
}

FolderBackend open_folder(const Flags& f) {
  Settings settings;
  settings.dir = f.dir;
  add_environment(settings);
  if (settings.dir.empty()) throw cli::Usage{"--cache-dir DIR or WAFERSMITH_CACHE_DIR is needed"};
  return {folder_of(settings.dir), 0};
}

int main_of_tool(int argc, char** argv) {
  CLI::App app{"Lists, verifies and prunes a folder of compiled programs (cs-compile --cache-dir)."};
  app.footer(kExamples);
  app.set_version_flag("--version", version_string("cs-cache"));
  app.require_subcommand(1);
  app.fallthrough();
  Flags f;
  const auto check_size = [](const std::string& text) {
    return parse_size(text) ? std::string() : fmt::format("'{}' is no size such as 500M or 5G", text);
  };
  app.add_option("--cache-dir,--cache", f.dir, "The folder (else WAFERSMITH_CACHE_DIR)");
  app.add_flag("--json", f.json, "One JSON object on stdout");
  app.add_option("-j,--threads", f.threads, "Accepted by every tool; one thread does")
      ->check(CLI::Range(1, 1024));
  app.add_option("--seed", f.seed, "Accepted by every tool; nothing here is random");
  CLI::App* lists = app.add_subcommand("list", "Entries with their keys, bytes and last use");
  CLI::App* verifies = app.add_subcommand("verify", "Reads every entry and compares its hash");
  verifies->add_flag("--drop", f.drop, "Remove damaged entries");
  CLI::App* prunes = app.add_subcommand("prune", "Removes what was used longest ago");
  prunes->add_option("--max-size", f.max_size, "Leave so much, as 500M or 5G; 0: nothing")->check(check_size);
  prunes->add_option("--older-than", f.older_than, "Remove what was not used for so many days")
      ->check(CLI::Range(0.0, 1e5));
  cli::Reply reply("cs-cache");
  return cli::run_tool(reply, app, argc, argv, cli::Interrupt::ends, [&] {
    FolderBackend cache = open_folder(f);
    Diag diag;
    if (!std::filesystem::is_directory(cache.name())) {
      diag.error_at(cache.name(), "no such folder", "give the folder that cs-compile --cache-dir was given");
      reply.show(diag);
      return int(kInputError);
    }
    return *lists ? list(f, cache, reply) : *verifies ? verify(f, cache, reply) : prune(f, cache, reply);
  });
}

}  // namespace
}  // namespace cs::cache

int main(int argc, char** argv) { return cs::cache::main_of_tool(argc, argv); }
