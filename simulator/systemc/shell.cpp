// Shell: sets SystemC up once (reports to stderr, no banner) and forwards to the wafer.
#include "simulator/systemc/shell.h"

#include <cstdlib>
#include <iostream>
#include <systemc>

#include "simulator/systemc/driven_wafer.h"

namespace cs::sim {
namespace {

// SystemC's own handler writes to stdout, which carries the tool's data.
void report_to_stderr(const sc_core::sc_report& report, const sc_core::sc_actions& actions) {
  if (actions & sc_core::SC_DISPLAY) std::cerr << sc_core::sc_report_compose_message(report) << "\n";
  if (actions & sc_core::SC_THROW) throw report;
  if (actions & sc_core::SC_ABORT) std::abort();
}

void set_up_systemc() {
  sc_core::sc_report_handler::set_handler(report_to_stderr);
  sc_core::sc_report_handler::set_actions(sc_core::SC_INFO, sc_core::SC_DO_NOTHING);
}

}  // namespace

Shell::Shell(Engine& engine, const ShellOptions& options) {
  set_up_systemc();
  wafer_ = std::make_unique<DrivenWafer>("wafer", engine, options);
}

Shell::~Shell() = default;

void Shell::run(const ShellRequest& request) { wafer_->run(request); }

void Shell::set_sampler(Cycle first, std::function<Cycle()> sampler) {
  wafer_->set_sampler(first, std::move(sampler));
}

void Shell::close_waveform() { wafer_->close_waveform(); }

WaferModule& Shell::wafer() { return *wafer_; }

}  // namespace cs::sim
