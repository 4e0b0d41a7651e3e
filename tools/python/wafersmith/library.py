"""Models and CSL programs from Python: compile them, run them on the simulator, look at values, cycles and the report.

    import wafersmith as ws

    program = ws.compile_model("model.onnx", machine="wse3")
    result = program.run({"x": x}, report=True)
    result.outputs["y"], result.interval_cycles, result.report      # the report shows itself in a notebook

    with ws.compile_layout("layout.csl", params={"P": 4}).session() as session:
      session.copy_to("x", x)
      session.launch("run")
      y = session.copy_from("y")

A simulation is a process of its own: Python goes on meanwhile in other threads, Ctrl-C ends it, and any number of them may live
beside each other.
"""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import weakref
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from types import TracebackType
from typing import Any

import numpy as np

from wafersmith import tools
from wafersmith.errors import CompileError, SimulationError
from wafersmith.execution import write_npz


def compile_model(model: str | os.PathLike[str], machine: str = "wse2", *, fabric: tuple[int, int] | None = None,
                  policy: str = "default", host_ops: str = "warn", resident: bool = False,
                  dims: Mapping[str, int] | None = None, settings: Mapping[str, Any] | None = None,
                  folder: str | os.PathLike[str] | None = None, options: Sequence[str] = ()) -> Program:
  """An ONNX file or a YAML configuration becomes a Program.

  `fabric` is (width, height) in PEs, that of the machine by default; `settings` changes values of machine and model
  ({"machine.core.memory_bytes": 65536}); `options` are more options of cs-compile, as it takes them. The program lies in
  `folder`, or in a temporary one that goes with the object.
  """
  command = [os.fspath(model), "-m", machine, "--autogen-policy", policy, "--host-ops", host_ops]
  command += ["--fabric", f"{fabric[0]}x{fabric[1]}"] if fabric else []
  command += ["--operands", "resident"] if resident else []
  for name, size in (dims or {}).items():
    command += ["--dim", f"{name}={size}"]
  return _compile(command, settings, folder, options)


def compile_layout(layout: str | os.PathLike[str], machine: str = "wse2", *, params: Mapping[str, Any] | None = None,
                   fabric: tuple[int, int] | None = None, offsets: tuple[int, int] | None = None,
                   import_path: str | os.PathLike[str] | None = None, settings: Mapping[str, Any] | None = None,
                   folder: str | os.PathLike[str] | None = None, options: Sequence[str] = ()) -> Program:
  """A CSL layout with its PE files becomes a Program; arguments as for compile_model."""
  command = [os.fspath(layout), "-m", machine]
  if params:
    command.append("--params=" + ",".join(f"{name}:{_csl(value)}" for name, value in params.items()))
  command += ["--fabric-dims", f"{fabric[0]},{fabric[1]}"] if fabric else []
  command += ["--fabric-offsets", f"{offsets[0]},{offsets[1]}"] if offsets else []
  command += ["--import-path", os.fspath(import_path)] if import_path else []
  return _compile(command, settings, folder, options)


class Program:
  """A compiled program in a folder; `Program(folder)` takes one that cs-compile has made."""

  def __init__(self, folder: str | os.PathLike[str], messages: str = ""):
    self.folder = os.path.abspath(os.fspath(folder))
    self.messages = messages   # what the compiler said: warnings and notes
    try:
      with open(os.path.join(self.folder, "manifest.json"), encoding="utf-8") as file:
        manifest = json.load(file)
      with open(os.path.join(self.folder, "compile_report.json"), encoding="utf-8") as file:
        self.compile_report: dict[str, Any] = json.load(file)
    except (OSError, ValueError) as error:
      raise CompileError(f"{self.folder} is no program of cs-compile: {error}") from None
    self.name: str = manifest["name"]
    self.machine: str = manifest["machine"]

  @property
  def kernels(self) -> list[dict[str, Any]]:
    """Of a model: name, op, origin, rectangle, bound and estimate of each kernel."""
    return self.compile_report.get("kernels", [])

  def run(self, inputs: Mapping[str, np.ndarray] | None = None, *, report: bool = False, threads: int = 1,
          options: Sequence[str] = ()) -> Result:
    """A model on its inputs, samples along their sample dimension, pipelined; `options` are more options of cs-sim."""
    with tempfile.TemporaryDirectory(prefix="wafersmith-") as work:
      command = [self.folder, "--json", "--quiet", "--threads", str(threads), *options]
      outputs = os.path.join(work, "outputs.npz")
      command += ["--outputs", outputs]
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
          page = Report(file.read())
      with np.load(outputs) as found:
        return Result({name: found[name] for name in found.files}, statistics, page)

  def session(self, *, threads: int = 1, options: Sequence[str] = ()) -> Session:
    """A CSL program on a wafer of its own, driven by copies and launches."""
    return Session(self, threads, options)

  def _repr_html_(self) -> str:
    return f"<b>{escape(self.name)}</b> for {escape(self.machine)}, {len(self.kernels)} kernels<br>{escape(self.folder)}"


class Result:
  """What a run left: arrays by name, and the figures of stats.json."""

  def __init__(self, outputs: dict[str, np.ndarray], statistics: dict[str, Any], report: Report | None):
    self.outputs, self.statistics, self.report = outputs, statistics, report

  @property
  def cycles(self) -> int:
    return self.statistics["cycles"]

  @property
  def latency_cycles(self) -> int | None:
    """First input wavelet to the last output of the first sample."""
    return self.statistics.get("latency_cycles")

  @property
  def interval_cycles(self) -> float | None:
    """Between two samples in the steady state; None with too few samples."""
    return self.statistics.get("interval_cycles")


class Report:
  """report.html, one page that opens offline. A notebook shows it in place."""

  def __init__(self, html: str):
    self.html = html

  def save(self, path: str | os.PathLike[str]) -> None:
    with open(path, "w", encoding="utf-8") as file:
      file.write(self.html)

  def _repr_html_(self) -> str:
    return f'<iframe srcdoc="{escape(self.html, quote=True)}" width="100%" height="720" style="border:0"></iframe>'


class Session:
  """A CSL program on the simulator. Commands begin in order, each when the one before is complete."""

  def __init__(self, program: Program, threads: int = 1, options: Sequence[str] = ()):
    from wafersmith.native import Simulation   # built for one version of Python; the rest needs none
    self.program = program
    self._sim = Simulation(program.folder, tools.find("cs-sim"), ["--quiet", "--threads", str(threads), *options])
    self._exports = {export["name"]: export for export in self._sim.describe()["exports"]}

  def __enter__(self) -> Session:
    return self

  def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
               traceback: TracebackType | None) -> None:
    self.close()

  def close(self) -> None:
    self._sim.close()

  @property
  def cycle(self) -> int:
    """Everything before it has happened."""
    return self._sim.now()

  @property
  def launches(self) -> list[dict[str, Any]]:
    return list(self._sim.launches())

  def copy_to(self, variable: str, values: np.ndarray, at: tuple[int, int] = (0, 0)) -> None:
    """`values` is [height, width, n]: n elements for each PE of the rectangle whose first PE is `at`."""
    export = self._export(variable, function=False)
    values = np.asarray(values)
    if values.ndim != 3:
      raise ValueError(f"{variable}: [height, width, elements per PE] is needed, got an array of shape {values.shape}")
    if values.dtype != _dtype(export):
      raise ValueError(f"{variable}: elements of {_dtype(export)} are needed ({export['type']}), got {values.dtype}")
    height, width, count = values.shape
    words = np.ascontiguousarray(values).reshape(-1).view(f"u{values.dtype.itemsize}").astype(np.uint32, copy=False)
    self._sim.wait(self._sim.begin_copy_to(variable, (*at, width, height), count, words, True, "all", (1, 1)))

  def copy_from(self, variable: str, rect: tuple[int, int, int, int] | None = None,
                elements: int | None = None) -> np.ndarray:
    """[height, width, n] of a rectangle (x, y, width, height), by default of all PEs that have the variable."""
    export = self._export(variable, function=False)
    rect = rect or export["rect"]
    count = elements or export["elements"]
    ticket = self._sim.begin_copy_from(variable, rect, count, True)
    self._sim.wait(ticket)
    words, dtype = self._sim.take(ticket), _dtype(export)
    if dtype.itemsize == 2:
      words = words.astype(np.uint16)
    return words.view(dtype).reshape(rect[3], rect[2], count)

  def launch(self, function: str, *arguments: float | np.generic) -> None:
    """Starts an exported function on all PEs and waits for its end. Numbers become what the parameters are."""
    export = self._export(function, function=True)
    types = export["parameters"]
    if len(arguments) != len(types):
      raise TypeError(f"{function} takes {len(types)} arguments ({', '.join(types) or 'none'}), got {len(arguments)}")
    words = [int(np.array(value, _NUMPY[kind]).view(f"u{np.dtype(_NUMPY[kind]).itemsize}"))
             for value, kind in zip(arguments, types)]
    self._sim.wait(self._sim.begin_launch(function, words))

  def _export(self, name: str, function: bool) -> dict[str, Any]:
    export = self._exports.get(name)
    if export is None or export["function"] != function:
      kind = "function" if function else "variable"
      names = ", ".join(e["name"] for e in self._exports.values() if e["function"] == function) or "none"
      raise KeyError(f"{name}: the program exports no {kind} of this name; it exports {names}")
    return export


_NUMPY = {"i16": np.int16, "u16": np.uint16, "i32": np.int32, "u32": np.uint32, "f16": np.float16, "f32": np.float32,
          "bf16": np.uint16, "i8": np.int8, "u8": np.uint8, "bool": np.bool_}


def _dtype(export: dict[str, Any]) -> np.dtype:
  return np.dtype(_NUMPY[export["type"]])


def _csl(value: Any) -> str:
  return str(value).lower() if isinstance(value, (bool, np.bool_)) else str(value)


def _compile(command: list[str], settings: Mapping[str, Any] | None, folder: str | os.PathLike[str] | None,
             options: Iterable[str]) -> Program:
  own = None
  if folder is None:
    own = tempfile.mkdtemp(prefix="wafersmith-")
    folder = os.path.join(own, "program.csp")
  for key, value in (settings or {}).items():
    command += ["--set", f"{key}={_csl(value)}"]
  result = subprocess.run([tools.find("cs-compile"), *command, "-o", os.fspath(folder), "--json", *options],
                          capture_output=True, text=True, check=False)
  if result.returncode != 0:
    if own:
      shutil.rmtree(own, ignore_errors=True)
    raise CompileError(result.stderr.rstrip() or f"cs-compile failed ({result.returncode})")
  program = Program(folder, result.stderr)
  if own:
    weakref.finalize(program, shutil.rmtree, own, ignore_errors=True)
  return program


def _simulate(command: list[str]) -> dict[str, Any]:
  """Ctrl-C reaches the simulator, which stops, as well as Python."""
  result = subprocess.run([tools.find("cs-sim"), *command], capture_output=True, text=True, check=False)
  try:
    found = json.loads(result.stdout)
  except ValueError:
    found = {}
  if result.returncode == 130:
    raise KeyboardInterrupt
  if result.returncode != 0:
    raise SimulationError(result.stderr.rstrip() or f"cs-sim failed ({result.returncode})", found.get("fault", ""))
  return found
