// DrivenWafer: a wafer whose time belongs to one caller (Shell): it goes on until a request is fulfilled, in
// stretches of a few milliseconds of computing time, and cycle by cycle while somebody watches.
#pragma once

#include "simulator/systemc/shell.h"
#include "simulator/systemc/wafer_module.h"
#include "simulator/systemc/waveform.h"

namespace cs::sim {

class DrivenWafer : public WaferModule {
 public:
  DrivenWafer(sc_core::sc_module_name name, Engine& engine, const ShellOptions& options);

  void run(const ShellRequest& request);
  void set_sampler(Cycle first, std::function<Cycle()> sampler);
  void close_waveform() { waveform_.close(); }

 private:
  bool held() override;
  void step() override;
  void after_step() override;
  void plan() override { plan_at(engine_.now()); }
  void failed() override { plan(); }
  void end_of_simulation() override {}  // the device says how a run ended

  bool finished() const;
  Cycle stretch_end() const;
  Cycle unseen_until() const;
  void adapt_stretch(double seconds);

  Waveform waveform_;
  ShellRequest request_;
  std::function<Cycle()> sampler_;
  Cycle next_sample_ = kNever;
  Cycle stretch_ = 256;  // engine cycles per activation while nobody watches
};

}  // namespace cs::sim
