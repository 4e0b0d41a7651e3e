// An operator keeps samples apart if every element of a result depends on one sample only, and the samples
// lie along one dimension of it. Views, gemm and attributes that state shapes have rules of their own; all
// others are judged by their loops:
//
//   the operator is written down for 2 and for 3 samples (so that nothing is taken for a broadcast of one);
//   the axis of a statement that grew walks over the samples, a buffer that grew holds samples;
//   every access to such a buffer must advance by one sample along that axis, and by none along the others
#include "compiler/graph/sample.h"

#include <algorithm>

#include <fmt/format.h>

namespace cs::graph {

namespace {

struct Context {
  const Graph& g;
  const Node& n;
  const ops::OpDef& row;
  std::string error;

  const Value& in(size_t i) const { return g.value(n.inputs[i]); }
  const Value& out() const { return g.value(n.outputs[0]); }
  int sample(size_t i) const { return n.inputs[i].valid() ? in(i).sample_dim : -1; }
  int mixes(const std::string& how) {
    error = fmt::format("{} would mix samples: {}", n.op, how);
    return -1;
  }
};

// A view keeps the C order, so the sample dimension stays a dimension only if nothing but ones lie before it.
int of_view(Context& c) {
  int s = c.sample(0);
  if (s < 0 || c.in(0).type.shape == c.out().type.shape) return s;
  const ops::Shape &from = c.in(0).type.shape, &to = c.out().type.shape;
  // How many elements lie before it: that many must lie before it in the result as well.
  int64_t before = 1;
  for (int d = 0; d < s; ++d) before *= from[size_t(d)];
  int ones = 0;
  for (int d = 0; d < s; ++d) ones += from[size_t(d)] == 1;
  int64_t at = 1;
  int best = -1;
  for (size_t d = 0; d < to.size(); ++d) {
    if (at == before && to[d] == 1) {
      if (best < 0 || ones-- > 0) best = int(d);
    }
    at *= to[d];
  }
  return best >= 0 ? best : c.mixes("the result has no dimension of its own for samples");
}

// The operator for `samples` samples.
struct Written {
  std::vector<ops::TensorType> inputs, outputs;
  ops::LoopProgram loops;
};

bool write_for(Context& c, int64_t samples, Written& w) {
  std::vector<const ops::TensorType*> types;
  for (size_t i = 0; i < c.n.inputs.size(); ++i) {
    w.inputs.push_back(c.n.inputs[i].valid() ? c.in(i).type : ops::TensorType{});
    if (c.sample(i) >= 0) w.inputs[i].shape[size_t(c.sample(i))] = samples;
  }
  for (size_t i = 0; i < c.n.inputs.size(); ++i)
    types.push_back(c.n.inputs[i].valid() ? &w.inputs[i] : nullptr);
  std::vector<const ops::Tensor*> values;
  for (ValueId v : c.n.inputs) values.push_back(c.g.constant_of(v));
  std::string why;
  if (!ops::infer_types(c.row, c.n.attrs, types, w.outputs, why, values)) return c.mixes(why), false;
  w.outputs.resize(std::min(w.outputs.size(), c.n.outputs.size()));
  if (!ops::loops_of(c.row, c.n.attrs, types, w.outputs, w.loops, why, values)) return c.mixes(why), false;
  return true;
}

// Compares the loops for 2 and 3 samples.
class Judge {
 public:
  Judge(const ops::LoopProgram& two, const ops::LoopProgram& three) : two_(two), three_(three) {
    for (size_t b = 0; b < two.buffers.size(); ++b) {
      const ops::Shape &s = two.buffers[b].type.shape, &t = three.buffers[b].type.shape;
      int64_t stride = 0, inner = 1;
      for (size_t d = s.size(); d-- > 0; inner *= s[d]) {
        if (d < t.size() && s[d] != t[d]) stride = s[d] == 2 && stride == 0 ? inner : -1;
      }
      stride_.push_back(stride);
    }
  }

  bool keeps_apart(std::string& why) const {
    if (two_.blocks.size() != three_.blocks.size()) return fail(why);
    for (size_t k = 0; k < two_.blocks.size(); ++k) {
      const auto &a = two_.blocks[k].statements, &b = three_.blocks[k].statements;
      if (a.size() != b.size() || two_.blocks[k].steps != three_.blocks[k].steps) return fail(why);
      for (size_t i = 0; i < a.size(); ++i) {
        if (!statement(a[i], b[i], two_.blocks[k].steps)) return fail(why);
      }
    }
    return true;
  }

 private:
  static bool fail(std::string& why) {
    why = "an element of its result depends on more than one";
    return false;
  }

  bool statement(const ops::LoopStatement& s, const ops::LoopStatement& t, int64_t steps) const {
    int axis = -1;
    if (s.extents.size() != t.extents.size() || s.loads.size() != t.loads.size()) return false;
    for (size_t d = 0; d < s.extents.size(); ++d) {
      if (s.extents[d] == t.extents[d]) continue;
      if (axis >= 0 || s.extents[d] != 2) return false;
      axis = int(d);
    }
    bool reads = false;
    for (const ops::LoopAccess& a : s.loads) {
      if (a.buffer == ops::kCounter) {
        if (axis >= 0 && a.strides[size_t(axis)] != 0) return false;
        continue;
      }
      reads = reads || stride_[size_t(a.buffer)] != 0;
      if (!access(s, a, axis, steps)) return false;
    }
    // A result without samples must not come from one that has them; one with samples needs the axis.
    return (stride_[size_t(s.out.buffer)] != 0 || !reads) && access(s, s.out, axis, steps);
  }

  // Along `axis` the access goes to the next sample; everything else stays inside of one.
  bool access(const ops::LoopStatement& s, const ops::LoopAccess& a, int axis, int64_t steps) const {
    int64_t stride = stride_[size_t(a.buffer)];
    if (stride == 0) return axis < 0 || a.strides[size_t(axis)] == 0;
    if (stride < 0 || axis < 0 || a.strides[size_t(axis)] != stride) return false;
    int64_t block = 2 * stride, low = a.offset % block, high = low;
    if (a.offset < 0) return false;
    auto add = [&](int64_t by, int64_t extent) {
      if (by % block != 0) (by < 0 ? low : high) += by * (extent - 1);
    };
    add(a.step, steps);
    for (size_t d = 0; d < a.strides.size(); ++d) {
      if (int(d) != axis) add(a.strides[d], s.extents[d]);
    }
    if (a.index >= 0) add(a.index_stride, a.index_extent);
    return low >= 0 && high < stride;
  }

  const ops::LoopProgram &two_, &three_;
  std::vector<int64_t> stride_;  // elements between samples; 0: no samples, -1: not along one dimension
};

// Sample dimensions of all results.
std::vector<int> of_loops(Context& c) {
  std::vector<int> dims(c.n.outputs.size(), -1);
  bool any = false;
  for (size_t i = 0; i < c.n.inputs.size(); ++i) any = any || c.sample(i) >= 0;
  Written two, three;
  std::string why;
  if (!any || !write_for(c, 2, two) || !write_for(c, 3, three)) return dims;
  if (!Judge(two.loops, three.loops).keeps_apart(why)) c.mixes(why);
  for (size_t k = 0; k < two.outputs.size(); ++k) {
    const ops::Shape &s = two.outputs[k].shape, &t = three.outputs[k].shape;
    for (size_t d = 0; d < s.size() && s.size() == t.size(); ++d) {
      if (s[d] == t[d]) continue;
      if (dims[k] >= 0 || c.g.value(c.n.outputs[k]).type.shape[d] != 1)
        c.mixes("its result has more than one sample");
      dims[k] = int(d);
    }
  }
  return dims;
}

}  // namespace

bool propagate_samples(Graph& g, Diag& diag) {
  bool ok = true, any = false;
  for (ValueId v : g.inputs) any = any || g.value(v).sample_dim >= 0;
  for (NodeId id : g.topological()) {
    const Node& n = g.node(id);
    if (n.outputs.empty()) continue;
    Context c{g, n, g.op(id), {}};
    std::vector<int> dims(n.outputs.size(), -1);
    if (any && c.row.kind == ops::OpKind::view) {
      dims[0] = of_view(c);
    } else if (any && !c.row.types_only) {
      dims = of_loops(c);
    }
    if (!c.error.empty()) {
      node_error(g, id, diag, c.error,
                 "give the number of samples: --dim NAME=N compiles the model for N at once");
      ok = false;
    }
    for (size_t k = 0; k < dims.size(); ++k) g.value(n.outputs[k]).sample_dim = dims[k];
  }
  for (ValueId v : g.outputs) {
    if (ok && any && g.value(v).sample_dim < 0) {
      diag.error_at(g.name, fmt::format("output '{}' does not depend on the sample", g.value(v).name));
      ok = false;
    }
  }
  return ok;
}

}  // namespace cs::graph
