// Runs one job: compile, simulate, read the figures, judge them.
#pragma once

#include <optional>
#include <string>

#include "tools/cs-regress/suite.h"

namespace cs {

// What a job gave; the committed table holds the figures that are compared from run to run.
struct Figures {
  double cycles = 0, interval = 0, samples_per_second = 0;
  double bytes_per_pe = 0;  // of the largest PE
  int kernels = 0;          // instances on the wafer; not in the committed table
  int colors = 0;           // different colors in use
  std::string origins;      // "handwritten 7, autogen 6, host 0" over the operators
  int host_operators = 0;   // computed by the host
  double measured = 0;      // `measure`, where it is not one of these; else 0
  double estimated = 0;     // interval that the compiler expects; of rows of networks, as the next three
  double roof = 0;          // cycles per sample that no program beats on the wafer
  double efficiency = 0;    // roof over interval
  int copies = 1;           // of the network (--copies)
  bool operator==(const Figures&) const = default;
};

struct CheckFigures {
  double error = 0;  // largest |output - expected|
  double used = 0;   // largest part of its tolerance that an element uses
  std::string rule;  // the tolerance
};

struct Result {
  std::string name, row, machine, point,
      group;  // name: of the job; row: of the suite's row; point: what varies
  bool ok = false;
  std::string message;  // why not; empty if ok
  std::optional<Figures> figures;
  std::optional<double> measured;  // value of `measure`
  std::optional<Expectation> expect;
  bool missed = false;                    // beyond the tolerance, as the row says
  std::string error_class;                // as the job's
  std::optional<KernelCase> kernel_case;  // of rows with `op`
  bool network = false, joins = false;    // as the job's
  double baseline_interval = 0;
  std::optional<KernelFigures> kernel;
  std::optional<CheckFigures> check;  // of jobs with a judge of their own
  int gradients = 0, right = 0;       // of golden cases: expected ones, and those that agree
  double seconds = 0;
};

struct RunOptions {
  std::string tools;  // folder of cs-compile and cs-sim
  std::string work;   // folder for artefacts; removed by the caller
  double timeout_seconds = 600;
};

// Of a job that has not run: what the suite says of it.
Result result_of(const Job&);

Result run_job(const Job&, const RunOptions&);

}  // namespace cs
