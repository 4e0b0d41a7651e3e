// cslc: compiles a CSL program, with the command line of the vendor's compiler.
//
//   1. read the command line; usage errors exit with 2
//   2. compile through tools/api (the same path as cs-compile LAYOUT.csl)
//   3. write the folder, print diagnostics
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <iostream>
#include <sstream>

#include <fmt/format.h>

#include "runtime/support/files.h"
#include "tools/api/api.h"

namespace cs {
namespace {

constexpr const char* kExamples = R"(Examples:
  cslc layout.csl --fabric-dims=8,3 --fabric-offsets=4,1 --params=M:4,N:6 --memcpy --channels=1 -o out
  cslc layout.csl --arch=wse3 -o out       the fabric is the rectangle and what memcpy needs around it

Exit codes: 0 ok, 1 input error, 2 usage, 70 internal error.)";

struct Flags {
  std::string arch = "wse2", machine, output = "out", dims, offsets, fp16 = "f16";
  std::vector<std::string> params, colors;
  int west_buffer = 0, east_buffer = 0;
  bool memcpy = false, json = false, verbose = false, warnings_as_errors = false;
  uint64_t seed = 0;
};

struct UsageError {
  std::string message;
};

std::pair<int, int> two_numbers(const std::string& text, const char* flag) {
  int a = 0, b = 0;
  const char* end = text.data() + text.size();
  auto first = std::from_chars(text.data(), end, a);
  bool ok = first.ec == std::errc() && first.ptr != end && *first.ptr == ',';
  if (ok) {
    auto second = std::from_chars(first.ptr + 1, end, b);
    ok = second.ec == std::errc() && second.ptr == end && a >= 0 && b >= 0;
  }
  if (!ok) throw UsageError{fmt::format("{} takes two numbers, X,Y; got '{}'", flag, text)};
  return {a, b};
}

void add_params(const std::vector<std::string>& texts, const char* flag,
                std::vector<std::pair<std::string, std::string>>& to) {
  for (const std::string& text : texts) {
    std::stringstream in(text);
    for (std::string item; std::getline(in, item, ',');) {
      size_t colon = item.find(':');
      if (colon == std::string::npos || colon == 0)
        throw UsageError{fmt::format("{} takes NAME:VALUE,...; got '{}'", flag, item)};
      to.emplace_back(item.substr(0, colon), item.substr(colon + 1));
    }
  }
}

void declare(CLI::App& app, Flags& f, api::CompileOptions& o) {
  app.add_option("LAYOUT", o.input, "layout file (.csl)")->required();
  app.add_option("-o", f.output, "Folder to write")->capture_default_str();
  app.add_option("--arch", f.arch, "wse2 or wse3")
      ->check(CLI::IsMember({"wse2", "wse3"}))
      ->capture_default_str();
  app.add_option("-m,--machine", f.machine,
                 "Machine, a name in configs/machines or a path (default: that of --arch)");
  app.add_option("--fabric-dims", f.dims, "W,H (default: the rectangle and what memcpy needs around it)");
  app.add_option("--fabric-offsets", f.offsets, "X,Y of the rectangle");
  app.add_option("--params", f.params, "Parameters of the layout, NAME:VALUE,...");
  app.add_option("--colors", f.colors, "Color parameters of the layout, NAME:VALUE,...");
  app.add_option("--import-path", o.csl.import_paths, "Folder to look for imports in");
  app.add_option("--channels", o.csl.channels, "Host channels")->check(CLI::Range(1, 64));
  app.add_option("--fp16-format", f.fp16, "f16, bf16 or cb16")->check(CLI::IsMember({"f16", "bf16", "cb16"}));
  app.add_option("--max-inlined-iterations", o.csl.max_inlined_iterations, "Limit of unrolled loops");
  app.add_option("--comptime-func-depth-limit", o.csl.comptime_depth_limit, "Limit of nested comptime calls");
  app.add_option("-j,--threads,--max-parallelism", o.threads, "Threads")->check(CLI::Range(1, 1024));
  app.add_option("--width-west-buf", f.west_buffer, "Must be 0: streams need no buffer columns");
  app.add_option("--width-east-buf", f.east_buffer, "Must be 0: streams need no buffer columns");
  app.add_option("--seed", f.seed, "Accepted by every tool; compiling needs no random numbers");
  app.add_flag("--memcpy", f.memcpy, "Accepted: whether <memcpy> is imported decides");
  app.add_flag("--warnings-as-errors", f.warnings_as_errors, "Warnings make the compilation fail");
  app.add_flag("--verbose", f.verbose, "Print a summary");
  app.add_flag("--json", f.json, "One JSON object on stdout");
}

void apply(Flags& f, api::CompileOptions& o) {
  // "-o=out": the vendor's compiler takes both spellings; the library takes "=" as part of a short option's value.
  if (f.output.starts_with("=")) f.output.erase(0, 1);
  o.machine = f.machine.empty() ? f.arch : f.machine;
  if (!f.dims.empty())
    std::tie(o.csl.fabric_width, o.csl.fabric_height) = two_numbers(f.dims, "--fabric-dims");
  if (!f.offsets.empty())
    std::tie(o.csl.offset_x, o.csl.offset_y) = two_numbers(f.offsets, "--fabric-offsets");
  add_params(f.params, "--params", o.csl.params);
  add_params(f.colors, "--colors", o.colors);
  if (f.west_buffer != 0 || f.east_buffer != 0)
    throw UsageError{"--width-west-buf and --width-east-buf must be 0"};
  o.csl.fp16 = f.fp16 == "bf16" ? Fp16Format::bf16 : f.fp16 == "cb16" ? Fp16Format::cb16 : Fp16Format::f16;
}

int run(const Flags& f, const api::CompileOptions& o) {
  Diag diag;
  std::optional<api::Compiled> compiled = api::compile(o, diag);
  if (compiled && f.warnings_as_errors && diag.warnings() > 0)
    diag.error_at("--warnings-as-errors", fmt::format("there were {} warnings", diag.warnings()));
  bool ok = compiled && diag.ok() && api::write_compiled(*compiled, f.output, diag);
  diag.print(std::cerr, isatty(2) != 0);
  if (!ok) return 1;
  if (f.verbose) std::cerr << api::summary(*compiled);
  if (f.json) std::cout << api::compile_report(*compiled);
  return 0;
}

int main_of_tool(int argc, char** argv) {
  CLI::App app{"Compiles a CSL program for a wafer-scale engine."};
  app.footer(kExamples);
  app.set_version_flag("--version", version_string("cslc"));
  Flags f;
  api::CompileOptions o;
  declare(app, f, o);
  try {
    app.parse(argc, argv);
    apply(f, o);
    return run(f, o);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  } catch (const UsageError& e) {
    std::cerr << "cslc: " << e.message << "\nRun with --help for more information.\n";
    return 2;
  } catch (const std::exception& e) {
    std::cerr << "cslc: internal error: " << e.what() << "\n";
    return 70;
  }
}

}  // namespace
}  // namespace cs

int main(int argc, char** argv) { return cs::main_of_tool(argc, argv); }
