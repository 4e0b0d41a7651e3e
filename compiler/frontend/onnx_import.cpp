// ONNX import.
//
//   1. parse; damaged or truncated bytes end here
//   2. list every operator without a row at once, with the names of its nodes
//   3. shapes of the inputs: the sample dimension (a symbol that is the first dimension of every input and output)
//      gets extent 1, other symbols need --dim
//   4. initializers become constants; nodes are added in order, each typed at once by its row
//   5. an input that must be constant (the shape of Reshape) becomes an attribute, folding what leads to it
//   6. outputs; samples are followed through the graph
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/frontend/frontend.h"
#include "compiler/frontend/onnx_proto.h"
#include "compiler/graph/fold.h"
#include "compiler/graph/sample.h"

namespace cs::frontend {

namespace {

using graph::NodeId;
using graph::ValueId;

// ONNX's default domain has two spellings.
bool default_domain(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

class Importer {
 public:
  Importer(const onnx::ModelProto& model, const std::string& file, const LoadOptions& options, Diag& diag)
      : model_(model), proto_(model.graph()), file_(file), options_(options), diag_(diag) {}

  std::optional<graph::Graph> run() {
    size_t before = diag_.errors();
    size_t slash = file_.find_last_of('/');
    std::string base = slash == std::string::npos ? file_ : file_.substr(slash + 1);
    g_.name = proto_.name().empty() ? base.substr(0, base.find('.')) : proto_.name();
    for (const onnx::OperatorSetIdProto& set : model_.opset_import()) {
      if (default_domain(set.domain())) opset_ = set.version();
    }
    if (opset_ == 0) fail("the model does not say which operator set it uses", "");
    name_nodes();
    check_support();
    find_sample_symbol();
    add_inputs();
    add_initializers();
    if (diag_.errors() != before) return std::nullopt;
    for (int i = 0; i < proto_.node_size() && !diag_.full(); ++i) add_node(i);
    if (diag_.errors() == before) add_outputs();
    if (diag_.errors() != before) return std::nullopt;
    g_.remove_dead();
    if (!graph::propagate_samples(g_, diag_) || !graph::verify(g_, diag_)) return std::nullopt;
    return std::move(g_);
  }

 private:
  void fail(std::string message, std::string help = "") { diag_.error_at(file_, std::move(message), std::move(help)); }
  std::string where(int i) const {
    return fmt::format("{}: node {} ({})", file_, names_[size_t(i)], proto_.node(i).op_type());
  }

  void name_nodes() {
    std::set<std::string> taken;
    for (int i = 0; i < proto_.node_size(); ++i) {
      std::string name = proto_.node(i).name();
      if (name.empty()) name = fmt::format("{}_{}", proto_.node(i).op_type(), i);
      while (!taken.insert(name).second) name += "_" + std::to_string(i);
      names_.push_back(std::move(name));
    }
  }

  void check_support() {
    std::map<std::string, std::vector<std::string>> missing;
    for (int i = 0; i < proto_.node_size(); ++i) {
      const onnx::NodeProto& n = proto_.node(i);
      if (default_domain(n.domain()) && (ops::find_onnx_op(n.op_type()) != nullptr || n.op_type() == "Mean")) continue;
      std::string op = default_domain(n.domain()) ? n.op_type() : n.domain() + "." + n.op_type();
      missing[op].push_back(names_[size_t(i)]);
    }
    if (missing.empty()) return;
    size_t nodes = 0;
    std::string list;
    for (const auto& [op, names] : missing) {
      nodes += names.size();
      list += fmt::format("{}{} ({})", list.empty() ? "" : "; ", op, fmt::join(names, ", "));
    }
    fail(fmt::format("{} node{} of operators that are not supported: {}", nodes, nodes == 1 ? "" : "s", list),
         "cs-compile --list-ops lists the operators");
  }

  // A dimension's value from --dim, if it is given.
  std::optional<int64_t> given(const std::string& symbol) const {
    for (const auto& [name, value] : options_.dims) {
      if (name == symbol) return value;
    }
    return std::nullopt;
  }
  static bool symbolic(const onnx::TensorShapeProto::Dimension& d) { return !d.has_dim_value() || d.dim_value() < 0; }
  static std::string symbol(const onnx::TensorShapeProto::Dimension& d) {
    return d.has_dim_param() && !d.dim_param().empty() ? d.dim_param() : "?";
  }
  bool is_initializer(const std::string& name) const {
    for (const onnx::TensorProto& t : proto_.initializer()) {
      if (t.name() == name) return true;
    }
    return false;
  }
  // First dimension of a tensor if it is symbolic.
  static std::optional<std::string> first_symbol(const onnx::ValueInfoProto& v) {
    const auto& shape = v.type().tensor_type().shape();
    if (shape.dim_size() == 0 || !symbolic(shape.dim(0))) return std::nullopt;
    return symbol(shape.dim(0));
  }

  void find_sample_symbol() {
    std::optional<std::string> found;
    for (const onnx::ValueInfoProto& v : proto_.input()) {
      if (is_initializer(v.name())) continue;
      std::optional<std::string> s = first_symbol(v);
      if (!s || given(*s) || (found && *found != *s)) return;
      found = s;
    }
    for (const onnx::ValueInfoProto& v : proto_.output()) {
      // An output without a shape is taken to have it; propagate_samples() decides.
      if (v.type().tensor_type().has_shape() && v.type().tensor_type().shape().dim_size() > 0) {
        std::optional<std::string> s = first_symbol(v);
        if (!s || (*s != *found && *s != "?")) return;
      }
    }
    sample_ = found;
  }

  void add_inputs() {
    std::map<std::string, bool> used;
    for (const auto& [name, value] : options_.dims) used[name] = false;
    for (const onnx::ValueInfoProto& v : proto_.input()) {
      if (is_initializer(v.name())) continue;
      const auto& tensor = v.type().tensor_type();
      std::optional<ops::DType> dtype = onnx_dtype(tensor.elem_type());
      if (!v.type().has_tensor_type() || !tensor.has_shape() || !dtype) {
        fail(fmt::format("input '{}' is not a tensor with a shape and a type we have ({})", v.name(),
                         onnx_dtype_name(tensor.elem_type())));
        continue;
      }
      ops::TensorType type{*dtype, {}};
      int sample_dim = -1;
      for (int d = 0; d < tensor.shape().dim_size(); ++d) {
        const auto& dim = tensor.shape().dim(d);
        int64_t extent = symbolic(dim) ? -1 : dim.dim_value();
        if (extent < 0) {
          std::string s = symbol(dim);
          if (std::optional<int64_t> value = given(s)) {
            extent = *value;
            used[s] = true;
          } else if (d == 0 && sample_ == s) {
            extent = 1;
            sample_dim = 0;
          } else {
            fail(fmt::format("dimension {} of input '{}' is the symbol '{}'", d, v.name(), s),
                 fmt::format("give its value: --dim {}=N", s));
            extent = 1;
          }
        }
        type.shape.push_back(extent);
      }
      if (!ops::checked_elements(type.shape) || type.rank() > 16) fail(fmt::format("the shape of input '{}' is not valid", v.name()));
      if (new_value(v.name())) g_.add_input(v.name(), type, sample_dim);
    }
    for (const auto& [name, was_used] : used) {
      if (!was_used) fail(fmt::format("--dim {}: no input has this symbol", name));
    }
  }

  bool new_value(const std::string& name) {
    if (!name.empty() && !g_.find_value(name)) return true;
    fail(name.empty() ? "a tensor has no name" : fmt::format("two tensors are called '{}'", name));
    return false;
  }

  void add_initializers() {
    for (const onnx::TensorProto& p : proto_.initializer()) {
      std::string error;
      std::optional<ops::Tensor> t = onnx_tensor(p, error);
      if (!t) {
        fail(fmt::format("weights '{}': {}", p.name(), error));
      } else if (new_value(p.name())) {
        g_.add_constant(p.name(), std::move(*t));
      }
    }
    if (proto_.sparse_initializer_size() > 0) fail("sparse weights are not supported");
  }

  // Operands by name; false if one does not exist (then an earlier node failed or the file is not in order).
  bool operands_of(int i, std::vector<ValueId>& operands) {
    for (const std::string& name : proto_.node(i).input()) {
      if (name.empty()) {
        operands.push_back(ValueId{});
        continue;
      }
      std::optional<ValueId> v = g_.find_value(name);
      if (!v) {
        if (!failed_.count(name)) diag_.error_at(where(i), fmt::format("there is no tensor '{}' before this node", name));
        return false;
      }
      operands.push_back(*v);
    }
    return true;
  }

  void add_node(int i) {
    const onnx::NodeProto& n = proto_.node(i);
    bool ok = n.op_type() == "Constant" ? add_constant(i) : add_operator(i);
    if (!ok) failed_.insert(n.output().begin(), n.output().end());
  }

  bool add_constant(int i) {
    const onnx::NodeProto& n = proto_.node(i);
    if (n.attribute_size() != 1 || n.output_size() != 1) return bad(i, "a constant needs one attribute and one result");
    const onnx::AttributeProto& a = n.attribute(0);
    std::optional<ops::Tensor> t;
    std::string error = fmt::format("constants of the form '{}' are not supported", a.name());
    if (a.name() == "value" && a.has_t()) {
      t = onnx_tensor(a.t(), error);
    } else if (std::optional<AttrValue> v = onnx_attr(a)) {
      t = from_attr(*v);
    }
    if (!t) return bad(i, error);
    if (!new_value(n.output(0))) return false;
    g_.add_constant(n.output(0), std::move(*t));
    return true;
  }

  static std::optional<ops::Tensor> from_attr(const AttrValue& v) {
    if (const auto* i = std::get_if<int64_t>(&v)) return from_list(ops::DType::i64, {}, std::vector<int64_t>{*i});
    if (const auto* d = std::get_if<double>(&v)) return from_list(ops::DType::f32, {}, std::vector<double>{*d});
    if (const auto* i = std::get_if<std::vector<int64_t>>(&v)) return from_list(ops::DType::i64, {int64_t(i->size())}, *i);
    if (const auto* d = std::get_if<std::vector<double>>(&v)) return from_list(ops::DType::f32, {int64_t(d->size())}, *d);
    return std::nullopt;
  }
  template <typename T>
  static ops::Tensor from_list(ops::DType dtype, ops::Shape shape, const std::vector<T>& values) {
    ops::Tensor t(ops::TensorType{dtype, std::move(shape)});
    for (size_t k = 0; k < values.size(); ++k) {
      if constexpr (std::is_integral_v<T>) {
        t.set_int(int64_t(k), values[k]);
      } else {
        t.set(int64_t(k), values[k]);
      }
    }
    return t;
  }

  bool bad(int i, std::string message, std::string help = "") {
    diag_.error_at(where(i), std::move(message), std::move(help));
    return false;
  }

  bool add_operator(int i) {
    const onnx::NodeProto& n = proto_.node(i);
    const ops::OpDef* row = ops::find_onnx_op(n.op_type() == "Mean" ? "Sum" : n.op_type());
    CS_CHECK(row != nullptr, "unsupported operators were listed before");
    std::vector<ValueId> operands;
    if (!operands_of(i, operands)) return false;
    if (n.output_size() == 0 || n.output(0).empty()) return bad(i, "the node has no result");
    for (int k = 1; k < n.output_size(); ++k) {
      if (!n.output(k).empty() && is_used(n.output(k))) return bad(i, fmt::format("its result {} ('{}') is not supported", k, n.output(k)));
    }
    Attrs attrs;
    if (!attributes_of(i, *row, attrs) || !constant_operands(i, *row, operands, attrs)) return false;
    if (n.op_type() == "Dropout" && ops::attr_int(*row, attrs, "training_mode") != 0) {
      return bad(i, "training mode is not supported", "export the model for inference");
    }
    if (!new_value(n.output(0))) return false;
    if (row->name == "softmax" || row->name == "log_softmax") return add_softmax(i, *row, operands, attrs);
    if (row->onnx_fold && operands.size() != 2) return add_folded(i, *row, operands);
    if (n.op_type() == "Mean") return add_folded(i, *row, operands);
    return emit(i, names_[size_t(i)], *row, operands, attrs, n.output(0)).valid();
  }

  bool is_used(const std::string& value) const {
    for (const onnx::NodeProto& n : proto_.node()) {
      for (const std::string& in : n.input()) {
        if (in == value) return true;
      }
    }
    for (const onnx::ValueInfoProto& v : proto_.output()) {
      if (v.name() == value) return true;
    }
    return false;
  }

  bool attributes_of(int i, const ops::OpDef& row, Attrs& attrs) {
    for (const onnx::AttributeProto& a : proto_.node(i).attribute()) {
      std::optional<AttrValue> v = onnx_attr(a);
      std::string name = snake_case(a.name());
      if (!v) return bad(i, fmt::format("attribute '{}' has a form that is not supported", a.name()));
      if (row.name == "cast" && name == "to") {
        const auto* code = std::get_if<int64_t>(&*v);
        std::optional<ops::DType> t = code != nullptr ? onnx_dtype(int(*code)) : std::nullopt;
        if (!t) return bad(i, "the type to cast to is not supported");
        v = std::string(ops::dtype_name(*t));
      }
      ops::set_attr(attrs, name, std::move(*v));
    }
    return true;
  }

  // Moves constant operands into attributes, from the last to the first so that positions stay.
  bool constant_operands(int i, const ops::OpDef& row, std::vector<ValueId>& operands, Attrs& attrs) {
    for (auto it = row.onnx_inputs.rbegin(); it != row.onnx_inputs.rend(); ++it) {
      if (size_t(it->input) >= operands.size()) continue;
      ValueId v = operands[size_t(it->input)];
      operands.erase(operands.begin() + it->input);
      if (!v.valid()) continue;
      std::string name = g_.value(v).name;
      const ops::Tensor* t = graph::fold_value(g_, v, diag_);
      if (t == nullptr) {
        return bad(i, fmt::format("input '{}' ({}) must be a constant, but '{}' is computed at run time", it->input, it->attr, name));
      }
      set_from_tensor(row, it->attr, *t, attrs);
    }
    return true;
  }

  static void set_from_tensor(const ops::OpDef& row, std::string_view attr, const ops::Tensor& t, Attrs& attrs) {
    for (const ops::AttrDef& def : row.attrs) {
      if (def.name != attr || (t.elements() == 0 && def.kind != ops::AttrKind::integers)) continue;
      if (def.kind == ops::AttrKind::integers) {
        std::vector<int64_t> list;
        for (int64_t k = 0; k < t.elements(); ++k) list.push_back(t.get_int(k));
        ops::set_attr(attrs, attr, std::move(list));
      } else if (def.kind == ops::AttrKind::integer) {
        ops::set_attr(attrs, attr, t.get_int(0));
      } else {
        ops::set_attr(attrs, attr, t.get(0));
      }
    }
  }

  // Adds one typed node with one result; an invalid id if the row refuses it.
  ValueId emit(int i, const std::string& name, const ops::OpDef& given_row, std::vector<ValueId> operands, Attrs attrs,
               const std::string& result) {
    const ops::OpDef* row = &given_row;
    if (row->name == "gelu" || proto_.node(i).op_type() == "Gelu") row = gelu_row(attrs);
    while (!operands.empty() && !operands.back().valid()) operands.pop_back();
    graph::Node n;
    n.name = name;
    n.op = row->name;
    n.inputs = std::move(operands);
    n.attrs = std::move(attrs);
    n.where = where(i);
    NodeId id = g_.add_node(std::move(n));
    ValueId v = g_.add_result(id, result);
    return graph::infer_node(g_, id, diag_) ? v : ValueId{};
  }

  static const ops::OpDef* gelu_row(Attrs& attrs) {
    const AttrValue* form = ops::find_attr(attrs, "approximate");
    const auto* text = form != nullptr ? std::get_if<std::string>(form) : nullptr;
    bool tanh = text != nullptr && *text == "tanh";
    if (tanh || (text != nullptr && *text == "none")) attrs.clear();
    return ops::find_op(tanh ? "gelu_tanh" : "gelu");
  }

  // max(a, b, c) = max(max(a, b), c); Mean divides the sum by the number of operands.
  bool add_folded(int i, const ops::OpDef& row, const std::vector<ValueId>& operands) {
    const std::string& result = proto_.node(i).output(0);
    if (operands.empty()) return bad(i, "the node has no operands");
    bool mean = proto_.node(i).op_type() == "Mean";
    ValueId acc = operands[0];
    for (size_t k = 1; k < operands.size(); ++k) {
      bool last = k + 1 == operands.size() && !mean;
      std::string name = last ? names_[size_t(i)] : g_.fresh_name(fmt::format("{}_{}", names_[size_t(i)], k));
      acc = emit(i, name, row, {acc, operands[k]}, {}, last ? result : g_.fresh_name(name + "_out"));
      if (!acc.valid()) return false;
    }
    if (!mean && operands.size() > 1) return true;
    ops::Tensor count(ops::TensorType{g_.value(acc).type.dtype, {}});
    count.set(0, double(operands.size()));
    ValueId n = g_.add_constant(g_.fresh_name(names_[size_t(i)] + "_count"), std::move(count));
    const ops::OpDef* last = ops::find_op(mean ? "div" : "identity");
    return emit(i, names_[size_t(i)], *last, mean ? std::vector{acc, n} : std::vector{acc}, {}, result).valid();
  }

  // Before opset 13 the input counts as a matrix, split at `axis`; later it runs along one axis.
  bool add_softmax(int i, const ops::OpDef& row, const std::vector<ValueId>& operands, Attrs attrs) {
    const std::string &result = proto_.node(i).output(0), &name = names_[size_t(i)];
    if (operands.size() != 1 || !operands[0].valid()) return bad(i, "softmax needs 1 operand");
    ops::TensorType type = g_.value(operands[0]).type;
    int64_t axis = opset_ >= 13 ? -1 : 1;
    if (const AttrValue* v = ops::find_attr(attrs, "axis")) axis = std::holds_alternative<int64_t>(*v) ? std::get<int64_t>(*v) : axis;
    if (axis < 0) axis += type.rank();
    if (axis < 0 || axis >= type.rank()) return bad(i, fmt::format("axis {} does not exist in {}", axis, ops::type_text(type)));
    int wide = 0;
    int64_t along = axis;
    for (int d = int(axis); d < type.rank(); ++d) {
      if (type.shape[size_t(d)] != 1) {
        ++wide;
        along = d;
      }
    }
    if (opset_ >= 13 || wide <= 1) {
      ops::set_attr(attrs, "axis", opset_ >= 13 ? axis : along);
      return emit(i, name, row, operands, attrs, result).valid();
    }
    Attrs flat, rows, back;
    ops::set_attr(flat, "axis", axis);
    ops::set_attr(rows, "axis", int64_t(1));
    ops::set_attr(back, "shape", type.shape);
    ValueId a = emit(i, g_.fresh_name(name + "_flat"), *ops::find_op("flatten"), operands, flat, g_.fresh_name(name + "_flat_out"));
    if (!a.valid()) return false;
    ValueId b = emit(i, name, row, {a}, rows, g_.fresh_name(name + "_rows"));
    return b.valid() && emit(i, g_.fresh_name(name + "_shape"), *ops::find_op("reshape"), {b}, back, result).valid();
  }

  void add_outputs() {
    if (proto_.output_size() == 0) fail("the model has no outputs");
    for (const onnx::ValueInfoProto& v : proto_.output()) {
      std::optional<ValueId> id = g_.find_value(v.name());
      if (!id) {
        fail(fmt::format("output '{}' is produced by nothing", v.name()));
        continue;
      }
      if (g_.value(*id).is_output) {
        fail(fmt::format("output '{}' is listed twice", v.name()));
        continue;
      }
      if (!g_.value(*id).producer.valid()) {
        fail(fmt::format("output '{}' is an input or a constant of the model", v.name()), "nothing is computed for it; remove it");
        continue;
      }
      g_.set_output(*id);
    }
  }

  const onnx::ModelProto& model_;
  const onnx::GraphProto& proto_;
  const std::string& file_;
  const LoadOptions& options_;
  Diag& diag_;
  graph::Graph g_;
  std::vector<std::string> names_;
  std::set<std::string> failed_;   // results of nodes that were refused: their users are silent
  std::optional<std::string> sample_;
  int64_t opset_ = 0;
};

}  // namespace

std::optional<graph::Graph> import_onnx(std::string_view bytes, const std::string& name, const LoadOptions& options,
                                        Diag& diag) {
  onnx::ModelProto model;
  if (bytes.empty() || !parse_message(bytes, model)) {
    diag.error_at(name, fmt::format("not an ONNX model: the file is truncated or damaged ({} bytes)", bytes.size()));
    return std::nullopt;
  }
  if (!model.has_graph()) {
    diag.error_at(name, "the file has no graph: it is not an ONNX model, or a truncated one");
    return std::nullopt;
  }
  return Importer(model, name, options, diag).run();
}

std::optional<std::pair<std::string, ops::Tensor>> read_onnx_tensor(std::string_view bytes, const std::string& name,
                                                                    Diag& diag) {
  onnx::TensorProto proto;
  std::string error = "the file is truncated or damaged";
  std::optional<ops::Tensor> t;
  if (parse_message(bytes, proto)) t = onnx_tensor(proto, error);
  if (!t) {
    diag.error_at(name, error);
    return std::nullopt;
  }
  return std::pair{proto.name(), std::move(*t)};
}

}  // namespace cs::frontend
