// The pipeline of host steps.
//
//   1. every step holds the next sample it works on; tensors of a sample carry the cycle from which they exist
//   2. steps whose tensors are there are done until nothing moves (sends queue at their port, operators compute)
//   3. the device runs until a watched port has the wavelets of its next sample; back to 2
#include "runtime/host/model_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "runtime/host/copy_run.h"
#include "runtime/host/samples.h"
#include "runtime/host/wavelets.h"
#include "runtime/ops/ops.h"
#include "runtime/support/rng.h"
#include "runtime/support/yaml.h"

namespace cs {
namespace {

struct Ready {
  ops::Tensor tensor;
  Cycle since = 0;
};

class Pipeline {
 public:
  Pipeline(Device& device, const HostPart& host, int samples, Diag& diag)
      : device_(device), host_(host), samples_(samples), diag_(diag), next_(host.steps.size(), 0),
        free_(host.steps.size(), 0), tensors_(size_t(samples)) {
    for (const auto* list : {&host.inputs, &host.outputs, &host.values})
      for (const HostTensor& t : *list) types_[t.name] = &t;
    result_.sample_end.assign(size_t(samples), 0);
    result_.first_input = kNever;
  }

  bool start(std::span<const uint8_t> weights, const std::vector<NamedArray>& inputs, int given) {
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
    for (const HostTensor& t : host_.inputs) {
      const NamedArray* array = find_array(inputs, t.name);
      for (int s = 0; s < samples_; ++s) {
        tensors_[size_t(s)][t.name] = {sample_of(t, array->tensor, s, given), 0};
      }
    }
    return true;
  }

  // Runs to the end; false only for bad input (reported).
  bool run(const ModelRunOptions& o) {
    Cycle next_progress = o.progress_cycles;
    while (true) {
      if (!advance()) return false;
      if (done()) {
        result_.status = {StopReason::condition, device_.now(), "", ""};
        return true;
      }
      arm_watches();
      const RunUntil until{.cycle = std::min(o.max_cycles, next_progress), .any_watch = true};
      const RunStatus status = device_.run(until);
      const bool at_limit = status.now >= o.max_cycles;
      if (status.reason == StopReason::condition && !at_limit) {
        if (status.now < next_progress) continue;
        next_progress = status.now + o.progress_cycles;
        if (!o.progress || o.progress(status.now, result_.samples)) continue;
        result_.status = {StopReason::interrupted, status.now, "", "interrupted"};
        return true;
      }
      if (!advance()) return false;
      if (done() || progressed_) continue;
      result_.status = status;
      if (at_limit && status.fault.empty())
        result_.status = {StopReason::max_cycles, status.now, "timeout",
                          fmt::format("{} of {} samples done after {} cycles", result_.samples, samples_, status.now)};
      if (status.reason == StopReason::idle)
        result_.status = {
            StopReason::deadlock, status.now, "deadlock",
            fmt::format("the wafer is idle, but only {} of {} samples came out", result_.samples, samples_)};
      return true;
    }
  }

  ModelRunResult finish() {
    const int n = result_.samples;
    if (n > 0) {
      result_.cycles = result_.sample_end[size_t(n) - 1];
      if (result_.first_input != kNever) result_.latency_cycles = result_.sample_end[0] - result_.first_input;
    }
    if (n >= 4) {
      const int middle = n / 2 - 1;
      result_.interval_cycles = double(result_.sample_end[size_t(n) - 1] - result_.sample_end[size_t(middle)]) /
                                double(n - 1 - middle);
    }
    for (const HostTensor& t : host_.outputs)
      result_.outputs.push_back(
          gather_samples(t, n, [&](int s) { return &tensors_[size_t(s)][t.name].tensor; }));
    return std::move(result_);
  }

 private:
  int port_of(const HostStep& step) const {
    const auto& ports = device_.program().ports;
    for (size_t i = 0; i < ports.size(); ++i)
      if (ports[i].name == step.port) return int(i);
    CS_CHECK(false, "host step names port '" + step.port + "', which verify() should have refused");
    return -1;
  }

  bool advance() {
    progressed_ = false;
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t i = 0; i < host_.steps.size(); ++i)
        while (next_[i] < samples_) {
          const HostStep& step = host_.steps[i];
          bool did = false;
          switch (step.kind) {
            case HostStep::Kind::send: did = do_send(step, next_[i]); break;
            case HostStep::Kind::receive: did = do_receive(step, next_[i]); break;
            case HostStep::Kind::op: did = do_op(i, next_[i]); break;
            default: CS_CHECK(false, "copies and launches are copy_run's part");
          }
          if (!diag_.ok()) return false;
          if (!did) break;
          ++next_[i];
          moved = progressed_ = true;
        }
    }
    finish_samples();
    return true;
  }

  bool do_send(const HostStep& step, int sample) {
    const auto it = tensors_[size_t(sample)].find(step.tensor);
    if (it == tensors_[size_t(sample)].end()) return false;
    const int port = port_of(step);
    std::vector<uint32_t> words;
    if (!to_wavelets(step.tensor, it->second.tensor, words, diag_)) return false;
    device_.send(port, words, it->second.since);
    if (sample == 0) first_ports_.push_back(port);
    return true;
  }

  bool do_receive(const HostStep& step, int sample) {
    const ops::TensorType type = tensor_type(*types_.at(step.tensor));
    const size_t n = size_t(type.elements());
    const auto& events = device_.received(port_of(step));
    if (events.size() < (size_t(sample) + 1) * n) return false;
    Ready ready{ops::Tensor(type), 0};
    for (size_t i = 0; i < n; ++i) {
      const PortEvent& e = events[size_t(sample) * n + i];
      from_wavelet(e.data, ready.tensor, i);
      ready.since = std::max(ready.since, e.cycle + 1);
    }
    tensors_[size_t(sample)][step.tensor] = std::move(ready);
    return true;
  }

  bool do_op(size_t index, int sample) {
    const HostStep& step = host_.steps[index];
    auto& have = tensors_[size_t(sample)];
    std::vector<const ops::Tensor*> inputs;
    Cycle start = free_[index];
    int64_t bytes = 0;
    for (const std::string& name : step.inputs) {
      const auto constant = constants_.find(name);
      const auto it = have.find(name);
      if (!name.empty() && constant == constants_.end() && it == have.end()) return false;
      if (constant == constants_.end() && it != have.end()) start = std::max(start, it->second.since);
      inputs.push_back(name.empty() ? nullptr
                                    : constant != constants_.end() ? &constant->second : &it->second.tensor);
      if (inputs.back() != nullptr) bytes += inputs.back()->type.bytes();
    }
    const ops::OpDef* op = ops::find_op(step.op);
    CS_CHECK(op != nullptr, "host step with unknown operator '" + step.op + "'");
    std::vector<ops::Tensor> outputs;
    if (!ops::evaluate(*op, step.attrs, inputs, outputs, diag_)) return false;
    std::vector<const ops::TensorType*> in_types;
    std::vector<ops::TensorType> out_types;
    for (const ops::Tensor* t : inputs) in_types.push_back(t != nullptr ? &t->type : nullptr);
    for (const ops::Tensor& t : outputs) out_types.push_back(t.type), bytes += t.type.bytes();
    const Cycle end =
        start + host_op_cycles(device_.machine(), ops::op_flops(*op, step.attrs, in_types, out_types), bytes);
    record(index, start, end);
    for (size_t k = 0; k < step.outputs.size() && k < outputs.size(); ++k) {
      const auto type = types_.find(step.outputs[k]);
      if (type != types_.end() && tensor_type(*type->second).elements() == outputs[k].elements())
        outputs[k].type = tensor_type(*type->second);
      have[step.outputs[k]] = {std::move(outputs[k]), end};
    }
    return true;
  }

  void record(size_t index, Cycle start, Cycle end) {
    free_[index] = end;
    const HostStep& step = host_.steps[index];
    const std::string name = step.outputs.empty() ? step.op : step.outputs[0];
    auto it = std::find_if(result_.host_steps.begin(), result_.host_steps.end(),
                           [&](const HostStepTime& t) { return t.name == name; });
    if (it == result_.host_steps.end()) it = result_.host_steps.insert(it, HostStepTime{name, 0, kNever, 0});
    it->busy += end - start;
    it->first_start = std::min(it->first_start, start);
    it->last_end = std::max(it->last_end, end);
  }

  void finish_samples() {
    for (int s = result_.samples; s < samples_; ++s) {
      Cycle end = 0;
      for (const HostTensor& t : host_.outputs) {
        const auto it = tensors_[size_t(s)].find(t.name);
        if (it == tensors_[size_t(s)].end()) return;
        end = std::max(end, it->second.since);
      }
      result_.sample_end[size_t(s)] = end;
      result_.samples = s + 1;
      forget(s);
    }
    for (const int port : first_ports_) result_.first_input = std::min(result_.first_input, device_.entered(port, 0));
  }

  // Keeps only the outputs of a finished sample: memory does not grow with intermediate values.
  void forget(int sample) {
    std::erase_if(tensors_[size_t(sample)], [&](const auto& entry) {
      return std::none_of(host_.outputs.begin(), host_.outputs.end(),
                          [&](const HostTensor& t) { return t.name == entry.first; });
    });
  }

  bool done() const {
    return result_.samples == samples_ &&
           std::all_of(next_.begin(), next_.end(), [&](int n) { return n == samples_; });
  }

  void arm_watches() {
    for (size_t i = 0; i < host_.steps.size(); ++i) {
      const HostStep& step = host_.steps[i];
      if (step.kind != HostStep::Kind::receive) continue;
      const size_t n = size_t(tensor_type(*types_.at(step.tensor)).elements());
      device_.watch(port_of(step), next_[i] < samples_ ? (size_t(next_[i]) + 1) * n : 0);
    }
  }

  Device& device_;
  const HostPart& host_;
  int samples_;
  Diag& diag_;
  std::map<std::string, const HostTensor*> types_;
  std::map<std::string, ops::Tensor> constants_;
  std::vector<int> next_;                                   // per step: next sample
  std::vector<Cycle> free_;                                 // per step: when it can take another sample
  std::vector<std::map<std::string, Ready>> tensors_;       // per sample
  std::vector<int> first_ports_;
  bool progressed_ = false;
  ModelRunResult result_;
};

}  // namespace

Cycle host_op_cycles(const Machine& m, int64_t flops, int64_t bytes) {
  const double seconds = double(flops) / (m.host.host_gflops * 1e9) + double(bytes) / (m.host.host_gb_per_s * 1e9);
  return Cycle(std::max(1.0, std::ceil(seconds * m.clock_mhz * 1e6)));
}

int samples_in(const HostPart& host, const std::vector<NamedArray>& inputs, Diag& diag) {
  int64_t samples = 1;
  bool fixed = false;
  for (const HostTensor& t : host.inputs) {
    const NamedArray* a = find_array(inputs, t.name);
    if (a == nullptr) {
      std::string names;
      for (const NamedArray& x : inputs) names += (names.empty() ? "" : ", ") + x.name;
      diag.error_at("inputs", "no array '" + t.name + "' for the model's input",
                    "the arrays are: " + (names.empty() ? "none" : names));
      return 0;
    }
    ops::TensorType expected = tensor_type(t);
    ops::TensorType have = a->tensor.type;
    if (t.sample_dim >= 0 && have.rank() == expected.rank()) {
      const int64_t n = have.shape[size_t(t.sample_dim)];
      if (n < 1 || n > 1'000'000 || (fixed && n != samples)) {
        diag.error_at("inputs", fmt::format("array '{}' holds {} samples{}", t.name, n,
                                            fixed ? fmt::format(", the ones before it {}", samples) : ""));
        return 0;
      }
      samples = n;
      fixed = true;
      have.shape[size_t(t.sample_dim)] = expected.shape[size_t(t.sample_dim)];
    }
    // numpy has no bfloat16: its bits come as u16.
    if (expected.dtype == DataType::bf16 && have.dtype == DataType::u16) have.dtype = DataType::bf16;
    if (have != expected) {
      diag.error_at("inputs", fmt::format("array '{}' is {}, the model's input is {}", t.name,
                                          ops::type_text(a->tensor.type), ops::type_text(expected)),
                    t.sample_dim >= 0 ? fmt::format("dimension {} counts samples and is free", t.sample_dim) : "");
      return 0;
    }
  }
  return int(samples);
}

std::vector<NamedArray> random_inputs(const HostPart& host, int samples, uint64_t seed) {
  Rng rng(seed);
  std::vector<NamedArray> out;
  for (const HostTensor& t : host.inputs) {
    NamedArray a{t.name, ops::Tensor(full_type(t, samples))};
    for (int64_t i = 0; i < a.tensor.elements(); ++i) a.tensor.set(i, rng.uniform());
    out.push_back(std::move(a));
  }
  return out;
}

// Operators of host steps by name: the Program's verifier does not know the operator table.
static bool check_operators(const HostPart& host, Diag& diag) {
  bool ok = true;
  for (const HostStep& step : host.steps) {
    if (step.kind != HostStep::Kind::op || ops::find_op(step.op) != nullptr) continue;
    const std::string near = nearest(step.op, ops::op_names());
    diag.error_at("host part", fmt::format("a step names the unknown operator '{}'", step.op),
                  near.empty() ? "cs-compile --list-ops lists all operators" : "did you mean '" + near + "'?");
    ok = false;
  }
  return ok;
}

std::optional<ModelRunResult> run_model(Device& device, std::span<const uint8_t> weights,
                                        const std::vector<NamedArray>& inputs, const ModelRunOptions& options,
                                        Diag& diag) {
  CS_CHECK(device.program().host.has_value(), "run_model needs a host part");
  const HostPart& host = *device.program().host;
  const int given = samples_in(host, inputs, diag);
  if (given == 0 || !check_operators(host, diag)) return std::nullopt;
  const int samples = options.samples > 0 ? options.samples : given;
  if (has_copies(host)) return run_copies(device, inputs, samples, given, options, diag);
  Pipeline pipeline(device, host, samples, diag);
  if (!pipeline.start(weights, inputs, given) || !pipeline.run(options)) return std::nullopt;
  return pipeline.finish();
}

}  // namespace cs
