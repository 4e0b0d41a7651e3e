// The graph half's passes: a table of functions, and the manager that runs, times, verifies and dumps them.
//
//   shapes        types of every value again from the inputs, samples followed through
//   unroll        recurrences step by step, where that is faster or asked for
//   fold          nodes with constant operands become constants
//   canonicalise  one form for the same thing: no identities, Gemm without alpha and beta, bias inside
//   products decompose     compounds without a kernel become primitives tables        tables of gathers that
//   PEs cannot hold become parts split         operators that no rectangle of PEs held become parts
//   (fallbacks.h) policy        origin of every node: handwritten, generated or host, with the reason pieces
//   inputs and outputs cross the edge in pieces, where one stream would be about the slowest rows operators
//   over whole rows become one kernel fuse          elementwise nodes join the kernel whose result they alone
//   use regions       operators join the region that makes their operands finalise      choices that waited
//   for an epilogue, and got none map           size, place, route, color, emit (compiler/mapping)
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/graph/graph_yaml.h"
#include "compiler/mapping/mapping.h"
#include "compiler/passes/choices.h"
#include "compiler/passes/fallbacks.h"
#include "compiler/passes/measured.h"
#include "compiler/passes/rewrites.h"
#include "runtime/machine/machine.h"
#include "runtime/support/diag.h"

namespace cs::passes {

enum class Policy : uint8_t { disabled, medium, aggressive };
std::optional<Policy> policy_from_name(std::string_view);  // "default" is medium
std::string_view policy_name(Policy);

// The whole network as other kernels, which medium may take (tools/api/forms.h): as chosen one by one,
// without regions, generated wherever that is possible, of the library where it has a kernel, every operator
// one of its own, or with no product from its loops.
enum class Form : uint8_t { joined, apart, generated, library, streamed };
inline constexpr Form kForms[] = {Form::joined, Form::apart, Form::generated, Form::library, Form::streamed};
std::optional<Form> form_from_name(std::string_view);
std::string_view form_name(Form);

// Operators on the host: taken as they come, with a warning each, or not at all.
enum class HostOps : uint8_t { allow, warn, forbid };
std::optional<HostOps> host_ops_from_name(std::string_view);

// A loss that is asked to be one kernel and cannot be: composed of primitives, with a warning, or refused.
enum class AutogenFailure : uint8_t { primitives, error };
std::optional<AutogenFailure> autogen_failure_from_name(std::string_view);  // "fallback" is primitives

class KnownCosts;  // known_costs.h

struct PassContext {
  const Machine& machine;
  Policy policy = Policy::medium;
  mapping::MapOptions map;
  Diag& diag;
  std::optional<mapping::Mapped> mapped;  // set by the pass map
  HostOps host_ops = HostOps::allow;
  // Kernels of the library stand against generated ones by estimate; not where a rectangle is given to
  // compare them.
  bool weighs() const {
    return choosing() == Policy::medium && form != Form::library && map.force_width == 0;
  }
  // So do products from their loops against those that begin with every word.
  bool weighs_loops() const { return weighs() && form != Form::streamed; }
  // Operators are joined to one kernel for the sake of speed, not of accuracy alone.
  bool joins() const { return form != Form::apart && form != Form::library; }
  // What origins are chosen by.
  Policy choosing() const { return form == Form::generated ? Policy::aggressive : policy; }
  std::map<std::string, std::string> benefits =
      {};                                     // why primitives took the place of an operator of the model
  Fallbacks fallbacks = {};                   // what is known not to fit
  std::vector<mapping::Misfit> misfits = {};  // kernels that the pass map had no place for
  // Recurrences of at most so many steps become steps; not given: those that are faster for it.
  std::optional<int64_t> unroll = {};
  std::map<std::string, std::string> unrolled = {};  // those, by name, and why
  std::vector<Choice>* choices = nullptr;            // what was considered; nullptr: nobody asks
  Form form = Form::joined;
  double pace = 0;  // PlanHeader::pace
  std::shared_ptr<KnownCosts> known =
      {};  // on this machine, of other tries too; else they are found as needed
  AutogenFailure autogen_failure = AutogenFailure::primitives;
  // Losses that became primitives: what these take, times what one kernel takes, by estimate; 0: not known.
  std::map<std::string, double> unfused = {};
  int64_t least_library_product =
      0;  // multiply-adds of a product below which the library's kernels are not considered
  Rewrites rewrites = {};
  Measured* measured = nullptr;                           // null: estimates decide
  std::map<graph::NodeId, DeferredKernel> deferred = {};  // choices that wait
  EpilogueFusion epilogues = EpilogueFusion::estimate;
  bool defer_all = false;  // measured: a choice waits for all that joins the kernel, not for the first alone
  std::set<graph::NodeId> given = {};  // had their origins before the pass policy, from a plan
  KnownCosts& known_costs();
};

struct Pass {
  std::string_view name, summary;
  bool (*run)(graph::Graph&, PassContext&);  // false: failed, the reasons are in diag
  bool optional = false;                     // without it the program is another one that does the same
};
std::span<const Pass> pass_table();
bool is_pass(std::string_view name);
bool is_optional_pass(std::string_view name);

// What a plan says of a graph that has been through the passes up to this one.
graph::PlanHeader plan_header(const PassContext&, std::string_view after);

struct PassRecord {
  std::string name;
  double seconds = 0;
  bool changed = false;  // the text form differs; known only if dumps were asked for
  std::vector<std::pair<std::string, double>> steps = {};  // seconds of its parts, if it has any
};

struct PipelineOptions {
  std::string start_after;  // pass name: of a plan, passes up to this one have been run; map runs again
  std::string stop_after;   // pass name, empty: run all
  std::string dump_after;   // pass name, "all", "changed" or empty
  std::string dump_dir = ".";
  std::vector<std::string> without = {};  // optional passes that are left out
};
// Runs the passes in order, verifies the graph after each, and stops at the first that fails.
bool run_passes(graph::Graph&, PassContext&, const PipelineOptions&, std::vector<PassRecord>&);

// The passes (rows of the table; here for tests).
bool infer_shapes(graph::Graph&, PassContext&);
bool fuse_regions(graph::Graph&, PassContext&);
bool fold_constants(graph::Graph&, PassContext&);
bool canonicalise(graph::Graph&, PassContext&);
bool cut_in_shards(graph::Graph&, PassContext&);
bool decompose_compounds(graph::Graph&, PassContext&);
bool split_tables(graph::Graph&, PassContext&);
bool split_operators(graph::Graph&, PassContext&);
bool choose_origins(graph::Graph&, PassContext&);
bool cross_in_pieces(graph::Graph&, PassContext&);
bool judge_host(graph::Graph&, PassContext&);
bool fuse_rows(graph::Graph&, PassContext&);
bool fuse_elementwise(graph::Graph&, PassContext&);
bool finalise_choices(graph::Graph&, PassContext&);
bool map_to_fabric(graph::Graph&, PassContext&);
bool unroll_recurrences(graph::Graph&, PassContext&);

// Steps of a recurrence that can be unrolled; nothing: it is none.
std::optional<int64_t> steps_of_recurrence(const graph::Graph&, graph::NodeId);

// Where would this node run under the policy? handwritten or autogen with kernel and reason, or host.
graph::Assignment choose_origin(const graph::Graph&, graph::NodeId, Policy, const Fallbacks& = {});

}  // namespace cs::passes
