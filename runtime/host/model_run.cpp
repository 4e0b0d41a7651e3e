// The pipeline of host steps.
//
//   1. every step holds the next sample that it works on, of its copy of the network; tensors of a sample carry the
//      cycle from which they exist
//   2. steps whose tensors are there are done until nothing moves: sends queue at their port, operators queue for the
//      processor and start as soon as nothing can become known any more that would go before them
//      an operator over the whole batch does so once, when the last of its samples is there
//   3. the device runs until a watched port has the wavelets of its next sample, or a core takes an operator; back to 2
#include "runtime/host/model_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>

#include "runtime/host/copy_run.h"
#include "runtime/host/host_values.h"
#include "runtime/host/samples.h"
#include "runtime/host/state_memory.h"
#include "runtime/host/wavelets.h"
#include "runtime/ops/ops.h"
#include "runtime/support/yaml.h"

namespace cs {
namespace {

bool is_view(const HostStep& step) {
  const ops::OpDef* op = ops::find_op(step.op);
  return op != nullptr && op->kind == ops::OpKind::view;
}

class Pipeline {
 public:
  // `given`: samples of a batch; a run of more takes them again, batch by batch.
  Pipeline(Device& device, const HostPart& host, int samples, int given, Diag& diag)
      : device_(device), host_(host), samples_(samples), diag_(diag), values_(host, samples, given, diag),
        processor_(device.machine().host.host_cores),
        crossing_(host_crossing_cycles(device.machine())) {
    for (size_t i = 0; i < host.steps.size(); ++i) {
      const HostStep& step = host.steps[i];
      next_.push_back(HostPart::first_of(step));
      if (step.kind == HostStep::Kind::send) users_[step.tensor].push_back(i);
      for (const std::string& name : step.inputs) users_[name].push_back(i);
    }
    for (const HostState& s : host.states) {
      if (!s.on_host()) continue;
      const std::vector<size_t> next = users_[s.input];
      users_[s.output].insert(users_[s.output].end(), next.begin(), next.end());
    }
    for (const HostTensor& t : host.outputs) {
      const std::vector<size_t> of_whole = users_[t.name];
      for (const Piece& p : t.pieces) users_[p.tensor].insert(users_[p.tensor].end(), of_whole.begin(), of_whole.end());
    }
    result_.sample_end.assign(size_t(samples), 0);
    result_.first_input = kNever;
  }

  bool start(std::span<const uint8_t> weights, std::span<const ArrayView> inputs,
             const ModelRunOptions& o) {
    weights_ = weights;
    if (!values_.start(weights, inputs, o)) return false;
    if (o.states == nullptr) return true;
    if (!values_.set_states(*o.states)) return false;
    const std::optional<uint64_t> permuted = write_states(device_, weights, *o.states, diag_);
    result_.permuted_words = permuted.value_or(0);
    return permuted.has_value();
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
      const RunUntil until{.cycle = std::min({o.max_cycles, next_progress, wake()}), .any_watch = true};
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
      // The wafer waits for the host: nothing can become known before the next operator starts.
      if (!at_limit && status.reason != StopReason::fault && !processor_.idle()) {
        if (!run_next()) return false;
        continue;
      }
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
    const bool together = std::any_of(host_.steps.begin(), host_.steps.end(),
                                      [](const HostStep& step) { return step.whole_batch; });
    const int copies = copies_over_samples(host_, device_.machine()) * (together ? values_.batch() : 1);
    result_.interval_cycles = interval_of(std::span(result_.sample_end).first(size_t(n)), copies);
    result_.copies = copies;
    for (const HostTensor& t : host_.outputs) result_.outputs.push_back(values_.output(t, n));
    result_.states = values_.states();
    read_wafer_states();
    return std::move(result_);
  }

 private:
  // When the last step is over on all PEs, which may be later than its outputs.
  void read_wafer_states() {
    if (!keeps_states(host_) || result_.status.reason != StopReason::condition) return;
    device_.run({.while_active = true});
    read_states(device_, weights_, result_.states, diag_);
  }

  int port_of(const HostStep& step) const {
    const auto& ports = device_.program().ports;
    for (size_t i = 0; i < ports.size(); ++i)
      if (ports[i].name == step.port) return int(i);
    CS_CHECK(false, "host step names port '" + step.port + "', which verify() should have refused");
    return -1;
  }

  bool advance() {
    progressed_ = false;
    std::vector<size_t> all(host_.steps.size());
    std::iota(all.begin(), all.end(), size_t(0));
    if (!settle(std::move(all))) return false;
    // What the wafer has not given yet will be on the host later than this.
    while (!processor_.idle() && processor_.next_start() <= device_.now() + crossing_)
      if (!run_next()) return false;
    finish_samples();
    return true;
  }

  // Does what can be done at these steps, and at those that use what they make.
  bool settle(std::vector<size_t> list) {
    for (size_t k = 0; k < list.size(); ++k) {
      const size_t i = list[k];
      while (next_[i] < samples_ && do_step(i, next_[i])) {
        next_[i] += host_.stride_of(host_.steps[i]);
        progressed_ = true;
        add_users(made_at_once(host_.steps[i]), list);
      }
      if (!diag_.ok()) return false;
    }
    return true;
  }

  void add_users(const std::vector<std::string>& tensors, std::vector<size_t>& list) const {
    for (const std::string& name : tensors)
      if (const auto users = users_.find(name); users != users_.end())
        list.insert(list.end(), users->second.begin(), users->second.end());
  }

  bool do_step(size_t index, int sample) {
    const HostStep& step = host_.steps[index];
    switch (step.kind) {
      case HostStep::Kind::send: return do_send(step, sample);
      case HostStep::Kind::receive: return do_receive(step, sample);
      case HostStep::Kind::op: return do_op(index, sample);
      default: CS_CHECK(false, "copies and launches are copy_run's part");
    }
    return false;
  }

  // Operators that compute make their results when a core has worked on them.
  std::vector<std::string> made_at_once(const HostStep& step) const {
    if (step.kind == HostStep::Kind::receive) return {step.tensor};
    return step.kind == HostStep::Kind::op && is_view(step) ? step.outputs : std::vector<std::string>{};
  }

  // When the device has run far enough for the next operator to start.
  Cycle wake() const { return processor_.idle() ? kNever : processor_.next_start() - crossing_; }

  bool do_send(const HostStep& step, int sample) {
    const Ready* ready = values_.find(sample, step.tensor);
    if (ready == nullptr) return false;
    const int port = port_of(step);
    std::vector<uint32_t> words;
    if (!to_wavelets(step.tensor, ready->tensor, words, diag_)) return false;
    device_.send(port, words, ready->at_edge);
    if (sample == 0) first_ports_.push_back(port);
    return true;
  }

  bool do_receive(const HostStep& step, int sample) {
    const ops::TensorType type = tensor_type(values_.type_of(step.tensor));
    const size_t n = size_t(type.elements());
    const auto& events = device_.received(port_of(step));
    const size_t turn = size_t(host_.turn_of(sample));
    if (events.size() < (turn + 1) * n) return false;
    Ready ready{ops::Tensor(type)};
    for (size_t i = 0; i < n; ++i) {
      const PortEvent& e = events[turn * n + i];
      from_wavelet(e.data, ready.tensor, i);
      ready.at_edge = std::max(ready.at_edge, e.cycle + 1);
    }
    ready.at_host = ready.at_edge + crossing_;
    values_.put(sample, step.tensor, std::move(ready));
    return true;
  }

  // An operator whose operands are there waits for a core. A view only gives its operand another shape, wherever it is.
  bool do_op(size_t index, int sample) {
    const HostStep& step = host_.steps[index];
    if (step.whole_batch && sample % values_.batch() != 0) return true;  // done with the first sample
    Operands operands;
    if (!values_.operands_of(step, sample, operands)) return false;
    std::vector<const ops::TensorType*> types;
    for (const ops::Tensor* t : operands.tensors) types.push_back(t != nullptr ? &t->type : nullptr);
    const ops::OpDef& op = *ops::find_op(step.op);
    std::vector<ops::Tensor> results;
    // Inputs repeat batch by batch, and a last one may be cut short: the first one's results are those of all.
    const auto known = batch_results_.find(index);
    if (known != batch_results_.end()) {
      results = known->second;
    } else if (!ops::evaluate(op, step.attrs, operands.tensors, results, diag_)) {
      return false;
    }
    if (step.whole_batch && samples_ > values_.batch()) batch_results_.emplace(index, results);
    if (is_view(step)) {
      return values_.publish(step, sample, std::move(results), operands.at_host, operands.at_edge);
    } else {
      processor_.add({sample, index, operands.at_host, cycles_of(op, step.attrs, types, results)});
      waiting_[{sample, index}] = std::move(results);
    }
    return true;
  }

  Cycle cycles_of(const ops::OpDef& op, const Attrs& attrs, const std::vector<const ops::TensorType*>& operands,
                  const std::vector<ops::Tensor>& results) const {
    int64_t bytes = 0;
    std::vector<ops::TensorType> types;
    for (const ops::TensorType* type : operands) bytes += type != nullptr ? type->bytes() : 0;
    for (const ops::Tensor& t : results) types.push_back(t.type), bytes += t.type.bytes();
    return host_op_cycles(device_.machine(), ops::op_flops(op, attrs, operands, types), bytes);
  }

  // The processor takes its next operator; what its results let others do is done.
  bool run_next() {
    const HostSpan span = processor_.start_next();
    const HostStep& step = host_.steps[span.step];
    record(span);
    const auto results = waiting_.extract({span.sample, span.step});
    if (!values_.publish(step, span.sample, std::move(results.mapped()), span.end, span.end + crossing_))
      return false;
    progressed_ = true;
    std::vector<size_t> list;
    add_users(step.outputs, list);
    return settle(std::move(list));
  }

  void record(const HostSpan& span) {
    result_.host_spans.push_back(span);
    const HostStep& step = host_.steps[span.step];
    const std::string name = step.outputs.empty() ? step.op : step.outputs[0];
    auto it = std::find_if(result_.host_steps.begin(), result_.host_steps.end(),
                           [&](const HostStepTime& t) { return t.name == name; });
    if (it == result_.host_steps.end()) it = result_.host_steps.insert(it, HostStepTime{name, 0, kNever, 0});
    it->busy += span.end - span.begin;
    it->first_start = std::min(it->first_start, span.begin);
    it->last_end = std::max(it->last_end, span.end);
  }

  void finish_samples() {
    for (int s = result_.samples; s < samples_; ++s) {
      Cycle end = 0;
      const auto has = [&](const std::string& tensor) {
        const Ready* ready = values_.find(s, tensor);
        if (ready != nullptr) end = std::max(end, std::min(ready->at_host, ready->at_edge));
        return ready != nullptr;
      };
      const bool all = std::all_of(host_.outputs.begin(), host_.outputs.end(),
                                   [&](const HostTensor& t) { return has(t.name); }) &&
                       std::all_of(host_.states.begin(), host_.states.end(),
                                   [&](const HostState& t) { return !t.on_host() || has(t.output); });
      // Of training the host may have more to do than what leads to outputs.
      if (!all ||
          (has_states(host_) && std::any_of(next_.begin(), next_.end(), [&](int n) { return n <= s; })))
        return;
      result_.sample_end[size_t(s)] = s > 0 ? std::max(end, result_.sample_end[size_t(s) - 1]) : end;
      result_.samples = s + 1;
      values_.forget(s);
    }
    for (const int port : first_ports_) result_.first_input = std::min(result_.first_input, device_.entered(port, 0));
  }

  bool done() const {
    return result_.samples == samples_ &&
           std::all_of(next_.begin(), next_.end(), [&](int n) { return n >= samples_; });
  }

  void arm_watches() {
    for (size_t i = 0; i < host_.steps.size(); ++i) {
      const HostStep& step = host_.steps[i];
      if (step.kind != HostStep::Kind::receive) continue;
      const size_t n = size_t(tensor_type(values_.type_of(step.tensor)).elements());
      device_.watch(port_of(step), next_[i] < samples_ ? (size_t(host_.turn_of(next_[i])) + 1) * n : 0);
    }
  }

  Device& device_;
  const HostPart& host_;
  int samples_;
  std::span<const uint8_t> weights_;
  Diag& diag_;
  HostValues values_;
  std::map<std::string, std::vector<size_t>> users_;        // steps, by the name of a tensor that they take
  std::vector<int> next_;                                   // per step: next sample
  HostProcessor processor_;
  std::map<std::pair<int, size_t>, std::vector<ops::Tensor>> waiting_;  // results of operators that wait for a core
  Cycle crossing_;
  std::map<size_t, std::vector<ops::Tensor>> batch_results_;  // of steps over a batch, if there is more than one
  std::vector<int> first_ports_;
  bool progressed_ = false;
  ModelRunResult result_;
};

}  // namespace

std::optional<double> interval_of(std::span<const Cycle> sample_end, int copies) {
  const size_t round = size_t(copies), rounds = sample_end.size() / round;
  if (rounds < 4) return std::nullopt;
  const size_t last = rounds * round, middle = rounds / 2 * round;
  return double(sample_end[last - 1] - sample_end[middle - 1]) / double(last - middle);
}

int copies_over_samples(const HostPart& host, const Machine& machine) {
  const bool computes = std::any_of(host.steps.begin(), host.steps.end(), [](const HostStep& step) {
    return step.kind == HostStep::Kind::op && !is_view(step);
  });
  return std::lcm(host.copies, computes ? machine.host.host_cores : 1);
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
  return run_model(device, weights, views_of(inputs), options, diag);
}

std::optional<ModelRunResult> run_model(Device& device, std::span<const uint8_t> weights,
                                        std::span<const ArrayView> inputs, const ModelRunOptions& options,
                                        Diag& diag) {
  CS_CHECK(device.program().host.has_value(), "run_model needs a host part");
  const HostPart& host = *device.program().host;
  const int given = samples_in(host, inputs, diag);
  if (given == 0 || !check_operators(host, diag)) return std::nullopt;
  const int samples = options.samples > 0 ? options.samples : given;
  if (has_copies(host)) return run_copies(device, inputs, samples, given, options, diag);
  Pipeline pipeline(device, host, samples, given, diag);
  if (!pipeline.start(weights, inputs, options) || !pipeline.run(options)) return std::nullopt;
  return pipeline.finish();
}

}  // namespace cs
