// Outputs of steps are [steps, ...]; those of evaluation are some of them.
#include "tools/cs-sim/evaluation.h"

#include <algorithm>
#include <cstring>


namespace cs {

namespace {

ops::Tensor chosen(const ops::Tensor& all, const std::vector<bool>& flags, bool wanted) {
  ops::TensorType type = all.type;
  const auto steps = size_t(std::min<int64_t>(type.shape[0], int64_t(flags.size())));
  type.shape[0] = std::count(flags.begin(), flags.begin() + ptrdiff_t(steps), wanted);
  ops::Tensor out(type);
  const size_t bytes = steps > 0 ? all.bytes.size() / size_t(all.type.shape[0]) : 0;
  size_t at = 0;
  for (size_t s = 0; s < steps; ++s)
    if (flags[s] == wanted && bytes > 0)
      std::memcpy(out.bytes.data() + bytes * at++, all.bytes.data() + bytes * s, bytes);
  return out;
}

bool is_figure(const HostPart& host, const NamedArray& a) {
  return std::any_of(host.outputs.begin(), host.outputs.end(), [&](const HostTensor& t) {
    return t.name == a.name && t.sample_dim == kStackedSamples && data_type_is_float(t.type) &&
           a.tensor.elements() == a.tensor.type.shape[0];
  });
}

std::vector<sim::Evaluation> rounds_of(const HostPart& host, const std::vector<NamedArray>& outputs,
                                       const std::vector<bool>& evaluates, int64_t before) {
  std::vector<sim::Evaluation> rounds;
  int64_t trained = before;
  for (size_t s = 0; s < evaluates.size(); ++s) {
    if (!evaluates[s]) {
      ++trained;
      continue;
    }
    if (s == 0 || !evaluates[s - 1]) rounds.push_back({trained, 0, {}});
    sim::Evaluation& r = rounds.back();
    size_t k = 0;
    for (const NamedArray& a : outputs) {
      if (!is_figure(host, a) || int64_t(s) >= a.tensor.elements()) continue;
      if (k == r.means.size()) r.means.emplace_back(a.name, 0.0);
      r.means[k++].second += a.tensor.get(int64_t(s));
    }
    r.batches += k > 0;
  }
  for (sim::Evaluation& r : rounds)
    for (auto& [name, sum] : r.means) sum /= double(std::max<int64_t>(1, r.batches));
  return rounds;
}

void part_outputs(std::vector<NamedArray>& outputs, const std::vector<bool>& evaluates) {
  if (std::find(evaluates.begin(), evaluates.end(), true) == evaluates.end()) return;
  std::vector<NamedArray> parted;
  for (const NamedArray& a : outputs) {
    if (ops::Tensor trained = chosen(a.tensor, evaluates, false); trained.type.shape[0] > 0)
      parted.push_back({a.name, std::move(trained)});
    parted.push_back({"eval." + a.name, chosen(a.tensor, evaluates, true)});
  }
  outputs = std::move(parted);
}

}  // namespace

std::vector<bool> evaluating_steps(int training, int slices, int every) {
  std::vector<bool> out;
  for (int t = 1; t <= training; ++t) {
    out.push_back(false);
    if (t == training || (every > 0 && t % every == 0)) out.insert(out.end(), size_t(slices), true);
  }
  if (training == 0) out.assign(size_t(slices), true);
  return out;
}

bool read_evaluation(const SimOptions& o, const HostPart& host, std::vector<NamedArray>& arrays, Diag& diag) {
  if (!can_evaluate(host)) {
    diag.error_at("--eval-data", "is for programs of training that also evaluate",
                  runs_in_steps(host) && !has_states(host) ? "this one evaluates alone: --data"
                                                           : "compile with runconfig.mode train_and_eval");
    return false;
  }
  auto read = read_npz(o.eval_data, diag);
  if (!read) return false;
  arrays = std::move(*read);
  return slice_data(host, arrays, diag) && samples_in(host, arrays, diag) > 0;
}

std::vector<sim::Evaluation> tell_apart(const HostPart& host, ModelRunResult& run, std::vector<bool> evaluates,
                                        Checkpoint& checkpoint) {
  // A program without states does nothing but evaluate, if it runs in steps.
  if (evaluates.empty() && runs_in_steps(host)) evaluates.assign(size_t(run.samples), !has_states(host));
  evaluates.resize(size_t(run.samples));
  std::vector<sim::Evaluation> rounds = rounds_of(host, run.outputs, evaluates, checkpoint.steps);
  if (has_states(host)) part_outputs(run.outputs, evaluates);
  checkpoint = {run.states, checkpoint.steps + std::count(evaluates.begin(), evaluates.end(), false)};
  return rounds;
}

}  // namespace cs
