// What the host of a model run holds: constants, and every sample's tensors, each with the cycle from which it exists.
//
// An operator over the whole batch takes all samples of a tensor together and gives every sample its part. A batch are
// the samples that the inputs hold; a run of more samples takes them again, and the last batch may be cut short.
#pragma once

#include <deque>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "runtime/host/array_view.h"
#include "runtime/host/device.h"
#include "runtime/host/npz.h"
#include "runtime/program/host_part.h"
#include "runtime/support/diag.h"

namespace cs {

struct ModelRunOptions;

// A tensor, and from when on it is at either end of the way between host and wafer.
struct Ready {
  ops::Tensor tensor;
  Cycle at_host = 0, at_edge = 0;
};

// What an operator takes, and from when on all of it is there.
struct Operands {
  std::vector<const ops::Tensor*> tensors;  // null: absent
  std::deque<ops::Tensor> made;             // of a whole batch
  Cycle at_host = 0, at_edge = 0;

  void wait_for(const Ready& r);
};

class HostValues {
 public:
  HostValues(const HostPart&, int samples, int batch, Diag&);

  // Constants of host operators and the inputs; false (reported) if weights.bin does not hold them. Inputs and
  // numbers of samples go on from those that other runs had.
  bool start(std::span<const uint8_t> weights, std::span<const ArrayView> inputs, const ModelRunOptions&);
  // The host's states begin as the arrays of their names, the others as they are; false (reported): one is of
  // another type.
  bool set_states(const std::vector<NamedArray>& states);

  int samples() const { return samples_; }
  int batch() const { return batch_; }
  const HostTensor& type_of(const std::string& tensor) const { return *types_.at(tensor); }
  const Ready* find(int sample, const std::string& tensor) const;
  // With the last piece of an output the output is there too, with an input its pieces are.
  void put(int sample, const std::string& tensor, Ready ready);
  // What the host's states are after the last sample that has been run.
  std::vector<NamedArray> states() const;
  // False: not all of them are there yet. Of a step over the batch `sample` is its first one.
  bool operands_of(const HostStep&, int sample, Operands&) const;
  // The results of a step; false (reported) if one is not the tensor that the host part says it is.
  bool publish(const HostStep&, int sample, std::vector<ops::Tensor> results, Cycle at_host, Cycle at_edge);

  // An output of the model, of so many samples.
  NamedArray output(const HostTensor&, int samples) const;
  // Keeps only the outputs of a finished sample: memory does not grow with intermediate values.
  void forget(int sample);

 private:
  bool start_states(std::span<const uint8_t> weights);
  void start_inputs(std::span<const ArrayView> inputs, const ModelRunOptions&);
  void start_scalars(const ModelRunOptions&);
  bool add_whole(const std::string& name, int first, Operands&) const;
  bool publish_whole(const HostTensor&, int first, ops::Tensor result, Cycle at_host, Cycle at_edge);
  bool is(const HostTensor&, const ops::TensorType&, const ops::Tensor& result);
  int batch_end(int first) const;
  void put_pieces(int sample, const HostTensor& input);
  void join_outputs(int sample, const std::string& piece);

  const HostPart& host_;
  int samples_, batch_;
  Diag& diag_;
  std::map<std::string, const HostTensor*> types_;
  std::map<std::string, std::vector<const HostTensor*>> wholes_;  // outputs, by their pieces
  std::map<std::string, ops::Tensor> constants_;
  std::map<std::string, const HostState*> state_of_output_;
  std::map<std::string, ops::Tensor> states_;          // the latest, by name
  std::vector<std::map<std::string, Ready>> tensors_;  // per sample
  std::map<std::string, Ready> of_batch_;              // made of a whole batch, without a part for each sample
};

}  // namespace cs
