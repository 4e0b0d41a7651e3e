// A program runs in a copy of its checkout, so that checkouts stay as they are and programs may run side by side. The
// tools of this installation come first on the PATH; `python` is cs_python there, so that hosts find the host API.
#include "tools/cs-regress/corpus.h"
#include "tools/cs-regress/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>

#include "runtime/support/files.h"
#include "runtime/support/progress.h"
#include "runtime/support/yaml.h"
#include "tools/cli/child_process.h"

namespace cs {
const std::vector<std::pair<std::string_view, std::string_view>>& embedded_corpus_list();
}

namespace cs::corpus {
namespace {

namespace fs = std::filesystem;

struct Row {
  const Repository* repository = nullptr;
  const Program* program = nullptr;
  std::string checkout;
  bool passed = false;
  int exit_code = 0;
  double seconds = 0;
  std::string message;  // the end of what was printed, if it failed
  bool differs() const { return passed != program->passes; }
};

bool read_program(const YamlNode& node, Program& p, Diag& diag) {
  YamlMap map(node, "a program", diag);
  if (!map.valid()) return false;
  std::string expect = "pass";
  bool good = map.required("name", p.name) && map.required("command", p.command);
  good &= map.optional("folder", p.folder) && map.optional("group", p.group) && map.optional("expect", expect) &&
          map.optional("reason", p.reason) && map.optional("timeout", p.timeout);
  const SourceLoc where = map.loc();
  map.finish();
  if (!good) return false;
  p.passes = expect == "pass";
  if (expect != "pass" && expect != "fail") {
    diag.error(where, fmt::format("expect is pass or fail, not '{}'", expect));
    return false;
  }
  if (!p.passes && p.reason.empty()) {
    diag.error(where, fmt::format("'{}' is expected to fail: a reason is needed", p.name));
    return false;
  }
  if (p.folder.starts_with('/') || (p.folder + "/").find("../") != std::string::npos) {
    diag.error(where, fmt::format("folder '{}' does not lie in the checkout", p.folder));
    return false;
  }
  return true;
}

// Where the checkout is, empty if there is none.
std::string checkout_of(const Repository& r, const std::string& folder) {
  std::string flat = r.name;
  std::replace(flat.begin(), flat.end(), '/', '+');
  for (const std::string& name : {flat, r.name})
    if (fs::is_directory(folder + "/" + name)) return folder + "/" + name;
  return {};
}

// The commit that a checkout with git data is at; empty if that is not known.
std::string commit_of(const std::string& checkout) {
  Diag quiet;
  auto head = read_file(checkout + "/.git/HEAD", quiet, 1 << 16);
  if (head && head->starts_with("ref: "))
    head = read_file(checkout + "/.git/" + head->substr(5, head->find_last_not_of("\n") - 4), quiet, 1 << 16);
  return head && head->size() >= 40 ? head->substr(0, 40) : "";
}

// Everything but what git keeps.
bool copy_checkout(const std::string& from, const std::string& to, std::string& why) {
  std::error_code ec;
  fs::create_directories(to, ec);
  for (fs::directory_iterator it(from, ec), end; !ec && it != end; it.increment(ec)) {
    if (it->path().filename() == ".git") continue;
    fs::copy(it->path(), to / it->path().filename(), fs::copy_options::recursive | fs::copy_options::copy_symlinks,
             ec);
    if (ec) break;
  }
  if (ec) why = fmt::format("the checkout cannot be copied: {}", ec.message());
  return !ec;
}

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// The last lines of what was printed.
std::string tail(const std::string& text) {
  constexpr int kLines = 5;
  size_t from = text.find_last_not_of("\n\r ");
  const size_t end = from == text.npos ? 0 : from + 1;
  for (int n = 0; n < kLines && from != text.npos && from > 0; ++n) from = text.rfind('\n', from - 1);
  return text.substr(from == text.npos ? 0 : from + 1, end - (from == text.npos ? 0 : from + 1));
}

// A folder with the names under which scripts call an interpreter.
bool make_interpreters(const std::string& folder, const std::string& tools) {
  std::error_code ec;
  fs::create_directories(folder, ec);
  for (const char* name : {"python", "python3"}) fs::create_symlink(tools + "/cs_python", folder + "/" + name, ec);
  return !ec;
}

void run_row(Row& row, const std::string& work, const std::string& bin, const std::string& tools, double timeout) {
  const Program& p = *row.program;
  const std::string copy = work + "/checkout";
  if (!copy_checkout(row.checkout, copy, row.message)) return;
  const std::string folder = p.folder.empty() ? copy : copy + "/" + p.folder;
  const std::string script = fmt::format("cd {} && PATH={}:{}:\"$PATH\" && export PATH && {{ {}\n}} 2>&1",
                                         quoted(folder), quoted(bin), quoted(tools), p.command);
  const ChildResult r = run_child({"/bin/bash", "-c", script}, p.timeout > 0 ? p.timeout : timeout);
  row.exit_code = r.exit_code;
  row.seconds = r.seconds;
  row.passed = r.exit_code == 0 && !r.timed_out;
  if (r.timed_out)
    row.message = fmt::format("no end after {:.0f} s", r.seconds);
  else if (!row.passed)
    row.message = tail(r.out + r.err);
  std::error_code ec;
  fs::remove_all(work, ec);
}

void run_rows(std::vector<Row>& rows, const Options& o) {
  const Temporary work((fs::temp_directory_path() / "cs-corpus").string());
  const std::string tools = executable_folder(), bin = work.path() + "/bin";
  make_interpreters(bin, tools);
  std::atomic<size_t> next = 0, done = 0, differ = 0;
  progress::stage("", 0, 1);
  const auto worker = [&] {
    for (size_t i = next++; i < rows.size(); i = next++) {
      run_row(rows[i], fmt::format("{}/{}", work.path(), i), bin, tools, o.timeout);
      differ += rows[i].differs() ? 1 : 0;
      progress::part("", ++done, rows.size());
      progress::note(fmt::format("{} of {}, {} differ  {}", done.load(), rows.size(), differ.load(),
                                 rows[i].program->name));
    }
  };
  std::vector<std::jthread> pool;
  for (int t = 1; t < o.threads; ++t) pool.emplace_back(worker);
  worker();
}

std::string text_of(const std::vector<Row>& rows, const std::vector<std::string>& absent) {
  struct Sum {
    int programs = 0, passed = 0, expected = 0, differ = 0;
  };
  std::map<std::string, Sum> sums;
  Sum all;
  std::string differences;
  for (const Row& r : rows) {
    for (Sum* s : {&sums[r.repository->name], &all}) {
      ++s->programs;
      s->passed += r.passed;
      s->expected += r.program->passes;
      s->differ += r.differs();
    }
    if (r.differs())
      differences += fmt::format("{}: {}: {}\n{}", r.repository->name, r.program->name,
                                 r.passed ? "passes now; the list says: " + r.program->reason : "fails now",
                                 r.message.empty() ? "" : r.message + "\n");
  }
  std::string out = fmt::format("{:<52} {:>8} {:>6} {:>8} {:>6}\n", "repository", "programs", "pass", "expected",
                                "differ");
  for (const auto& [name, s] : sums)
    out += fmt::format("{:<52} {:>8} {:>6} {:>8} {:>6}\n", name, s.programs, s.passed, s.expected, s.differ);
  for (const std::string& name : absent) out += fmt::format("{:<52} no checkout\n", name);
  return out + differences +
         fmt::format("{} of {} pass, {} differ from the list\n", all.passed, all.programs, all.differ);
}

nlohmann::json json_of(const std::vector<Row>& rows, const std::vector<std::string>& absent) {
  nlohmann::json list = nlohmann::json::array();
  size_t passed = 0, differ = 0;
  for (const Row& r : rows) {
    passed += r.passed;
    differ += r.differs();
    list.push_back({{"repository", r.repository->name},
                    {"commit", r.repository->commit},
                    {"name", r.program->name},
                    {"group", r.program->group},
                    {"expected", r.program->passes ? "pass" : "fail"},
                    {"state", r.passed ? "pass" : "fail"},
                    {"reason", r.program->reason},
                    {"exit_code", r.exit_code},
                    {"seconds", r.seconds},
                    {"message", r.message}});
  }
  return {{"schema", "wafersmith-corpus/1"}, {"programs", rows.size()}, {"passed", passed},
          {"differ", differ},                {"absent", absent},        {"rows", list}};
}

std::optional<std::vector<Repository>> load(const Options& o, Diag& diag) {
  if (o.list.empty()) return read_list(std::string(embedded_corpus_list().at(0).second), "corpus.yaml", diag);
  const auto text = read_file(o.list, diag, 1 << 24);
  return text ? read_list(*text, o.list, diag) : std::nullopt;
}

}  // namespace

std::optional<std::vector<Repository>> read_list(const std::string& text, const std::string& file, Diag& diag) {
  const auto doc = YamlDoc::parse_text(text, file, diag);
  if (!doc) return std::nullopt;
  const size_t errors = diag.errors();
  std::vector<Repository> out;
  YamlMap root(doc->root(), "the list of programs", diag);
  if (!root.valid()) return std::nullopt;
  const YamlNode* list = root.child("corpus");
  if (list == nullptr || !list->is_sequence()) {
    diag.error(root.loc(), "a list 'corpus' of repositories is needed");
    return std::nullopt;
  }
  for (const YamlNode& node : list->items()) {
    YamlMap map(node, "a repository", diag);
    if (!map.valid()) continue;
    Repository r;
    map.required("repository", r.name);
    map.required("commit", r.commit);
    std::set<std::string> names;
    const YamlNode* programs = map.child("programs");
    if (programs == nullptr || !programs->is_sequence())
      diag.error(map.loc(), "a list 'programs' is needed");
    else
      for (const YamlNode& p : programs->items()) {
        r.programs.emplace_back();
        if (read_program(p, r.programs.back(), diag) && !names.insert(r.programs.back().name).second)
          diag.error(p.loc(), fmt::format("'{}' is in the list twice", r.programs.back().name));
      }
    map.finish();
    out.push_back(std::move(r));
  }
  root.finish();
  if (diag.errors() > errors) return std::nullopt;
  return out;
}

int run(const Options& o, std::string& out, Diag& diag) {
  const auto list = load(o, diag);
  if (!list) return 1;
  const std::set<std::string> groups = split_names(o.group);
  std::vector<Row> rows;
  std::vector<std::string> absent;
  for (const Repository& r : *list) {
    const std::string checkout = checkout_of(r, o.folder);
    if (const std::string commit = commit_of(checkout); !commit.empty() && commit != r.commit)
      diag.warning({}, fmt::format("{} is at {}, the list is about {}", checkout, commit, r.commit));
    if (checkout.empty()) absent.push_back(r.name);
    for (const Program& p : r.programs)
      if (!checkout.empty() && (groups.empty() || groups.contains(p.group) || groups.contains(r.name)))
        rows.push_back({.repository = &r, .program = &p, .checkout = checkout});
  }
  if (rows.empty()) {
    diag.error_at(o.folder, absent.size() == list->size() ? "no checkout of a repository of the list in this folder"
                                                          : "no program has this group",
                  "checkouts are folders owner+name or owner/name");
    return 1;
  }
  run_rows(rows, o);
  out = o.json ? json_of(rows, absent).dump(1) : text_of(rows, absent);
  return std::any_of(rows.begin(), rows.end(), [](const Row& r) { return r.differs(); }) ? 4 : 0;
}

}  // namespace cs::corpus
