"""What somebody does with the installed wheel: a network, a CSL program, errors, and Ctrl-C. wheel_use.py MODEL_FOLDER"""
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np

import wafersmith as ws

folder = sys.argv[1]


def network():
  program = ws.compile_model(os.path.join(folder, "model.onnx"), machine="wse3", options=["--no-baselines", "--no-advice"])
  assert program.machine == "wse3" and program.kernels, program.kernels
  inputs = dict(np.load(os.path.join(folder, "inputs_0.npz")))
  expected = dict(np.load(os.path.join(folder, "expected_0.npz")))
  result = program.run(inputs, report=True)
  for name, want in expected.items():
    error = np.abs(result.outputs[name] - want).max()
    assert error <= 1e-4 * np.abs(want).max(), (name, error)
  assert result.cycles >= result.latency_cycles > 0
  page = result.report._repr_html_()
  assert page.startswith("<iframe srcdoc=") and "&lt;html" in page.lower()
  result.report.save("report.html")
  assert os.path.getsize("report.html") > 10_000


def kernel():
  """Four PEs in a row add up their vectors: the PE at the end has 1 + 2 + 3 + 4 times each element."""
  program = ws.compile_layout("sim/chain_layout.csl", params={"P": 4, "B": 8, "buffered": False})
  values = np.arange(1, 5, dtype=np.float32)[None, :, None] * np.arange(1, 9, dtype=np.float32)
  with program.session() as session:
    session.copy_to("data", values)
    session.launch("run")
    sums = session.copy_from("data", elements=8)
    assert sum(np.array_equal(sums[0, pe], 10 * np.arange(1, 9)) for pe in range(4)) == 1, sums
    assert session.cycle > 0 and session.launches[0]["function"] == "run"
    for wrong, kind in ((lambda: session.launch("go"), KeyError), (lambda: session.launch("run", 1), TypeError),
                        (lambda: session.copy_to("data", values[0]), ValueError)):
      try:
        wrong()
      except kind:
        continue
      raise AssertionError(f"no {kind.__name__}")


def errors():
  try:
    ws.compile_model("missing.onnx")
  except ws.CompileError as error:
    assert "missing.onnx" in str(error)
  else:
    raise AssertionError("a missing file is an error")


def lock_is_free():
  """Another thread of Python goes on while a program compiles."""
  counted, stop = 0, threading.Event()

  def count():
    nonlocal counted
    while not stop.is_set():
      counted += 1
      time.sleep(0.001)

  thread = threading.Thread(target=count)
  thread.start()
  ws.compile_layout("sim/chain_layout.csl", params={"P": 4, "B": 8, "buffered": False})
  stop.set()
  thread.join()
  assert counted > 5, counted


def interrupt():
  """Ctrl-C ends a run that would go on for ever, and what it started."""
  code = ("import wafersmith as ws\n"
          "p = ws.compile_layout('sim/chain_layout.csl', params={'P': 4, 'B': 8, 'buffered': False})\n"
          "with p.session() as s:\n  print('ready', flush=True)\n  while True: s.launch('run')\n")
  child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           start_new_session=True)
  assert child.stdout.readline() == "ready\n", child.stderr.read()
  time.sleep(0.3)
  os.killpg(child.pid, signal.SIGINT)
  assert "KeyboardInterrupt" in child.communicate(timeout=60)[1]


for step in (network, kernel, errors, lock_is_free, interrupt):
  step()
  print(step.__name__, "ok")
