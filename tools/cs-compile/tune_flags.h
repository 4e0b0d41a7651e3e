// --autotune and what goes with it: flags, environment, and who measures.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "tools/api/api.h"
#include "tools/cli/interrupt.h"
#include "tools/tune/child_measurer.h"

namespace cs {

struct TuneFlags {
  std::string level = "off", log, epilogues, memory = "4G";
  double budget = 0, soft_timeout = 60, hard_timeout = 90;
  int workers = 0;  // as many as threads
  int epilogue_choices = 3;
  bool defer_all = false;
};

void declare_tune_flags(CLI::App&, TuneFlags&);
// After parsing; throws cli::Usage.
void apply_tune_flags(const TuneFlags&, api::CompileOptions&);
// The options as they are in effect, for the line that gives a run again: `command` with what came from the
// environment.
std::string effective_command(std::string command, const TuneFlags&);

// Workers and log of a compilation that tunes; nothing is started before something is measured. A first signal ends
// measuring, and the best so far is kept.
class TuneRun {
 public:
  // Null without --autotune, or where the log cannot be written, which is reported.
  static std::unique_ptr<TuneRun> begin(const TuneFlags&, api::CompileOptions&, Diag&);
  bool interrupted() const { return cut_short_.asked(); }

 private:
  cli::CutShort cut_short_;
  std::unique_ptr<tune::ChildMeasurer> measurer_;
  std::unique_ptr<api::TuneLog> log_;
};

}  // namespace cs
