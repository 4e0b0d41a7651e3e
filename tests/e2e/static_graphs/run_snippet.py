"""Runs a program of snippets/ as its user does and checks what it prints: run_snippet.py NAME."""
import os
import re
import subprocess
import sys

import numpy as np

import reference
import wafersmith as ws

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "snippets")


def run(name, *arguments, fails=False):
  result = subprocess.run([sys.executable, os.path.join(HERE, name), *arguments], capture_output=True, text=True,
                          check=False)
  if (result.returncode != 0) != fails:
    sys.exit(f"{name} {' '.join(arguments)}: exit code {result.returncode}\n{result.stdout}{result.stderr}")
  return result


def check(condition, what):
  if not condition:
    sys.exit(what)


def close(found, wanted, tolerance, what):
  found, wanted = np.asarray(found, float), np.asarray(wanted, float)
  check(found.shape == wanted.shape and np.all(np.abs(found - wanted) <= tolerance * np.abs(wanted).max()),
        f"{what}: {found} instead of {wanted}")


def line_of(name, text):
  with open(os.path.join(HERE, name), encoding="utf-8") as file:
    return next(k for k, line in enumerate(file, 1) if text in line)


def weights(*sizes):
  """The initial weights of Linear layers in a process that begins with them."""
  ws.manual_seed(0)
  layers = [ws.nn.Linear(a, b) for a, b in zip(sizes, sizes[1:])]
  return [p.numpy().astype(np.float64) for layer in layers for p in (layer.weight, layer.bias)]


def retrace():
  once, every = run("retrace.py"), run("retrace.py", "--retrace")
  check("'seen' while it is traced; that happens once" in once.stderr, once.stderr)
  check("TraceWarning" not in every.stderr, every.stderr)


def changed():
  relu, tanh, times = (line_of("changed.py", t) for t in ("x = ws.relu(x)", "ws.tanh(x)", "return x * "))
  wanted = {"branch": ("node 0, operator relu -> tanh", relu, tanh),
            "trips": ("node 2, operator mul -> relu", times, relu),
            "shape": ("node 0, shape f32[1, 8] -> f32[2, 8]", relu, relu),
            "constant": ("node 2, constant 1.0 -> 2.0", times, times)}
  for what, (difference, before, after) in wanted.items():
    error = run("changed.py", what, fails=True).stderr
    for part in ("GraphChanged: the graph of step() has changed in iteration 3", difference):
      check(part in error, f"{what}: no '{part}' in\n{error}")
    lines = rf"iteration 0: .*changed.py:{before} in step\n +iteration 3: .*changed.py:{after} in step"
    check(re.search(lines, error), error)


def trace():
  lines = run("trace.py").stdout.splitlines()
  rng, w = np.random.default_rng(0), weights(64, 32, 10)
  batches = [(rng.standard_normal((16, 64), dtype=np.float32), rng.integers(0, 10, 16)) for _ in range(20)]
  losses = reference.train(w, reference.AdamW(1e-3), batches)
  close([float(line.split()[1]) for line in lines[:20]], losses, 1e-5, "losses")
  check(re.fullmatch(r"[\d.]+ cycles a step", lines[20]) and float(lines[20].split()[0]) > 0, lines[20])


def sections():
  lines = run("sections.py").stdout.splitlines()
  rng, w = np.random.default_rng(0), weights(784, 32, 10)
  batches = [(rng.random((8, 784), dtype=np.float32), rng.integers(0, 10, 8)) for _ in range(40)]
  losses = reference.train(w, reference.Momentum(0.1, 0.9), batches)
  steps = [line.split()[:2] for line in lines[:4]]
  check(steps == [["0", "0"], ["0", "10"], ["1", "0"], ["1", "10"]], "\n".join(lines))
  for line, step in zip(lines, (0, 10, 20, 30)):   # printed with four digits
    wanted = losses[step]
    check(abs(float(line.split()[2]) - wanted) <= 1e-3 * wanted + 5e-5, f"{line}: {wanted} in float64")
  # In the second epoch the weights are on the wafer already: pictures and labels go there, the loss comes back.
  check(lines[4] == "3", lines[4])


def custom_loss():
  found = run("custom_loss.py").stdout.splitlines()
  x, t = np.linspace(-3, 3, 256, dtype=np.float32).astype(np.float64), np.arange(256) % 2

  def focal(x):
    p = 1 / (1 + np.exp(-x))
    pt = p * t + (1 - p) * (1 - t)
    return np.mean(-(0.25 * t + 0.75 * (1 - t)) * (1 - pt) ** 2 * np.log(pt))

  slopes = []
  for k in range(3):
    step = np.zeros(256)
    step[k] = 1e-5
    slopes.append((focal(x + step) - focal(x - step)) / 2e-5)
  check(len(found) == 2, "\n".join(found))
  kernels = [line.count("'autogen'") + line.count("'handwritten'") for line in found]
  check(1 <= kernels[0] <= kernels[1], f"fused {kernels[0]} kernels, apart {kernels[1]}")
  for line, fused in zip(found, ("True", "False")):
    name, value, *gradient = re.split(r"[\s\[\],]+", line.split("[")[0] + line.split("[", 1)[1].split("]")[0])
    check(name == fused, line)
    close(float(value), focal(x), 1e-5, "focal loss")
    close([float(g) for g in gradient if g], slopes, 1e-4, "gradient")
    check("'autogen'" in line, line)


if __name__ == "__main__":
  programs = {"retrace": retrace, "changed": changed, "trace": trace, "sections": sections, "custom_loss": custom_loss}
  programs[sys.argv[1]]()
