// The library behind the tools: one call compiles a model, a CSL layout or a Program's text; another writes
// the folder.
//
//   model.onnx, graph.yaml   frontend → passes → mapping → CSL half → Program with host part (and baselines)
//   layout.csl               CSL half → Program; with --host also the host part and weights
//   program.csptext          the Program as it stands there
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/csl/csl.h"
#include "compiler/graph/graph_yaml.h"
#include "compiler/mapping/mapping.h"
#include "compiler/passes/passes.h"
#include "runtime/machine/machine.h"
#include "runtime/program/program.h"
#include "runtime/support/diag.h"
#include "tools/api/measure.h"

namespace cs::api {


inline constexpr int kAllCopies = 0;  // CompileOptions::copies: as many as take samples faster (--copies auto)

struct CompileOptions {
  std::string input;
  std::string machine = "wse2";             // name or path
  std::vector<std::string> set;             // machine.key=value
  bool machine_given = false;               // a Program's text, which names its machine, must be for this one
  std::vector<std::string> set_config;      // section.key=value of a model configuration
  int fabric_width = 0, fabric_height = 0;  // 0: the machine's (models), rectangle and margins (CSL)
  int rect_width = 0, rect_height = 0;      // of every kernel (models); 0: sized
  int threads = 1;
  bool resident = false;                    // operands lie on the PEs instead of being streamed (models)
  // models
  passes::Policy policy = passes::Policy::medium;
  std::string policy_name = "medium";   // effective, for manifest and reports
  passes::HostOps host_ops = passes::HostOps::warn;
  passes::AutogenFailure autogen_failure = passes::AutogenFailure::primitives;
  std::vector<std::pair<std::string, int64_t>> dims;
  passes::PipelineOptions pipeline;
  double pace = mapping::kPace;   // MapOptions::pace
  std::optional<int64_t> unroll;  // PassContext::unroll
  std::optional<int> copies;      // of the network, or kAllCopies; not given: those of a plan, else one
  bool baselines = true;
  bool choices = false;   // keep what the passes considered
  // Candidates that may be faster, each a Program with the command that makes it; `command` is the one at hand
  // without its output, empty: none are made.
  std::string command;
  bool only_passes = false;   // --emit graph|plan|dot: no CSL half
  bool only_mapping = false;  // --emit csl: the files, not the Program
  bool only_estimate = false;  // mapped, for the estimated interval: no CSL half
  std::shared_ptr<passes::KnownCosts> known;  // PassContext::known, for this machine
  double too_slow = std::numeric_limits<double>::infinity();  // MapOptions::too_slow
  int64_t least_library_product = 0;         // PassContext::least_library_product
  passes::Rewrites rewrites;                 // PassContext::rewrites
  Tuning tuning;                             // models
  passes::Measured* measured = nullptr;      // PassContext::measured
  std::vector<std::string> not_fused = {};   // operators that join no other
  TrialRecords* trials = nullptr;  // what trials found out before; null: nobody knows
  // layouts
  std::string host_file;  // host.yaml
  csl::CslOptions csl;    // flags of the vendor's compiler
  // Programs with memcpy: more free columns beside the rectangle, and where free memory begins at the lowest.
  int west_buffer = 0, east_buffer = 0, low_memory_end = 0;
  // --colors: layout parameters too, and listed apart in out.json
  std::vector<std::pair<std::string, std::string>> colors;
};

struct CompiledBaseline {
  std::string kernel, counterpart;
  Origin origin = Origin::handwritten;
  struct Base {
    Program program;
    Weights weights;
  };
  Program self;
  Weights self_weights;
  std::vector<Base> bases;  // that take turns
};

// A Program of the same model, made in another way: to be simulated, and recommended if it is faster.
struct CompiledAdvice {
  std::string options;  // "--pace 0.5"
  std::string why;      // one sentence
  std::string command;
  Program program;
  Weights weights;
  Manifest manifest;
};

// A form of the network that was considered (forms.h): cycles from one sample to the next by formulas, by a walk over
// the tile code and simulated; of a form that was left, why.
struct ConsideredForm {
  std::string form;
  double planned = 0;
  std::optional<double> walked = {}, simulated = {}, first_sample = {};
  bool taken = false;
  std::string left = {};
};

// What tuning did (tune.h).
struct TunedNetwork {  // a network that was compiled and tried out
  std::string what;
  double interval = 0, first_sample = 0;  // 0: it did not come to an end
  bool taken = false;
};
struct TuneReport {
  TuneLevel level = TuneLevel::off;
  std::map<std::string, int> measured;  // by status, and hits of a cache
  std::vector<TunedNetwork> networks;   // the one without tuning first
  std::vector<std::string> decisions;
  std::string not_tuned;                // why nothing was measured
  bool cut_short = false;               // budget spent, or interrupted: another run may find more
  std::string command;                  // that gives the same again
  bool repeatable = true;               // no result depends on the time that something took
};

struct Compiled {
  Machine machine;
  std::optional<graph::Graph> graph;      // models
  graph::PlanHeader plan;                 // of the graph: which passes it has been through
  std::map<std::string, double> unfused;  // PassContext::unfused
  int64_t shards = 1;                     // parts of a sample beside each other
  int64_t columns = 1;                    // and of the products that make its outputs, where --shards auto chose so
  std::string form;                       // why another form than every operator's own choice, if it is one
  std::vector<ConsideredForm> forms;      // empty: the network was made in one form
  TuneReport tuning;
  std::optional<mapping::Mapped> mapped;  // models that were mapped
  std::optional<Program> program;
  Weights weights;
  std::vector<CompiledBaseline> baselines;
  std::vector<mapping::MissingBaseline> missing_baselines;  // that could not be made, with the reason
  std::vector<CompiledAdvice> advice;      // at most three
  std::vector<passes::Choice> choices;     // what the passes considered, if asked for
  std::vector<passes::PassRecord> passes;  // with "machine", "frontend", "csl", "forms", "baselines" and "advice"
  Manifest manifest;
  // layouts: what --params and --colors gave
  std::vector<std::pair<std::string, std::string>> layout_params, layout_colors;
};

// All errors are in diag.
std::optional<Compiled> compile(const CompileOptions&, Diag&);

// OUT: the Program's folder, baselines below it, compile_report.json in it.
bool write_compiled(const Compiled&, const std::string& folder, Diag&);
// The folder of `--emit csl`: every CSL file, host.yaml, weights.bin.
bool write_csl(const mapping::Mapped&, const std::string& folder, Diag&);
// The text of `--emit graph|plan` with its weights beside it; a graph has no header.
bool write_graph(const graph::Graph&, const graph::PlanHeader&, const std::string& path, Diag&);

// compile_report.json: pass times, kernels with estimates, memory, flows.
std::string compile_report(const Compiled&);

// For people: tables of the graph and of the operators' origins, the floorplan, memory and colors.
std::string graph_table(const graph::Graph&);
std::string explain_origins(const Compiled&);
std::string explain_placement(const Compiled&);
std::string explain_fit(const Compiled&);
std::string explain_passes(const Compiled&);
std::string explain_alignment(const Compiled&);
std::string explain_choices(const Compiled&);
std::string summary(const Compiled&);
std::string routes_text(const Program&);

// --list-ops, --list-kernels, --list-passes
std::string list_ops();
std::string list_kernels();
std::string list_passes();

}  // namespace cs::api
