// Any bytes are a Program or a diagnostic: the whole CSL compiler on a layout file and a PE file.
//
// The input is the layout; after a line "=====" comes pe.csl. WSE-2 unless the layout begins with "//3".
#include <cstddef>
#include <cstdint>
#include <string>

#include "compiler/csl/csl.h"

namespace {

const cs::Machine& machine(const char* name) {
  static const auto load = [](const char* n) {
    cs::Diag diag;
    auto m = cs::load_machine(n, diag);
    CS_CHECK(m.has_value(), diag.to_string());
    return *m;
  };
  static const cs::Machine kWse2 = load("wse2"), kWse3 = load("wse3");
  return name[3] == '3' ? kWse3 : kWse2;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const size_t cut = text.find("=====\n");
  cs::csl::CslOptions options;
  options.layout = "layout.csl";
  options.files["layout.csl"] = text.substr(0, cut);
  options.files["pe.csl"] = cut == std::string::npos ? "" : text.substr(cut + 6);
  options.comptime_step_limit = 200'000;
  options.comptime_depth_limit = 50;
  options.max_inlined_iterations = 100;
  cs::Diag diag;
  const auto program = cs::csl::compile_csl(options, machine(text.starts_with("//3") ? "wse3" : "wse2"), diag);
  if (!program && diag.ok()) __builtin_trap();  // refused without saying why
  diag.to_string();
  return 0;
}
