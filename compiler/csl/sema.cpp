// analyse: the layout file first, then every tile program it names.
#include "compiler/csl/sema.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "compiler/algo/coloring.h"
#include "compiler/csl/builtins.h"
#include "compiler/csl/eval.h"
#include "compiler/csl/layout_result.h"
#include "compiler/csl/mir_memory.h"
#include "runtime/support/progress.h"

namespace cs::csl {
namespace {

// --params=name:value as values: integers, floats, true and false; anything else is a string.
Value parse_param(TypeTable& types, const std::string& text) {
  if (text == "true" || text == "false") return bool_value(types, text == "true");
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  const char *begin = text.data() + (hex ? 2 : 0), *end = text.data() + text.size();
  int64_t i = 0;
  if (auto [p, error] = std::from_chars(begin, end, i, hex ? 16 : 10); error == std::errc{} && p == end)
    return Value::integer(types.get(TypeKind::comptime_int), i);
  double d = 0;
  if (auto [p, error] = std::from_chars(text.data(), end, d); error == std::errc{} && p == end)
    return Value::floating(types.get(TypeKind::comptime_float), d);
  return text_value(types, text);
}

Value layout_params(TypeTable& types, const CslOptions& options) {
  Aggregate a;
  Names names;
  for (const auto& [name, value] : options.params) {
    names.push_back(name);
    a.items.push_back(parse_param(types, value));
  }
  if (names.empty()) return {};
  a.names = std::make_shared<Names>(std::move(names));
  return Value::with(types.get(TypeKind::comptime_struct), ValueKind::aggregate, std::move(a));
}

// The address of a variable in the frame becomes a value somewhere: all but the base of a load, store or DSR load.
bool has_addresses(const MirFunction& f) {
  const auto is_slot = [](const isa::Operand& o) { return o.kind == isa::OperandKind::slot; };
  for (const isa::Inst& inst : f.code) {
    const std::string_view form = isa::row(inst.op).form;
    for (size_t i = 0; i < form.size() && i < inst.args.size(); ++i)
      if (form[i] != 'M' && is_slot(inst.args[i])) return true;
  }
  return std::ranges::any_of(f.calls, [&](const MirCall& c) { return std::ranges::any_of(c.args, is_slot); });
}

// Whether the function around this call is done with its frame: nothing happens between the call and the
// return, and no pointer into the frame can be on its way.
bool is_last(const MirFunction& f, const MirCall& call) {
  if (has_addresses(f)) return false;
  size_t at = call.inst + 1;
  for (size_t steps = 0; at < f.code.size() && f.code[at].op == isa::Op::jmp && steps < f.code.size();
       ++steps)
    at = f.labels[size_t(f.code[at].args[0].value)];
  const bool returns = std::binary_search(f.rets.begin(), f.rets.end(), uint32_t(at));
  return returns && (f.result.kind == isa::OperandKind::none || f.result == call.result);
}

// Frames have fixed places, there is no stack. So functions that call each other in a circle may do so only
// as the last thing they do: the call becomes a jump, and the frame of the one that jumps is free.
void check_recursion(MirTile& tile, Diag& diag) {
  std::vector<algo::Edge> edges;
  const auto callee_of = [](const MirFunction& f, const MirCall& call) {
    const isa::Operand& target = f.code[call.inst].args[1];
    return target.kind == isa::OperandKind::function ? std::optional(size_t(target.value)) : std::nullopt;
  };
  for (size_t f = 0; f < tile.functions.size(); ++f)
    for (const MirCall& call : tile.functions[f].calls)
      if (auto callee = callee_of(tile.functions[f], call)) edges.emplace_back(f, *callee);
  const std::vector<int> circle = algo::strong_components(tile.functions.size(), edges);
  for (size_t f = 0; f < tile.functions.size(); ++f) {
    MirFunction& fn = tile.functions[f];
    for (MirCall& call : fn.calls) {
      const auto callee = callee_of(fn, call);
      if (!callee || circle[f] != circle[*callee]) continue;
      call.is_tail = is_last(fn, call);
      if (call.is_tail) continue;
      diag.error(fn.locs[call.inst],
                 fmt::format("'{}' calls '{}' again: recursion does not exist at run time", fn.name,
                             tile.functions[*callee].name),
                 "use a loop, or tasks; a call that is the last thing of its function is a jump and may come "
                 "back, if the "
                 "function has no arrays or variables with an address of its own");
      return;
    }
  }
}

// Tasks that are to start at cycle 0 must exist.
void check_activations(const Unit& unit, Diag& diag) {
  for (const auto& [id, where] : unit.activations) {
    const auto bound = [id = id](const MirTask& t) { return t.kind == TaskKind::local && t.id == id; };
    if (std::none_of(unit.tile.tasks.begin(), unit.tile.tasks.end(), bound))
      diag.error(where, fmt::format("@activate of id {}, to which no local task is bound", id),
                 "bind one: @bind_local_task(task, id)");
  }
}

bool build_tile(Session& session, LayoutState& layout, const LayoutState::TileKey& key, MirTile& out) {
  Unit unit;
  unit.tile.fp16 = session.options.fp16;
  unit.tile.name = key.name;
  if (const std::string params = print_params(key.params); !params.empty())
    unit.tile.name += " (" + params + ")";
  const size_t errors = session.diag.errors();
  {
    Evaluator e(session, unit, &layout);
    e.instantiate(key.source, key.params, key.loc);
    e.run_comptime_blocks();
    finish_fifos(e);
    finish_queues(e);
    finish_handlers(e);
    if (session.diag.errors() == errors) e.lower_functions();
    if (session.diag.errors() == errors) check_activations(unit, session.diag);
  }
  if (session.diag.errors() > errors) {
    session.diag.note(key.loc, fmt::format("for the tile program '{}'", unit.tile.name));
    return false;
  }
  for (auto* ids :
       {&unit.tile.blocked, &unit.tile.unblocked, &unit.tile.blocked_threads, &unit.tile.activated})
    std::sort(ids->begin(), ids->end());
  mir::drop_fixed_pointers(unit.tile);
  check_recursion(unit.tile, session.diag);
  out = std::move(unit.tile);
  return session.diag.errors() == errors;
}

}  // namespace

bool analyse(const CslOptions& options, const Machine& machine, ModuleLoader& loader, MirLayout& out,
             Diag& diag) {
  Session session{.options = options, .machine = machine, .loader = loader, .diag = diag};
  session.types.select(options.fp16);
  const LoadedModule* root = loader.load(options.layout, nullptr, {}, diag);
  if (!root) return false;
  LayoutState layout;
  layout.source = root;
  Unit unit;
  unit.is_layout = true;
  const size_t errors = diag.errors();
  {
    Evaluator e(session, unit, &layout);
    ModuleInstance* module = e.instantiate(root, layout_params(session.types, options), {});
    if (module && diag.errors() == errors) e.run_layout_block(*module);
  }
  if (diag.errors() > errors || session.stopped) return false;
  for (const LayoutState::TileKey& key : layout.tiles) {
    progress::part("csl", out.tiles.size(), 2 * layout.tiles.size());
    out.tiles.emplace_back();
    if (build_tile(session, layout, key, out.tiles.back())) continue;
    out.failed.push_back(key.name);
    if (diag.full() || session.stopped) return false;
  }
  out.width = layout.width;
  out.height = layout.height;
  out.tile_of_pe = std::move(layout.tile_of_pe);
  out.routes = merge_routes(layout, out.route_locs);
  out.exports = std::move(layout.exports);
  out.memcpy = unit.tile.memcpy;
  for (const MirTile& t : out.tiles) out.memcpy |= t.memcpy;
  return diag.errors() == errors;
}

// The one layout block of the file.
void Evaluator::run_layout_block(ModuleInstance& m) {
  const ast::Layout* found = nullptr;
  for (const ast::Decl* d : m.source->file->decls) {
    const auto* layout = ast::try_as<ast::Layout>(d);
    if (!layout) continue;
    if (found) {
      fail(layout->loc, "a file has one layout block");
      return;
    }
    found = layout;
  }
  if (!found) {
    diag().error_at(m.source->path, "there is no layout block",
                    "a program begins with layout { @set_rectangle(w, h); … }");
    return;
  }
  {
    FrameScope scope(*this, m, nullptr, {});
    exec_body(*found->body);
  }
  // If PEs run this very file, its comptime blocks are theirs.
  const bool is_code = std::any_of(layout_->tiles.begin(), layout_->tiles.end(),
                                   [&](const LayoutState::TileKey& t) { return t.source == m.source; });
  if (is_code) std::erase_if(unit_.comptime_blocks, [&](const auto& block) { return block.first == &m; });
  run_comptime_blocks();
  if (!layout_->has_rectangle && diag().ok())
    fail(found->loc, "the layout does not call @set_rectangle", "@set_rectangle(width, height)");
}

}  // namespace cs::csl
