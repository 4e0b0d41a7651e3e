// What is asked of the nodes around a tensor, and where its pieces lie.
#include "compiler/graph/pieces.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

namespace cs::graph {

namespace {

int64_t product(const ops::Shape& shape, size_t first, size_t end) {
  int64_t n = 1;
  for (size_t d = first; d < end; ++d) n *= shape[d];
  return n;
}

std::optional<size_t> axis_of(int64_t axis, int64_t rank) {
  if (axis < 0) axis += rank;
  return axis >= 0 && axis < rank ? std::optional(size_t(axis)) : std::nullopt;
}

std::optional<size_t> axis_attribute(const Graph& g, NodeId id) {
  const Node& n = g.node(id);
  return axis_of(ops::attr_int(g.op(id), n.attrs, "axis"), g.value(n.inputs[0]).type.rank());
}

// Along one dimension of the operand, with step 1.
struct Range {
  size_t axis = 0;
  int64_t first = 0, count = 0;
};

std::optional<Range> range_of_slice(const Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const ops::Shape &x = g.value(n.inputs[0]).type.shape, &y = g.value(n.outputs[0]).type.shape;
  const auto list = [&](const char* name) { return ops::attr_ints(g.op(id), n.attrs, name); };
  const std::vector<int64_t> starts = list("starts"), steps = list("steps");
  std::vector<int64_t> axes = list("axes");
  for (size_t k = axes.size(); k < starts.size(); ++k) axes.push_back(int64_t(k));
  std::optional<Range> range;
  for (size_t k = 0; k < starts.size(); ++k) {
    const auto axis = axis_of(axes[k], int64_t(x.size()));
    if (!axis || (!steps.empty() && steps[k] != 1)) return std::nullopt;
    const int64_t extent = x[*axis], count = y[*axis];
    if (count == extent) continue;
    if (range) return std::nullopt;  // of several dimensions
    range =
        Range{*axis, std::clamp<int64_t>(starts[k] < 0 ? starts[k] + extent : starts[k], 0, extent), count};
  }
  return range;
}

std::optional<Range> range_of_split(const Graph& g, NodeId id, int result) {
  const auto axis = axis_attribute(g, id);
  if (!axis) return std::nullopt;
  Range range{*axis};
  for (int k = 0; k <= result; ++k) {
    range.first += range.count;
    range.count = g.value(g.node(id).outputs[size_t(k)]).type.shape[*axis];
  }
  return range;
}

std::optional<Range> range_of_gather(const Graph& g, NodeId id) {
  const auto axis = axis_attribute(g, id);
  const ops::Tensor* places = g.constant_of(g.node(id).inputs[1]);
  if (!axis || places == nullptr || places->elements() == 0) return std::nullopt;
  const int64_t extent = g.value(g.node(id).inputs[0]).type.shape[*axis];
  const auto place = [&](int64_t k) { return int64_t(places->get(k)) + (places->get(k) < 0 ? extent : 0); };
  for (int64_t k = 1; k < places->elements(); ++k)
    if (place(k) != place(0) + k) return std::nullopt;
  return Range{*axis, place(0), places->elements()};
}

// Of a result of the node that takes this value.
std::optional<Range> range_of(const Graph& g, NodeId id, ValueId taken, int result) {
  const Node& n = g.node(id);
  if (std::count(n.inputs.begin(), n.inputs.end(), taken) != 1 || n.inputs[0] != taken) return std::nullopt;
  if (n.op == "slice") return range_of_slice(g, id);
  if (n.op == "split") return range_of_split(g, id, result);
  if (n.op == "gather") return range_of_gather(g, id);
  return std::nullopt;
}

bool on_wafer(const Graph& g, NodeId id) {
  const auto& origin = g.node(id).assignment.origin;
  return origin && *origin != Origin::host;
}

// Every node that takes the value behind views; false if one says no, or the model gives it.
bool every_user(const Graph& g, ValueId v, const std::function<bool(NodeId, ValueId)>& judge) {
  if (g.value(v).is_output) return false;
  const std::vector<NodeId>& users = g.value(v).users;
  return std::all_of(users.begin(), users.end(), [&](NodeId user) {
    return is_transparent(g, user) ? every_user(g, g.node(user).outputs[0], judge) : judge(user, v);
  });
}

// Whether the model gives the value, behind views, and nothing else takes it.
bool only_given(const Graph& g, ValueId v, bool& given) {
  if (g.value(v).is_output) given = given || g.state_of_output(g.value(v).name) == nullptr;
  if (g.value(v).is_output && g.state_of_output(g.value(v).name) != nullptr) return false;
  const std::vector<NodeId>& users = g.value(v).users;
  return std::all_of(users.begin(), users.end(), [&](NodeId user) {
    return is_transparent(g, user) && only_given(g, g.node(user).outputs[0], given);
  });
}

class Cutter {
 public:
  Cutter(const Graph& g, std::string& why) : g_(g), why_(why) {}

  std::optional<InPieces> run(ValueId input) {
    if (!every_user(g_, input, [&](NodeId user, ValueId v) { return add(user, v); })) {
      if (why_.empty()) why_ = "the model gives it too";
      return std::nullopt;
    }
    if (in_.pieces.empty()) return none("nothing takes it");
    in_.blocks = g_.value(input).type.elements() / in_.stride;
    std::stable_sort(in_.pieces.begin(), in_.pieces.end(),
                     [](const ValuePiece& a, const ValuePiece& b) { return a.first < b.first; });
    for (size_t k = 1; k < in_.pieces.size(); ++k)
      if (in_.pieces[k].first < in_.pieces[k - 1].first + in_.pieces[k - 1].length)
        return none("what is taken of it overlaps");
    return std::move(in_);
  }

 private:
  std::nullopt_t none(std::string why) {
    why_ = std::move(why);
    return std::nullopt;
  }
  bool refuse(std::string why) {
    why_ = std::move(why);
    return false;
  }

  bool add(NodeId user, ValueId v) {
    const Node& n = g_.node(user);
    if (std::find(in_.nodes.begin(), in_.nodes.end(), user) != in_.nodes.end()) return true;
    // On the host it would be for want of a kernel (with so many results, say): pieces need none.
    if (!n.assignment.origin || !n.assignment.group.empty())
      return refuse(fmt::format("{} takes it, which is no kernel of its own", n.name));
    for (size_t k = 0; k < n.outputs.size(); ++k) {
      const auto range = range_of(g_, user, v, int(k));
      if (!range) return refuse(fmt::format("{} takes it by more than a range of one dimension", n.name));
      if (g_.value(n.outputs[k]).users.empty() && !g_.value(n.outputs[k]).is_output) continue;
      const auto by_kernel = [&](NodeId id, ValueId) { return on_wafer(g_, id); };
      if (!every_user(g_, n.outputs[k], by_kernel))
        return refuse(fmt::format("what {} takes of it is used beside the wafer", n.name));
      if (!add_piece(n.outputs[k], *range, g_.value(v).type.shape))
        return refuse("it is taken in blocks of different sizes");
    }
    in_.nodes.push_back(user);
    return true;
  }

  bool add_piece(ValueId value, const Range& range, const ops::Shape& shape) {
    const int64_t inner = product(shape, range.axis + 1, shape.size()), stride = shape[range.axis] * inner;
    if (range.count * inner == 0 || (in_.stride != 0 && in_.stride != stride)) return false;
    in_.stride = stride;
    const ValuePiece piece{value, range.first * inner, range.count * inner, {}};
    for (ValuePiece& p : in_.pieces)
      if (p.first == piece.first && p.length == piece.length) {
        p.same.push_back(value);
        return true;
      }
    in_.pieces.push_back(piece);
    return true;
  }

  const Graph& g_;
  std::string& why_;
  InPieces in_;
};

}  // namespace

KernelId pieces_id() {
  static const KernelId id("pieces");
  return id;
}

bool is_in_pieces(const Node& n) {
  return n.assignment.origin == Origin::host && n.assignment.kernel == pieces_id();
}

std::optional<InPieces> output_in_pieces(const Graph& g, NodeId concat, std::string& why) {
  const auto none = [&](std::string reason) {
    why = std::move(reason);
    return std::nullopt;
  };
  const Node& n = g.node(concat);
  const auto axis = n.op == "concat" ? axis_attribute(g, concat) : std::nullopt;
  if (!axis) return none("it is no concatenation");
  if (!n.assignment.origin || !n.assignment.group.empty())
    return none("it is no kernel of its own");
  bool given = false;
  if (!only_given(g, n.outputs[0], given) || !given)
    return none(given ? "something else takes it too" : "it is no output of the model");
  const ops::Shape& shape = g.value(n.outputs[0]).type.shape;
  InPieces in{product(shape, *axis, shape.size()), product(shape, 0, *axis), {}, {concat}};
  int64_t first = 0;
  for (const ValueId v : n.inputs) {
    const ops::Shape& part = g.value(v).type.shape;
    const int64_t length = product(part, *axis, part.size());
    const ValueId source = source_of(g, v);
    if (length == 0 || in.blocks == 0) return none("one of its operands has no elements");
    const NodeId producer = g.value(source).producer;
    if (g.value(source).is_constant() || !producer.valid() || !on_wafer(g, producer))
      return none(fmt::format("its operand {} is not made on the wafer", g.value(v).name));
    in.pieces.push_back({source, first, length, {}});
    first += length;
  }
  return in;
}

std::optional<InPieces> input_in_pieces(const Graph& g, ValueId input, std::string& why) {
  why.clear();
  const Value& v = g.value(input);
  if (g.state_of_input(v.name) != nullptr || g.scalar_of(v.name) != nullptr) {
    why = "the host computes it";
    return std::nullopt;
  }
  return Cutter(g, why).run(input);
}

}  // namespace cs::graph
