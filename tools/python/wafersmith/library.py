"""Models and CSL programs from Python: compile them, run them on the simulator, look at values, cycles and the report.

    import wafersmith as ws

    program = ws.compile_model("model.onnx", machine="wse3")
    result = program.run({"x": x}, report=True)
    result.outputs["y"], result.interval_cycles, result.report      # the report shows itself in a notebook

    with ws.compile_layout("layout.csl", params={"P": 4}).session() as session:
      session.copy_to("x", x)
      session.launch("run")
      y = session.copy_from("y")

Compiler and simulator work in this process, without Python's lock: other threads go on meanwhile, with sessions of their own
too. Ctrl-C ends a compilation or a run (KeyboardInterrupt). Arrays in C order are read where they lie, results own the memory
that the simulator filled. What only the tools can do, `report=True` and `options`, is done by them, in processes.
"""
from __future__ import annotations

import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from html import escape
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from wafersmith import processes
from wafersmith.errors import CompileError

if TYPE_CHECKING:   # built for one version of Python; the rest of the package needs none
  from wafersmith import embedded


def compile_model(model: str | os.PathLike[str], machine: str = "wse2", *, fabric: tuple[int, int] | None = None,
                  policy: str = "default", host_ops: str = "warn", resident: bool = False,
                  dims: Mapping[str, int] | None = None, settings: Mapping[str, Any] | None = None,
                  folder: str | os.PathLike[str] | None = None, baselines: bool = False, threads: int = 1,
                  options: Sequence[str] = ()) -> Program:
  """An ONNX file or a YAML configuration becomes a Program.

  `fabric` is (width, height) in PEs, that of the machine by default; `settings` changes values of machine and model
  ({"machine.core.memory_bytes": 65536}); `dims` gives symbolic dimensions their sizes, all but the first one, along which
  samples lie. The program is written to `folder`, if given. With `baselines` there are kernels by hand beside the generated
  ones, and other ways to compile, for a report to compare with; these and `options`, more options of cs-compile as it takes
  them, are cs-compile's part.
  """
  given = _settings(settings)
  if not options and not baselines:
    from wafersmith import embedded
    made = embedded.compile_model(os.fspath(model), os.fspath(machine), given, tuple(fabric or (0, 0)), policy, host_ops,
                                  resident, list((dims or {}).items()), threads)
    return Program._made(made, folder)
  command = [os.fspath(model), "-m", machine, "--autogen-policy", policy, "--host-ops", host_ops, "--threads", str(threads)]
  command += ["--fabric", f"{fabric[0]}x{fabric[1]}"] if fabric else []
  command += ["--operands", "resident"] if resident else []
  for name, size in (dims or {}).items():
    command += ["--dim", f"{name}={size}"]
  return _by_tool(command + ([] if baselines else ["--no-baselines", "--no-advice"]), given, folder, options)


def compile_layout(layout: str | os.PathLike[str], machine: str = "wse2", *, params: Mapping[str, Any] | None = None,
                   fabric: tuple[int, int] | None = None, offsets: tuple[int, int] | None = None,
                   import_path: str | os.PathLike[str] | None = None, settings: Mapping[str, Any] | None = None,
                   folder: str | os.PathLike[str] | None = None, threads: int = 1, options: Sequence[str] = ()) -> Program:
  """A CSL layout with its PE files becomes a Program; arguments as for compile_model."""
  given = _settings(settings)
  texts = [(name, _csl(value)) for name, value in (params or {}).items()]
  if not options:
    from wafersmith import embedded
    made = embedded.compile_layout(os.fspath(layout), os.fspath(machine), given, texts,
                                   [os.fspath(import_path)] if import_path else [], tuple(fabric or (0, 0)),
                                   tuple(offsets or (-1, -1)), threads)
    return Program._made(made, folder)
  command = [os.fspath(layout), "-m", machine, "--threads", str(threads)]
  if texts:
    command.append("--params=" + ",".join(f"{name}:{text}" for name, text in texts))
  command += ["--fabric-dims", f"{fabric[0]},{fabric[1]}"] if fabric else []
  command += ["--fabric-offsets", f"{offsets[0]},{offsets[1]}"] if offsets else []
  command += ["--import-path", os.fspath(import_path)] if import_path else []
  return _by_tool(command, given, folder, options)


class Program:
  """A compiled program. `Program(folder)` takes one that cs-compile or save() has written."""

  def __init__(self, folder: str | os.PathLike[str], messages: str = ""):
    from wafersmith import embedded
    self._take(embedded.load(os.fspath(folder)), os.path.abspath(os.fspath(folder)), messages)

  @classmethod
  def _made(cls, made: embedded.Compiled, folder: str | os.PathLike[str] | None) -> Program:
    program = cls.__new__(cls)
    program._take(made.program, None, "\n".join(_line(message) for message in made.messages))
    if folder is not None:
      program.save(folder)
      program._folder = os.path.abspath(os.fspath(folder))
    return program

  def _take(self, native: embedded.Program, folder: str | None, messages: str) -> None:
    self._native, self._folder = native, folder
    self.messages = messages   # what the compiler said: warnings and notes
    self.name: str = native.name
    self.machine: str = native.machine
    self._report: dict[str, Any] | None = None

  def save(self, folder: str | os.PathLike[str]) -> None:
    """As cs-compile writes it: for cs-sim, for Program(folder)."""
    self._native.save(os.fspath(folder))

  @property
  def folder(self) -> str:
    """Where it lies; one that was compiled without a folder is written to one that goes with the object."""
    if self._folder is None:
      own = tempfile.mkdtemp(prefix="wafersmith-")
      weakref.finalize(self, shutil.rmtree, own, ignore_errors=True)
      folder = os.path.join(own, "program.csp")
      self.save(folder)
      self._folder = folder
    return self._folder

  @property
  def compile_report(self) -> dict[str, Any]:
    """compile_report.json: passes, kernels, placement, estimates."""
    if self._report is None:
      if not self._native.compile_report:
        raise CompileError(f"{self._folder} has no compile_report.json")
      self._report = json.loads(self._native.compile_report)
    return self._report

  @property
  def kernels(self) -> list[dict[str, Any]]:
    """Of a model: name, op, origin, rectangle, bound and estimate of each kernel."""
    return self.compile_report.get("kernels", [])

  @property
  def inputs(self) -> list[dict[str, Any]]:
    """Of a model: name, type, shape of one sample, and sample_dim, along which samples lie (-1: none, -2: in front of the
    shape)."""
    return self._native.inputs

  @property
  def outputs(self) -> list[dict[str, Any]]:
    return self._native.outputs

  def run(self, inputs: Mapping[str, Any] | None = None, *, samples: int = 0, report: bool = False, threads: int = 1,
          kernel_cycles: bool = True, max_cycles: int = 0, max_seconds: float = 0, allow: Sequence[str] = (),
          states: Mapping[str, Any] | None = None, steps_before: int = 0, options: Sequence[str] = ()) -> Result:
    """A model on its inputs, samples along their sample dimension, pipelined.

    `samples`: more or fewer than the inputs hold, which begin anew when they are used up. `kernel_cycles`: a sample is run by
    itself too, for the cycles of each kernel in the statistics. `max_cycles` and `max_seconds` end a run as the fault
    "timeout"; faults in `allow` are counted and end nothing. A program that trains takes one slice of each input in each step,
    begins with `states` (those of another result, which `steps_before` steps have made) and leaves `result.states`.
    cs-sim does it, in a process, with `report` and with `options`, more of its options; it draws inputs if none are given.
    """
    if not report and not options and (inputs or not self._native.inputs):
      from wafersmith import embedded
      wafer = embedded.Wafer(self._native, threads, max_cycles, max_seconds, list(allow))
      ran = wafer.run(_arrays(inputs), samples, kernel_cycles, _arrays(states), steps_before)
      return Result(ran["outputs"], ran["statistics"], None, ran["states"])
    if states:
      raise ValueError("a run by cs-sim (report=True, options) takes states from a file: options=['--state-in', FILE]")
    command = ["--threads", str(threads)]
    command += ["--iterations", str(samples)] if samples else []
    command += ["--max-cycles", str(max_cycles)] if max_cycles else []
    command += ["--max-seconds", str(max_seconds)] if max_seconds else []
    for fault in allow:
      command += ["--allow", fault]
    outputs, statistics, page = processes.run_model(self.folder, inputs, [*command, *options], report)
    return Result(outputs, statistics, Report(page) if page is not None else None)

  def session(self, *, threads: int = 1, max_cycles: int = 0, max_seconds: float = 0, allow: Sequence[str] = (),
              options: Sequence[str] = ()) -> Session:
    """A CSL program on a wafer of its own, driven by copies and launches; `options` of cs-sim make it a process."""
    return Session(self, threads, options, max_cycles=max_cycles, max_seconds=max_seconds, allow=allow)

  def _repr_html_(self) -> str:
    kernels = len(json.loads(self._native.compile_report or "{}").get("kernels", []))
    return f"<b>{escape(self.name)}</b> for {escape(self.machine)}, {kernels} kernels<br>{escape(self._folder or '')}"


class Result:
  """What a run left: arrays by name, and the figures of stats.json."""

  def __init__(self, outputs: dict[str, np.ndarray], statistics: dict[str, Any] | str, report: Report | None,
               states: dict[str, np.ndarray] | None = None):
    self.outputs, self.report = outputs, report
    self.states = states or {}   # of a program that trains, after the last step
    self._statistics = statistics

  @property
  def statistics(self) -> dict[str, Any]:
    if isinstance(self._statistics, str):
      self._statistics = json.loads(self._statistics)
    return self._statistics

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
  """A CSL program on the simulator. Commands begin in order, each when the one before is complete.

  A session is for one thread at a time; sessions beside each other know nothing of each other.
  """

  def __init__(self, program: Program, threads: int = 1, options: Sequence[str] = (), *, max_cycles: int = 0,
               max_seconds: float = 0, allow: Sequence[str] = ()):
    self.program = program
    self._wafer: Any
    if options:
      limits = ["--max-cycles", str(max_cycles)] if max_cycles else []
      limits += ["--max-seconds", str(max_seconds)] if max_seconds else []
      for fault in allow:
        limits += ["--allow", fault]
      self._wafer = processes.ServedWafer(program.folder, ["--threads", str(threads), *limits, *options])
    else:
      from wafersmith import embedded
      self._wafer = embedded.Wafer(program._native, threads, max_cycles, max_seconds, list(allow))
    self._exports = {export["name"]: export for export in program._native.exports}

  def __enter__(self) -> Session:
    return self

  def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
               traceback: TracebackType | None) -> None:
    self.close()

  def close(self) -> None:
    self._wafer.close()

  @property
  def cycle(self) -> int:
    """Everything before it has happened."""
    return self._wafer.cycle()

  @property
  def launches(self) -> list[dict[str, Any]]:
    return list(self._wafer.launches())

  @property
  def statistics(self) -> dict[str, Any]:
    """Of everything so far, as stats.json has it; not of a session with options, whose cs-sim keeps them."""
    return json.loads(self._wafer.statistics())

  def copy_to(self, variable: str, values: Any, at: tuple[int, int] = (0, 0)) -> None:
    """`values` is [height, width, n]: n elements for each PE of the rectangle whose first PE is `at`."""
    export = self._export(variable, function=False)
    values = np.asarray(values)
    if values.ndim != 3:
      raise ValueError(f"{variable}: [height, width, elements per PE] is needed, got an array of shape {values.shape}")
    if values.dtype != _dtype(export):
      raise ValueError(f"{variable}: elements of {_dtype(export)} are needed ({export['type']}), got {values.dtype}")
    height, width, _ = values.shape
    self._wafer.copy_to(variable, _plain(values), (*at, width, height))

  def copy_from(self, variable: str, rect: tuple[int, int, int, int] | None = None,
                elements: int | None = None) -> np.ndarray:
    """[height, width, n] of a rectangle (x, y, width, height), by default of all PEs that have the variable."""
    export = self._export(variable, function=False)
    return self._wafer.copy_from(variable, tuple(rect or export["rect"]), elements or export["elements"])

  def launch(self, function: str, *arguments: float | np.generic) -> None:
    """Starts an exported function on all PEs and waits for its end. Numbers become what the parameters are."""
    export = self._export(function, function=True)
    types = export["parameters"]
    if len(arguments) != len(types):
      raise TypeError(f"{function} takes {len(types)} arguments ({', '.join(types) or 'none'}), got {len(arguments)}")
    numpy = [processes.NUMPY[kind] for kind in types]
    self._wafer.launch(function, [int(np.array(value, kind).view(f"u{np.dtype(kind).itemsize}"))
                                  for value, kind in zip(arguments, numpy)])

  def _export(self, name: str, function: bool) -> dict[str, Any]:
    export = self._exports.get(name)
    if export is None or export["function"] != function:
      kind = "function" if function else "variable"
      names = ", ".join(e["name"] for e in self._exports.values() if e["function"] == function) or "none"
      raise KeyError(f"{name}: the program exports no {kind} of this name; it exports {names}")
    return export


def _dtype(export: dict[str, Any]) -> np.dtype:
  return np.dtype(processes.NUMPY[export["type"]])


def _plain(values: Any) -> np.ndarray:
  """In C order and this computer's byte order: itself, if it is that already."""
  array = np.asarray(values, order="C")
  return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _arrays(given: Mapping[str, Any] | None) -> dict[str, np.ndarray]:
  return {name: _plain(values) for name, values in (given or {}).items()}


def _csl(value: Any) -> str:
  return str(value).lower() if isinstance(value, (bool, np.bool_)) else str(value)


def _settings(settings: Mapping[str, Any] | None) -> list[str]:
  return [f"{key}={_csl(value)}" for key, value in (settings or {}).items()]


def _line(message: dict[str, Any]) -> str:
  place = message["file"] + (f":{message['line']}:{message['column']}" if message["line"] else "")
  text = f"{place}: {message['kind']}: {message['text']}"
  return text + (f"\n  help: {message['help']}" if message["help"] else "")


def _by_tool(command: list[str], settings: list[str], folder: str | os.PathLike[str] | None,
             options: Sequence[str]) -> Program:
  own = None
  if folder is None:
    own = tempfile.mkdtemp(prefix="wafersmith-")
    folder = os.path.join(own, "program.csp")
  for setting in settings:
    command += ["--set", setting]
  try:
    program = Program(folder, processes.compile_to(os.fspath(folder), [*command, *options]))
  except BaseException:
    if own:
      shutil.rmtree(own, ignore_errors=True)
    raise
  if own:
    weakref.finalize(program, shutil.rmtree, own, ignore_errors=True)
  return program
