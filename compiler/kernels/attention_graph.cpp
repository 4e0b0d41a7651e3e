// See attention_graph.h. From the result backwards:
//
//   matmul(weights, V)
//   weights   softmax over the last dimension, as one operator or as the five that it is decomposed into
//   scores    matmul(Q, K^T), K transposed by an operator, by gemm or by the host
//   factors   constants of one element that Q, K or the scores are multiplied with or divided by
//   masks     constants that are added to the scores, or chosen in their places, behind the factors
//
// Views between them are transparent; transposes that leave all elements where they are, as of one head, are
// passed over.
#include "compiler/kernels/attention_graph.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "compiler/kernels/match_parts.h"

namespace cs::kernels {

namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

// Rows and columns of a value's last two dimensions, and how many matrices there are.
struct Matrices {
  int64_t count = 0, rows = 0, columns = 0;
  explicit Matrices(const ops::TensorType& t) {
    if (t.rank() < 2 || t.elements() < 1) return;
    rows = t.shape[size_t(t.rank() - 2)];
    columns = t.shape.back();
    count = t.elements() / (rows * columns);
  }
  bool operator==(const Matrices&) const = default;
  Matrices turned() const {
    Matrices m = *this;
    std::swap(m.rows, m.columns);
    return m;
  }
};

struct Product {
  ValueId a, b;
  bool turned = false;  // b
  double factor = 1;
};

class Reader {
 public:
  // The nodes of a group, or all of the graph.
  Reader(const Graph& g, const graph::Group* group, std::string& why) : g_(g), group_(group), why_(why) {}

  std::optional<Heads> run(NodeId end) {
    const Node& last = g_.node(end);
    used_.insert(end);
    const std::optional<Product> outer = product(last);
    const ValueId scaled = outer ? behind_softmax(outer->a) : ValueId{};
    if (!scaled.valid()) return std::nullopt;
    if (outer->turned || outer->factor != 1)
      return refuse("its values are transposed, or its result is scaled");
    Heads heads;
    const ValueId scores = behind_factors(behind_masks(scaled, heads), heads.scale);
    const Node* node = maker(scores);
    const std::optional<Product> inner = node != nullptr ? product(*node) : std::nullopt;
    if (!inner)
      return refuse(
          fmt::format("'{}' is between the product of queries and keys and the softmax; only factors may be "
                      "there, and a constant mask",
                      g_.value(scores).name));
    heads.scale *= inner->factor;
    heads.q = behind_factors(inner->a, heads.scale);
    heads.v = behind_moves(outer->b);
    heads.k = behind_factors(inner->b, heads.scale);
    bool turned = inner->turned;
    if (const Node* move = maker(heads.k);
        move != nullptr && move->op == "transpose" && turns_matrices(*move)) {
      heads.k = behind_factors(move->inputs[0], heads.scale);
      turned = !turned;
    }
    heads.keys_by_columns = !turned;
    if (!extents(last, *outer, *node, *inner, heads) || (group_ != nullptr && !from_host(heads)))
      return std::nullopt;
    return heads;
  }

 private:
  std::optional<Heads> refuse(const std::string& why) {
    why_ = "as an attention: " + why;
    return std::nullopt;
  }

  // The node of the group that makes a value; none if the value comes from outside.
  const Node* maker(ValueId v) {
    const NodeId id = g_.value(graph::source_of(g_, v)).producer;
    if (!id.valid() || (group_ != nullptr && std::ranges::find(group_->nodes, id) == group_->nodes.end()))
      return nullptr;
    used_.insert(id);
    return &g_.node(id);
  }
  const Node* maker(ValueId v, std::string_view op) {
    const Node* node = maker(v);
    return node != nullptr && node->op == op ? node : nullptr;
  }
  bool same(ValueId a, ValueId b) const { return graph::source_of(g_, a) == graph::source_of(g_, b); }

  std::optional<Product> product(const Node& n) const {
    if (n.op == "matmul") return Product{n.inputs[0], n.inputs[1]};
    if (n.op != "gemm") return std::nullopt;
    const ops::OpDef& op = *ops::find_op(n.op);
    const bool biased = n.inputs.size() > 2 && n.inputs[2].valid();
    if (biased || ops::attr_int(op, n.attrs, "trans_a") != 0) return std::nullopt;
    return Product{n.inputs[0], n.inputs[1], ops::attr_int(op, n.attrs, "trans_b") != 0,
                   ops::attr_real(op, n.attrs, "alpha")};
  }

  // What the softmax of the last dimension works on; nothing if a value is no such softmax.
  ValueId behind_softmax(ValueId v) {
    const Node* n = maker(v);
    if (n == nullptr) return {};
    if (n->op == "softmax") {
      const int64_t axis = ops::attr_int(*ops::find_op(n->op), n->attrs, "axis");
      return is_last(axis, n->inputs[0]) ? n->inputs[0] : ValueId{};
    }
    if (n->op != "div") return {};
    const Node *power = maker(n->inputs[0], "exp"), *sum = maker(n->inputs[1], "reduce_sum");
    const Node* less = power != nullptr ? maker(power->inputs[0], "sub") : nullptr;
    const Node* most = less != nullptr ? maker(less->inputs[1], "reduce_max") : nullptr;
    if (sum == nullptr || most == nullptr) return {};
    const bool right = same(sum->inputs[0], n->inputs[0]) && same(most->inputs[0], less->inputs[0]) &&
                       of_last(*sum) && of_last(*most);
    return right ? less->inputs[0] : ValueId{};
  }
  bool is_last(int64_t axis, ValueId v) const {
    const int64_t rank = g_.value(v).type.rank();
    return axis == -1 || axis == rank - 1;
  }
  bool of_last(const Node& reduction) const {
    const ops::OpDef& op = *ops::find_op(reduction.op);
    const std::vector<int64_t> axes = ops::attr_ints(op, reduction.attrs, "axes");
    return axes.size() == 1 && is_last(axes[0], reduction.inputs[0]) &&
           ops::attr_int(op, reduction.attrs, "keepdims") != 0;
  }

  ValueId behind_masks(ValueId v, Heads& heads) {
    for (;;) {
      const Node* n = maker(v);
      const std::optional<Masked> m = n == nullptr ? std::nullopt : n->op == "add" ? added(*n) : chosen(*n);
      if (!m) return v;
      if (!add_mask(m->mask, g_.value(n->outputs[0]).type.shape, heads)) return v;
      v = m->scores;
    }
  }
  struct Masked {
    ValueId scores;
    std::shared_ptr<const ops::Tensor> mask;
  };
  std::optional<Masked> added(const Node& n) const {
    for (const size_t k : {0, 1})
      if (auto mask = g_.shared_constant_of(graph::source_of(g_, n.inputs[k])))
        return Masked{n.inputs[1 - k], std::move(mask)};
    return std::nullopt;
  }
  // A constant choice between scores and what hides them.
  std::optional<Masked> chosen(const Node& n) const {
    const ops::Tensor* hide = n.op == "where" ? g_.constant_of(graph::source_of(g_, n.inputs[0])) : nullptr;
    for (const size_t k : {1, 2}) {
      if (hide == nullptr || !is_number(n.inputs[k])) continue;
      const double low = g_.constant_of(graph::source_of(g_, n.inputs[k]))->get(0);
      // Of itself, not added to a score: what hides all of a row's scores leaves them alike.
      if (low > kHidden || hides_rows(*hide, k == 1)) return std::nullopt;
      auto mask = std::make_shared<ops::Tensor>(ops::TensorType{DataType::f32, hide->type.shape});
      for (int64_t i = 0; i < hide->elements(); ++i) mask->set(i, (hide->get(i) != 0) == (k == 1) ? low : 0);
      return Masked{n.inputs[3 - k], std::move(mask)};
    }
    return std::nullopt;
  }
  static bool hides_rows(const ops::Tensor& hide, bool value) {
    const int64_t row = hide.type.rank() == 0 ? 1 : hide.type.shape.back();
    int64_t alike = 0;
    for (int64_t i = 0; i < hide.elements(); ++i) {
      alike = (hide.get(i) != 0) == value ? alike + 1 : 0;
      if (alike == row) return true;
      if ((i + 1) % row == 0) alike = 0;
    }
    return false;
  }
  // As one of all scores, or of a matrix of them where it is the same for each. False if it does not fit what
  // is there.
  static bool add_mask(const std::shared_ptr<const ops::Tensor>& mask, ops::Shape scores, Heads& heads) {
    const int64_t rank = int64_t(scores.size());
    if (mask->type.rank() < 2 || Matrices(mask->type).count == 1)
      scores.erase(scores.begin(), scores.begin() + std::max<int64_t>(0, rank - 2));
    const ops::TensorType whole{DataType::f32, scores};
    if (!heads.mask && mask->elements() == whole.elements()) {
      heads.mask = mask;
      return true;
    }
    const ops::Tensor none{whole}, &before = heads.mask ? *heads.mask : none;
    const std::optional<ops::Shape> all = ops::broadcast(before.type.shape, scores);
    if (!all) return false;
    // In f32, whatever types they have.
    const std::vector<ops::Tensor> both{ops::Tensor::from_floats(before.type.shape, before.to_floats()),
                                        ops::Tensor::from_floats(mask->type.shape, mask->to_floats())};
    std::vector<ops::Tensor> sum;
    Diag ignored;
    if (!ops::evaluate(*ops::find_op("add"), {}, both, sum, ignored)) return false;
    if (sum[0].elements() != ops::TensorType{DataType::f32, *all}.elements()) return false;
    heads.mask = std::make_shared<ops::Tensor>(std::move(sum[0]));
    return true;
  }

  // Constants of one element go into `scale`.
  ValueId behind_factors(ValueId v, double& scale) {
    for (;;) {
      v = behind_moves(v);
      const Node* n = maker(v);
      if (n == nullptr || (n->op != "mul" && n->op != "div")) return v;
      const bool second = is_number(n->inputs[1]), first = n->op == "mul" && is_number(n->inputs[0]);
      if (!second && !first) return v;
      const double factor = g_.constant_of(graph::source_of(g_, n->inputs[second ? 1 : 0]))->get(0);
      scale = n->op == "mul" ? scale * factor : scale / factor;
      v = n->inputs[second ? 0 : 1];
    }
  }
  bool is_number(ValueId v) const {
    const ops::Tensor* t = g_.constant_of(graph::source_of(g_, v));
    return t != nullptr && t->elements() == 1;
  }

  // ---- transposes

  ValueId behind_moves(ValueId v) {
    v = graph::source_of(g_, v);
    for (const Node* n = maker(v); n != nullptr && n->op == "transpose" && stays(*n); n = maker(v))
      v = graph::source_of(g_, n->inputs[0]);
    return v;
  }
  // Of the result's dimensions, the elements of the operand between one and the next.
  std::vector<int64_t> strides(const Node& transpose) const {
    const ops::Shape& shape = g_.value(transpose.inputs[0]).type.shape;
    std::vector<int64_t> order = ops::attr_ints(*ops::find_op(transpose.op), transpose.attrs, "perm"), list;
    for (size_t d = order.empty() ? shape.size() : 0; d-- > 0;) order.push_back(int64_t(d));
    for (const int64_t axis : order) {
      int64_t stride = 1;
      for (size_t d = size_t(axis) + 1; d < shape.size(); ++d) stride *= shape[d];
      list.push_back(stride);
    }
    return list;
  }
  // Whether the first `count` dimensions of the result follow each other in C order, the last of them with
  // this stride.
  bool in_order(const ops::Shape& shape, const std::vector<int64_t>& strides, size_t count,
                int64_t stride) const {
    for (size_t d = count; d-- > 0; stride *= shape[d])
      if (shape[d] != 1 && strides[d] != stride) return false;
    return true;
  }
  bool stays(const Node& n) const {
    const ops::Shape& shape = g_.value(n.outputs[0]).type.shape;
    return in_order(shape, strides(n), shape.size(), 1);
  }
  // Rows and columns of matrices change places, and nothing else.
  bool turns_matrices(const Node& n) const {
    const ops::Shape& shape = g_.value(n.outputs[0]).type.shape;
    const size_t rank = shape.size();
    if (rank < 2) return false;
    const std::vector<int64_t> apart = strides(n);
    const int64_t rows = shape[rank - 2], columns = shape[rank - 1];
    return (rows == 1 || apart[rank - 2] == 1) && (columns == 1 || apart[rank - 1] == rows) &&
           in_order(shape, apart, rank - 2, rows * columns);
  }

  // ---- checks

  bool extents(const Node& last, const Product& outer, const Node& first, const Product& inner,
               Heads& heads) {
    const auto of = [&](ValueId v) { return Matrices(g_.value(v).type); };
    const Matrices q = of(inner.a), scores = of(first.outputs[0]), weights = of(outer.a), v = of(outer.b),
                   k = inner.turned ? of(inner.b) : of(inner.b).turned();
    heads.count = q.count;
    heads.queries = q.rows;
    heads.depth = q.columns;
    heads.keys = k.rows;
    if (q.count < 1 || k.count != q.count || v.count != q.count) {
      refuse("queries, keys and values are not as many matrices");
    } else if (weights != scores || weights.columns != heads.keys || of(last.outputs[0]).count != q.count) {
      refuse("the softmax is not over the keys of a query");
    } else if (v.columns != q.columns) {
      refuse(fmt::format("values have {} elements, keys {}", v.columns, q.columns));
    } else {
      return true;
    }
    return false;
  }

  bool from_host(const Heads& heads) {
    for (const ValueId v : {heads.q, heads.k, heads.v}) {
      const graph::Value& value = g_.value(v);
      const Node* node = maker(v);
      if (node != nullptr) refuse(fmt::format("'{}' ({}) is in front of it", node->name, node->op));
      if (node != nullptr) return false;
      const bool alike = is_computed(g_, value) && value.type.dtype == g_.value(heads.q).type.dtype;
      if (value.is_constant() || !alike) {
        refuse(fmt::format("'{}' is constant or no float of the others' type", value.name));
        return false;
      }
    }
    for (const NodeId id : group_->nodes) {
      if (used_.count(id) > 0) continue;
      refuse(fmt::format("'{}' ({}) is no part of it", g_.node(id).name, g_.node(id).op));
      return false;
    }
    return true;
  }

  const Graph& g_;
  const graph::Group* group_;
  std::string& why_;
  std::set<NodeId> used_;
};

}  // namespace

std::optional<Heads> read_heads(const Graph& g, const graph::Group& group, std::string& why) {
  return Reader(g, &group, why).run(group.nodes.back());
}

std::optional<Heads> heads_before(const Graph& g, NodeId product) {
  std::string why;
  return Reader(g, nullptr, why).run(product);
}

}  // namespace cs::kernels
