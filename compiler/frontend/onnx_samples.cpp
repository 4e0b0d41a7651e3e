// Comparison of a model imported for one, two and three samples: see onnx_samples.h.
#include "compiler/frontend/onnx_samples.h"

#include <limits>
#include <set>

#include <fmt/format.h>

#include "compiler/graph/fold.h"
#include "compiler/graph/sample.h"
#include "compiler/graph/whole_batch.h"
#include "runtime/ops/whole_batch.h"

namespace cs::frontend {

namespace {

using graph::Graph;
using graph::NodeId;
using graph::Value;
using graph::ValueId;

constexpr int64_t kSmall = int64_t(1) << 20;  // bytes; weights are folded once, by the pass
constexpr const char* kHelp = "give the number of samples: --dim NAME=N compiles the model for N at once";

// The same place in the graphs for one, two and three samples.
struct Place {
  NodeId one, two, three;
};

// The one dimension that has twice and three times the extent; -1: none, or more than one.
int grown(const ops::Shape& a, const ops::Shape& b, const ops::Shape& c) {
  if (a.size() != b.size() || a.size() != c.size()) return -1;
  int dim = -1;
  for (size_t d = 0; d < a.size(); ++d) {
    if (a[d] == b[d] && a[d] == c[d]) continue;
    if (dim >= 0 || b[d] != 2 * a[d] || c[d] != 3 * a[d]) return -1;
    dim = int(d);
  }
  return dim;
}

bool equal(const ops::Tensor& a, const ops::Tensor& b) { return a.type == b.type && a.bytes == b.bytes; }

// `many` holds `one` so many times along the dimension.
bool repeats(const ops::Tensor& one, const ops::Tensor& many, int dim, size_t samples) {
  size_t inner = size_t(data_type_bytes(one.type.dtype));
  for (size_t d = size_t(dim); d < one.type.shape.size(); ++d) inner *= size_t(one.type.shape[d]);
  for (size_t at = 0; at < many.bytes.size(); ++at) {
    const size_t outer = at / (inner * samples);
    if (many.bytes[at] != one.bytes[outer * inner + at % inner]) return false;
  }
  return true;
}

// The dimension along which a constant is made for every sample alike; -1: there is none.
int repeated(const ops::Tensor& a, const ops::Tensor& b, const ops::Tensor& c) {
  const int dim = grown(a.type.shape, b.type.shape, c.type.shape);
  if (dim < 0 || a.type.shape[size_t(dim)] != 1) return -1;
  return repeats(a, b, dim, 2) && repeats(a, c, dim, 3) ? dim : -1;
}

class Comparison {
 public:
  // `over_batch`: what needs the number of samples may be computed over the whole batch.
  Comparison(Graph& one, const Graph& two, const Graph& three, bool over_batch, Diag& diag)
      : one_(one), two_(two), three_(three), over_batch_(over_batch), diag_(diag) {}

  bool run() {
    const std::vector<NodeId> a = one_.nodes(), b = two_.nodes(), c = three_.nodes();
    for (size_t i = 0; i < a.size(); ++i) {
      const bool there = i < b.size() && i < c.size();
      if (!there || !same_node(a[i], two_, b[i]) || !same_node(a[i], three_, c[i]))
        return bad(a[i], "the graph is another one for another number of samples");
      if (!node({a[i], b[i], c[i]})) return false;
    }
    return true;
  }

 private:
  bool bad(NodeId id, std::string message) {
    graph::node_error(one_, id, diag_, std::move(message), kHelp);
    return false;
  }

  bool same_node(NodeId id, const Graph& other, NodeId there) const {
    const graph::Node &a = one_.node(id), &b = other.node(there);
    bool same = a.name == b.name && a.op == b.op && a.inputs.size() == b.inputs.size() &&
                a.outputs.size() == b.outputs.size() && a.attrs.size() == b.attrs.size();
    for (size_t k = 0; same && k < a.inputs.size(); ++k) {
      same = a.inputs[k].valid() == b.inputs[k].valid() &&
             (!a.inputs[k].valid() || one_.value(a.inputs[k]).name == other.value(b.inputs[k]).name);
    }
    return same;
  }

  bool node(const Place& p) {
    for (size_t k = 0; k < one_.node(p.one).inputs.size(); ++k) {
      if (!operand(p, k)) return false;
    }
    const Attrs attrs = one_.node(p.one).attrs;  // settling one may add others
    for (size_t k = 0; k < attrs.size(); ++k) {
      const auto& [name, value] = attrs[k];
      const AttrValue &b = two_.node(p.two).attrs[k].second, &c = three_.node(p.three).attrs[k].second;
      if ((value != b || value != c) && !attribute(p, name, value, b)) return false;
    }
    const bool shape_wanted = one_.op(p.one).types_only && !over_batch_;
    if (shape_wanted &&
        two_.value(two_.node(p.two).inputs[0]).type != one_.value(one_.node(p.one).inputs[0]).type)
      return bad(p.one, "the number of samples is a result");
    return true;
  }

  // ---- constants

  bool operand(const Place& p, size_t k) {
    const ValueId v = one_.node(p.one).inputs[k];
    const ops::Tensor* a = one_.constant_of(v);
    const ops::Tensor *b = two_.constant_of(two_.node(p.two).inputs[k]),
                      *c = three_.constant_of(three_.node(p.three).inputs[k]);
    if ((a == nullptr) != (b == nullptr) || (a == nullptr) != (c == nullptr))
      return bad(p.one,
                 fmt::format("'{}' is a constant for some numbers of samples only", one_.value(v).name));
    if (a == nullptr || (equal(*a, *b) && equal(*a, *c))) return true;
    if (const int dim = repeated(*a, *b, *c); dim >= 0) {
      one_.value(v).sample_dim = dim;
      return true;
    }
    return bad(p.one,
               fmt::format("needs the number of samples as a value: operand {} ('{}') is {} for one sample "
                           "and {} for two",
                           k, one_.value(v).name, text(*a), text(*b)));
  }

  static std::string text(const ops::Tensor& t) {
    if (t.elements() > 4) return "a " + ops::type_text(t.type);
    std::string list;
    for (int64_t i = 0; i < t.elements(); ++i) list += fmt::format("{}{}", i > 0 ? ", " : "", t.get(i));
    return "[" + list + "]";
  }

  // ---- attributes

  bool attribute(const Place& p, const std::string& name, const AttrValue& a, const AttrValue& b) {
    const graph::Node& n = one_.node(p.one);
    if (n.op == "reshape" && name == "shape") return reshape(p);
    const auto *first = std::get_if<std::vector<int64_t>>(&a),
               *second = std::get_if<std::vector<int64_t>>(&b);
    // What any number of samples fits: an expansion that keeps the extent, a slice to the end.
    const bool expands = n.op == "expand" && name == "shape", cuts = n.op == "slice" && name == "ends";
    if ((!expands && !cuts) || first == nullptr || second == nullptr || first->size() != second->size())
      return bad(p.one, fmt::format("attribute '{}' depends on the number of samples", name));
    std::vector<int64_t> any = *first;
    for (size_t d = 0; d < any.size(); ++d) {
      if ((*first)[d] != (*second)[d]) any[d] = expands ? 1 : std::numeric_limits<int64_t>::max();
    }
    ops::set_attr(one_.node(p.one).attrs, name, std::move(any));
    return true;
  }

  // The dimension that grows takes what the others leave.
  bool reshape(const Place& p) {
    const ops::Shape &a = one_.value(one_.node(p.one).outputs[0]).type.shape,
                     &b = two_.value(two_.node(p.two).outputs[0]).type.shape,
                     &c = three_.value(three_.node(p.three).outputs[0]).type.shape;
    const int dim = grown(a, b, c);
    if (dim < 0 && (a != b || a != c))
      return bad(p.one, "the number of samples is in more than one dimension of the result");
    std::vector<int64_t> shape = a;
    if (dim >= 0) shape[size_t(dim)] = -1;
    Attrs& attrs = one_.node(p.one).attrs;
    ops::set_attr(attrs, "shape", std::move(shape));
    ops::set_attr(attrs, "allowzero", int64_t(1));
    return true;
  }

  Graph& one_;
  const Graph &two_, &three_;
  const bool over_batch_;
  Diag& diag_;
};

bool small(const Graph& g, NodeId id) {
  int64_t bytes = 0;
  for (ValueId v : g.node(id).outputs) bytes += g.value(v).type.bytes();
  return bytes <= kSmall;
}

bool fold_small(Graph& g, Diag& diag) {
  for (NodeId id : g.topological()) {
    if (graph::can_fold(g, id) && small(g, id) && !graph::fold_node(g, id, diag)) return false;
  }
  g.remove_dead();
  return true;
}

// What a node would fold to; nothing if it cannot be folded.
std::vector<ops::Tensor> folded(const Graph& g, NodeId id) {
  std::vector<ops::Tensor> results;
  Diag ignored;
  const ops::OpDef& row = g.op(id);
  if (!graph::can_fold(g, id) || !small(g, id)) return results;
  const bool ok = row.types_only
                      ? ops::evaluate_types(row, g.node(id).attrs, g.input_types(id), results, ignored)
                      : ops::evaluate(row, g.node(id).attrs, g.input_values(id), results, ignored);
  if (!ok) results.clear();
  return results;
}

// Folds the nodes whose results are the same for every number of samples, or the same for every sample.
bool fold_alike(Graph& one, Graph& two, Graph& three, Diag& diag) {
  const std::vector<NodeId> a = one.topological(), b = two.topological(), c = three.topological();
  if (a.size() != b.size() || a.size() != c.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    const std::vector<ops::Tensor> x = folded(one, a[i]), y = folded(two, b[i]), z = folded(three, c[i]);
    bool alike = !x.empty() && x.size() == y.size() && x.size() == z.size();
    for (size_t k = 0; alike && k < x.size(); ++k)
      alike = (equal(x[k], y[k]) && equal(x[k], z[k])) || repeated(x[k], y[k], z[k]) >= 0;
    if (!alike) continue;
    if (!graph::fold_node(one, a[i], diag) || !graph::fold_node(two, b[i], diag) ||
        !graph::fold_node(three, c[i], diag))
      return false;
  }
  for (Graph* g : {&one, &two, &three}) g->remove_dead();
  return true;
}

// Makes nodes ones over the whole batch: those that mix samples, that ask for their number, and that take
// what has an extent which follows it.
class BatchNodes {
 public:
  BatchNodes(Graph& one, const Graph& two, const Graph& three) : one_(one), two_(two), three_(three) {}

  bool operator()(NodeId id, bool mixes) {
    const graph::Node& n = one_.node(id);
    bool must = mixes || one_.op(id).types_only;
    for (ValueId v : n.inputs) must = must || numbered_.count(v) > 0;
    if (!must) return false;
    std::vector<int64_t> dims;
    for (ValueId v : n.outputs) dims.push_back(place(v));
    graph::make_whole_batch(one_, id, dims);
    return true;
  }

 private:
  int64_t place(ValueId v) {
    const Value& value = one_.value(v);
    const auto y = two_.find_value(value.name), z = three_.find_value(value.name);
    if (y && z) {
      const ops::Shape &b = two_.value(*y).type.shape, &c = three_.value(*z).type.shape;
      if (b == value.type.shape && c == value.type.shape) return ops::kAlike;
      if (const int dim = grown(value.type.shape, b, c); dim >= 0) return dim;
    }
    numbered_.insert(v);
    return ops::kNumbered;
  }

  Graph& one_;
  const Graph &two_, &three_;
  std::set<ValueId> numbered_;
};

// After propagate_samples(one): its types are those of two samples.
bool check_samples(const Graph& one, const Graph& two, Diag& diag) {
  const std::vector<NodeId> a = one.nodes(), b = two.nodes();
  for (size_t i = 0; i < a.size(); ++i) {
    if (graph::is_whole_batch(one.node(a[i]))) continue;
    for (size_t k = 0; k < one.node(a[i]).outputs.size(); ++k) {
      const Value& v = one.value(one.node(a[i]).outputs[k]);
      ops::TensorType type = v.type;
      if (v.sample_dim >= 0) type.shape[size_t(v.sample_dim)] *= 2;
      const ops::TensorType& have = two.value(two.node(b[i]).outputs[k]).type;
      if (type == have) continue;
      graph::node_error(
          one, a[i], diag,
          fmt::format("does not follow the number of samples: '{}' is {} for one and {} for two", v.name,
                      ops::type_text(v.type), ops::type_text(have)),
          kHelp);
      return false;
    }
  }
  return true;
}

}  // namespace

bool settle_samples(Graph& one, Graph& two, Graph& three, Diag& diag) {
  return fold_small(one, diag) && fold_small(two, diag) && fold_small(three, diag) &&
         Comparison(one, two, three, false, diag).run() && graph::propagate_samples(one, diag) &&
         check_samples(one, two, diag);
}

bool settle_over_batch(Graph& one, Graph& two, Graph& three, Diag& diag) {
  return fold_alike(one, two, three, diag) && Comparison(one, two, three, true, diag).run() &&
         graph::propagate_samples(one, diag, BatchNodes(one, two, three)) && check_samples(one, two, diag);
}

}  // namespace cs::frontend
