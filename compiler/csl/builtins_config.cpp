// Builtins of comptime blocks in tile programs: binding tasks, queues, local routes, exported symbols.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/csl/builtins.h"
#include "compiler/csl/warnings.h"
#include "runtime/support/workarounds.h"

namespace cs::csl {

// Where colors choose the queue and not the other way round, a queue may serve several colors, as programs up
// to SDK 1.4 have it. A receive names its color; in the engine every color keeps what arrived apart.
void shared_queue(Evaluator& e, SourceLoc where, int queue, int first, int color) {
  e.diag().warning(
      where,
      named("queue-shared", fmt::format("input queue {} serves color {} and color {}", queue, first, color)),
      "give each color a queue of its own: later SDKs demand it");
  const MirTile& tile = e.unit().tile;
  for (size_t i = 0; i < tile.queues.size() && i < tile.queue_locs.size(); ++i)
    if (!tile.queues[i].output && tile.queues[i].queue == queue && tile.queue_locs[i].valid())
      e.diag().note(tile.queue_locs[i], fmt::format("color {} is bound to it here", first));
}
namespace {

// @initialize_queue where DSDs alone have bound the queue: its color counts. True if that was so.
bool settle_queue(Evaluator& e, const QueueBinding& given, SourceLoc where) {
  Unit& u = e.unit();
  const auto presumed = u.presumed_queues.find(queue_key(given.output, given.queue));
  if (presumed == u.presumed_queues.end()) return false;
  for (size_t i = 0; i < u.tile.queues.size(); ++i) {
    QueueBinding& q = u.tile.queues[i];
    if (q.output != given.output || q.queue != given.queue) continue;
    if (q.color != given.color) presumed->second.push_back({u.tile.queue_locs[i], q.color});
    q = given;
    u.tile.queue_locs[i] = where;
  }
  for (const Unit::OtherColor& other : presumed->second)
    if (other.color != given.color)
      e.diag().warning(other.where,
                       named("queue-color", fmt::format("{} queue {} has color {}, this DSD names color {}",
                                                        given.output ? "output" : "input", given.queue,
                                                        given.color, other.color)),
                       "a program that uses the DSD stops there");
  u.presumed_queues.erase(presumed);
  return true;
}

// How the words of a wavelet become parameters.
bool task_args(Evaluator& e, const Type& t, TaskKind kind, SourceLoc where, TaskArgs& out) {
  const auto& p = t.params;
  bool good = true;
  for (const Type* param : p) good &= param->is_scalar();
  if (p.empty())
    out = TaskArgs::none;
  else if (p.size() == 1)
    out = p[0]->is_pair() ? TaskArgs::word : TaskArgs::half;
  else if (p.size() == 2)
    out = TaskArgs::half_and_index;
  good &= p.size() <= 2 && !(p.size() == 2 && (p[0]->is_pair() || p[1]->is_pair()));
  if (kind == TaskKind::local) good &= p.empty();
  if (kind == TaskKind::control) good &= out == TaskArgs::none || out == TaskArgs::half;
  if (good) return true;
  e.fail(where, fmt::format("a task of type '{}' cannot be bound here", t.name),
         kind == TaskKind::local     ? "a local task has no parameters"
         : kind == TaskKind::control ? "a control task has at most one parameter of 16 bits"
                                     : "a data task has one parameter of 32 bits, or one or two of 16 bits");
  return false;
}

Value bind(Evaluator& e, const ast::Builtin& n, TaskKind kind, TypeKind id_type) {
  const Value task = e.eval(n.args[0]);
  const Value id = e.eval_comptime(n.args[1], nullptr, "the task id");
  if (!task.ok() || !id.ok()) return {};
  if (!task.is(ValueKind::function) || !task.as<FunctionRef>().decl->is_task)
    return e.fail(n.args[0]->loc, fmt::format("a task is needed here, this is '{}'", task.type->name),
                  "declare it with 'task' instead of 'fn'");
  if (id.type->kind != id_type)
    return e.fail(
        n.args[1]->loc,
        fmt::format("@{} needs a '{}', this is '{}'", n.name, e.types().get(id_type)->name, id.type->name),
        fmt::format("@get_{}(…)", e.types().get(id_type)->name));
  MirTask t{.kind = kind, .id = uint8_t(id.i)};
  if (!task_args(e, *task.type, kind, n.args[0]->loc, t.args)) return {};
  for (const MirTask& other : e.unit().tile.tasks)
    if (other.kind == kind && other.id == t.id)
      return e.fail(n.loc, fmt::format("{} {} is bound to '{}' already", e.types().get(id_type)->name, t.id,
                                       e.unit().tile.functions[other.function].name));
  t.function = e.function_index(task.as<FunctionRef>(), {}, n.loc);
  e.unit().tile.tasks.push_back(t);
  return e.void_value();
}

Value bind_local_task(Evaluator& e, const ast::Builtin& n, const Type*) {
  return bind(e, n, TaskKind::local, TypeKind::local_task_id);
}
Value bind_data_task(Evaluator& e, const ast::Builtin& n, const Type*) {
  return bind(e, n, TaskKind::data, TypeKind::data_task_id);
}
Value bind_control_task(Evaluator& e, const ast::Builtin& n, const Type*) {
  return bind(e, n, TaskKind::control, TypeKind::control_task_id);
}

Value initialize_queue(Evaluator& e, const ast::Builtin& n, const Type*) {
  const Value queue = e.eval_comptime(n.args[0], nullptr, "the queue");
  if (!queue.ok()) return {};
  const bool output = queue.type->kind == TypeKind::output_queue;
  if (!output && queue.type->kind != TypeKind::input_queue)
    return e.fail(n.args[0]->loc, fmt::format("a queue is needed here, this is '{}'", queue.type->name),
                  "@get_input_queue(n) or @get_output_queue(n)");
  QueueBinding q{.output = output, .queue = uint8_t(queue.i)};
  bool has_color = false;
  if (n.args.size() > 1) {
    ConfigFields f(e, n.args[1]);
    if (const Value* c = f.find("color"); c && c->ok()) {
      if (!c->is(ValueKind::integer) || c->type->kind != TypeKind::color)
        return e.fail(f.where(), fmt::format("field 'color' needs a color, this is '{}'", c->type->name));
      q.color = uint8_t(c->i);
      has_color = true;
    }
    if (!read_priority(e, f, q.priority)) return {};
    int64_t table = -1;
    if (f.number("ctrl_table_id", 0, 63, table) && table >= 0) {
      if (output || !e.wse3()) return e.fail(f.where(), "field 'ctrl_table_id' is for input queues of WSE-3");
      e.unit().control_tables[int(queue.i)] = int(table);
    }
    if (!f.finish()) return {};
  }
  if (has_color && settle_queue(e, q, n.loc)) return e.void_value();
  if (!has_color) return q.priority ? e.fail(n.loc, "a queue with a priority needs a color") : e.void_value();
  for (const QueueBinding& other : e.unit().tile.queues)
    if (other.output == output && other.queue == q.queue && other.color != q.color) {
      if (!output && !e.machine().queues.data_task_on_queue) {
        shared_queue(e, n.loc, q.queue, other.color, q.color);
        return e.void_value();
      }
      e.fail(n.loc, fmt::format("{} queue {} is bound to color {} already", output ? "output" : "input",
                                q.queue, other.color));
      const size_t at = size_t(&other - e.unit().tile.queues.data());
      if (at < e.unit().tile.queue_locs.size() && e.unit().tile.queue_locs[at].valid())
        e.diag().note(e.unit().tile.queue_locs[at], "first here");
      return {};
    }
  const auto same = [&](const QueueBinding& o) { return o.output == output && o.queue == q.queue; };
  if (std::none_of(e.unit().tile.queues.begin(), e.unit().tile.queues.end(), same)) {
    e.unit().tile.queues.push_back(q);
    e.unit().tile.queue_locs.resize(e.unit().tile.queues.size());
    e.unit().tile.queue_locs.back() = n.loc;
  }
  return e.void_value();
}

Value set_local_color_config(Evaluator& e, const ast::Builtin& n, const Type*) {
  const Value color = e.eval_comptime(n.args[0], nullptr, "the color");
  const Value config = e.eval_comptime(n.args[1], nullptr, "the configuration");
  if (!color.ok() || !config.ok()) return {};
  if (color.type->kind != TypeKind::color)
    return e.fail(n.args[0]->loc, fmt::format("a color is needed here, this is '{}'", color.type->name));
  if (color.i >= e.machine().router.colors)
    return e.fail(n.args[0]->loc, fmt::format("color {} is not routable: the routers have {}",
                                              print_int(color.i), e.machine().router.colors));
  RouteConfig route;
  if (!read_route(e, config, n.args[1]->loc, route)) return {};
  if (!e.unit().tile.routes.emplace(uint8_t(color.i), route).second)
    return e.fail(n.loc, fmt::format("color {} is configured twice", print_int(color.i)));
  e.unit().tile.route_locs[uint8_t(color.i)] = n.loc;
  return e.void_value();
}

Value export_symbol(Evaluator& e, const ast::Builtin& n, const Type*) {
  const Value v = e.eval(n.args[0]);
  if (!v.ok()) return {};
  std::string name;
  if (n.args.size() > 1) {
    const Value given = e.eval_comptime(n.args[1], nullptr, "the name");
    if (!given.ok()) return {};
    if (!given.is(ValueKind::text)) return e.fail(n.args[1]->loc, "the name must be a string");
    name = given.text();
  } else if (const auto* id = ast::try_as<ast::Identifier>(n.args[0])) {
    name = id->name;
  } else if (const auto* f = ast::try_as<ast::Field>(n.args[0])) {
    name = f->name;
  } else {
    return e.fail(n.loc, "this has no name to export it by", "@export_symbol(value, \"name\")");
  }
  e.export_symbol(v, name, n.loc);
  return e.void_value();
}

// @host_stream(color, from_host) of <memcpy/memcpy>: the color as a stream between the host and this PE's ramp.
Value host_stream(Evaluator& e, const ast::Builtin& n, const Type*) {
  const Value color = e.eval_comptime(n.args[0], nullptr, "the color of the stream");
  const Value input = e.eval_comptime(n.args[1], nullptr, "the direction of the stream");
  if (!color.ok() || !input.ok()) return {};
  const int colors = e.machine().router.colors;
  if (!color.is(ValueKind::integer) || color.i < 0 || color.i >= colors)
    return e.fail(n.loc, fmt::format("a stream of <memcpy/get_params> needs the id of a color from 0 to {}, this is {}",
                                     colors - 1,
                                     color.is(ValueKind::integer) ? print_int(color.i) : color.type->name));
  MirTile& tile = e.unit().tile;
  const HostStream stream{uint8_t(color.i), input.truth()};
  if (std::find(tile.streams.begin(), tile.streams.end(), stream) != tile.streams.end()) return e.void_value();
  RouteConfig route;
  route.positions[0] = {true, port_bit(Port::ramp), port_bit(Port::ramp)};
  if (!tile.routes.emplace(stream.color, route).second)
    return e.fail(n.loc, fmt::format("color {} streams between host and PE and cannot have another route or stream",
                                     stream.color));
  tile.streams.push_back(stream);
  return e.void_value();
}

// The command stream of old programs: calls need no task here.
Value rpc(Evaluator& e, const ast::Builtin& n, const Type*) {
  e.eval_comptime(n.args[0], nullptr, "the task id");
  note_workaround(Workaround::csl_rpc);
  return e.void_value();
}

// WSE-3: control tasks get ids of their own. How long an entry of the table is decides nothing here; `stride` is how
// many entry points the tables of two ctrl_table_ids are apart.
Value set_control_task_table(Evaluator& e, const ast::Builtin& n, const Type*) {
  if (!e.wse3()) return e.fail(n.loc, fmt::format("{} has one table for all tasks", e.machine().name));
  if (e.unit().tile.separate_control) return e.fail(n.loc, "@set_control_task_table is called twice");
  e.unit().tile.separate_control = true;
  if (n.args.empty()) return e.void_value();
  ConfigFields f(e, n.args[0]);
  int64_t instructions = 4, stride = 1;
  f.number("instructions", 2, 8, instructions);
  f.number("stride", 1, 7, stride);
  if (f.good() && (instructions & (instructions - 1)) != 0)
    return e.fail(n.loc, fmt::format("field 'instructions' is 2, 4 or 8, this is {}", instructions));
  e.unit().control_stride = int(stride);
  return f.finish() ? e.void_value() : Value();
}

constexpr BuiltinRow kRows[] = {
    {"bind_local_task", 2, 2, Allowed::config, bind_local_task},
    {"bind_data_task", 2, 2, Allowed::config, bind_data_task},
    {"bind_control_task", 2, 2, Allowed::config, bind_control_task},
    {"initialize_queue", 1, 2, Allowed::config, initialize_queue},
    {"set_local_color_config", 2, 2, Allowed::config, set_local_color_config},
    {"export_symbol", 1, 2, Allowed::config, export_symbol},
    {"host_stream", 2, 2, Allowed::config, host_stream},
    {"set_control_task_table", 0, 1, Allowed::config, set_control_task_table},
    {"rpc", 1, 1, Allowed::config, rpc},
};

}  // namespace

bool read_priority(Evaluator& e, ConfigFields& f, uint8_t& out) {
  const Value* given = f.find("priority");
  if (!given || !given->ok()) return true;
  ConfigFields levels(e, *given, f.where());
  constexpr std::string_view kNames[] = {"", "low", "medium", "high"};
  for (uint8_t k = 1; k < 4; ++k)
    if (levels.flag(kNames[k])) out = k;
  return levels.finish();
}

void finish_queues(Evaluator& e) {
  Unit& u = e.unit();
  for (const auto& [key, others] : u.presumed_queues)
    for (const Unit::OtherColor& other : others) {
      const bool output = key < 0;
      const int queue = output ? -1 - key : key;
      int color = 0;
      for (const QueueBinding& q : u.tile.queues)
        if (q.output == output && q.queue == queue) color = q.color;
      const std::string what = fmt::format("{} queue {} is bound to color {}, this DSD names color {}",
                                           output ? "output" : "input", queue, color, other.color);
      if (other.is_root)
        e.diag().error(other.where, what, "@initialize_queue gives a queue its color");
      else
        e.diag().warning(other.where, named("queue-color", what), "@initialize_queue gives a queue its color");
    }
  for (const auto& [queue, table] : u.control_tables)
    u.tile.config.push_back({uint16_t(isa::kControlTable + queue), uint16_t(table * u.control_stride)});
}

std::span<const BuiltinRow> config_builtins() { return kRows; }

}  // namespace cs::csl
