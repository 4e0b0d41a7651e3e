// csl-fmt: formats CSL.
//
//   1. read the command line; folders stand for all .csl files below them
//   2. format every file; one with syntax errors is reported and stays as it is
//   3. print the text, or write the file in its place, or say which files would change
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "compiler/csl/format.h"
#include "runtime/support/files.h"
#include "tools/cli/tool.h"

namespace cs {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExamples = R"(Examples:
  csl-fmt pe.csl                 the formatted text on stdout
  csl-fmt --in-place kernels     every .csl file below the folder, rewritten where it changes
  csl-fmt --check kernels        lists the files that would change; exit code 4 if there are any
  csl-fmt --stdin < pe.csl       for editors

Exit codes: 0 ok, 1 input error, 2 usage, 4 --check: some file is not formatted, 70 internal error, 130 interrupted.)";

struct Options {
  std::vector<std::string> inputs;
  csl::FormatOptions format;
  bool check = false, in_place = false, from_stdin = false, json = false;
  std::string name = "<stdin>";  // of what comes from stdin, in messages
  int threads = 1;
  uint64_t seed = 0;
};

std::vector<std::string> files_of(const std::vector<std::string>& inputs) {
  std::vector<std::string> out;
  for (const std::string& input : inputs) {
    std::error_code ignored;
    if (!fs::is_directory(input, ignored)) {
      out.push_back(input);
      continue;
    }
    const size_t first = out.size();
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(input, ignored))
      if (entry.path().extension() == ".csl" && entry.is_regular_file(ignored))
        out.push_back(entry.path().generic_string());
    std::sort(out.begin() + long(first), out.end());
  }
  return out;
}

std::optional<std::string> formatted(const std::string& path, std::string text, const Options& o,
                                     Diag& diag) {
  return csl::format(diag.sources.add(path, std::move(text)), diag, o.format);
}

int run_stdin(const Options& o, cli::Reply& reply) {
  Diag diag;
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  const std::optional<std::string> result = formatted(o.name, text, o, diag);
  reply.show(diag);
  if (!result) return kInputError;
  if (!o.check) reply.text(*result);
  return o.check && *result != text ? kDiffers : kOk;
}

struct Outcome {
  bool bad = false, changed = false;
};

Outcome run_file(const std::string& path, const Options& o, cli::Reply& reply) {
  Diag diag;
  const std::optional<std::string> text = read_file(path, diag, uint64_t(64) << 20);
  const std::optional<std::string> result = text ? formatted(path, *text, o, diag) : std::nullopt;
  Outcome out{.bad = !result, .changed = result && *result != *text};
  if (o.in_place && out.changed) out.bad |= !write_file_atomic(path, *result, diag);
  if (result && !o.in_place && !o.check && !o.json) reply.text(*result);
  reply.show(diag);
  return out;
}

int run(const Options& o, cli::Reply& reply) {
  if (o.from_stdin != o.inputs.empty()) throw cli::Usage{"give files, or --stdin"};
  if (o.in_place && (o.check || o.from_stdin))
    throw cli::Usage{"--in-place goes with neither --check nor --stdin"};
  if (o.from_stdin) return run_stdin(o, reply);
  const std::vector<std::string> files = files_of(o.inputs);
  if (files.empty()) throw cli::Usage{"no .csl file below the folders"};
  if (files.size() > 1 && !o.check && !o.in_place)
    throw cli::Usage{"several files need --in-place or --check"};
  bool bad = false, changed = false;
  nlohmann::json report = {{"schema", "wafersmith-fmt/1"}, {"files", nlohmann::json::array()}};
  for (const std::string& path : files) {
    const Outcome outcome = run_file(path, o, reply);
    bad |= outcome.bad;
    changed |= outcome.changed;
    report["files"].push_back({{"file", path}, {"changed", outcome.changed}, {"ok", !outcome.bad}});
    if (o.check && outcome.changed && !o.json) reply.text(path + "\n");
  }
  if (o.json && !bad) reply.object(report.dump());
  return bad ? kInputError : o.check && changed ? kDiffers : kOk;
}

int main_of_tool(int argc, char** argv) {
  Options o;
  CLI::App app{"Formats CSL: the same program, laid out as docs/csl-style.md says."};
  app.footer(kExamples);
  app.set_version_flag("--version", version_string("csl-fmt"));
  app.add_option("FILE", o.inputs, "CSL files, or folders that hold some");
  app.add_flag("--check", o.check, "Change nothing; list the files that are not formatted");
  app.add_flag("-i,--in-place", o.in_place, "Rewrite the files that change, each in one step");
  app.add_flag("--stdin", o.from_stdin, "Read from stdin, write to stdout");
  app.add_option("--stdin-name", o.name, "How messages call what comes from stdin")->capture_default_str();
  app.add_option("--width", o.format.width, "Longest line")
      ->check(CLI::Range(40, 1000))
      ->capture_default_str();
  app.add_flag("--json", o.json, "One JSON object on stdout");
  app.add_option("-j,--threads", o.threads, "Accepted by every tool; this one runs on one thread");
  app.add_option("--seed", o.seed, "Accepted by every tool; nothing here is random");
  cli::Reply reply("csl-fmt");
  return cli::run_tool(reply, app, argc, argv, cli::Interrupt::ends, [&] {
    if (o.json) reply.use_json();
    return run(o, reply);
  });
}

}  // namespace
}  // namespace cs

int main(int argc, char** argv) { return cs::main_of_tool(argc, argv); }
