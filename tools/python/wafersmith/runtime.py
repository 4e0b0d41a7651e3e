"""SdkRuntime: a host program's view of a compiled program on the simulator.

A simulation runs in a process of its own (cs-sim --serve); any number of them may live beside each other. Simulated time
passes only while a call waits for something. The environment variable WAFERSMITH_SIM_ARGS adds options of cs-sim (traces,
machine values, limits) to every simulation.
"""
import atexit
import os
import shlex
import sys
import weakref

import numpy as np

from wafersmith import tools
from wafersmith.arrays import cast_uint32
from wafersmith.kinds import MemcpyDataType, MemcpyOrder
from wafersmith.layout.artifacts import SdkCompileArtifacts
from wafersmith.native import Simulation


class Task:
  """A call that was made without waiting for it: for task_wait and is_task_done of the runtime that made it."""

  def __init__(self, runtime, finish):
    self.runtime, self.finish = runtime, finish

  @property
  def done(self):
    return self.finish is None


_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
_KNOWN = {"suppress_simfab_trace", "simfab_numthreads", "msg_level", "memcpy_required", "setup_phase_only",
          "run_phase_only", "wio_flows", "worker"}
_by_folder = weakref.WeakValueDictionary()   # for debug_util, which knows only the folder
_latest = []                                 # the last runtime stays readable after its variable is gone


def last_run(folder):
  """The latest runtime of this process that ran the program in `folder`, None if there is none."""
  return _by_folder.get(os.path.realpath(folder))


class SdkRuntime:
  """Call load, run, then copies, launches and streams, then stop. Memory stays readable after stop."""

  def __init__(self, bindir, platform=None, cmaddr=None, **options):
    if cmaddr:
      raise RuntimeError(f"no wafer can be reached at '{cmaddr}': programs run on the simulator; leave cmaddr out")
    unknown = sorted(set(options) - _KNOWN)
    if unknown:
      raise TypeError(f"SdkRuntime has no option {', '.join(unknown)}; there are {', '.join(sorted(_KNOWN))}")
    if options.get("msg_level", "WARNING") not in _LEVELS:
      raise ValueError(f"msg_level must be one of {', '.join(_LEVELS)}, got {options['msg_level']!r}")
    self._folder = os.fspath(SdkCompileArtifacts(bindir))
    self._platform = platform
    self._state = "new"
    self._tasks = []
    self._sim = Simulation(self._folder, tools.find("cs-sim"), self._arguments(options))
    self._about = self._sim.describe()
    self._exports = self._about["exports"]
    _by_folder[os.path.realpath(self._folder)] = self
    for other in (bindir, getattr(bindir, "__fspath__", lambda: bindir)()):
      _by_folder[os.path.realpath(os.fspath(other))] = self
    _latest[:] = [self]

  @staticmethod
  def _arguments(options):
    threads = options.get("simfab_numthreads")
    arguments = [] if threads is None else ["--threads", str(max(1, min(int(threads), os.cpu_count() or 1)))]
    return arguments + ["--quiet", "--print", "sim.log"] + shlex.split(os.environ.get("WAFERSMITH_SIM_ARGS", ""))

  # ---- life

  def load(self):
    if self._state != "new":
      raise RuntimeError("load() is called once, before run()")
    self._state = "loaded"

  def run(self):
    if self._state != "loaded":
      raise RuntimeError("run() is called once, after load()")
    self._state = "running"

  def stop(self):
    """Waits for everything that was begun, then lets the program come to rest; says what wavelets it leaves lying."""
    if self._state != "running":
      raise RuntimeError("stop() is called once, after run()")
    self._finish_tasks()
    left = self._sim.rest()
    if left:
      print(f"warning: leftover-wavelets: {left}", file=sys.stderr, flush=True)
    self._state = "stopped"

  def __enter__(self):
    self.load()
    self.run()
    return self

  def __exit__(self, kind, value, traceback):
    if kind is None and self._state == "running":
      self.stop()

  def is_simulator(self):
    return True

  # ---- names

  def get_id(self, symbol):
    """The number that copies take for an exported symbol, None if there is none."""
    for number, export in enumerate(self._exports):
      if export["name"] == symbol:
        return number
    return None

  def get_port_id(self, name):
    for number, port in enumerate(self._about["ports"]):
      if port["name"] == name:
        return number
    return None

  def report_port_infos(self):
    for number, port in enumerate(self._about["ports"]):
      print(f"port {number}: {port['name']} ({'input' if port['input'] else 'output'})")

  def coord_logical_to_physical(self, coord):
    x, y, _, _ = self._about["user"]
    return coord[0] + x, coord[1] + y

  # ---- copies and streams of <memcpy>

  def memcpy_h2d(self, dest, src, px, py, w, h, elem_per_pe, **options):
    return self._to_device("all", dest, src, (px, py, w, h), elem_per_pe, options)

  def memcpy_h2d_stride(self, dest, src, px, py, w, h, elem_per_pe, row_stride, col_stride, **options):
    """To every row_stride-th PE of a row and every col_stride-th row, from (px, py) on; `src` holds their data alone."""
    step = (int(row_stride), int(col_stride))
    if min(step) < 1:
      raise ValueError(f"row_stride and col_stride must be positive, got {step[0]} and {step[1]}")
    return self._to_device("all", dest, src, (px, py, w, h), elem_per_pe, options, step)

  def memcpy_h2d_rowbcast(self, dest, src, px, py, w, h, elem_per_pe, **options):
    """`src` holds one PE's data per row of PEs: every PE of a row gets the same."""
    return self._to_device("rows", dest, src, (px, py, w, h), elem_per_pe, options)

  def memcpy_h2d_colbcast(self, dest, src, px, py, w, h, elem_per_pe, **options):
    """`src` holds one PE's data per column of PEs: every PE of a column gets the same."""
    return self._to_device("columns", dest, src, (px, py, w, h), elem_per_pe, options)

  def memcpy_d2h(self, dest, src, px, py, w, h, elem_per_pe, **options):
    self._must_run("memcpy_d2h")
    streaming, data_type, order, nonblock = self._copy_options(options)
    words = self._destination(dest, w * h * elem_per_pe)
    rect = (px, py, w, h)
    if streaming:
      ticket = self._sim.begin_stream_from(int(src), rect, elem_per_pe, order)
    else:
      ticket = self._sim.begin_copy_from(self._symbol(src), rect, elem_per_pe, order)

    def finish():
      store(words, self._sim.take(ticket), data_type)

    return self._begun(ticket, finish, nonblock)

  def _to_device(self, spread, dest, src, rect, elem_per_pe, options, step=(1, 1)):
    self._must_run("memcpy_h2d")
    streaming, _, order, nonblock = self._copy_options(options)
    words = source_words(src)
    columns, rows = -(-rect[2] // step[0]), -(-rect[3] // step[1])
    need = elem_per_pe * {"all": columns * rows, "rows": rows, "columns": columns}[spread]
    if words.size < need:
      raise ValueError(f"{need} elements go to the device, the array has {words.size}")
    if streaming and (spread != "all" or step != (1, 1)):
      raise ValueError("broadcasts and copies with strides are no streams: streaming must be False")
    if streaming:
      ticket = self._sim.begin_stream_to(int(dest), rect, elem_per_pe, words[:need], order)
    else:
      ticket = self._sim.begin_copy_to(self._symbol(dest), rect, elem_per_pe, words[:need], order, spread, step)
    return self._begun(ticket, None, nonblock)

  def _symbol(self, number):
    if number is None or not 0 <= int(number) < len(self._exports):
      names = ", ".join(e["name"] for e in self._exports if not e["function"]) or "nothing"
      raise RuntimeError(f"{number!r} is the id of no exported symbol (get_id); the program exports {names}")
    export = self._exports[int(number)]
    if export["function"]:
      raise RuntimeError(f"'{export['name']}' is a function: launch it")
    return export["name"]

  @staticmethod
  def _copy_options(options):
    given = dict(options)
    try:
      streaming, order = bool(given.pop("streaming", False)), MemcpyOrder(given.pop("order"))
      data_type, nonblock = MemcpyDataType(given.pop("data_type")), bool(given.pop("nonblock", False))
    except KeyError as missing:
      raise TypeError(f"a copy needs {missing.args[0]}=") from None
    if given:
      raise TypeError(f"a copy has no option {', '.join(sorted(given))}")
    return streaming, data_type, order == MemcpyOrder.ROW_MAJOR, nonblock

  @staticmethod
  def _destination(dest, need):
    if not isinstance(dest, np.ndarray) or not dest.flags.c_contiguous or not dest.flags.writeable:
      raise TypeError("the result goes into a contiguous, writeable numpy array")
    if dest.size < need:
      raise ValueError(f"{need} elements come from the device, the array has {dest.size}")
    if dest.dtype.itemsize not in (2, 4):
      raise TypeError(f"the result is 32-bit words (16-bit data in their low half), the array has {dest.dtype}")
    return dest.reshape(-1)[:need]

  # ---- launches

  def launch(self, name, *args, **options):
    """Calls an exported function on every PE. Arguments take the types of its parameters."""
    kinds = self._function(name)["parameters"]
    if len(kinds) != len(args):
      raise RuntimeError(f"'{name}' takes {len(kinds)} arguments ({', '.join(kinds)}), got {len(args)}")
    return self._launch(name, [argument(a, kind) for a, kind in zip(args, kinds)], options)

  def call(self, symbol, params, **options):
    """The same with arguments that are 32-bit words already."""
    self._function(symbol)
    return self._launch(symbol, [int(p) & 0xFFFFFFFF for p in params], options)

  def _function(self, name):
    for export in self._exports:
      if export["function"] and export["name"] == name:
        return export
    names = ", ".join(e["name"] for e in self._exports if e["function"]) or "no function"
    raise RuntimeError(f"the program exports no function '{name}'; it exports {names}")

  def _launch(self, name, words, options):
    self._must_run("launch")
    nonblock = bool(options.pop("nonblock", False))
    if options:
      raise TypeError(f"a launch has no option {', '.join(sorted(options))}")
    return self._begun(self._sim.begin_launch(name, words), None, nonblock)

  def launches(self):
    """A dict for every launch that has reached the PEs, with the keys of stats.json."""
    return self._sim.launches()

  def host_call_us(self):
    """The host's own time for its calls so far: on a clock of its own, which is not in the cycles of launches."""
    return self._sim.host_seconds() * 1e6

  # ---- streams of ports

  def send(self, port, data, size=None, nonblock=False):
    self._must_run("send")
    words = source_words(data)
    count = words.size if size is None else int(size)
    if count > words.size:
      raise ValueError(f"{count} wavelets were asked for, the array has {words.size}")
    self._sim.send(self._port(port), words[:count])
    if not nonblock:
      self._finish_tasks()
    return Task(self, None)

  def receive(self, port, dest, size, nonblock=False):
    self._must_run("receive")
    words = self._destination(dest, int(size))
    name = self._port(port)

    def finish():
      store(words, self._sim.receive(name, int(size)), MemcpyDataType.MEMCPY_32BIT)

    return self._begun(None, finish, nonblock)

  def receive_tofile(self, port, path, size=None, nonblock=False):
    if size is None:
      raise ValueError("receive_tofile needs size=: how many wavelets to wait for")
    words = np.zeros(int(size), np.uint32)
    task = self.receive(port, words, size, nonblock=False)
    words.tofile(path)
    return task

  def _port(self, port):
    names = [p["name"] for p in self._about["ports"]]
    name = names[port] if isinstance(port, int) and 0 <= port < len(names) else getattr(port, "name", port)
    if name not in names:
      raise RuntimeError(f"the program has no port {name!r}; it has {', '.join(names) or 'none'}")
    return name

  # ---- tasks

  def _begun(self, ticket, finish, nonblock):
    def complete():
      if ticket is not None:
        self._sim.wait(ticket)
      if finish is not None:
        finish()

    task = Task(self, complete)
    task.ticket = ticket
    self._tasks.append(task)
    if not nonblock:
      self._finish_tasks(task)
    return task

  def _finish_tasks(self, last=None):
    count = len(self._tasks) if last is None else self._tasks.index(last) + 1
    ending, self._tasks = self._tasks[:count], self._tasks[count:]
    finishes, tickets = [task.finish for task in ending], [task.ticket for task in ending if task.ticket is not None]
    for task in ending:
      task.finish = None
    if tickets:  # the last one alone: nobody has waited for those before it, so they follow each other on the PEs
      self._sim.wait(tickets[-1])
    for finish in finishes:
      finish()

  def task_wait(self, task):
    self._own(task)
    if not task.done:
      self._finish_tasks(task)

  def is_task_done(self, task):
    """Polls; simulated time passes here too, else a host that polls would wait for ever."""
    self.task_wait(task)
    return True

  def _own(self, task):
    if not isinstance(task, Task) or task.runtime is not self:
      raise RuntimeError("this task is of another runtime")

  def _must_run(self, what):
    if self._state != "running":
      raise RuntimeError(f"{what} needs a running program: call load() and run() before, stop() after")

  # ---- memory

  def read_symbol(self, x, y, symbol, dtype="uint8"):
    """What the symbol holds on one PE; coordinates of the program's rectangle. It need not be exported."""
    return self.read_fabric_symbol(*self.coord_logical_to_physical((x, y)), symbol, dtype)

  def read_fabric_symbol(self, x, y, symbol, dtype):
    dtype = np.dtype(dtype)
    known = self._sim.symbols(x, y)
    for name, address, size in known:
      if name == symbol:
        return np.frombuffer(self._sim.read(x, y, address, size - size % dtype.itemsize), dtype).copy()
    names = ", ".join(dict.fromkeys(n for n, _, _ in known)) or "nothing"
    raise RuntimeError(f"PE ({x}, {y}) has no symbol '{symbol}'; in its memory are {names}")

  def dump_core(self, path):
    """The memory of every PE of the program's rectangle, as an npz with one array [h, w, bytes]."""
    x0, y0, w, h = self._about["user"]
    size = self._about["memory_bytes"]
    rows = [[np.frombuffer(self._sim.read(x, y, 0, size), np.uint8) for x in range(x0, x0 + w)]
            for y in range(y0, y0 + h)]
    with open(path, "wb") as file:
      np.savez_compressed(file, memory=np.array(rows), origin=np.array([x0, y0]), cycle=np.array(self._sim.now()))

  dump_elf_core = dump_core


def source_words(src):
  """A host array as 32-bit words; 16-bit elements are zero-extended."""
  array = np.ascontiguousarray(src).reshape(-1)
  if array.dtype.itemsize == 4:
    return array.view(np.uint32)
  if array.dtype.itemsize == 2:
    return array.view(np.uint16).astype(np.uint32)
  raise TypeError(f"the array has elements of {array.dtype}: 32-bit words are needed (16-bit data zero-extended)")


def store(dest, words, data_type):
  """Words from the device into the host's array; 16-bit data is the low half."""
  if data_type == MemcpyDataType.MEMCPY_16BIT:
    words = words & np.uint32(0xFFFF)
  if dest.dtype.itemsize == 4:
    dest.view(np.uint32)[:] = words
  else:
    dest.view(np.uint16)[:] = words.astype(np.uint16)


_NUMPY = {"f32": np.float32, "f16": np.float16, "i16": np.int16, "u16": np.uint16, "i32": np.int32, "u32": np.uint32}


def argument(value, kind):
  """One argument of a launch as a word: numpy numbers by their bits if the size fits, Python's by the parameter's type."""
  wanted = _NUMPY[kind]
  if isinstance(value, np.generic) and value.dtype.itemsize == np.dtype(wanted).itemsize and \
      value.dtype.kind in "fiu":
    return int(cast_uint32(value))
  if kind[0] == "f":
    return int(cast_uint32(wanted(value)))
  number = int(value)
  bits = 8 * np.dtype(wanted).itemsize
  low, high = (0, 2**bits) if kind[0] == "u" else (-2**(bits - 1), 2**(bits - 1))
  if number != value or not low <= number < high:
    raise RuntimeError(f"{value!r} does not fit a parameter of type {kind}")
  return number & (2**bits - 1)


@atexit.register
def _end():
  _latest.clear()
