// An operator keeps samples apart if every element of a result depends on one sample only, and the samples
// lie along one dimension of it. Views, gemm and attributes that state shapes have rules of their own; all
// others are judged by their loops:
//
//   the operator is written down for 2 and for 3 samples (so that nothing is taken for a broadcast of one);
//   the axis of a statement that grew walks over the samples, a buffer that grew holds samples;
//   every access to such a buffer must advance by one sample along that axis, and by none along the others
//
// The dimension may count something else as well, as [steps * samples, features] and [samples * heads, …] do
// in exported attention: then samples are a digit of it, with a certain number of elements between one and
// the next. A view keeps that number, and the loops of an operator say it of results.
#include "compiler/graph/sample.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/graph/whole_batch.h"

namespace cs::graph {

namespace {

// An operand or a result for one sample.
struct Side {
  bool present = true;
  ops::TensorType type;
  int dim = -1;        // of samples; -1: none
  int64_t stride = 0;  // elements from one sample to the next; 0: it has none
};

struct Context {
  const Node& n;
  const ops::OpDef& row;
  std::vector<Side> in, out;
  std::vector<const ops::Tensor*> values;  // of operands that are constant
  std::string error;

  static int64_t inner(const ops::Shape& shape, int dim) {
    int64_t n = 1;
    for (size_t d = size_t(dim) + 1; d < shape.size(); ++d) n *= shape[d];
    return n;
  }
  void mixes(const std::string& how) { error = fmt::format("{} would mix samples: {}", n.op, how); }
};

// As the graph says.
Context context_of(const Graph& g, NodeId id) {
  const Node& n = g.node(id);
  Context c{n, g.op(id), {}, {}, {}, {}};
  for (const ValueId id : n.inputs) {
    c.values.push_back(g.constant_of(id));
    c.in.push_back({.present = id.valid(), .type = {}});
    if (!id.valid()) continue;
    const Value& v = g.value(id);
    Side& side = c.in.back();
    side.type = v.type, side.dim = v.sample_dim;
    if (v.sample_dim >= 0)
      side.stride = v.sample_stride > 0 ? v.sample_stride : Context::inner(v.type.shape, v.sample_dim);
  }
  for (const ValueId v : n.outputs) c.out.push_back({.type = g.value(v).type});
  return c;
}

// The operator for `samples` samples.
struct Written {
  std::vector<ops::TensorType> inputs, outputs;
  ops::LoopProgram loops;
};

bool write_for(Context& c, int64_t samples, Written& w) {
  std::vector<const ops::TensorType*> types;
  for (const Side& side : c.in) {
    w.inputs.push_back(side.type);
    if (side.dim >= 0) w.inputs.back().shape[size_t(side.dim)] *= samples;
  }
  for (size_t i = 0; i < c.in.size(); ++i) types.push_back(c.in[i].present ? &w.inputs[i] : nullptr);
  std::string why;
  if (!ops::infer_types(c.row, c.n.attrs, types, w.outputs, why, c.values)) return c.mixes(why), false;
  w.outputs.resize(std::min(w.outputs.size(), c.n.outputs.size()));
  if (!ops::loops_of(c.row, c.n.attrs, types, w.outputs, w.loops, why, c.values)) return c.mixes(why), false;
  return true;
}

// The one dimension that grew from 2 to 3 samples; `one` is of one sample. -1: none; -2: not one.
int grown(const ops::Shape& one, const ops::Shape& two, const ops::Shape& three) {
  int dim = -1;
  if (one.size() != two.size() || one.size() != three.size()) return -2;
  for (size_t d = 0; d < one.size(); ++d) {
    if (two[d] == three[d] && two[d] == one[d]) continue;
    if (dim >= 0 || two[d] != 2 * one[d] || three[d] != 3 * one[d]) return -2;
    dim = int(d);
  }
  return dim;
}

// Where the samples of one value lie.
struct Place {
  int dim = -1;
  int64_t stride = 0;
};

// The shape that a view states is that of one sample: a dimension of extent 1 with as many elements before
// it.
Place of_stated_view(Context& c) {
  const ops::Shape &from = c.in[0].type.shape, &to = c.out[0].type.shape;
  if (from == to) return {c.in[0].dim, c.in[0].stride};
  int64_t before = 1, at = 1;
  int ones = 0, best = -1;
  for (int d = 0; d < c.in[0].dim; ++d) {
    before *= from[size_t(d)];
    ones += from[size_t(d)] == 1;
  }
  for (size_t d = 0; d < to.size(); ++d) {
    if (at == before && to[d] == 1 && (best < 0 || ones-- > 0)) best = int(d);
    at *= to[d];
  }
  if (best < 0 || from[size_t(c.in[0].dim)] != 1)
    return c.mixes("the result has no dimension of its own for samples"), Place{};
  return {best, c.in[0].stride};
}

// A view keeps the C order, and with it the elements between samples; they must lie in the dimension that
// grows.
Place of_view(Context& c) {
  if (c.in[0].dim < 0) return {};
  Written two, three;
  if (!write_for(c, 2, two) || !write_for(c, 3, three)) {
    c.error.clear();
    return of_stated_view(c);
  }
  const ops::Shape& shape = c.out[0].type.shape;
  const int dim = grown(shape, two.outputs[0].shape, three.outputs[0].shape);
  const int64_t stride = c.in[0].stride;
  if (dim >= 0) {
    const int64_t inner = Context::inner(shape, dim), extent = shape[size_t(dim)];
    if (stride > 0 && stride % inner == 0 && extent % (stride / inner) == 0) return {dim, stride};
  }
  return c.mixes("the result has no dimension of its own for samples"), Place{};
}

// Compares the loops for 2 and 3 samples. `known`: elements between samples of the operands.
class Judge {
 public:
  Judge(const ops::LoopProgram& two, const ops::LoopProgram& three, std::span<const int64_t> known)
      : two_(two), three_(three) {
    size_t operand = 0;
    for (size_t b = 0; b < two.buffers.size(); ++b) {
      const ops::Shape &s = two.buffers[b].type.shape, &t = three.buffers[b].type.shape;
      int64_t stride = 0, inner = 1;
      for (size_t d = s.size(); d-- > 0; inner *= s[d]) {
        if (d < t.size() && s[d] != t[d])
          stride = 3 * s[d] == 2 * t[d] && stride == 0 ? inner * (s[d] / 2) : -1;
        if (stride > 0 && s[d] != 2 && s[d] != t[d]) stride = kUnknown;
      }
      if (two.buffers[b].kind == ops::BufferKind::operand) {
        const int64_t given = known[operand++];
        if ((given > 0) != (stride != 0)) stride = -1;
        if (stride != -1) stride = given;
      }
      stride_.push_back(stride);
    }
  }

  bool keeps_apart(std::string& why) {
    if (two_.blocks.size() != three_.blocks.size()) return fail(why);
    // What a statement writes has its samples where those that it reads have them.
    for (size_t k = 0; k < two_.blocks.size(); ++k) {
      const auto &a = two_.blocks[k].statements, &b = three_.blocks[k].statements;
      if (a.size() != b.size() || two_.blocks[k].steps != three_.blocks[k].steps) return fail(why);
      for (size_t i = 0; i < a.size(); ++i) place(a[i], b[i]);
    }
    for (size_t k = 0; k < two_.blocks.size(); ++k) {
      const auto &a = two_.blocks[k].statements, &b = three_.blocks[k].statements;
      for (size_t i = 0; i < a.size(); ++i) {
        if (!statement(a[i], b[i], two_.blocks[k].steps)) return fail(why);
      }
    }
    return true;
  }

  // Elements between samples of result k.
  int64_t stride_of_result(size_t k) const {
    for (size_t b = 0; b < two_.buffers.size(); ++b) {
      if (two_.buffers[b].kind == ops::BufferKind::result && k-- == 0) return stride_[b];
    }
    return 0;
  }

 private:
  static constexpr int64_t kUnknown = -2;

  static bool fail(std::string& why) {
    why = "an element of its result depends on more than one";
    return false;
  }

  // The axis that grew: -1 none, -2 more than one.
  static int axis_of(const ops::LoopStatement& s, const ops::LoopStatement& t) {
    int axis = -1;
    if (s.extents.size() != t.extents.size() || s.loads.size() != t.loads.size()) return -2;
    for (size_t d = 0; d < s.extents.size(); ++d) {
      if (s.extents[d] == t.extents[d]) continue;
      if (axis >= 0 || 3 * s.extents[d] != 2 * t.extents[d] || s.extents[d] % 2 != 0) return -2;
      axis = int(d);
    }
    return axis;
  }

  // How many points of the axis lie between two samples, by an access to a buffer whose place is known; 0 if
  // they do not lie along it.
  int64_t points(const ops::LoopStatement& s, const ops::LoopAccess& a, int axis) const {
    const int64_t stride = a.buffer == ops::kCounter ? 0 : stride_[size_t(a.buffer)];
    const int64_t along = a.strides[size_t(axis)], one = s.extents[size_t(axis)] / 2;
    if (stride <= 0 || along <= 0 || stride % along != 0 || one % (stride / along) != 0) return 0;
    return stride / along;
  }

  void place(const ops::LoopStatement& s, const ops::LoopStatement& t) {
    const int axis = axis_of(s, t);
    if (axis < 0) return;
    int64_t between = 0;
    for (const ops::LoopAccess& a : s.loads) between = std::max(between, points(s, a, axis));
    if (between == 0) between = points(s, s.out, axis);
    if (between == 0) return;
    auto take = [&](const ops::LoopAccess& a) {
      if (a.buffer != ops::kCounter && stride_[size_t(a.buffer)] == kUnknown && a.strides[size_t(axis)] > 0)
        stride_[size_t(a.buffer)] = between * a.strides[size_t(axis)];
    };
    take(s.out);
    for (const ops::LoopAccess& a : s.loads) take(a);
  }

  bool statement(const ops::LoopStatement& s, const ops::LoopStatement& t, int64_t steps) const {
    const int axis = axis_of(s, t);
    if (axis == -2) return false;
    int64_t between = 0;
    bool reads = false;
    for (const ops::LoopAccess& a : s.loads) {
      if (a.buffer == ops::kCounter) {
        if (axis >= 0 && a.strides[size_t(axis)] != 0) return false;
        continue;
      }
      reads = reads || stride_[size_t(a.buffer)] != 0;
      if (!access(s, a, axis, steps, between)) return false;
    }
    // A result without samples must not come from one that has them; one with samples needs the axis.
    return (stride_[size_t(s.out.buffer)] != 0 || !reads) && access(s, s.out, axis, steps, between);
  }

  // Along `axis` the access goes to the next sample after `between` points, as all of the statement do;
  // everything else stays inside of one.
  bool access(const ops::LoopStatement& s, const ops::LoopAccess& a, int axis, int64_t steps,
              int64_t& between) const {
    int64_t stride = stride_[size_t(a.buffer)];
    if (stride == 0) return axis < 0 || a.strides[size_t(axis)] == 0;
    if (stride < 0 || axis < 0) return false;
    const int64_t own = points(s, a, axis);
    if (own == 0 || (between != 0 && own != between)) return false;
    between = own;
    int64_t block = 2 * stride, low = a.offset % block, high = low;
    if (a.offset < 0) return false;
    auto add = [&](int64_t by, int64_t extent) {
      if (by % block != 0) (by < 0 ? low : high) += by * (extent - 1);
    };
    add(a.step, steps);
    for (size_t d = 0; d < a.strides.size(); ++d) add(a.strides[d], int(d) == axis ? own : s.extents[d]);
    if (a.index >= 0) add(a.index_stride, a.index_extent);
    return low >= 0 && high < stride;
  }

  const ops::LoopProgram &two_, &three_;
  std::vector<int64_t> stride_;  // elements between samples; 0: no samples, -1: not along one dimension
};

// Places of the samples in all results.
std::vector<Place> of_loops(Context& c) {
  std::vector<Place> places(c.n.outputs.size());
  bool any = false;
  std::vector<int64_t> strides;
  for (const Side& side : c.in) {
    any = any || side.dim >= 0;
    if (side.present) strides.push_back(side.stride);
  }
  Written two, three;
  if (!any || !write_for(c, 2, two) || !write_for(c, 3, three)) return places;
  Judge judge(two.loops, three.loops, strides);
  std::string why;
  if (!judge.keeps_apart(why)) c.mixes(why);
  for (size_t k = 0; k < two.outputs.size(); ++k) {
    const ops::Shape& one = c.out[k].type.shape;
    const int dim = grown(one, two.outputs[k].shape, three.outputs[k].shape);
    if (dim == -2) c.mixes("its result has more than one dimension of samples");
    if (dim >= 0) places[k] = {dim, judge.stride_of_result(k)};
    if (dim >= 0 && places[k].stride <= 0 && c.error.empty()) c.mixes("it is not clear where they lie");
  }
  return places;
}

// The samples of an output are put one after another along their dimension, so they must begin it.
bool begins_dimension(const Value& v) {
  return v.sample_stride == 0 ||
         v.sample_stride == Context::inner(v.type.shape, v.sample_dim) * v.type.shape[size_t(v.sample_dim)];
}

void settle(Value& v, const Place& place) {
  v.sample_dim = place.dim;
  const bool alone = place.dim < 0 || v.type.shape[size_t(place.dim)] == 1;
  v.sample_stride = alone ? 0 : place.stride;
}

}  // namespace

std::optional<std::vector<Share>> results_of_shares(const Graph& g, NodeId id, std::span<const Share> operands) {
  Context c{g.node(id), g.op(id), {}, {}, {}, {}};
  if (is_whole_batch(c.n) || c.row.types_only || c.row.kind == ops::OpKind::view) return std::nullopt;
  std::vector<const ops::TensorType*> types;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Share& s = operands[i];
    const bool present = c.n.inputs[i].valid();
    c.in.push_back({present, s.type, s.dim, 0});
    if (s.dim >= 0) c.in.back().stride = Context::inner(s.type.shape, s.dim) * s.type.shape[size_t(s.dim)];
    c.values.push_back(s.dim < 0 ? g.constant_of(c.n.inputs[i]) : nullptr);
    types.push_back(present ? &s.type : nullptr);
  }
  std::vector<ops::TensorType> results;
  std::string why;
  if (!ops::infer_types(c.row, c.n.attrs, types, results, why, c.values)) return std::nullopt;
  results.resize(std::min(results.size(), c.n.outputs.size()));
  for (const ops::TensorType& type : results) c.out.push_back({.type = type});
  const std::vector<Place> places = of_loops(c);
  if (!c.error.empty() || places.size() != results.size()) return std::nullopt;
  std::vector<Share> shares;
  for (size_t k = 0; k < places.size(); ++k) {
    const ops::Shape& shape = results[k].shape;
    const int dim = places[k].dim;
    if (dim < 0 || places[k].stride != Context::inner(shape, dim) * shape[size_t(dim)]) return std::nullopt;
    shares.push_back({results[k], dim});
  }
  return shares;
}

bool propagate_samples(Graph& g, Diag& diag, const OverBatch& over_batch) {
  bool ok = true, any = false, batch = false;  // batch: some results are of all samples
  for (ValueId v : g.inputs) any = any || g.value(v).sample_dim >= 0;
  for (NodeId id : g.topological()) {
    const Node& n = g.node(id);
    if (n.outputs.empty()) continue;
    if (is_whole_batch(n)) settle_whole_batch(g, id);
    if (is_whole_batch(n) || (any && over_batch && over_batch(id, false))) {
      batch = true;
      continue;
    }
    Context c = context_of(g, id);
    std::vector<Place> places(n.outputs.size());
    if (any && c.row.kind == ops::OpKind::view) {
      places[0] = of_view(c);
    } else if (any && !c.row.types_only) {
      places = of_loops(c);
    }
    if (!c.error.empty() && over_batch && over_batch(id, true)) {
      batch = true;
      continue;
    }
    if (!c.error.empty()) {
      node_error(g, id, diag, c.error,
                 "give the number of samples: --dim NAME=N compiles the model for N at once");
      ok = false;
    }
    for (size_t k = 0; k < places.size(); ++k) settle(g.value(n.outputs[k]), places[k]);
  }
  for (ValueId v : g.outputs) {
    if (ok && any && !batch && g.value(v).sample_dim < 0) {
      diag.error_at(g.name, fmt::format("output '{}' does not depend on the sample", g.value(v).name));
      ok = false;
    } else if (ok && any && g.value(v).sample_dim >= 0 && !begins_dimension(g.value(v))) {
      diag.error_at(
          g.name,
          fmt::format("output '{}' would mix samples: its dimension {} counts something else before them",
                      g.value(v).name, g.value(v).sample_dim),
          "give the number of samples: --dim NAME=N compiles the model for N at once");
      ok = false;
    }
  }
  return ok;
}

}  // namespace cs::graph
