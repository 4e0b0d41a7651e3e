// One row per flag.
#include "compiler/csl/kernel_checks.h"
#include "tools/cslc/layout_flags.h"

#include <fmt/format.h>

#include <charconv>
#include <iostream>
#include <sstream>

#include "runtime/support/files.h"
#include "tools/api/vendor_files.h"

namespace cs {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

void add_pairs(const std::vector<std::string>& texts, const char* flag, Pairs& to) {
  for (const std::string& text : texts) {
    std::stringstream in(text);
    for (std::string item; std::getline(in, item, ',');) {
      const size_t colon = item.find(':');
      if (colon == std::string::npos || colon == 0)
        throw cli::Usage{fmt::format("{} takes NAME:VALUE,...; got '{}'", flag, item)};
      to.emplace_back(item.substr(0, colon), item.substr(colon + 1));
    }
  }
}

}  // namespace

std::pair<int, int> two_numbers(const std::string& text, const char* flag) {
  int a = 0, b = 0;
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, a);
  bool ok = first.ec == std::errc() && first.ptr != end && (*first.ptr == 'x' || *first.ptr == ',');
  if (ok) {
    const auto second = std::from_chars(first.ptr + 1, end, b);
    ok = second.ec == std::errc() && second.ptr == end && a >= 0 && b >= 0;
  }
  if (!ok) throw cli::Usage{fmt::format("{} takes two numbers, X,Y; got '{}'", flag, text)};
  return {a, b};
}

void LayoutFlags::declare(CLI::App& app, api::CompileOptions& o, const std::string& group) {
  const auto option = [&](const char* name, auto& value, const char* text) {
    return app.add_option(name, value, text)->group(group);
  };
  const auto flag = [&](const char* name, bool& value, const char* text) {
    app.add_flag(name, value, text)->group(group);
  };
  option("--arch", arch_, "wse2 (default) or wse3")->check(cli::one_of({"wse2", "wse3"}));
  option("--fabric-dims", dims_, "W,H (default: the rectangle and what memcpy needs around it)");
  option("--fabric-offsets", offsets_, "X,Y of the rectangle");
  option("--params", params_, "Parameters of the layout, NAME:VALUE,...; may be repeated");
  option("--colors", colors_, "Color parameters of the layout, NAME:VALUE,...; may be repeated");
  option("--import-path", o.csl.import_paths, "Folder to look for imports in; may be repeated");
  option("--channels", o.csl.channels, "Host channels")->check(CLI::Range(1, 64));
  option("--width-west-buf", o.west_buffer, "Columns left free west of the rectangle")
      ->check(CLI::Range(0, 1024));
  option("--width-east-buf", o.east_buffer, "Columns left free east of it")->check(CLI::Range(0, 1024));
  option("--fp16-format", fp16_, "What f16 means: f16, bf16 or cb16")
      ->check(cli::one_of({"f16", "fp16", "bf16", "cb16"}));
  option("-W", o.csl.warnings.entries,
         "A warning by NAME, no-NAME to silence it, error=NAME (-Werror=NAME) to fail on it; may be repeated")
      ->take_all()
      ->check([](const std::string& entry) {
        const std::vector<std::string> unknown = csl::WarningChoice{{entry}}.unknown();
        return unknown.empty() ? std::string()
                               : fmt::format("there is no warning '{}': --list-warnings", unknown[0]);
      });
  app.add_flag_callback(
         "--list-warnings",
         [] {
           for (const csl::WarningRow& row : csl::warning_rows())
             std::cout << fmt::format("{:<22}{}\n", row.name, row.text);
           throw CLI::Success();
         },
         "Print the names of all warnings")
      ->group(group);
  option("--max-inlined-iterations", o.csl.max_inlined_iterations, "Limit of unrolled loops");
  option("--comptime-func-depth-limit", o.csl.comptime_depth_limit, "Limit of nested comptime calls");
  option("--lomem-reservation-end,--link-section-start-address-bytes", o.low_memory_end,
         "Code and data begin at this address or behind it")
      ->check(CLI::Range(0, 65535));
  option("--opt-level", o.csl.opt_level, "Optimisation: 0 as written, 1 values, 2 loops and branches too")
      ->check(CLI::Range(0, 2))
      ->capture_default_str();
  option("--kernel-checks", kernel_checks_,
         "on: PEs compare indices that are known at run time alone with the extents of their arrays, and stop")
      ->check(cli::one_of({"on", "off"}))
      ->default_str("off");
  json_option_ =
      option("--output-json", output_json_, "Write the parameters as JSON too (default: OUTPUT.json)")
          ->expected(0, 1);
  flag("--memcpy", memcpy_, "Accepted: whether <memcpy> is imported decides");
  flag("--out-routes", out_routes_, "Print the routes of every rectangle and color");
  flag("--warnings-as-errors", warnings_as_errors_, "Warnings make the compilation fail");
  flag("--verbose", verbose_, "Print a summary");
  option("-g", debug_, "Accepted: lines of the source are always recorded");
  without_effect_ = {
      {"--single-pe", false}, {"--disable-auto-microthread-id", false}, {"--dump-dsr-alloc-graph", false}};
  for (auto& [name, given] : without_effect_) flag(name.c_str(), given, "Accepted, changes nothing here");
}

void LayoutFlags::apply(api::CompileOptions& o) const {
  if (!dims_.empty()) std::tie(o.csl.fabric_width, o.csl.fabric_height) = two_numbers(dims_, "--fabric-dims");
  if (!offsets_.empty()) std::tie(o.csl.offset_x, o.csl.offset_y) = two_numbers(offsets_, "--fabric-offsets");
  add_pairs(params_, "--params", o.csl.params);
  add_pairs(colors_, "--colors", o.colors);
  csl::set_kernel_checks(kernel_checks_ == "on");
  o.csl.fp16 = fp16_ == "bf16" ? Fp16Format::bf16 : fp16_ == "cb16" ? Fp16Format::cb16 : Fp16Format::f16;
}

void LayoutFlags::check(Diag& diag) const {
  for (const auto& [name, given] : without_effect_)
    if (given) diag.warning({}, name + " changes nothing: this compiler has no such mode");
  if (warnings_as_errors_ && diag.warnings() > 0)
    diag.error_at("--warnings-as-errors", fmt::format("there were {} warnings", diag.warnings()));
}

bool LayoutFlags::write_extras(const api::Compiled& c, const std::string& output, std::string& text,
                               Diag& diag) const {
  if (out_routes_ && c.program) text += api::routes_text(*c.program);
  if (json_option_->count() == 0 || !c.program) return true;
  return write_file_atomic(output_json_.empty() ? output + ".json" : output_json_, api::out_json(c), diag);
}

}  // namespace cs
