// Arrays from outside for a program that trains: data, a slice of which each step takes, and checkpoints of
// its states.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/host/npz.h"
#include "runtime/program/host_part.h"
#include "runtime/support/diag.h"

namespace cs {

// Whether each run is a step with inputs of its own, be it of training or of evaluation.
bool runs_in_steps(const HostPart&);
// A scalar that is 1 in steps of training and 0 in those of evaluation, which leave all states as they are.
inline bool says_whether_it_trains(const HostScalar& s) { return s.last && s.samples == 0; }
bool can_evaluate(const HostPart&);

// Every array becomes [steps, ...the input's shape] in the input's type. It may come as that; with the first
// dimension of all steps as one, [steps * batch, ...]; with all batches of an update as one, [updates,
// batches * batch, ...]; or as one slice that is the same for all. Numbers are converted where none changes
// but by rounding. False, with an error, if an array fits no input's slices.
bool slice_data(const HostPart&, std::vector<NamedArray>& arrays, Diag&);

// States by their names, and the number of steps that made them.
struct Checkpoint {
  std::vector<NamedArray> states;
  int64_t steps = 0;
};
// An .npz of states and, if it says so, `iteration`. With weights alone the other states begin anew. False,
// with errors, for a state that is missing, of another type, or unknown.
std::optional<Checkpoint> read_checkpoint(const std::string& path, const HostPart&, Diag&);
bool write_checkpoint(const std::string& path, const Checkpoint&, Diag&);

}  // namespace cs
