// Parser of the text form. Two passes over the nodes: first every node and its results, then the operands by
// name, so that the order of the lines does not matter. Types that are missing are inferred at the end in
// topological order.
#include <filesystem>

#include <algorithm>

#include <fmt/format.h>

#include "compiler/graph/graph_yaml.h"
#include "compiler/graph/tensor_yaml.h"
#include "compiler/graph/yaml_values.h"
#include "runtime/program/host_yaml.h"

namespace cs::graph {

namespace {

struct PendingNode {
  NodeId id;
  int scope = 0;
  const YamlNode* inputs = nullptr;
  std::optional<ops::TensorType> type;
  SourceLoc type_loc;
};

class Reader {
 public:
  Reader(const YamlNode& root, const std::vector<uint8_t>& weights, const HostValues& given, Diag& diag)
      : weights_(weights), diag_(diag), before_(diag.errors()), control_(root, given, diag) {}

  std::optional<Graph> run(const YamlNode& root) {
    YamlMap m(root, "graph", diag_);
    if (!m.valid()) return std::nullopt;
    m.optional("graph", g_.name);
    if (g_.name.empty()) g_.name = "graph";
    std::string weights_name;
    m.optional("weights", weights_name);
    m.child("plan");  // plan_header reads it
    m.child("values");    // Control reads it
    m.child("training");  // the frontend reads what makes a step of training of the graph
    m.child("optimizer");
    m.child("replay");
    list(m, "inputs", [&](const YamlNode& n) { read_input(n); });
    list(m, "constants", [&](const YamlNode& n) { read_constant(n); });
    items_ = m.child("nodes") != nullptr ? control_.resolve(*m.child("nodes")) : std::vector<Control::Item>{};
    for (const Control::Item& item : items_) read_node(item.node, item.scope);
    for (const PendingNode& p : pending_) connect(p);
    list(m, "outputs", [&](const YamlNode& n) { read_output(n); });
    list(m, "states", [&](const YamlNode& n) { read_state(n); });
    list(m, "scalars", [&](const YamlNode& n) { read_scalar(n); });
    m.finish();
    if (diag_.errors() != before_) return std::nullopt;
    infer();
    if (diag_.errors() != before_) return std::nullopt;
    return std::move(g_);
  }

 private:
  template <typename Read>
  void list(YamlMap& m, const std::string& key, Read read) {
    const YamlNode* n = m.child(key);
    if (n == nullptr || n->is_null()) return;
    if (!n->is_sequence()) {
      diag_.error(n->loc(), fmt::format("'{}' must be a list", key));
      return;
    }
    for (const YamlNode& item : n->items()) {
      if (diag_.full()) return;
      read(item);
    }
  }

  bool new_value_name(const std::string& name, SourceLoc loc) {
    if (name.empty() || g_.find_value(name)) {
      diag_.error(loc,
                  name.empty() ? "a value has no name" : fmt::format("two values are called '{}'", name));
      return false;
    }
    return true;
  }

  std::optional<ops::TensorType> read_type(YamlMap& m, bool required, SourceLoc* loc = nullptr) {
    std::string text;
    const YamlNode* n = m.child("type");
    if (n == nullptr) {
      if (required) m.required("type", text);
      return std::nullopt;
    }
    if (loc != nullptr) *loc = n->loc();
    if (!n->read(text, "type", diag_)) return std::nullopt;
    std::optional<ops::TensorType> t = ops::parse_type(text);
    if (!t)
      diag_.error(n->loc(), fmt::format("'{}' is not a type", text),
                  "write an element type and the shape: f32[1, 784]");
    return t;
  }

  int read_sample_dim(YamlMap& m, const ops::TensorType* type) {
    int dim = -1;
    m.optional("sample_dim", dim);
    if (dim == kStackedSamples) return dim;  // each run is a step with a value of its own
    if (dim < -1 || (dim >= 0 && type != nullptr && (dim >= type->rank() || type->shape[size_t(dim)] != 1))) {
      diag_.error(
          m.loc(),
          fmt::format("sample_dim {} must be a dimension of extent 1 (the graph is for one sample)", dim));
      return -1;
    }
    return dim;
  }

  void read_input(const YamlNode& node) {
    YamlMap m(node, "input", diag_);
    if (!m.valid()) return;
    std::string name;
    m.required("name", name);
    std::optional<ops::TensorType> type = read_type(m, true);
    int sample_dim = read_sample_dim(m, type ? &*type : nullptr);
    bool is_static = false;
    m.optional("static", is_static);
    std::optional<bool> aligned;
    bool clones = true;
    if (m.child("assume_aligned") != nullptr) m.optional("assume_aligned", aligned.emplace(false));
    m.optional("clone_unaligned", clones);
    m.finish();
    if (is_static && sample_dim != -1)
      diag_.error(node.loc(), fmt::format("input '{}' has samples, so it is not static", name),
                  "leave out static, or sample_dim");
    if (!type || !new_value_name(name, node.loc())) return;
    Value& v = g_.value(g_.add_input(name, *type, sample_dim));
    v.is_static = is_static;
    v.assume_aligned = aligned;
    v.clone_unaligned = clones;
  }

  void read_constant(const YamlNode& node) {
    YamlMap m(node, "constant", diag_);
    if (!m.valid()) return;
    std::string name;
    m.required("name", name);
    std::optional<ops::TensorType> type = read_type(m, true);
    // What every sample finds the same is held once.
    const int sample_dim = read_sample_dim(m, type ? &*type : nullptr);
    bool quantised = false, is_static = false;
    m.optional("quantised", quantised);
    m.optional("static", is_static);
    if (!type) return m.finish();
    std::optional<ops::Tensor> t = read_tensor(m, "constant", name, *type, weights_, diag_);
    m.finish();
    if (!t || !new_value_name(name, node.loc())) return;
    graph::Value& v = g_.value(g_.add_constant(name, std::move(*t)));
    v.sample_dim = sample_dim;
    v.quantised = quantised;
    v.is_static = is_static;
  }

  // Inputs and outputs are there already.
  void read_state(const YamlNode& node) {
    YamlMap m(node, "state", diag_);
    if (!m.valid()) return;
    State s;
    m.required("name", s.name);
    m.required("purpose", s.purpose);
    m.required("input", s.input);
    m.required("output", s.output);
    const auto input = g_.find_value(s.input), output = g_.find_value(s.output);
    if (!input || !g_.value(*input).is_input || !output || !g_.value(*output).is_output) {
      diag_.error(node.loc(),
                  fmt::format("state '{}' goes from an input to an output, but there is no {} '{}'", s.name,
                              input && g_.value(*input).is_input ? "output" : "input",
                              input && g_.value(*input).is_input ? s.output : s.input));
      return;
    }
    std::optional<ops::Tensor> t = read_tensor(m, "state", s.name, g_.value(*input).type, weights_, diag_);
    m.finish();
    if (g_.state_of_input(s.input) != nullptr || g_.state_of_output(s.output) != nullptr)
      diag_.error(node.loc(),
                  fmt::format("two states have the input '{}' or the output '{}'", s.input, s.output));
    if (!t) return;
    s.initial = std::make_shared<const ops::Tensor>(std::move(*t));
    g_.states.push_back(std::move(s));
  }

  void read_scalar(const YamlNode& node) {
    YamlMap m(node, "scalar", diag_);
    if (!m.valid()) return;
    HostScalar s;
    cs::read_scalar(m, s, diag_);
    m.finish();
    const auto input = g_.find_value(s.input);
    if (!input || !g_.value(*input).is_input || g_.value(*input).type.elements() != 1 ||
        !data_type_is_float(g_.value(*input).type.dtype)) {
      diag_.error(node.loc(), fmt::format("'{}' is no input of one number in floating point", s.input));
      return;
    }
    g_.scalars.push_back(std::move(s));
  }

  void read_node(const YamlNode& node, int scope) {
    if (diag_.full()) return;
    YamlMap m(node, "node", diag_);
    if (!m.valid()) return;
    PendingNode p;
    p.scope = scope;
    Node n;
    n.loc = node.loc();
    if (m.required("name", n.name)) n.name = control_.defined_in(scope, n.name);
    m.required("op", n.op);
    m.optional("where", n.where);
    if (n.where.empty())
      n.where = fmt::format(
          "{}:{}", std::filesystem::path(diag_.sources.path(n.loc.file)).filename().string(), n.loc.line);
    p.inputs = m.child("inputs");
    const YamlNode* named = m.child("outputs");
    p.type = read_type(m, false, &p.type_loc);
    const ops::OpDef* row = ops::find_op(n.op);
    if (const YamlNode* attrs = m.child("attrs")) read_attrs(*attrs, row, n);
    read_assignment(m, n);
    m.finish();
    if (row == nullptr) {
      std::string near = nearest(n.op, ops::op_names());
      diag_.error(n.loc, fmt::format("node '{}': unknown operator '{}'", n.name, n.op),
                  near.empty() ? "cs-compile --list-ops lists the operators"
                               : fmt::format("did you mean '{}'?", near));
      return;
    }
    if (g_.find_node(n.name)) {
      diag_.error(n.loc, fmt::format("two nodes are called '{}'", n.name));
      return;
    }
    std::vector<std::string> outputs = {n.name};
    if (named != nullptr && !named->is_null() && !read_result_names(*named, scope, outputs)) return;
    for (const std::string& name : outputs) {
      if (!name.empty() && !new_value_name(name, n.loc)) return;
    }
    p.id = g_.add_node(n);
    for (const std::string& name : outputs)
      g_.add_result(p.id, name.empty() ? g_.fresh_name(n.name + "_unused") : name);
    pending_.push_back(std::move(p));
  }

  // A result that nobody wants is written as ~.
  bool read_result_names(const YamlNode& list, int scope, std::vector<std::string>& names) {
    if (!list.is_sequence()) {
      diag_.error(list.loc(), "'outputs' must be a list of value names");
      return false;
    }
    if (list.items().empty()) return true;
    names.clear();
    for (const YamlNode& item : list.items()) {
      if (!item.is_null() && !item.is_scalar()) {
        diag_.error(item.loc(), "'outputs' must be a list of value names");
        return false;
      }
      names.push_back(item.is_null() ? "" : control_.defined_in(scope, item.text()));
    }
    return true;
  }

  void read_assignment(YamlMap& m, Node& n) {
    Assignment& a = n.assignment;
    std::string origin, kernel;
    m.optional("origin", origin);
    if (!origin.empty()) {
      a.origin = origin_from_name(origin);
      if (!a.origin) {
        diag_.error(n.loc, fmt::format("'{}' is not an origin", origin),
                    "handwritten, autogen, primitive or host");
      }
    }
    m.optional("kernel", kernel);
    a.kernel = KernelId(kernel);
    m.optional("group", a.group);
    m.optional("whole", a.whole);
    m.optional("reason", a.reason);
    m.optional("from", n.from);
    m.optional("from_op", n.from_op);
    std::vector<int> at;
    m.optional("at", at);
    if (at.size() == 4) {
      a.rect = Rect{at[0], at[1], at[2], at[3]};
    } else if (!at.empty()) {
      diag_.error(n.loc, fmt::format("'at' needs 4 numbers (x, y, width, height), has {}", at.size()));
    }
  }

  void read_attrs(const YamlNode& node, const ops::OpDef* row, Node& n) {
    if (!node.is_map()) {
      diag_.error(node.loc(), "'attrs' must be a map");
      return;
    }
    for (const auto& [key, value] : node.entries()) {
      ops::AttrKind kind = guess_kind(value);
      for (size_t i = 0; row != nullptr && i < row->attrs.size(); ++i) {
        if (row->attrs[i].name == key.text()) kind = row->attrs[i].kind;
      }
      // One integer may stand for a list of one.
      if (kind == ops::AttrKind::integers && value.is_scalar()) kind = ops::AttrKind::integer;
      std::optional<AttrValue> v = read_attr(value, kind);
      if (v) {
        ops::set_attr(n.attrs, key.text(), std::move(*v));
      } else {
        diag_.error(value.loc(), fmt::format("attribute '{}' of {} has the wrong type", key.text(), n.op));
      }
    }
  }

  void connect(const PendingNode& p) {
    if (p.inputs == nullptr || p.inputs->is_null()) return;
    if (!p.inputs->is_sequence()) {
      diag_.error(p.inputs->loc(), "'inputs' must be a list of value names");
      return;
    }
    std::vector<ValueId> operands;
    for (const YamlNode& item : p.inputs->items()) {
      if (item.is_null()) {
        operands.push_back(ValueId{});
      } else if (std::optional<ValueId> v = value_in(p.scope, item)) {
        operands.push_back(*v);
      } else {
        unknown_value(item);
      }
    }
    g_.set_inputs_of(p.id, std::move(operands));
  }

  std::optional<ValueId> value_in(int scope, const YamlNode& item) const {
    return item.is_scalar() ? g_.find_value(control_.seen_in(scope, item.text())) : std::nullopt;
  }

  void unknown_value(const YamlNode& item) {
    std::vector<std::string> known;
    for (size_t i = 0; i < g_.value_slots(); ++i) known.push_back(g_.value({int32_t(i)}).name);
    std::string name = item.is_scalar() ? item.text() : "(a list)", near = nearest(name, known);
    diag_.error(item.loc(), fmt::format("there is no value '{}'", name),
                near.empty() ? "" : fmt::format("did you mean '{}'?", near));
  }

  void read_output(const YamlNode& node) {
    std::string name;
    int sample_dim = -1;
    const YamlNode* at = &node;
    if (node.is_scalar()) {
      name = node.text();
    } else {
      YamlMap m(node, "output", diag_);
      if (!m.valid()) return;
      m.required("name", name);
      at = m.child("name") != nullptr ? m.child("name") : &node;
      sample_dim = read_sample_dim(m, nullptr);
      m.finish();
    }
    std::optional<ValueId> v = g_.find_value(control_.seen_in(0, name));
    if (!v) {
      unknown_value(*at);
    } else if (g_.value(*v).is_output) {
      diag_.error(node.loc(), fmt::format("output '{}' is listed twice", name));
    } else {
      g_.set_output(*v);
      g_.value(*v).sample_dim = std::max(sample_dim, g_.value(*v).sample_dim);
    }
  }

  void infer() {
    std::vector<NodeId> order = g_.topological();
    if (order.size() != g_.nodes().size()) {
      verify(g_, diag_);  // names the cycle
      return;
    }
    for (NodeId id : order) {
      bool ready = true;
      for (ValueId v : g_.node(id).inputs) ready = ready && (!v.valid() || g_.value(v).typed);
      if (ready) infer_node(g_, id, diag_);
    }
    for (const PendingNode& p : pending_) {
      const Value& v = g_.value(g_.node(p.id).outputs[0]);
      if (p.type && v.typed && v.type != *p.type) {
        diag_.error(p.type_loc, fmt::format("'{}' says {}, but its operands give {}", v.name,
                                            ops::type_text(*p.type), ops::type_text(v.type)));
      }
    }
  }

  const std::vector<uint8_t>& weights_;
  Diag& diag_;
  size_t before_;  // errors of others
  Control control_;
  std::vector<Control::Item> items_;  // whose nodes are pointed to
  Graph g_;
  std::vector<PendingNode> pending_;
};

}  // namespace

std::optional<Graph> graph_from_yaml(const YamlDoc& doc, const std::vector<uint8_t>& weights, Diag& diag,
                                     const HostValues& given) {
  return Reader(doc.root(), weights, given, diag).run(doc.root());
}

}  // namespace cs::graph
