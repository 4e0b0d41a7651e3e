// The flags of the vendor's compiler, for cslc and for cs-compile LAYOUT.csl.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tools/api/api.h"
#include "tools/cli/tool.h"

namespace cs {

class LayoutFlags {
 public:
  // `group` is their heading in --help.
  void declare(CLI::App&, api::CompileOptions&, const std::string& group);
  // After parsing; throws cli::Usage.
  void apply(api::CompileOptions&) const;
  // What the flags ask for beside the folder: routes, as text for stdout, the parameters as JSON. `output` is
  // the folder's name.
  bool write_extras(const api::Compiled&, const std::string& output, std::string& text, Diag&) const;
  // Is anything asked for that write_extras gives?
  bool has_extras() const { return out_routes_ || json_option_->count() > 0; }
  // Warnings about flags that change nothing here; warnings become errors if that was asked for.
  void check(Diag&) const;

  const std::string& arch() const { return arch_; }
  bool verbose() const { return verbose_; }

 private:
  std::string arch_, dims_, offsets_, fp16_ = "f16", kernel_checks_ = "off", output_json_, debug_;
  std::vector<std::string> params_, colors_;
  bool verbose_ = false, warnings_as_errors_ = false, out_routes_ = false, memcpy_ = false;
  CLI::Option* json_option_ = nullptr;
  std::vector<std::pair<std::string, bool>> without_effect_;
};

// "16x32" or "16,32".
std::pair<int, int> two_numbers(const std::string& text, const char* flag);

}  // namespace cs
