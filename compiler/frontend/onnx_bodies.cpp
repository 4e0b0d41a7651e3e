// ONNX import: operators with bodies. A graph here is static, so a body is written out where its operator
// stands:
//
//   If     the branch that a constant condition chooses
//   Loop   the body once per trip, as long as a constant condition holds
//   Scan   the body once per element of what is scanned
//
// Names of a body get the operator's name before them, and hide those outside of it.
#include <limits>

#include <fmt/format.h>

#include "compiler/frontend/onnx_importer.h"
#include "compiler/graph/fold.h"

namespace cs::frontend {

using graph::ValueId;

namespace {

constexpr size_t kMostNodes = 100'000;  // of all bodies together
constexpr const char* kStatic = "a graph here is static: export the model with constants there";

std::vector<int64_t> integers_of(const onnx::NodeProto& n, std::string_view name, size_t count) {
  std::vector<int64_t> list;
  for (const onnx::AttributeProto& a : n.attribute()) {
    if (a.name() == name) list.assign(a.ints().begin(), a.ints().end());
  }
  list.resize(count, 0);
  return list;
}

ops::Tensor scalar(DataType dtype, int64_t value) {
  ops::Tensor t(ops::TensorType{dtype, {}});
  t.set_int(0, value);
  return t;
}

}  // namespace

const onnx::GraphProto* body_of(const onnx::NodeProto& n, std::string_view name) {
  for (const onnx::AttributeProto& a : n.attribute()) {
    if (a.name() == name && a.has_g()) return &a.g();
  }
  return nullptr;
}

int64_t integer_of(const onnx::NodeProto& n, std::string_view name, int64_t otherwise) {
  for (const onnx::AttributeProto& a : n.attribute()) {
    if (a.name() == name && a.type() == onnx::AttributeProto::INT) return a.i();
  }
  return otherwise;
}

bool has_body(const std::string& op_type) {
  return op_type == "If" || op_type == "Loop" || op_type == "Scan";
}

void Importer::note_uses(const onnx::GraphProto& graph) {
  for (const onnx::NodeProto& n : graph.node()) {
    used_.insert(n.input().begin(), n.input().end());
    for (const onnx::AttributeProto& a : n.attribute()) {
      if (a.has_g()) note_uses(a.g());
    }
  }
  for (const onnx::ValueInfoProto& v : graph.output()) used_.insert(v.name());
}

bool Importer::add_body_node(int i) {
  const std::string& op = node(i).op_type();
  if (op == "If") return add_if(i);
  return op == "Loop" ? add_loop(i) : add_scan(i);
}

bool Importer::copy(int i, ValueId from, const std::string& to) {
  if (to.empty()) return true;
  return new_value(to) &&
         emit(i, g_.fresh_name(names_[size_t(i)] + "_" + to), *ops::find_op("identity"), {from}, {}, {to})
             .valid();
}

// The prefix is a copy: it may be one of the names that grow here.
bool Importer::write_body(int i, const onnx::GraphProto& body, const std::string prefix, Scope scope,
                          std::vector<std::string>& results) {
  auto own = [&](const std::string& name) {
    if (name.empty()) return std::string();
    return scope[name] = g_.fresh_name(prefix + "/" + name);
  };
  for (const onnx::TensorProto& p : body.initializer()) {
    std::string error;
    std::optional<ops::Tensor> t = onnx_tensor(p, error);
    if (!t) return bad(i, fmt::format("weights '{}' of its body: {}", p.name(), error));
    g_.add_constant(own(p.name()), std::move(*t));
  }
  for (const onnx::NodeProto& inner : body.node()) {
    if (bodies_.size() >= kMostNodes)
      return bad(i, fmt::format("its bodies have more than {} nodes when they are written out", kMostNodes));
    const int j = proto_.node_size() + int(bodies_.size());
    onnx::NodeProto& n = bodies_.emplace_back(inner);
    for (std::string& in : *n.mutable_input()) {
      auto it = scope.find(in);
      if (it != scope.end()) in = it->second;
    }
    for (std::string& out : *n.mutable_output()) out = own(out);
    used_.insert(n.input().begin(), n.input().end());
    // Whether a result is used is known by the names that the body gives them.
    for (int k = 0; k < n.output_size(); ++k) {
      if (used_.count(inner.output(k)) > 0) used_.insert(n.output(k));
    }
    std::string name =
        prefix + "/" + (inner.name().empty() ? fmt::format("{}_{}", inner.op_type(), j) : inner.name());
    names_.push_back(g_.fresh_name(name));
    if (has_body(inner.op_type()) || is_sequence_op(inner.op_type())) scopes_[j] = scope;
    if (!is_known(inner))
      return bad(i, fmt::format("its body has an operator that is not supported: {}", inner.op_type()),
                 "cs-compile --list-ops lists the operators");
    const size_t before = diag_.errors();
    add_node(j);
    if (diag_.errors() != before) return false;
  }
  for (const onnx::ValueInfoProto& v : body.output()) {
    auto it = scope.find(v.name());
    results.push_back(it != scope.end() ? it->second : v.name());
    if (!exists(results.back()))
      return bad(i, fmt::format("its body does not make its result '{}'", v.name()));
  }
  return true;
}

bool Importer::tensors_of(int i, const std::vector<std::string>& names, std::vector<ValueId>& values) {
  for (const std::string& name : names) {
    const std::optional<ValueId> v = g_.find_value(name);
    if (!v) return bad(i, fmt::format("'{}' is not a tensor", name));
    values.push_back(*v);
  }
  return true;
}

Importer::Scope Importer::scope_of(int i) const {
  auto it = scopes_.find(i);
  return it != scopes_.end() ? it->second : Scope{};
}

// The constant behind operand k; an error that calls it `what` if there is none.
const ops::Tensor* Importer::constant_operand(int i, ValueId v, const char* what) {
  std::string name = g_.value(v).name;
  const ops::Tensor* t = graph::fold_value(g_, v, diag_);
  if (t != nullptr && t->elements() == 1) return t;
  bad(i, fmt::format("{} ('{}') is {}", what, name, t != nullptr ? "not one number" : "computed at run time"),
      kStatic);
  return nullptr;
}

bool Importer::add_if(int i) {
  std::vector<ValueId> operands;
  std::vector<std::string> results;
  if (!operands_of(i, operands)) return false;
  if (operands.size() != 1 || !operands[0].valid()) return bad(i, "If needs 1 operand");
  const ops::Tensor* condition = constant_operand(i, operands[0], "its condition");
  if (condition == nullptr) return false;
  const onnx::GraphProto* branch = body_of(node(i), condition->get(0) != 0 ? "then_branch" : "else_branch");
  if (branch == nullptr) return bad(i, "it has no branch for its condition");
  if (!write_body(i, *branch, names_[size_t(i)], scope_of(i), results)) return false;
  if (int(results.size()) != node(i).output_size())
    return bad(i,
               fmt::format("its branch has {} results, the node {}", results.size(), node(i).output_size()));
  for (size_t k = 0; k < results.size(); ++k) {
    if (!hand_on(i, results[k], node(i).output(int(k)))) return false;
  }
  return true;
}

// What the trips gave, one after another along a new dimension.
bool Importer::stack(int i, const std::vector<ValueId>& parts, int64_t axis, const std::string& to) {
  if (to.empty()) return true;
  if (parts.empty()) return bad(i, fmt::format("its result '{}' would be empty: there is no trip", to));
  if (!new_value(to)) return false;
  std::vector<ValueId> wide;
  for (ValueId part : parts) {
    std::string name = g_.fresh_name(names_[size_t(i)] + "_" + to);
    wide.push_back(emit(i, name, *ops::find_op("unsqueeze"), {part}, {{"axes", std::vector<int64_t>{axis}}},
                        {g_.fresh_name(name + "_out")}));
    if (!wide.back().valid()) return false;
  }
  return emit(i, g_.fresh_name(names_[size_t(i)] + "_" + to), *ops::find_op("concat"), wide, {{"axis", axis}},
              {to})
      .valid();
}

bool Importer::add_loop(int i) {
  const onnx::GraphProto* body = body_of(node(i), "body");
  if (body == nullptr) return bad(i, "a loop needs a body");
  std::vector<std::string> state(node(i).input().begin(), node(i).input().end());
  if (state.size() < 2) return bad(i, fmt::format("a loop needs at least 2 operands, has {}", state.size()));
  state.erase(state.begin(), state.begin() + 2);
  for (const std::string& name : state) {
    if (failed_.contains(name)) return false;
    if (!exists(name)) return bad(i, fmt::format("there is no value '{}' before this node", name));
  }
  const size_t carried = state.size();
  if (size_t(body->input_size()) != carried + 2 || size_t(body->output_size()) < carried + 1 ||
      body->output_size() - 1 < node(i).output_size())
    return bad(i, fmt::format("its body has {} operands and {} results for {} carried values",
                              body->input_size(), body->output_size(), carried));
  int64_t trips = std::numeric_limits<int64_t>::max();
  bool go = true;
  if (!node(i).input(0).empty()) {
    const std::optional<ValueId> v = tensor_operand(i, 0);
    const ops::Tensor* t = v ? constant_operand(i, *v, "its number of trips") : nullptr;
    if (t == nullptr) return false;
    trips = t->get_int(0);
  }
  if (!node(i).input(1).empty()) {
    const std::optional<ValueId> v = tensor_operand(i, 1);
    const ops::Tensor* t = v ? constant_operand(i, *v, "its condition") : nullptr;
    if (t == nullptr) return false;
    go = t->get(0) != 0;
  }
  std::vector<std::vector<std::string>> stacked(size_t(body->output_size()) - 1 - carried);
  for (int64_t trip = 0; go && trip < trips; ++trip) {
    std::string prefix = fmt::format("{}/{}", names_[size_t(i)], trip);
    Scope scope = scope_of(i);
    auto give = [&](int k, ValueId v) { scope[body->input(k).name()] = g_.value(v).name; };
    give(0, g_.add_constant(g_.fresh_name(prefix + "/trip"), scalar(DataType::i64, trip)));
    give(1, g_.add_constant(g_.fresh_name(prefix + "/condition"), scalar(DataType::boolean, 1)));
    for (size_t k = 0; k < carried; ++k) scope[body->input(int(k) + 2).name()] = state[k];
    std::vector<std::string> results;
    if (!write_body(i, *body, prefix, scope, results)) return false;
    std::vector<ValueId> condition;
    if (!tensors_of(i, {results[0]}, condition)) return false;
    const ops::Tensor* t = constant_operand(i, condition[0], "its condition after a trip");
    if (t == nullptr) return false;
    go = t->get(0) != 0;
    for (size_t k = 1; k < results.size(); ++k) {
      if (k <= carried) {
        state[k - 1] = results[k];
      } else {
        stacked[k - 1 - carried].push_back(results[k]);
      }
    }
  }
  for (int k = 0; k < node(i).output_size(); ++k) {
    const std::string& to = node(i).output(k);
    std::vector<ValueId> parts;
    if (size_t(k) < carried ? !hand_on(i, state[size_t(k)], to)
                            : !tensors_of(i, stacked[size_t(k) - carried], parts) || !stack(i, parts, 0, to))
      return false;
  }
  return true;
}

bool Importer::add_scan(int i) {
  const onnx::GraphProto* body = body_of(node(i), "body");
  std::vector<ValueId> operands;
  if (body == nullptr || opset_ < 9) return bad(i, "a scan needs a body, and operator set 9 or later");
  if (!operands_of(i, operands)) return false;
  const size_t scanned = size_t(std::max<int64_t>(0, integer_of(node(i), "num_scan_inputs", 0)));
  if (scanned < 1 || scanned > operands.size() || size_t(body->input_size()) != operands.size() ||
      body->output_size() != node(i).output_size())
    return bad(i, fmt::format("{} operands, {} of them scanned, and a body with {} operands and {} results",
                              operands.size(), scanned, body->input_size(), body->output_size()));
  const size_t carried = operands.size() - scanned;
  if (size_t(body->output_size()) < carried)
    return bad(i, "its body gives fewer results than there are carried values");
  const std::vector<int64_t> axes = integers_of(node(i), "scan_input_axes", scanned),
                             back = integers_of(node(i), "scan_input_directions", scanned),
                             out_axes = integers_of(node(i), "scan_output_axes",
                                                    size_t(body->output_size()) - carried),
                             out_back = integers_of(node(i), "scan_output_directions", out_axes.size());
  std::vector<ValueId> state(operands.begin(), operands.begin() + int64_t(carried));
  std::vector<std::vector<ValueId>> stacked(out_axes.size());
  int64_t trips = -1;
  for (size_t k = 0; k < scanned; ++k) {
    const ops::TensorType& t = g_.value(operands[carried + k]).type;
    const int64_t axis = axes[k] < 0 ? axes[k] + t.rank() : axes[k];
    if (axis < 0 || axis >= t.rank())
      return bad(i, fmt::format("axis {} does not exist in {}", axes[k], ops::type_text(t)));
    if (trips >= 0 && trips != t.shape[size_t(axis)]) return bad(i, "what it scans has different extents");
    trips = t.shape[size_t(axis)];
  }
  for (int64_t trip = 0; trip < trips; ++trip) {
    std::string prefix = fmt::format("{}/{}", names_[size_t(i)], trip);
    Scope scope = scope_of(i);
    for (size_t k = 0; k < operands.size(); ++k) {
      ValueId v = k < carried ? state[k] : ValueId{};
      if (k >= carried) {
        const int64_t at = back[k - carried] != 0 ? trips - 1 - trip : trip;
        std::string name = g_.fresh_name(fmt::format("{}/{}", prefix, body->input(int(k)).name()));
        ValueId index = g_.add_constant(g_.fresh_name(name + "_index"), scalar(DataType::i64, at));
        v = emit(i, name, *ops::find_op("gather"), {operands[k], index}, {{"axis", axes[k - carried]}},
                 {g_.fresh_name(name + "_out")});
        if (!v.valid()) return false;
      }
      scope[body->input(int(k)).name()] = g_.value(v).name;
    }
    std::vector<std::string> names;
    std::vector<ValueId> results;
    if (!write_body(i, *body, prefix, scope, names) || !tensors_of(i, names, results)) return false;
    for (size_t k = 0; k < results.size(); ++k) {
      if (k < carried) {
        state[k] = results[k];
      } else if (out_back[k - carried] != 0) {
        stacked[k - carried].insert(stacked[k - carried].begin(), results[k]);
      } else {
        stacked[k - carried].push_back(results[k]);
      }
    }
  }
  for (int k = 0; k < node(i).output_size(); ++k) {
    const std::string& to = node(i).output(k);
    const size_t s = size_t(k) - carried;
    if (size_t(k) < carried ? !copy(i, state[size_t(k)], to) : !stack(i, stacked[s], out_axes[s], to))
      return false;
  }
  return true;
}

}  // namespace cs::frontend
