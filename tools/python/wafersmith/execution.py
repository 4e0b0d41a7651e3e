"""Runs a compiled program on the simulator, step by step. Only this file knows how: one process for a call, with the
states of a training step in a file between two of them."""
import json
import os
import subprocess
import time
import zipfile

import numpy as np

from wafersmith import tools
from wafersmith.errors import WafersmithError


def write_npz(path, arrays):
  """As np.savez, with any names (an input may be called `file`)."""
  with zipfile.ZipFile(path, "w") as archive:
    for name, array in arrays.items():
      with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
        np.lib.format.write_array(file, np.asarray(array, order="C"))


class Execution:
  """`folder` is the program; files go beside it. `trains`: it is a training step, whose states go on."""

  def __init__(self, folder, trains, statistics):
    self._folder, self._trains, self._statistics = folder, trains, statistics
    self._at = os.path.dirname(folder)
    self._state_file = None
    self._done = 0       # steps so far
    self._changed = {}   # states that the host has given new values

  def step(self, inputs, count):
    """`count` steps; arrays have one slice for each. The outputs likewise."""
    if self._trains:
      return self._run(inputs, count)
    parts = [self._run({name: array[k] for name, array in inputs.items()}, 1) for k in range(count)]
    return {name: np.stack([part[name] for part in parts]) for name in parts[0]}

  def states(self):
    """Name -> value after the last step; empty before the first one."""
    if self._state_file is None:
      return {}
    with np.load(self._state_file) as found:
      return {name: found[name] for name in found.files}

  def set_states(self, values):
    """From the next step on these states have other values than the last step left."""
    self._changed.update(values)

  def _run(self, inputs, count):
    data, outputs = os.path.join(self._at, "data.npz"), os.path.join(self._at, "outputs.npz")
    if self._trains:   # a run that goes on takes slice k of n in step k, k + n ... of all runs together
      inputs = {name: np.roll(array, self._done % count, axis=0) for name, array in inputs.items()}
    write_npz(data, inputs)
    command = [tools.find("cs-sim"), self._folder, "--outputs", outputs, "--json", "--quiet"]
    if self._trains:
      command += ["--data", data, "--iterations", str(count), *self._state_options()]
    elif inputs:
      command += ["--inputs", data]
    start = time.perf_counter()
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
      raise WafersmithError(f"cs-sim failed ({result.returncode}):\n{result.stderr or result.stdout}".rstrip())
    if self._trains:
      self._state_file = os.path.join(self._at, "after.npz")
      self._done += count
    with np.load(outputs) as found:
      values = {name: found[name] for name in found.files}
    self._statistics.note_run(json.loads(result.stdout), count, time.perf_counter() - start)
    return values

  def _state_options(self):
    before = os.path.join(self._at, "before.npz")
    after = os.path.join(self._at, "after.npz")
    if self._state_file is None and not self._changed:
      return ["--state-out", after]
    write_npz(before, {**self.states(), **self._changed})
    self._changed = {}
    return ["--state-in", before, "--state-out", after]
