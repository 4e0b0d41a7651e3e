// Who asks a traced tensor for its value is told where.
#include "tools/api/trace/tensor.h"

#include <fmt/format.h>

#include "tools/api/trace/tensor_data.h"
#include "tools/api/trace/tracer.h"

namespace cs {

using tracing::TensorData;

namespace {

std::shared_ptr<TensorData> data_of(ops::Tensor value, TensorData::Kind kind, const std::string& name) {
  auto data = std::make_shared<TensorData>();
  data->type = value.type;
  data->value = std::make_shared<const ops::Tensor>(std::move(value));
  data->kind = kind;
  data->name = name;
  return data;
}

ops::Tensor scalar(double value) {
  ops::Tensor t(ops::TensorType{DataType::f32, {}});
  t.set(0, value);
  return t;
}

double only_element(const ops::Tensor& t, const Place& where) {
  if (t.elements() != 1) throw TraceError(ops::type_text(t.type) + " has not one element", where);
  return t.get(0);
}

const ops::Tensor& value_at(const TensorData& data, const Place& where) {
  if (data.trace == 0) return *data.value;
  const tracing::Tracer* tracer = tracing::Tracer::active();
  const bool now = tracer != nullptr && tracer->serial() == data.trace;
  throw StaticGraphError(
      now ? fmt::format("the value of a traced {} ({}) is asked for, but a static graph has none while '{}' "
                        "is traced; "
                        "branches and loops depend on host values only",
                        ops::type_text(data.type), tracer->graph.value(data.id).name, tracer->graph.name)
          : fmt::format("the value of a {} is asked for that belongs to a trace that is over; return it from "
                        "the step",
                        ops::type_text(data.type)),
      where);
}

}  // namespace

Tensor::Tensor(ops::Tensor value) : data_(data_of(std::move(value), TensorData::Kind::value, "")) {}
Tensor::Tensor(ops::Shape shape, const std::vector<float>& values)
    : Tensor(ops::Tensor::from_floats(std::move(shape), values)) {}

const ops::TensorType& Tensor::type() const { return data_->type; }
bool Tensor::is_traced() const { return data_->trace != 0; }

const ops::Tensor& Tensor::value(CallSite where) const { return value_at(*data_, place_of(where)); }
std::vector<float> Tensor::floats(CallSite where) const { return value(where).to_floats(); }
double Tensor::item(CallSite where) const { return only_element(value(where), place_of(where)); }
Tensor::operator bool() const { return only_element(value_at(*data_, data_->made), data_->made) != 0; }

void Tensor::backward(CallSite where) const { tracing::backward(*this, place_of(where)); }

Weight::Weight(ops::Tensor value, const std::string& name)
    : Tensor(data_of(std::move(value), TensorData::Kind::weight, name)) {}
const std::string& Weight::name() const { return data()->name; }
void Weight::set_name(const std::string& name) { data()->name = name; }
const std::optional<ops::Tensor>& Weight::gradient() const { return data()->gradient; }
bool Weight::requires_grad() const { return data()->requires_grad; }
void Weight::set_requires_grad(bool on) { data()->requires_grad = on; }

void Weight::store(ops::Tensor value) {
  if (value.type != type())
    throw TraceError(fmt::format("the weight {} is {}, the new value is {}", name(), ops::type_text(type()),
                                 ops::type_text(value.type)));
  data()->value = std::make_shared<const ops::Tensor>(std::move(value));
}

Hyper::Hyper(double value, const std::string& name)
    : Tensor(data_of(scalar(value), TensorData::Kind::hyper, name)) {}
void Hyper::set(double value) { data()->value = std::make_shared<const ops::Tensor>(scalar(value)); }

}  // namespace cs
