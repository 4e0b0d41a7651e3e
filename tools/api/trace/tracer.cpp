// Calls of functions become nodes; tensors of the host that they take become constants, weights or run-time
// inputs.
#include "tools/api/trace/tracer.h"

#include <atomic>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "runtime/support/yaml.h"

namespace cs::tracing {

namespace {

thread_local Tracer* the_active = nullptr;

uint64_t next_serial() {
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

// The first message alone: the others follow from it, or have their turn when it is mended.
std::string first_message(const Diag& diag) {
  for (const Diagnostic& d : diag.all()) {
    if (d.severity == Severity::error) return d.help.empty() ? d.message : d.message + "; " + d.help.text();
  }
  return "refused without a message";
}

const ops::OpDef& row_of(const std::string& name, const Place& at) {
  const ops::OpDef* row = ops::find_op(name);
  if (row != nullptr) return *row;
  const std::string near = nearest(name, ops::op_names());
  throw StaticGraphError(
      fmt::format("there is no operator '{}'{}", name, near.empty() ? "" : "; did you mean '" + near + "'?"),
      at);
}

// Numbers are of the type of the first tensor beside them.
std::optional<DataType> dtype_of(const std::vector<TensorArg>& operands) {
  for (const TensorArg& arg : operands)
    if (arg.tensor && arg.tensor->type().dtype != DataType::boolean) return arg.tensor->type().dtype;
  return std::nullopt;
}

ops::Tensor number(double value, std::optional<DataType> dtype) {
  const bool whole = value == std::floor(value);
  const DataType type = dtype && (whole || data_type_is_float(*dtype)) ? *dtype : DataType::f32;
  ops::Tensor t(ops::TensorType{type, {}});
  t.set(0, value);
  return t;
}

Place call_of(const std::vector<TensorArg>& operands) {
  return operands.empty() ? Place{} : cs::place_of(operands.front().where);
}

void check(const ops::OpDef& row, const Attrs& attrs, size_t operands, const Place& at) {
  std::vector<std::string> errors;
  if (!ops::check_node(row, attrs, operands, errors))
    throw StaticGraphError(fmt::format("{}: {}", row.name, errors.empty() ? "refused" : errors.front()), at);
}

// Outside of traces.
std::vector<Tensor> compute(const ops::OpDef& row, const std::vector<TensorArg>& operands, const Attrs& attrs,
                            size_t results, const Place& at) {
  const auto dtype = dtype_of(operands);
  std::vector<ops::Tensor> numbers;
  numbers.reserve(operands.size());
  std::vector<const ops::Tensor*> values;
  for (const TensorArg& arg : operands) {
    if (arg.number) numbers.push_back(number(*arg.number, dtype));
    values.push_back(arg.number ? &numbers.back() : arg.tensor ? &arg.tensor->value(arg.where) : nullptr);
  }
  std::vector<ops::Tensor> out;
  Diag diag;
  if (!ops::evaluate(row, attrs, values, out, diag) || out.size() < results)
    throw StaticGraphError(fmt::format("{}: {}", row.name, first_message(diag)), at);
  std::vector<Tensor> tensors;
  for (size_t k = 0; k < results; ++k) tensors.emplace_back(std::move(out[k]));
  return tensors;
}

}  // namespace

Tracer::Tracer(const std::string& name) : serial_(next_serial()) { graph.name = name; }
Tracer* Tracer::active() { return the_active; }

Tracer::Scope::Scope(Tracer& tracer) : outer_(the_active) { the_active = &tracer; }
Tracer::Scope::~Scope() { the_active = outer_; }

// base, base_1, base_2, ... as Python's graphs have them.
std::string Tracer::fresh(const std::string& base) {
  const int count = names_[base]++;
  if (count == 0) return base;
  std::string name = fmt::format("{}_{}", base, count);
  if (names_.contains(name)) return fresh(name);
  names_[name] = 1;
  return name;
}

Tensor Tracer::handle(graph::ValueId id, const Place& made) const {
  auto data = std::make_shared<TensorData>();
  data->type = graph.value(id).type;
  data->trace = serial_;
  data->id = id;
  data->made = made;
  return Tensor(std::move(data));
}

Tensor Tracer::input(const std::string& name, const ops::TensorType& type) {
  return handle(graph.add_input(fresh(name), type), {});
}

graph::ValueId Tracer::capture(const Tensor& tensor) {
  const TensorData& data = *tensor.data();
  if (data.kind == TensorData::Kind::hyper) {
    hypers.emplace_back(graph.add_input(fresh(data.name), data.type), tensor);
    return hypers.back().first;
  }
  const bool weight = data.kind == TensorData::Kind::weight;
  const std::string base = !weight ? "constant" : data.name.empty() ? "parameter" : data.name;
  const graph::ValueId id = graph.add_constant(fresh(base), data.value);
  if (weight) weights.emplace_back(id, Weight(tensor.data()));
  return id;
}

graph::ValueId Tracer::value_of(const Tensor& tensor, const Place& where) {
  const TensorData* data = tensor.data().get();
  if (data->trace == serial_) return data->id;
  if (data->trace != 0)
    throw StaticGraphError(
        fmt::format("{} belongs to a graph whose tracing is over; return it from the step instead "
                    "of keeping it",
                    ops::type_text(data->type)),
        where);
  const auto known = captured_.find(data);
  if (known != captured_.end()) return known->second;
  kept_.push_back(tensor.data());
  return captured_[data] = capture(tensor);
}

graph::ValueId Tracer::operand(const TensorArg& arg, std::optional<DataType> dtype) {
  if (arg.number) return graph.add_constant(fresh("constant"), number(*arg.number, dtype));
  return arg.tensor ? value_of(*arg.tensor, cs::place_of(arg.where)) : graph::ValueId{};
}

std::vector<Tensor> Tracer::add(const std::string& name, const std::vector<TensorArg>& operands,
                                const Attrs& attrs, size_t results) {
  const Place at = call_of(operands);
  const ops::OpDef& row = row_of(name, at);
  graph::Node node;
  for (const auto& [key, value] : attrs) ops::set_attr(node.attrs, key, value);
  check(row, node.attrs, operands.size(), at);
  const auto dtype = dtype_of(operands);
  for (const TensorArg& arg : operands) node.inputs.push_back(operand(arg, dtype));
  while (!node.inputs.empty() && !node.inputs.back().valid()) node.inputs.pop_back();
  node.op = name;
  node.name = fresh(name);
  node.where = at.text();
  const std::string stem = node.name;
  const graph::NodeId id = graph.add_node(std::move(node));
  for (size_t k = 0; k < results; ++k)
    graph.add_result(id, k == 0 ? stem : fresh(fmt::format("{}_{}", stem, k)));
  places_.resize(graph.node_slots());
  places_[size_t(id.index)] = at;
  Diag diag;
  if (!graph::infer_node(graph, id, diag))
    throw StaticGraphError(fmt::format("{}: {}", name, first_message(diag)), at);
  std::vector<Tensor> tensors;
  for (graph::ValueId v : graph.node(id).outputs) tensors.push_back(handle(v, at));
  return tensors;
}

Tensor Tracer::add_loss(const Loss& loss, const std::vector<TensorArg>& operands,
                        const LossOptions& options) {
  const Place at = call_of(operands);
  const auto dtype = dtype_of(operands);
  std::vector<graph::ValueId> values;
  for (const TensorArg& arg : operands) values.push_back(operand(arg, dtype));
  Diag diag;
  const graph::ValueId id = cs::add_loss(graph, loss, std::move(values), options, diag);
  if (!id.valid()) throw StaticGraphError(first_message(diag), at);
  const graph::NodeId node = graph.value(id).producer;
  names_[graph.node(node).name] = 1;
  graph.node(node).where = at.text();
  places_.resize(graph.node_slots());
  places_[size_t(node.index)] = at;
  return handle(id, at);
}

graph::ValueId Tracer::result(const Tensor& tensor, const Place& where) {
  graph::ValueId id = value_of(tensor, where);
  if (!graph.value(id).producer.valid()) {
    const CallSite here = CallSite::here();
    const graph::ValueId made = add("identity", {TensorArg(tensor, here)}, {}, 1)[0].data()->id;
    places_[size_t(graph.value(made).producer.index)] = {};
    graph.node(graph.value(made).producer).where = "result of " + graph.name;
    id = made;
  }
  if (!graph.value(id).is_output) graph.set_output(id);
  return id;
}

bool Tracer::depends(graph::ValueId on, graph::ValueId value) const {
  std::vector<char> seen(graph.value_slots());
  std::vector<graph::ValueId> stack = {value};
  while (!stack.empty()) {
    const graph::ValueId v = stack.back();
    stack.pop_back();
    if (!v.valid() || seen[size_t(v.index)] != 0) continue;
    if (v == on) return true;
    seen[size_t(v.index)] = 1;
    const graph::NodeId producer = graph.value(v).producer;
    if (!producer.valid()) continue;
    const std::vector<graph::ValueId>& inputs = graph.node(producer).inputs;
    stack.insert(stack.end(), inputs.begin(), inputs.end());
  }
  return false;
}

void Tracer::finish() {
  if (!training.loss.valid()) return;
  if (graph.outputs.empty()) graph.set_output(training.loss);
  if (!training.recipe.empty() && !training.zeroed)
    throw StaticGraphError(
        "optimizer.step() without zero_grad(): gradients would add up over the iterations, which is "
        "not supported",
        training.stepped);
  if (!training.recipe.empty()) return;
  for (const auto& [id, weight] : weights)
    if (weight.requires_grad() && depends(id, training.loss)) training.gradients.push_back(id);
}

Place Tracer::place_of(graph::NodeId id) const {
  return id.valid() && size_t(id.index) < places_.size() ? places_[size_t(id.index)] : Place{};
}

std::vector<Tensor> apply(const std::string& name, const std::vector<TensorArg>& operands, const Attrs& attrs,
                          size_t results) {
  if (Tracer* tracer = Tracer::active()) return tracer->add(name, operands, attrs, results);
  const Place at = call_of(operands);
  const ops::OpDef& row = row_of(name, at);
  Attrs sorted;
  for (const auto& [key, value] : attrs) ops::set_attr(sorted, key, value);
  check(row, sorted, operands.size(), at);
  return compute(row, operands, sorted, results, at);
}

void backward(const Tensor& loss, const Place& where) {
  Tracer* tracer = Tracer::active();
  if (tracer == nullptr || loss.data()->trace != tracer->serial())
    throw StaticGraphError(
        "backward() belongs into a training step: a function under cs::trace, and a loss that it made",
        where);
  Training& training = tracer->training;
  if (training.loss.valid()) throw StaticGraphError("a training step has one backward()", where);
  if (loss.type().elements() != 1)
    throw StaticGraphError(
        "backward() needs a loss of one element, this one is " + ops::type_text(loss.type()), where);
  if (!tracer->graph.value(loss.data()->id).producer.valid())
    throw StaticGraphError("the loss depends on nothing", where);
  training.loss = loss.data()->id;
  training.where = where;
}

}  // namespace cs::tracing
