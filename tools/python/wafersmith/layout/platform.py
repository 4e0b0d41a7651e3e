"""What a program runs on: the machine, and how it is simulated."""
from wafersmith.kinds import SdkTarget


class SimfabConfig:
  """Options of the simulation. Unknown ones are kept and have no effect."""

  def __init__(self, num_threads=1, dump_core=False, core_file="corefile.cs1", suppress_trace=True, **others):
    self.num_threads, self.dump_core, self.core_file = num_threads, dump_core, core_file
    self.suppress_trace, self.others = suppress_trace, others


class SdkExecutionPlatform:
  """Made by get_platform and get_simulator."""

  def __init__(self, config, target):
    if not isinstance(target, SdkTarget):
      raise TypeError(f"a platform takes an SdkTarget, got {target!r}")
    self.config, self.target = config or SimfabConfig(), target
    self.machine = target.name.lower()

  def is_simulation(self):
    return True

  def is_system(self):
    return False


def get_simulator(config=None, target=SdkTarget.WSE3):
  return SdkExecutionPlatform(config, target)


def get_platform(addr=None, config=None, target=SdkTarget.WSE3):
  return get_system(addr) if addr else get_simulator(config, target)


def get_system(addr):
  raise RuntimeError(f"no wafer can be reached at '{addr}': programs run on the simulator; leave the address out")
