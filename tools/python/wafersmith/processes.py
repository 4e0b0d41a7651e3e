"""What library.py does with the tools in place of the library in its own process: options that only they have, and the report."""
from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wafersmith import tools
from wafersmith.errors import CompileError, SimulationError
from wafersmith.execution import write_npz


NUMPY = {"i16": np.int16, "u16": np.uint16, "i32": np.int32, "u32": np.uint32, "f16": np.float16, "f32": np.float32,
         "bf16": np.uint16, "i8": np.int8, "u8": np.uint8, "bool": np.bool_}


def compile_to(folder: str, command: list[str]) -> str:
  """cs-compile; what it said beside the result."""
  result = subprocess.run([tools.find("cs-compile"), *command, "-o", folder, "--json"], capture_output=True, text=True, check=False)
  if result.returncode != 0:
    raise CompileError(result.stderr.rstrip() or f"cs-compile failed ({result.returncode})")
  return result.stderr


def run_model(folder: str, inputs: Mapping[str, np.ndarray] | None, options: Sequence[str],
              report: bool) -> tuple[dict[str, np.ndarray], dict[str, Any], str | None]:
  """cs-sim on a model: outputs, figures and the text of report.html. Ctrl-C reaches the simulator, which stops, as well as
  Python."""
  with tempfile.TemporaryDirectory(prefix="wafersmith-") as work:
    outputs = os.path.join(work, "outputs.npz")
    command = [folder, "--json", "--quiet", *options, "--outputs", outputs]
    if inputs:
      given = os.path.join(work, "inputs.npz")
      write_npz(given, inputs)
      command += ["--inputs", given]
    if report:
      command += ["--report", os.path.join(work, "report")]
    statistics = _simulate(command)
    page = None
    if report:
      with open(os.path.join(work, "report", "report.html"), encoding="utf-8") as file:
        page = file.read()
    with np.load(outputs) as found:
      return {name: found[name] for name in found.files}, statistics, page


def _simulate(command: list[str]) -> dict[str, Any]:
  result = subprocess.run([tools.find("cs-sim"), *command], capture_output=True, text=True, check=False)
  try:
    found = json.loads(result.stdout)
  except ValueError:
    found = {}
  if result.returncode == 130:
    raise KeyboardInterrupt
  if result.returncode != 0:
    fault = found.get("fault") or ""
    raise SimulationError(result.stderr.rstrip() or f"cs-sim failed ({result.returncode})", fault,
                          found.get("cycles", 0) if fault else 0)
  return found


class ServedWafer:
  """A CSL program in a cs-sim of its own, with that tool's options; called as embedded.Wafer is."""

  def __init__(self, folder: str, options: Sequence[str]):
    from wafersmith.native import Simulation
    self._sim = Simulation(folder, tools.find("cs-sim"), ["--quiet", *options])
    self._types = {e["name"]: np.dtype(NUMPY[e["type"]]) for e in self._sim.describe()["exports"] if not e["function"]}
    self.launches, self.cycle, self.close = self._sim.launches, self._sim.now, self._sim.close

  def copy_to(self, variable: str, values: np.ndarray, rect: Sequence[int]) -> None:
    words = values.reshape(-1).view(f"u{values.dtype.itemsize}").astype(np.uint32, copy=False)
    self._sim.wait(self._sim.begin_copy_to(variable, tuple(rect), values.shape[2], words, True, "all", (1, 1)))

  def copy_from(self, variable: str, rect: Sequence[int], elements: int) -> np.ndarray:
    ticket = self._sim.begin_copy_from(variable, tuple(rect), elements, True)
    self._sim.wait(ticket)
    words, dtype = self._sim.take(ticket), self._types[variable]
    if dtype.itemsize == 2:
      words = words.astype(np.uint16)
    return words.view(dtype).reshape(rect[3], rect[2], elements)

  def launch(self, function: str, words: Sequence[int]) -> None:
    self._sim.wait(self._sim.begin_launch(function, words))
