// The whole CSL compiler on any bytes: a Program or a diagnostic, within limits that keep one input short.
#pragma once

#include <string>

#include "compiler/csl/csl.h"

namespace cs::fuzz {

inline const Machine& machine(bool wse3) {
  static const auto load = [](const char* name) {
    Diag diag;
    auto m = load_machine(name, diag);
    CS_CHECK(m.has_value(), diag.to_string());
    return *m;
  };
  static const Machine kWse2 = load("wse2"), kWse3 = load("wse3");
  return wse3 ? kWse3 : kWse2;
}

// WSE-2 unless `first`, the text that decides, begins with "//3".
inline void compile_any(std::string layout, std::string pe, const std::string& first) {
  csl::CslOptions options;
  options.layout = "layout.csl";
  const bool wse3 = first.starts_with("//3");
  options.files["layout.csl"] = std::move(layout);
  options.files["pe.csl"] = std::move(pe);
  options.comptime_step_limit = 200'000;
  options.comptime_depth_limit = 50;
  options.max_inlined_iterations = 100;
  Diag diag;
  const auto program = csl::compile_csl(options, machine(wse3), diag);
  if (!program && diag.ok()) __builtin_trap();  // refused without saying why
  diag.to_string();
}

}  // namespace cs::fuzz
