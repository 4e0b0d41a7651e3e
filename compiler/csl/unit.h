// What the evaluator works on: a Session per compile, a Unit per tile program (and one for the layout), and
// the instances of modules in a unit.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/csl/ast.h"
#include "compiler/csl/color_configs.h"
#include "compiler/csl/emit.h"
#include "compiler/csl/sema.h"
#include "compiler/csl/types.h"
#include "compiler/csl/value.h"

namespace cs::csl {

// Facts about the body of a function that do not depend on the instance.
struct FunctionFacts {
  std::set<std::string_view> addressed;  // names in `&name…`: such locals live in memory
  int nodes = 0;                         // size of the body
  bool has_loop = false;
  bool configures = false;               // reads or writes configuration registers
};

// How often a name is written in a file, alone and after a dot.
struct NameUses {
  std::unordered_map<std::string_view, int> names, members;  // lookup only
};

struct Session {
  const CslOptions& options;
  const Machine& machine;
  ModuleLoader& loader;
  Diag& diag;
  TypeTable types;
  int64_t steps = 0;
  bool stopped = false;  // too many errors or steps: everything returns at once
  std::unordered_map<const ast::Function*, FunctionFacts> facts;  // lookup only
  std::unordered_map<const ast::File*, NameUses> uses;            // lookup only
  std::set<std::string, std::less<>> names;                       // of fields that no syntax tree holds
  std::string_view keep_name(std::string_view name) { return *names.emplace(name).first; }
};

// A declaration at file level in one module instance.
struct Entry {
  const ast::Decl* decl = nullptr;
  enum class State : uint8_t { untouched, busy, done } state = State::untouched;
  Value value;      // constant or parameter: its value; variable: its place
  int inlined = 0;  // functions: times the body was inlined
};

struct ModuleInstance {
  const LoadedModule* source = nullptr;
  Value params;
  std::string prefix;  // of names of its globals: "" for the tile file, else "time." …
  std::unordered_map<std::string_view, Entry> entries;
};

struct FunctionRef {
  const ast::Function* decl = nullptr;
  ModuleInstance* module = nullptr;
};

// A function waiting to be lowered: its parameters that are not passed at run time are bound here.
struct FunctionInstance {
  FunctionRef ref;
  std::vector<Value> bound;  // per parameter: a comptime value, or kind poison: passed
  uint32_t index = 0;        // in MirTile::functions
  bool is_task = false;
  bool done = false;
};

// What @export_symbol named: a variable (its place, also that of a pointer), a pointer, or a function.
struct SymbolOfHost {
  std::string name;
  Value value;
};

struct Unit {
  bool is_layout = false;
  MirTile tile;
  std::vector<std::unique_ptr<ModuleInstance>> modules;
  std::vector<std::pair<ModuleInstance*, const ast::ComptimeBlock*>> comptime_blocks;
  std::vector<FunctionInstance> functions;
  std::vector<std::pair<const Type*, Value>> global_info;  // per global: type and initial value
  std::unordered_map<std::string, uint32_t> constants;     // image and relocations -> global; lookup only
  std::unordered_map<std::string, int> prefixes;           // instances per module name; lookup only
  std::vector<SymbolOfHost> host_symbols;
  std::vector<std::pair<uint8_t, SourceLoc>> activations;  // @activate at comptime
  std::set<int> used_microthreads;                         // WSE-3: taken by explicit or automatic choice
  std::set<int> used_dsrs;                                 // numbers that the program asked for
  std::map<int, int> dsr_of_microthread;                   // where a file has fewer numbers than there are microthreads
  int next_microthread = 0;
  std::vector<std::pair<int, uint32_t>> automatic_microthreads;  // and the queues of the operation, a bit each
  // Tasks that FIFOs name before they are bound: index of the FIFO, on push or on pop, the task.
  struct FifoTask {
    size_t fifo = 0;
    bool push = false;
    Value task;
    SourceLoc loc;
  };
  std::vector<FifoTask> fifo_tasks;
  // Functions that task 29 calls: when the bit of the configuration register is set.
  struct Handler {
    uint16_t address = 0;
    int bit = 0;
    uint32_t function = 0;
    SourceLoc loc;
  };
  std::vector<Handler> handlers;
  // WSE-3: input queues whose control wavelets have a table of their own, and how far apart the tables are.
  std::map<int, int> control_tables;
  // Machines where a queue has one color, which @initialize_queue gives: queues that have their color from a DSD alone
  // so far, and the DSDs that name another one. By queue, outputs negative from -1 on.
  struct OtherColor {
    SourceLoc where;
    int color = 0;
    bool is_root = false;  // in the tile program's own file
  };
  std::map<int, std::vector<OtherColor>> presumed_queues;
  int control_stride = 1;
};

// What the layout block said, before tile programs are made.
struct LayoutState {
  struct TileKey {
    const LoadedModule* source = nullptr;
    std::string name;  // as written
    Value params;
    SourceLoc loc;
  };
  const LoadedModule* source = nullptr;  // the layout's file, which may hold the code of PEs as well
  bool memcpy = false;                   // something imported <memcpy/…>
  bool has_rectangle = false;
  int width = 0, height = 0;
  std::vector<TileKey> tiles;
  std::unordered_map<size_t, std::vector<uint32_t>> tile_index;  // hash -> tiles; lookup only
  std::vector<uint32_t> tile_of_pe;
  std::vector<RouteConfig> configs;
  std::vector<SourceLoc> config_locs;  // where each was first given
  std::unordered_map<std::string, uint32_t> config_index;  // bytes of a config -> its number
  // What was read before: structures and file names repeat for thousands of PEs. Lookup only.
  std::unordered_map<size_t, std::pair<Value, uint32_t>> known_configs;
  KnownConfigs known;
  std::unordered_map<std::string, const LoadedModule*> known_files;
  std::vector<std::vector<uint32_t>> config_of_pe;  // by color, empty if unused; ~0u: none
  std::vector<ExportedName> exports;
  std::vector<std::string> export_types;  // as written there, by export
};

}  // namespace cs::csl
