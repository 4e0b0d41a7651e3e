// One object per kind of kernel: all that the compiler knows of it. A kind reads the numbers of a node
// (match), says how its work is cut for a rectangle, what that needs there (footprint, bytes, cycles) and
// what bounds it. Sizing, placing and routing know footprints and ports, and ask no kernel who it is.
//
// The library's kernels are rows of their kind; one file per kind defines it, its .csl or its generator lies
// beside it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/kernels/cost_parts.h"
#include "compiler/kernels/kernels.h"
#include "compiler/kernels/measured.h"
#include "compiler/kernels/skew.h"
#include "runtime/support/diag.h"

namespace cs::kernels {

// How the words of a port and the PEs of a rectangle find each other.
enum class Distribution : uint8_t {
  whole,     // one PE takes or sends all of them
  slices,    // of columns: operands are handed out by a feeder, results leave by PEs in turn
  selected,  // PEs listen to all words and take theirs; results leave in turns
};
// Where a value crosses the edge of a rectangle: at the west side operands, at the south-east corner results.
struct Port {
  Distribution distribution = Distribution::whole;
  int shards = 1;      // streams that carry a part of the value each
  int dimension = 0;   // that is cut over the shards; the others follow in C order
  bool turns = false;  // results: several PEs send one after the other, with control wavelets between them
  bool down = false;   // they stand below each other, else side by side
};
// What stands on a rectangle and beside it.
struct Footprint {
  std::vector<Port> in, out;
  int feeders = 0, collectors = 0;  // columns west and east of the rectangle
  bool by_rows = false;             // feeders, a column for each operand, and collectors on every row
  bool partial_sums = false;        // pass from column to column, on every row
  bool sums_west = false;           // they pass from east to west
  bool sums_back = false;           // and from the last column back to the first one
  bool snake = false;               // all words pass from PE to PE, as snake_at() says
};
// PE i of a snake: down the first column, up the next one, … It ends in the south-east corner where there is one row or
// an odd number of columns.
Coord snake_at(const Rect&, int i);

struct Choice;         // choice.h
struct Setting;        // choice.h
struct PackedPart;     // choice.h
struct Exported;       // choice.h
class Layout;          // choice.h
struct ResidentArrays;  // choice.h
struct ResidentText;   // choice.h
struct InstanceRoles;  // roles.h
struct Role;           // roles.h

// What a kind is told of a group that it takes.
struct Taking {
  const Machine& machine;
  std::function<std::vector<graph::NodeId>(graph::NodeId)> group_of;  // the nodes of the kernel that a node is in
  std::vector<const graph::State*> states;                           // that its PEs keep
};
// Says that a node cannot be placed, and is false.
bool refuse(const graph::Graph&, graph::NodeId, const std::string& why, Diag&);

class Kind {
 public:
  Kind() = default;
  Kind(const Kind&) = delete;
  Kind& operator=(const Kind&) = delete;
  virtual ~Kind() = default;
  virtual std::string_view name() const = 0;
  // The library's kernels of this kind.
  virtual std::span<const Row> library() const { return {}; }
  // The printed name of the kernels that are generated of this kind for streams; empty if none are.
  virtual std::string_view generated() const { return {}; }

  // ---- match
  // The numbers of a node; nothing with the reason if it is not of this kind or too irregular.
  virtual bool takes(const graph::Graph&, graph::NodeId) const { return false; }
  virtual std::optional<Work> match(const graph::Graph&, graph::NodeId, std::string& why) const;
  // Operands may be integers, of which match() then asks.
  virtual bool reads_numbers() const { return false; }
  // And so may results.
  virtual bool makes_numbers() const { return false; }
  // The library's kernel for a node with one of its operators.
  virtual const Row* choose(const graph::Graph&, graph::NodeId, std::string& why) const;
  // The choice for a group that is assigned to this kind: its numbers, operands, results and constants. False with an
  // error if it is none.
  virtual bool take(const graph::Graph&, const graph::Group&, const Taking&, Choice&, Diag&) const;
  // The row of the library that stands for all operators of the kind where kernels are compared; null: none does.
  virtual const Row* stand_in() const { return nullptr; }
  // What the nodes of a group, whose first one was matched, add to its work: a chain or an epilogue, the costs
  // of the library's kernel. As fill() leaves it, without constants.
  virtual void add_nodes(const graph::Graph&, std::span<const graph::NodeId>, const Machine&, Work&) const {}
  // Cycles per sample of the library's kernel beyond the estimate, which it shares with the generated one.
  virtual double library_cycles(const Work&, bool /*several_pes*/) const { return 0; }
  // The library's kernels are modules in what is generated: a node of either is assigned to the latter.
  virtual bool generated_layout() const { return false; }
  // Made from the loops of any nodes together; and kernels that may become such ones where they do not fit.
  virtual bool from_loops() const { return false; }
  virtual bool may_become_region() const { return false; }
  // The generator writes a group whole: no epilogue joins it, and its operators by hand are kernels one after
  // the other.
  virtual bool writes_groups() const { return false; }
  // Why its operators and a reduction are no kernel together; empty if they may be one.
  virtual std::string_view apart_from_reductions() const { return {}; }
  // PEs keep what goes on from one sample to the next.
  virtual bool keeps_states() const { return false; }
  // The numbers of a group, without its constants; nothing with the reason if it is none of this kind.
  virtual std::optional<Work> work_of_group(const graph::Graph&, std::span<const graph::NodeId>, const Machine&,
                                            std::string& why) const;

  // ---- footprints
  virtual bool several_rows() const { return false; }  // rectangles, not only rows of PEs
  virtual bool several_columns() const { return true; }
  virtual bool rounds() const { return false; }       // a sample may be computed in rounds (Work::in_rounds)
  virtual bool same_slices() const { return false; }  // results are cut as operands are
  virtual Footprint footprint(const Work&, const Cut&) const;
  // Words of a sample of operand k.
  virtual int64_t operand_words(const Choice&, int k) const;
  // Turns of a sample in which PEs send a result, if they do so in turns.
  virtual int64_t turns(const Choice&, const Cut&, int result) const;
  // Passes words as they come, so that a sample is what its stream brings.
  virtual bool passes_any() const { return false; }
  virtual Skew skew(const Choice&, const Plan&, const Layout*) const;
  // The plans of kinds whose work is not cut by its numbers alone; nothing: rectangles are tried (plan_kernel). Of a
  // size that is forced, just that.
  virtual std::optional<std::vector<Plan>> plans(const Choice&, const Extent& /*limit*/, const Extent& /*forced*/,
                                                 const Costing&) const {
    return std::nullopt;
  }
  // Choices with equal work have the same plans.
  virtual bool plans_alike(const Choice&, const Choice&) const { return true; }
  // The plan again, by what the slowest PE's code takes.
  virtual Plan plan_by_walk(const Choice&, const Cut&, const PeRound&, const Costing&) const;
  // Of its results only these are taken; what nobody takes need not leave the PEs.
  virtual void keep_results(const std::set<graph::ValueId>&, Choice&) const {}

  // ---- costs of streamed operands
  virtual PeCycles pe_cycles(const Work&, const Cut&, const Machine&) const { return {}; }
  // Another cut on the same rectangle, where columns have more to do than their part of the elements.
  virtual void balance(const Work&, const Machine&, Cut&) const {}
  // Words that a PE keeps of a sample's streams.
  virtual double words_kept(const Work&, const Cut&) const { return 0; }
  // The last row of a sample, from its first word in to its last word out.
  virtual double last_row_cycles(const Work&, const Cut&, double feed, double pe, const Machine&) const {
    return feed + pe;
  }
  virtual void add_memory(const Work&, const Cut&, Memory& memory) const {
    add_user(memory, "input buffers", 4);
  }

  // ---- costs of resident operands
  virtual bool has_resident_form() const { return false; }
  // The choice for a group of nodes that only this form computes; nothing if it is none, with the reason if
  // it nearly is.
  virtual bool take_resident(const graph::Graph&, const graph::Group&, const Machine&, Choice&,
                             std::string&) const {
    return false;
  }
  // What of the choice depends on the rectangle that it got.
  virtual void settle_resident(const Cut&, Choice&) const {}
  // What lies where: slices of operands and constants, the result in the place of the first operand.
  virtual ResidentArrays resident_arrays(const Choice&, const Cut&) const;
  virtual ResidentText write_resident(const Choice&, const Setting&) const;
  virtual std::string resident_sharding(const Work&, const Cut&) const;
  virtual std::optional<Cut> cut_resident(const Work&, int, int, const Machine&) const {
    return std::nullopt;
  }
  // Which rectangles there are a cut for; empty if for all that are not too small.
  virtual std::string resident_limits(const Work&) const { return {}; }
  virtual void add_resident_memory(const Work&, const Cut&, Memory&) const {}
  virtual double launch_cycles(const Work&, const Cut&, const Machine&) const { return 0; }
  // Elements of the operands and of the result on a PE.
  virtual double resident_words(const Work&, const Cut&) const;

  // ---- text
  // Fills what this kind adds to a choice whose nodes, work, operands and results are known.
  virtual void fill(const graph::Graph&, const graph::Group&, const Machine&, Choice&) const {}
  // The roles of the rectangle, feeders apart, and generated modules.
  virtual void write_roles(const Choice&, const Setting&, InstanceRoles&) const {}
  // The PE, there, that hands out operand k (Footprint::feeders).
  virtual Role feeder(const Choice&, const Setting&, int k, Coord there) const;
  // Bytes that a PE has for what passes from PE to PE: reserved by the plan before anything is placed, and what the
  // cut that was placed takes.
  struct Handed {
    int64_t reserved = 0, taken = 0;
  };
  virtual std::optional<Handed> handed(const Choice&, const Cut&) const { return std::nullopt; }
  // Constants as PEs hold them.
  virtual std::vector<PackedPart> pack(const Choice&, const Cut&, const Layout*) const;
  // What differs from PE to PE beyond its role, once the rectangle is known; null if nothing does.
  virtual std::shared_ptr<const Layout> lay_out(const Choice&, const Cut&) const { return nullptr; }
  // Arrays whose names the host may use.
  virtual std::vector<Exported> exported(const Choice&, const Layout*) const;
  // How the work is cut, in words.
  virtual std::string sharding(const Work&, const Cut&) const;

  // ---- bound
  virtual int64_t flops(const Work&) const { return 0; }
  // Constants that a row of the work reads.
  virtual double constant_words(const Work& work) const { return double(work.constants) * double(work.m); }
  // Cycles of one PE for all operations of a sample, each by the fastest instruction that does it
  // (decisions/0009); 0 for multiply-adds, which run at the peak.
  virtual double least_cycles(const Work&, const Machine&) const { return 0; }

 protected:
  // Of a kernel that takes a whole sample and sends its result in so many parts.
  Skew whole_samples(const Choice&, const Plan&, int64_t parts_sent) const;
};
// In the order of the library's table.
std::span<const Kind* const> kinds();

// ---- what assignments name
// A kernel of the library, or what is generated of a kind; neither of the host and of names that are not known.
struct KernelRef {
  const Kind* kind = nullptr;
  const Row* row = nullptr;
};
KernelRef kernel_of(graph::KernelId);
KernelRef kernel_of(const graph::Graph&, graph::NodeId);
graph::KernelId generated_id(const Kind&);
// Of a node that a row of the library computes.
graph::KernelId library_id(const Row&);
// What the kind of the first of these nodes says of them.
bool from_loops(const graph::Graph&, graph::NodeId);
bool writes_groups(const graph::Graph&, graph::NodeId);
std::optional<Work> work_of_group(const graph::Graph&, std::span<const graph::NodeId>, const Machine&,
                                  std::string& why);
bool take_group(const graph::Graph&, const graph::Group&, const Taking&, Choice&, Diag&);

// The kind of which a kernel can be generated for this one node (autogen/autogen.h); null with the reason if there is
// none.
const Kind* generator_for(const graph::Graph&, graph::NodeId, std::string& why);
// The library's row that stands for a node of any operator of a kind; null if none does.
const Row* stand_in_for(const graph::Graph&, graph::NodeId);

}  // namespace cs::kernels
