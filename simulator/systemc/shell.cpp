// Shell: sets SystemC up once (reports to stderr, no banner) and forwards to the wafer.
#include "simulator/systemc/shell.h"

#include "simulator/systemc/driven_wafer.h"
#include "simulator/systemc/reports.h"

namespace cs::sim {

Shell::Shell(Engine& engine, const ShellOptions& options) {
  reports_to_stderr();
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
