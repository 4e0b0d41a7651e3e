// A model in one form (forms.h): passes, mapping and the CSL half, again and again down the ladder of
// passes/fallbacks.h until all kernels have a place. Internal to tools/api.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/api/api.h"

namespace cs::api {

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// What was before the first pass of the table: the model, records and diagnostics.
struct Start {
  const graph::Graph& model;
  std::vector<passes::PassRecord> passes;
  Diag diag;
};

struct Formed {
  passes::Form form = passes::Form::joined;
  std::optional<double> pace = {};  // instead of the options'
  Compiled out;
  Diag diag;
  passes::Fallbacks fallbacks = {};                  // the steps down that were taken
  std::map<std::string, std::string> unrolled = {};  // PassContext::unrolled
};
Formed begin_form(passes::Form, const Start&, const Machine&, std::optional<double> pace = {});
// The same from its first pass.
Formed begin_again(const Formed&, const Start&);

// As far as the options say. False if there is no step left.
bool compile_form(const CompileOptions&, const passes::PipelineOptions&, const Start&, Formed&);
// One step of the ladder, from the graph: what the fallbacks of Formed say, and no step down.
bool compile_rung(const CompileOptions&, const passes::PipelineOptions&, const Start&, Formed&);
// The same from where compile_form() left off for an estimate.
bool finish_form(const CompileOptions&, const passes::PipelineOptions&, const Start&, Formed&);

mapping::MapOptions map_options(const CompileOptions&, const graph::Graph&);
// Machine part from the files, then the host part. Both ways to a Program (directly, and through --emit csl)
// end here.
std::optional<Program> build_program(const mapping::Mapped&, const Machine&, int threads, int opt_level, Diag&,
                                     std::vector<csl::TileFailure>* failures = nullptr);

}  // namespace cs::api
