// Walks: what leaves is what came, in another order, or the largest elements of windows: transposes, slices,
// concats, max poolings without a border. One PE holds a whole sample; the walk is read off the loops of the
// operator.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/kernels/match_parts.h"
#include "compiler/kernels/role_parts.h"

namespace cs::kernels {

namespace {

// Of walk.csl: streams, and places of a window, each of which is an instruction of its own.
constexpr int kMostOperands = 4, kMostPlaces = 25;

// Larger samples have one array instead of two: about half of the memory of a PE.
constexpr int64_t kMostTwice = 24 * 1024;
bool alternates(const Work& work) { return 8 * work.n * work.operands <= kMostTwice; }

// Axes of one loop as few: neighbours over which one step leads on.
struct Axis {
  int64_t extent = 1, out = 0, in = 0;
};
std::vector<Axis> merged_axes(const ops::LoopStatement& s) {
  std::vector<Axis> list;
  for (size_t k = 0; k < s.extents.size(); ++k) {
    const Axis axis{s.extents[k], s.out.strides[k], s.loads[0].strides[k]};
    if (axis.extent == 1) continue;
    if (!list.empty() && list.back().out == axis.out * axis.extent && list.back().in == axis.in * axis.extent)
      list.back() = {list.back().extent * axis.extent, axis.out, axis.in};
    else
      list.push_back(axis);
  }
  return list;
}

// The loops of an operator: one statement that copies, or one that compares with the lowest value, which
// another one has put there.
const ops::LoopStatement* only_move(const ops::LoopProgram& p) {
  if (p.blocks.size() != 1 || p.blocks[0].steps != 1) return nullptr;
  const std::vector<ops::LoopStatement>& list = p.blocks[0].statements;
  const bool windows = list.size() == 2 && list[0].loads.empty() && list[1].combine == ops::Combine::max;
  const bool copies = list.size() == 1 && list[0].combine == ops::Combine::assign;
  if (!windows && !copies) return nullptr;
  const ops::LoopStatement& move = list.back();
  const bool plain = move.loads.size() == 1 && move.loads[0].index < 0 && move.loads[0].buffer == 0 &&
                     move.out.index < 0 && move.out.offset == 0;
  const bool as_it_is = move.value.nodes.size() == 1 && move.value.nodes[0].kind == ops::ExprKind::input;
  return plain && as_it_is ? &move : nullptr;
}

// Nothing if the result is not written in C order or there are more loops than a descriptor has.
std::optional<Walk> walk_of(const ops::LoopStatement& move) {
  Walk walk;
  size_t outer = 0, inside = 0;
  std::vector<Axis> axes = merged_axes(move), order;
  for (const Axis& a : axes) {
    if (a.out != 0) {
      order.push_back(a);
    } else if (inside == walk.windows.size()) {
      return std::nullopt;
    } else {
      walk.windows[inside] = int(a.extent);
      walk.window_strides[inside++] = int(a.in);
    }
  }
  int64_t step = 1;
  for (size_t k = order.size(); k-- > 0; step *= order[k].extent)
    if (order[k].out != step) return std::nullopt;
  if (order.size() > walk.extents.size()) return std::nullopt;
  outer = walk.extents.size() - order.size();
  for (size_t k = 0; k < order.size(); ++k) {
    walk.extents[outer + k] = int(order[k].extent);
    walk.strides[outer + k] = int(order[k].in);
  }
  walk.offset = int(move.loads[0].offset);
  return walk.places() <= kMostPlaces ? std::optional(walk) : std::nullopt;
}

template <size_t N>
std::string array(const char* type, const std::array<int, N>& list) {
  std::string text;
  for (int value : list) text += fmt::format("{}{}", text.empty() ? "" : ", ", value);
  return fmt::format("[{}]{}{{ {} }}", N, type, text);
}

class Walks final : public Kind {
 public:
  std::string_view name() const override { return "walk"; }

  std::span<const Row> library() const override {
    static const Row list[] = {
        {"transpose", "walk.csl", this, {"transpose"}, "dimensions in another order, on one PE"},
        {"slice", "walk.csl", this, {"slice"}, "a part of a tensor, on one PE"},
        {"depth_to_space",
         "walk.csl",
         this,
         {"depth_to_space", "space_to_depth"},
         "blocks of a picture as channels and back, on one PE"},
        {"concat", "walk.csl", this, {"concat"}, "up to four streams of one size side by side, on one PE"},
        {"max_pool", "walk.csl", this, {"max_pool"}, "the largest elements of windows, on one PE"}};
    return list;
  }

  // ---- match

  bool takes(const graph::Graph& g, graph::NodeId id) const override {
    return row_of(g.node(id).op) != nullptr;
  }

  std::optional<Work> match(const graph::Graph& g, graph::NodeId id, std::string& why) const override {
    const graph::Node& node = g.node(id);
    Work work;
    work.kind = this;
    work.n = operand(g, node, 0).type.elements();
    work.m = g.value(node.outputs[0]).type.elements();
    if (!streams_fit(g, node, work, why)) return std::nullopt;
    const std::optional<Walk> walk = node.op == "concat" ? side_by_side(g, id) : from_loops(g, id, why);
    if (!walk) {
      if (why.empty())
        why = fmt::format(
            "the library's {} takes at most four nested loops, windows of {} elements and no border", node.op,
            kMostPlaces);
      return std::nullopt;
    }
    work.walk = *walk;
    work.flops_per_element = double(g.flops(id)) / double(std::max<int64_t>(1, work.m));
    return work;
  }

  // Streams may be in 16 bits.
  const Row* choose(const graph::Graph& g, graph::NodeId id, std::string& why) const override {
    return work_of(g, id, why) ? row_of(g.node(id).op) : nullptr;
  }

  bool may_become_region() const override { return true; }

  // ---- footprints

  bool several_columns() const override { return false; }

  // ---- costs of streamed operands

  PeCycles pe_cycles(const Work& work, const Cut&, const Machine& m) const override {
    const double places = work.walk.places(), elements = double(work.m);
    PeCycles c{elements, m.core.task_start_cycles + 8 + vector_cycles(0, 1, m)};
    if (places > 1) {
      c.busy += elements / rate("fmovs", 1, m) + (places - 1) * elements / rate("fmaxs", 2, m);
      c.free += places * vector_cycles(0, 1, m);
    }
    return c;
  }

  double words_kept(const Work& work, const Cut&) const override { return double(work.n) * work.operands; }

  void add_memory(const Work& work, const Cut&, Memory& memory) const override {
    add_user(memory, "input buffers", (alternates(work) ? 8 : 4) * work.n * work.operands);
    add_user(memory, "largest elements", work.walk.places() > 1 ? 4 * work.m : 0);
  }

  // ---- text

  void fill(const graph::Graph& g, const graph::Group& group, const Machine&, Choice& choice) const override {
    const graph::Node& node = g.node(group.nodes.front());
    choice.row = row_of(node.op);
    choice.kernel = choice.row->name;
    choice.operands.clear();
    for (graph::ValueId v : node.inputs)
      if (v.valid() && !g.value(v).is_constant()) choice.operands.push_back(graph::source_of(g, v));
  }

  void write_roles(const Choice& choice, const Setting& at, InstanceRoles& out) const override {
    const Work& work = choice.work;
    ModuleUse use{"walk.csl", "kernel", {}, {}};
    for (int k = 0; k < work.operands; ++k) {
      use.needs.push_back(queue(false, fmt::format("x{}", k), at.arriving[size_t(k)]));
      use.needs.push_back({Resource::local_task, fmt::format("arrived{}", k), -1, -1});
    }
    use.needs.push_back(queue(true, "y", at.out));
    add_tasks(use, {"passed", "start"});
    const int64_t kept = work.operands > 1 ? work.n : work.walk.needed();
    use.parameters = {{"n", number(kept)},
                      {"rest", number(work.n - kept)},
                      {"m", number(work.m)},
                      {"operands", number(work.operands)},
                      {"extents", array("u16", work.walk.extents)},
                      {"strides", array("i16", work.walk.strides)},
                      {"offset", number(work.walk.offset)},
                      {"windows", array("i16", work.walk.windows)},
                      {"window_strides", array("i16", work.walk.window_strides)},
                      {"alternate", flag(alternates(work))},
                      {"half", flag(work.half)}};
    single_role(choice, at, use, out);
    out.roles.back().what = fmt::format("{}: {}", choice.title, sharding(work, at.cut));
  }

  std::string sharding(const Work& work, const Cut&) const override {
    return fmt::format("{} elements on one PE", work.n * work.operands);
  }

  // ---- bound

  int64_t flops(const Work& work) const override { return int64_t(double(work.m) * work.flops_per_element); }

 private:
  const Row* row_of(std::string_view op) const {
    for (const Row& row : library())
      if (std::find(row.ops.begin(), row.ops.end(), op) != row.ops.end()) return &row;
    return nullptr;
  }

  // One stream; of a concat all operands, each once and of one size.
  static bool streams_fit(const graph::Graph& g, const graph::Node& node, Work& work, std::string& why) {
    std::vector<graph::ValueId> streams;
    for (graph::ValueId v : node.inputs) {
      if (!v.valid() || (node.op != "concat" && v != node.inputs[0])) continue;
      const graph::ValueId source = graph::source_of(g, v);
      const bool again = std::find(streams.begin(), streams.end(), source) != streams.end();
      if (g.value(v).is_constant() || again || g.value(v).type.elements() != work.n) {
        why = fmt::format("the library's {} takes streams of one size, each once", node.op);
        return false;
      }
      streams.push_back(source);
    }
    work.operands = int(streams.size());
    if (work.operands <= kMostOperands) return true;
    why = fmt::format("the library's {} takes {} streams, it has {}", node.op, kMostOperands, work.operands);
    return false;
  }

  // The operands lie behind each other: a row of each, then the next rows.
  static std::optional<Walk> side_by_side(const graph::Graph& g, graph::NodeId id) {
    const graph::Node& node = g.node(id);
    const ops::Shape& shape = operand(g, node, 0).type.shape;
    const int64_t n = operand(g, node, 0).type.elements();
    int64_t axis = ops::attr_int(g.op(id), node.attrs, "axis"), rows = 1;
    if (axis < 0) axis += int64_t(shape.size());
    for (int64_t d = 0; d < axis; ++d) rows *= shape[size_t(d)];
    Walk walk;
    walk.extents = {1, int(rows), int(node.inputs.size()), int(n / rows)};
    walk.strides = {0, int(n / rows), int(n), 1};
    return walk;
  }

  static std::optional<Walk> from_loops(const graph::Graph& g, graph::NodeId id, std::string& why) {
    const graph::Node& node = g.node(id);
    const std::vector<ops::TensorType> result = {g.value(node.outputs[0]).type};
    ops::LoopProgram loops;
    if (!ops::loops_of(g.op(id), node.attrs, g.input_types(id), result, loops, why, g.input_values(id)))
      return std::nullopt;
    const ops::LoopStatement* move = only_move(loops);
    return move != nullptr ? walk_of(*move) : std::nullopt;
  }
};

}  // namespace

int Walk::needed() const {
  int last = offset;
  for (size_t k = 0; k < extents.size(); ++k) last += (extents[k] - 1) * std::max(0, strides[k]);
  for (size_t k = 0; k < windows.size(); ++k) last += (windows[k] - 1) * std::max(0, window_strides[k]);
  return last + 1;
}

const Kind* walk_kind() {
  static const Walks kind;
  return &kind;
}

}  // namespace cs::kernels
