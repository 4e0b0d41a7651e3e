"""What somebody does with the library from Python: networks, CSL programs, errors, threads and Ctrl-C. use.py SOURCE_FOLDER

Values, cycles and figures are compared with those of cs-sim, which runs beside this process.
"""
import gc
import os
import signal
import sys
import tempfile
import threading
import time

import numpy as np

import wafersmith as ws
from wafersmith import processes

source = sys.argv[1]
net = os.path.join(source, "models", "mnist_mlp")
counter = os.path.join(source, "tests", "e2e", "python_library", "counter_layout.csl")
chain = os.path.join(source, "tests", "sim", "chain_layout.csl")
TYPES = [np.float32, np.float16, np.int16, np.uint16, np.int32, np.uint32]   # by the layout's parameter


def raises(kind, call, *texts):
  try:
    call()
  except kind as error:
    assert all(text in str(error) for text in texts), error
    return error
  raise AssertionError(f"no {kind.__name__}")


def same(a, b):
  """To the bit."""
  return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def network():
  program = ws.compile_model(os.path.join(net, "model.onnx"), machine="wse3")
  assert program.machine == "wse3" and program.kernels and program.inputs[0]["sample_dim"] == 0
  one = dict(np.load(os.path.join(net, "inputs_0.npz")))
  batch = {name: np.concatenate([array * (1 - k / 16) for k in range(16)]).astype(array.dtype) for name, array in one.items()}
  for inputs in (one, batch):
    result = program.run(inputs)
    outputs, statistics, _ = processes.run_model(program.folder, inputs, [], False)
    assert outputs.keys() == result.outputs.keys() and all(same(outputs[n], result.outputs[n]) for n in outputs)
    mine = result.statistics
    mine.pop("simulator"), statistics.pop("simulator")   # of this computer
    assert mine == statistics, [key for key in mine if mine[key] != statistics.get(key)]
    assert result.cycles == statistics["cycles"] >= result.latency_cycles > 0
  assert result.interval_cycles and len(mine["sample_end"]) == 16
  for name, want in np.load(os.path.join(net, "expected_0.npz")).items():
    assert np.abs(program.run(one).outputs[name] - want).max() <= 1e-4 * np.abs(want).max()
  with tempfile.TemporaryDirectory() as work:   # the same program as cs-compile's
    folder = os.path.join(work, "tool.csp")
    processes.compile_to(folder, [os.path.join(net, "model.onnx"), "-m", "wse3", "--no-baselines", "--no-advice"])
    for name in ("program.fb", "weights.bin"):
      with open(os.path.join(folder, name), "rb") as a, open(os.path.join(program.folder, name), "rb") as b:
        assert a.read() == b.read(), name
    assert same(ws.Program(folder).run(one).outputs["output"], program.run(one).outputs["output"])


def arrays():
  """Outputs own memory of the library's, and outlive what made them; inputs may be read-only and of any layout."""
  program = ws.compile_model(os.path.join(net, "model.onnx"), machine="wse2")
  (name, array), = dict(np.load(os.path.join(net, "inputs_0.npz"))).items()
  array.flags.writeable = False
  result = program.run({name: array})
  (output,) = result.outputs.values()
  assert not output.flags.owndata and type(output.base).__name__ == "PyCapsule" and output.flags.writeable
  kept = output.copy()
  del result, program
  gc.collect()
  assert same(output, kept)
  output += 1   # nobody else's
  other = ws.compile_model(os.path.join(net, "model.onnx"), machine="wse2")
  for strange in (np.asfortranarray(np.repeat(array, 2, axis=0))[::2], array.astype(array.dtype.newbyteorder(">"))):
    assert same(next(iter(other.run({name: strange}).outputs.values())), kept)
  raises(ws.SimulationError, lambda: other.run({name: array.astype(np.float64)}), "f64", "f32")
  raises(ws.SimulationError, lambda: other.run({"y": array}), name)


def kernel():
  for kind, dtype in enumerate(TYPES):
    program = ws.compile_layout(counter, params={"width": 3, "kind": kind})
    values = np.arange(18).reshape(1, 3, 6).astype(dtype)

    def drive(**how):
      with program.session(**how) as session:
        session.copy_to("values", values)
        session.launch("add", 2)
        session.copy_to("values", np.full((1, 1, 2), 7, dtype), at=(1, 0))
        session.launch("add", dtype(3))
        part = session.copy_from("values", rect=(1, 0, 2, 1), elements=2)
        return session.copy_from("values"), part, session.cycle, session.launches

    mine, tools = drive(), drive(options=["--seed", "0"])   # an option: cs-sim in a process
    assert same(mine[0], tools[0]) and same(mine[1], tools[1]) and mine[2:] == tools[2:], (mine, tools)
    want = values + dtype(5)
    want[0, 1, :2] = 10
    assert np.array_equal(mine[0], want) and np.array_equal(mine[1], want[:, 1:, :2]), mine[0]
  with program.session() as session:
    for kind, call in ((KeyError, lambda: session.launch("go")), (TypeError, lambda: session.launch("add")),
                       (ValueError, lambda: session.copy_to("values", values[0])),
                       (ValueError, lambda: session.copy_to("values", values.astype(np.float64))),
                       (ws.SimulationError, lambda: session.copy_to("values", values, at=(1, 0)))):
      raises(kind, call)
    session.launch("add", 1)
    assert session.statistics["launches"][0]["function"] == "add"
  raises(ws.SimulationError, lambda: session.launch("add", 1), "closed")


def training():
  """Four steps at once, and two and two, leave the same states; those of cs-sim."""
  folder = os.path.join(source, "tests", "training")
  data_file = os.path.join(folder, "mlp.data.npz")
  program = ws.compile_model(os.path.join(folder, "mlp.yaml"))
  data = dict(np.load(data_file))
  four = program.run(data, samples=4)
  with tempfile.TemporaryDirectory() as work:
    states = os.path.join(work, "states.npz")
    outputs, statistics, _ = processes.run_model(program.folder, None, ["--data", data_file, "--iterations", "4", "--state-out", states], False)
    found = dict(np.load(states))
  assert found.pop("iteration") == 4 and found.keys() == four.states.keys()
  assert all(same(found[name], four.states[name]) for name in found) and same(outputs["loss"], four.outputs["loss"])
  mine = four.statistics
  assert all(mine[key] == statistics[key] for key in mine if key != "simulator"), [k for k in mine if mine[k] != statistics[k]]
  two = program.run(data, samples=2)
  more = program.run(data, samples=2, states=two.states, steps_before=2)
  assert all(same(more.states[name], four.states[name]) for name in found)
  assert same(np.concatenate([two.outputs["loss"], more.outputs["loss"]]), four.outputs["loss"])


def errors():
  assert raises(ws.CompileError, lambda: ws.compile_model("missing.onnx"), "missing.onnx").file == "missing.onnx"
  raises(ws.CompileError, lambda: ws.compile_model(os.path.join(net, "model.onnx"), policy="none"), "aggressive")
  with tempfile.TemporaryDirectory() as work:
    path = os.path.join(work, "wrong.csl")
    with open(path, "w", encoding="utf-8") as file:
      file.write("layout {\n  @set_rectangle(1, 1);\n  nothing();\n}\n")
    error = raises(ws.CompileError, lambda: ws.compile_layout(path), "nothing")
    assert (error.file, error.line) == (path, 3) and error.messages[0]["kind"] == "error", error.messages
  program = ws.compile_layout(counter, params={"width": 2, "kind": 0})
  with program.session() as session:
    error = raises(ws.SimulationError, lambda: session.launch("beyond", 12500))
    assert error.fault == "out-of-bounds" and error.cycle > 0 and error.file.endswith("counter.csl") and error.line > 0
  with program.session(max_cycles=20_000) as session:
    error = raises(ws.SimulationError, lambda: session.launch("count", 2**31))
    assert (error.fault, error.cycle) == ("timeout", 20_000)


def threads():
  """Sessions and compilations beside each other, each in a thread of its own, and the lock is free meanwhile."""
  found, counted, stop = [], 0, threading.Event()

  def work(k):
    program = ws.compile_layout(counter, params={"width": 3, "kind": 0})
    with program.session(threads=1 + k % 2) as session:
      for i in range(20):
        session.launch("add", 1)
      session.launch("count", 20_000)
      found.append((session.copy_from("values").tobytes(), session.cycle))

  def count():
    nonlocal counted
    while not stop.is_set():
      counted += 1
      time.sleep(0.0005)

  workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
  other = threading.Thread(target=count)
  for thread in [other, *workers]:
    thread.start()
  for thread in workers:
    thread.join()
  counted_in_threads = counted
  for _ in range(20):   # in the main thread too; on a busy machine the other one may not get a turn at once
    work(0)
    if counted > counted_in_threads:
      break
  stop.set()
  other.join()
  assert len(found) >= 5 and len(set(found)) == 1, [cycle for _, cycle in found]
  assert counted > counted_in_threads > 0, counted
  # One session is for one thread at a time; the other hears of it.
  with ws.compile_layout(counter, params={"width": 1, "kind": 0}).session(max_cycles=200_000_000) as session:
    begun = threading.Event()
    refused = []

    def second():
      begun.wait()
      while not refused:
        try:
          session.cycle
        except ws.SimulationError as error:
          refused.append(str(error))
        time.sleep(0.001)

    thread = threading.Thread(target=second)
    thread.start()
    begun.set()
    session.launch("count", 3_000_000)
    refused.append("")   # ends it where it never met
    thread.join()
    assert "another thread" in refused[0], refused


def interrupt():
  """Ctrl-C ends a run that would take hours and a compilation; the process works on."""
  def after(seconds):
    threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT)).start()

  program = ws.compile_layout(counter, params={"width": 2, "kind": 0})
  with program.session() as session:
    after(0.3)
    raises(KeyboardInterrupt, lambda: session.launch("count", 2**31))
    raises(ws.SimulationError, lambda: session.launch("add", 1), "interrupted")

  def compile_for_ever():
    while True:
      ws.compile_model(os.path.join(net, "model.onnx"))

  after(0.3)
  raises(KeyboardInterrupt, compile_for_ever)
  network_again = ws.compile_model(os.path.join(net, "model.onnx"))
  assert network_again.run(dict(np.load(os.path.join(net, "inputs_0.npz")))).cycles > 0


def report():
  program = ws.compile_model(os.path.join(net, "model.onnx"), machine="wse3")
  result = program.run(dict(np.load(os.path.join(net, "inputs_0.npz"))), report=True)
  page = result.report._repr_html_()
  assert page.startswith("<iframe srcdoc=") and "&lt;html" in page.lower()
  with tempfile.TemporaryDirectory() as work:
    result.report.save(os.path.join(work, "report.html"))
    assert os.path.getsize(os.path.join(work, "report.html")) > 10_000
  assert program.name in program._repr_html_()


for step in (network, arrays, kernel, training, errors, threads, interrupt, report):
  step()
  print(step.__name__, "ok", flush=True)
