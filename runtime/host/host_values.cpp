// Tensors by sample and name; operands of a whole batch are put together, its results taken apart.
#include "runtime/host/host_values.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "runtime/host/model_run.h"
#include "runtime/host/pieces.h"
#include "runtime/host/samples.h"
#include "runtime/host/training_data.h"

namespace cs {

namespace {

bool evaluates(const ModelRunOptions& options, int sample) {
  return size_t(sample) < options.evaluates.size() && options.evaluates[size_t(sample)];
}

}  // namespace

void Operands::wait_for(const Ready& r) {
  at_host = std::max(at_host, r.at_host);
  at_edge = std::max(at_edge, r.at_edge);
}

HostValues::HostValues(const HostPart& host, int samples, int batch, Diag& diag)
    : host_(host), samples_(samples), batch_(batch), diag_(diag), tensors_(size_t(samples)) {
  for (const auto* list : {&host.inputs, &host.outputs, &host.values})
    for (const HostTensor& t : *list) types_[t.name] = &t;
  for (const HostTensor& t : host.outputs)
    for (const Piece& p : t.pieces) {
      std::vector<const HostTensor*>& of_piece = wholes_[p.tensor];
      if (of_piece.empty() || of_piece.back() != &t) of_piece.push_back(&t);
    }
  for (const HostState& s : host.states)
    if (s.on_host()) state_of_output_[s.output] = &s;
}

bool HostValues::start(std::span<const uint8_t> weights, std::span<const ArrayView> inputs,
                       const ModelRunOptions& options) {
  for (const HostConstant& c : host_.host_constants) {
    ops::Tensor t(tensor_type(c.tensor));
    if (c.offset > weights.size() || c.bytes > weights.size() - c.offset || c.bytes != t.bytes.size()) {
      diag_.error_at("weights.bin", fmt::format("constant '{}' needs {} bytes at {}, the file has {}", c.tensor.name,
                                                t.bytes.size(), c.offset, weights.size()));
      return false;
    }
    if (!t.bytes.empty()) std::memcpy(t.bytes.data(), weights.data() + c.offset, t.bytes.size());
    constants_[c.tensor.name] = std::move(t);
  }
  start_inputs(inputs, options);
  start_scalars(options);
  return start_states(weights);
}

// Samples that evaluate take slices of their own arrays, the others go on where they were.
void HostValues::start_inputs(std::span<const ArrayView> inputs, const ModelRunOptions& options) {
  for (const HostTensor& t : host_.inputs) {
    const ArrayView* array = find_view(inputs, t.name);
    const NamedArray* other = options.evaluation != nullptr ? find_array(*options.evaluation, t.name) : nullptr;
    int64_t trained = options.steps_before, evaluated = 0;
    for (int s = 0; s < samples_; ++s) {
      if (other != nullptr && evaluates(options, s)) {
        const auto given = int(t.sample_dim == -1 ? 1 : other->tensor.type.shape[size_t(std::max(0, t.sample_dim))]);
        put(s, t.name, {sample_of(t, other->tensor, int(evaluated++ % given), given), 0, 0});
      } else {
        put(s, t.name, {sample_of(t, array->bytes, int(trained++ % batch_), batch_), 0, 0});
      }
      put_pieces(s, t);
    }
  }
}

bool HostValues::start_states(std::span<const uint8_t> weights) {
  for (const HostState& s : host_.states) {
    if (!s.on_host()) continue;
    ops::Tensor t(tensor_type(type_of(s.input)));
    if (s.offset > weights.size() || s.bytes > weights.size() - s.offset || s.bytes != t.bytes.size()) {
      diag_.error_at("weights.bin", fmt::format("state '{}' needs {} bytes at {}, the file has {}", s.name,
                                                t.bytes.size(), s.offset, weights.size()));
      return false;
    }
    if (!t.bytes.empty()) std::memcpy(t.bytes.data(), weights.data() + s.offset, t.bytes.size());
    states_[s.name] = t;
    put(0, s.input, {std::move(t), 0, 0});
  }
  return true;
}

void HostValues::start_scalars(const ModelRunOptions& options) {
  for (const HostScalar& scalar : host_.scalars) {
    int64_t trained = options.steps_before;
    for (int s = 0; s < samples_; ++s) {
      const bool training = !evaluates(options, s);
      ops::Tensor t(tensor_type(type_of(scalar.input)));
      t.set(0, says_whether_it_trains(scalar) ? double(training) : scalar.value(trained));
      put(s, scalar.input, {std::move(t), 0, 0});
      trained += int(training);
    }
  }
}

bool HostValues::set_states(const std::vector<NamedArray>& states) {
  for (const HostState& s : host_.states) {
    const NamedArray* array = find_array(states, s.name);
    if (array == nullptr || !s.on_host()) continue;
    ops::Tensor t = array->tensor;
    const ops::TensorType expected = tensor_type(type_of(s.input));
    // numpy has no bfloat16: its bits come as u16.
    if (expected.dtype == DataType::bf16 && t.type.dtype == DataType::u16) t.type.dtype = DataType::bf16;
    if (t.type != expected) {
      diag_.error_at("states", fmt::format("array '{}' is {}, the program's state is {}", s.name,
                                           ops::type_text(t.type), ops::type_text(expected)));
      return false;
    }
    states_[s.name] = t;
    put(0, s.input, {std::move(t), 0, 0});
  }
  return true;
}

std::vector<NamedArray> HostValues::states() const {
  std::vector<NamedArray> out;
  for (const HostState& s : host_.states)
    if (s.on_host()) out.push_back({s.name, states_.at(s.name)});
  return out;
}

const Ready* HostValues::find(int sample, const std::string& tensor) const {
  const auto it = tensors_[size_t(sample)].find(tensor);
  return it == tensors_[size_t(sample)].end() ? nullptr : &it->second;
}

// The next sample begins with what this one makes of a state.
void HostValues::put(int sample, const std::string& tensor, Ready ready) {
  if (const auto state = state_of_output_.find(tensor); state != state_of_output_.end()) {
    states_[state->second->name] = ready.tensor;
    if (sample + 1 < samples_) tensors_[size_t(sample) + 1][state->second->input] = ready;
  }
  tensors_[size_t(sample)][tensor] = std::move(ready);
  join_outputs(sample, tensor);
}

void HostValues::put_pieces(int sample, const HostTensor& input) {
  for (const Piece& p : input.pieces) {
    const Ready& whole = *find(sample, input.name);
    put(sample, p.tensor, {cut_piece(input, p, type_of(p.tensor), whole.tensor), whole.at_host, whole.at_edge});
  }
}

void HostValues::join_outputs(int sample, const std::string& piece) {
  const auto wholes = wholes_.find(piece);
  if (wholes == wholes_.end()) return;
  for (const HostTensor* whole : wholes->second) {
    Ready ready{{}, 0, 0};
    bool all = true;
    for (const Piece& p : whole->pieces) {
      const Ready* part = find(sample, p.tensor);
      if (part == nullptr) {
        all = false;
        break;
      }
      ready.at_host = std::max(ready.at_host, part->at_host);
      ready.at_edge = std::max(ready.at_edge, part->at_edge);
    }
    if (!all) continue;
    const auto part = [&](const Piece& p) -> const ops::Tensor& { return find(sample, p.tensor)->tensor; };
    ready.tensor = join_pieces(*whole, part);
    tensors_[size_t(sample)][whole->name] = std::move(ready);
  }
}

bool HostValues::operands_of(const HostStep& step, int sample, Operands& operands) const {
  for (const std::string& name : step.inputs) {
    const auto constant = constants_.find(name);
    if (name.empty() || constant != constants_.end()) {
      operands.tensors.push_back(name.empty() ? nullptr : &constant->second);
    } else if (step.whole_batch) {
      if (!add_whole(name, sample, operands)) return false;
    } else {
      const Ready* ready = find(sample, name);
      if (ready == nullptr) return false;
      operands.tensors.push_back(&ready->tensor);
      operands.wait_for(*ready);
    }
  }
  return true;
}

int HostValues::batch_end(int first) const { return std::min(first + batch_, samples_); }

// All samples of a tensor, one after another; one that is the same for all of them is there once.
bool HostValues::add_whole(const std::string& name, int first, Operands& operands) const {
  const int end = batch_end(first);
  for (int s = first; s < end; ++s) {
    const Ready* ready = find(s, name);
    if (ready == nullptr) return false;
    operands.wait_for(*ready);
  }
  if (const auto whole = of_batch_.find(name); whole != of_batch_.end()) {
    operands.tensors.push_back(&whole->second.tensor);
    return true;
  }
  const auto sample = [&](int s) { return &find(first + s, name)->tensor; };
  operands.made.push_back(gather_samples(type_of(name), end - first, sample).tensor);
  operands.tensors.push_back(&operands.made.back());
  return true;
}

bool HostValues::publish(const HostStep& step, int sample, std::vector<ops::Tensor> results, Cycle at_host,
                         Cycle at_edge) {
  for (size_t k = 0; k < step.outputs.size() && k < results.size(); ++k) {
    const HostTensor& t = type_of(step.outputs[k]);
    if (step.whole_batch) {
      if (!publish_whole(t, sample, std::move(results[k]), at_host, at_edge)) return false;
      continue;
    }
    if (!is(t, tensor_type(t), results[k])) return false;
    results[k].type = tensor_type(t);
    put(sample, t.name, {std::move(results[k]), at_host, at_edge});
  }
  return true;
}

bool HostValues::is(const HostTensor& t, const ops::TensorType& type, const ops::Tensor& result) {
  if (result.type.dtype == type.dtype && result.elements() == type.elements()) return true;
  diag_.error_at("host part", fmt::format("tensor '{}' is {}, the operator gives {}", t.name, ops::type_text(type),
                                          ops::type_text(result.type)));
  return false;
}

// Every sample gets its part, or what is the same for all.
bool HostValues::publish_whole(const HostTensor& t, int first, ops::Tensor result, Cycle at_host, Cycle at_edge) {
  const bool parts = t.sample_dim >= 0;
  const int end = batch_end(first), held = std::min(batch_, samples_);
  if (parts && !is(t, full_type(t, held), result)) return false;
  for (int s = first; s < end; ++s)
    put(s, t.name, {parts ? sample_of(t, result, s - first, held) : result, at_host, at_edge});
  if (!parts) of_batch_[t.name] = {std::move(result), at_host, at_edge};
  return true;
}

NamedArray HostValues::output(const HostTensor& t, int samples) const {
  const auto whole = of_batch_.find(t.name);
  if (t.sample_dim < 0 && samples > 0 && whole != of_batch_.end()) return {t.name, whole->second.tensor};
  return gather_samples(t, samples, [&](int s) { return &find(s, t.name)->tensor; });
}

void HostValues::forget(int sample) {
  std::erase_if(tensors_[size_t(sample)], [&](const auto& entry) {
    return std::none_of(host_.outputs.begin(), host_.outputs.end(),
                        [&](const HostTensor& t) { return t.name == entry.first; });
  });
}

}  // namespace cs
