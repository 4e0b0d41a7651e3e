// Steps of evaluation in a run of cs-sim: which steps they are, and what their results come to.
#pragma once

#include <string>
#include <vector>

#include "runtime/host/model_run.h"
#include "runtime/host/training_data.h"
#include "runtime/program/host_part.h"
#include "simulator/report/run_report.h"
#include "tools/cs-sim/options.h"

namespace cs {

// Whether each step only evaluates: after every `every` steps of training (0: never before the end), and
// after the last one, all slices of the data for it have a step.
std::vector<bool> evaluating_steps(int training, int slices, int every);

// Data for evaluation, as slices of steps. False, with errors, where a program has no such steps.
bool read_evaluation(const SimOptions&, const HostPart&, std::vector<NamedArray>&, Diag&);

// Outputs of a run by what its steps were: those of evaluation become arrays of their own, "eval.NAME". The checkpoint
// has the run's states and the steps that trained them; the result are the means of each round's numbers.
std::vector<sim::Evaluation> tell_apart(const HostPart&, ModelRunResult&, std::vector<bool> evaluates, Checkpoint&);

}  // namespace cs
