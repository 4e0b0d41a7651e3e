// Shapes are compared with those of one step's tensors.
#include "runtime/host/training_data.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/host/samples.h"
#include "runtime/support/yaml.h"

namespace cs {

namespace {

constexpr const char* kSteps = "iteration";

// Elements of another type with the same values, reals rounded; nothing if an integer does not fit.
std::optional<ops::Tensor> converted(const ops::Tensor& from, DataType to) {
  // numpy has no bfloat16: its bits come as u16.
  if (to == DataType::bf16 && from.type.dtype == DataType::u16) {
    ops::Tensor same = from;
    same.type.dtype = to;
    return same;
  }
  const bool reals = data_type_is_float(to);
  if (!reals && data_type_is_float(from.type.dtype)) return std::nullopt;
  ops::Tensor out({to, from.type.shape});
  for (int64_t i = 0; i < from.elements(); ++i) {
    if (reals) {
      out.set(i, from.get(i));
      continue;
    }
    out.set_int(i, from.get_int(i));
    if (out.get_int(i) != from.get_int(i)) return std::nullopt;
  }
  return out;
}

// Batches that make one update.
int64_t batches_of(const HostPart& host) {
  int64_t most = 1;
  for (const HostScalar& s : host.scalars) most = std::max(most, s.samples);
  return most;
}

// How many slices of the input's shape the array holds, whose steps may be of several batches; 0: it does
// not.
int64_t slices(const ops::Shape& array, const ops::Shape& one, int64_t batches) {
  if (array == one) return 1;
  if (array.size() == one.size() + 1) {
    if (std::equal(one.begin(), one.end(), array.begin() + 1)) return array[0];
    const bool split = !one.empty() && array[1] == one[0] * batches &&
                       std::equal(one.begin() + 1, one.end(), array.begin() + 2);
    return split ? array[0] * batches : 0;
  }
  const bool rows = array.size() == one.size() && !one.empty() && one[0] > 0 && array[0] % one[0] == 0 &&
                    std::equal(one.begin() + 1, one.end(), array.begin() + 1);
  return rows ? array[0] / one[0] : 0;
}

ops::Tensor repeated(const ops::Tensor& slice, int64_t times) {
  ops::TensorType type = slice.type;
  type.shape[0] = times;
  ops::Tensor out(type);
  for (int64_t i = 0; i < times && !slice.bytes.empty(); ++i)
    std::memcpy(out.bytes.data() + size_t(i) * slice.bytes.size(), slice.bytes.data(), slice.bytes.size());
  return out;
}

}  // namespace

bool runs_in_steps(const HostPart& host) {
  const auto stacked = [](const HostTensor& t) { return t.sample_dim == kStackedSamples; };
  return has_states(host) || std::any_of(host.outputs.begin(), host.outputs.end(), stacked);
}

bool can_evaluate(const HostPart& host) {
  return std::any_of(host.scalars.begin(), host.scalars.end(), says_whether_it_trains);
}

bool slice_data(const HostPart& host, std::vector<NamedArray>& arrays, Diag& diag) {
  int64_t steps = 1;
  for (const HostTensor& t : host.inputs) {
    const auto it =
        std::find_if(arrays.begin(), arrays.end(), [&](const NamedArray& a) { return a.name == t.name; });
    if (it == arrays.end()) continue;  // samples_in() says which are missing
    const ops::TensorType have = it->tensor.type, one = tensor_type(t);
    const int64_t n = slices(have.shape, one.shape, batches_of(host));
    if (n == 0) {
      diag.error_at(
          "data",
          fmt::format("array '{}' is {}, a step takes {}", t.name, ops::type_text(have), ops::type_text(one)),
          fmt::format("give [steps, {0}] or, with the steps one after another, a first dimension that is a "
                      "multiple of the step's",
                      fmt::join(one.shape, ", ")));
      return false;
    }
    if (t.is_static && n > 1) {
      diag.error_at("data",
                    fmt::format("array '{}' has {} slices, but the input is static: one for all steps", t.name, n),
                    "give one slice, or leave out static where the model declares it");
      return false;
    }
    if (have.dtype != one.dtype) {
      auto same = converted(it->tensor, one.dtype);
      if (!same) {
        diag.error_at("data", fmt::format("array '{}' is {} and does not fit the input's {}", t.name,
                                          ops::type_text(have), data_type_name(one.dtype)));
        return false;
      }
      it->tensor = std::move(*same);
    }
    it->tensor.type.shape = one.shape;
    it->tensor.type.shape.insert(it->tensor.type.shape.begin(), n);
    steps = std::max(steps, n);
  }
  for (NamedArray& a : arrays) {
    const bool used = std::any_of(host.inputs.begin(), host.inputs.end(),
                                  [&](const HostTensor& t) { return t.name == a.name; });
    if (used && a.tensor.type.shape[0] == 1 && steps > 1) a.tensor = repeated(a.tensor, steps);
  }
  return true;
}

std::optional<Checkpoint> read_checkpoint(const std::string& path, const HostPart& host, Diag& diag) {
  auto arrays = read_npz(path, diag);
  if (!arrays) return std::nullopt;
  Checkpoint c;
  std::vector<std::string> names{kSteps};
  for (const HostState& s : host.states) names.push_back(s.name);
  for (NamedArray& a : *arrays) {
    if (a.name == kSteps && a.tensor.elements() == 1) {
      c.steps = a.tensor.get_int(0);
    } else if (std::find(names.begin(), names.end(), a.name) == names.end()) {
      const std::string near = nearest(a.name, names);
      diag.error_at(path, fmt::format("the program has no state '{}'", a.name),
                    near.empty() ? "" : "did you mean '" + near + "'?");
    } else {
      c.states.push_back(std::move(a));
    }
  }
  if (c.steps < 0)
    diag.error_at(path, fmt::format("'{}' is {}, a number of steps is at least 0", kSteps, c.steps));
  const bool weights_alone = std::none_of(host.states.begin(), host.states.end(), [&](const HostState& s) {
    return s.purpose != "weights" && find_array(c.states, s.name) != nullptr;
  });
  for (const HostState& s : host.states)
    if (find_array(c.states, s.name) == nullptr && (s.purpose == "weights" || !weights_alone))
      diag.error_at(path, fmt::format("has no array '{}' ({})", s.name, s.purpose));
  return diag.ok() ? std::optional(std::move(c)) : std::nullopt;
}

bool write_checkpoint(const std::string& path, const Checkpoint& c, Diag& diag) {
  std::vector<NamedArray> arrays = c.states;
  ops::Tensor steps({DataType::i64, {}});
  steps.set_int(0, c.steps);
  arrays.push_back({kSteps, std::move(steps)});
  return write_npz(path, arrays, diag);
}

}  // namespace cs
