// --checkpoint, --checkpoint-every and --restore: a simulation as a file, and going on with it.
//
// The file has the state of the engine and the journal of the host's side (runtime/host/journal.h): the host does the
// same again up to the checkpoint, with the same inputs, and is answered from the journal. Nothing is simulated twice.
#pragma once

#include <memory>
#include <string>

#include "runtime/host/journal.h"
#include "tools/cli/tool.h"
#include "tools/cs-sim/options.h"
#include "tools/cs-sim/sim_device.h"

namespace cs {

class SimulationCheckpoints {
 public:
  // Reads the options; `error` is what is wrong with them (a usage error), unchanged if nothing is.
  SimulationCheckpoints(const SimOptions&, std::string& error);

  // Before the device is built.
  void prepare(SimDeviceOptions&);
  // When it has loaded its program: what the host's side of the run is to use. Null (reported) if a file to go on from
  // cannot be used.
  Device* start(SimDevice&, Diag&);
  // When the host's side has come to its end. False (reported) if it has done something else than the run to go on
  // with.
  bool finish(Diag&);
  // The last checkpoint, for the user.
  std::string note() const;
  // A checkpoint that could not be written is an error of a run that went well otherwise.
  int exit_code(int of_the_run, cli::Reply&) const;

 private:
  void write();

  const SimOptions& o_;
  std::string file_;
  Cycle at_ = kNever, every_ = 0;
  double every_seconds_ = 0;
  SimDevice* device_ = nullptr;
  std::unique_ptr<JournalDevice> journal_;
  Diag failed_;  // why the first one could not be written
  Cycle last_ = kNever;
};

}  // namespace cs
