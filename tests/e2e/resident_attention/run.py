"""Graphs of attention whose operands lie on the PEs, as a user compiles and runs them: values against numpy in 64 bits, the estimate against
the simulated cycles of the launch, and what is refused.

  cs_python run.py --bin BUILD/bin --arch wse2 [--every-size]     every size: T 2 to 17, 32, 64, 100 on 1 to 17, 32, 64 PEs; an hour
"""
import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

NEAR = 0.15  # of the simulated cycles


class Case:
  """A graph in one of the forms in which attention is written. T queries, S keys of D elements; H heads or one matrix."""

  def __init__(self, T, D, form="scores", S=0, H=0, half=False, scale=None):
    self.T, self.D, self.S, self.H, self.form, self.half = T, D, S or T, H, form, half
    self.scale = scale or 1 / math.sqrt(D)

  def shape(self, rows, columns):
    return ([1, self.H] if self.H else []) + [rows, columns]

  def shapes(self):
    k = self.shape(self.D, self.S) if self.form == "columns" else self.shape(self.S, self.D)
    if self.form == "moved":  # of one head, as exports that split heads have it: positions, heads, elements
      return {"q": [1, self.T, 1, self.D], "k": [1, self.S, 1, self.D], "v": [1, self.S, 1, self.D]}
    return {"q": self.shape(self.T, self.D), "k": k, "v": self.shape(self.S, self.D)}

  def yaml(self):
    dtype = "f16" if self.half else "f32"
    factor, root = self.scale, math.sqrt(abs(self.scale))
    turn = "[0, 1, 3, 2]" if self.H else "[1, 0]"
    constants, nodes = [("c", factor), ("r", root), ("inverse", 1 / factor)], []

    def add(name, op, inputs, attrs=""):
      nodes.append(f"  - {{name: {name}, op: {op}, inputs: [{inputs}], attrs: {{{attrs}}}}}\n")

    softmax, values = "s", "v"
    if self.form == "gemm":
      add("s", "gemm", "q, k", f"trans_b: 1, alpha: {factor!r}")
    elif self.form == "columns":
      add("s0", "matmul", "q, k")
      add("s", "div", "s0, inverse")
    elif self.form == "query":
      add("kt", "transpose", "k", f"perm: {turn}")
      add("q1", "mul", "c, q")
      add("s", "matmul", "q1, kt")
    elif self.form == "roots":
      add("q1", "mul", "q, r")
      add("kt", "transpose", "k", f"perm: {turn}")
      add("k1", "mul", "kt, r")
      add("s", "matmul", "q1, k1")
    elif self.form == "moved":
      add("q1", "transpose", "q", "perm: [0, 2, 1, 3]")
      add("k1", "transpose", "k", "perm: [0, 2, 3, 1]")
      add("v1", "transpose", "v", "perm: [0, 2, 1, 3]")
      add("s0", "matmul", "q1, k1")
      add("s", "mul", "s0, c")
      values = "v1"
    else:
      add("kt", "transpose", "k", f"perm: {turn}")
      add("s0", "matmul", "q, kt")
      add("s", "mul", "s0, c")
    if self.form == "primitives":
      add("m", "reduce_max", "s", "axes: [-1], keepdims: 1")
      add("d", "sub", "s, m")
      add("e", "exp", "d")
      add("t", "reduce_sum", "e", "axes: [-1], keepdims: 1")
      add("p", "div", "e, t")
    else:
      add("p", "softmax", softmax, "axis: -1")
    add("y", "matmul", f"p, {values}")
    used = [(n, v) for n, v in constants if any(f"{n}]" in line or f"[{n}," in line for line in nodes)]
    text = "inputs:\n" + "".join(f"  - {{name: {n}, type: \"{dtype}{s}\"}}\n" for n, s in self.shapes().items())
    if used:
      text += "constants:\n" + "".join(f"  - {{name: {n}, type: \"{dtype}[]\", value: [{v!r}]}}\n" for n, v in used)
    return text + "nodes:\n" + "".join(nodes) + "outputs: [y]\n"

  def inputs(self):
    rng = np.random.default_rng(7)
    return {n: rng.uniform(-2, 2, s).astype(np.float16 if self.half else np.float32) for n, s in self.shapes().items()}

  def expected(self, inputs):
    q, k, v = (inputs[n].astype(np.float64) for n in "qkv")
    if self.form == "moved":
      q, k, v = (x.transpose(0, 2, 1, 3) for x in (q, k, v))
    scores = q @ (k if self.form == "columns" else k.swapaxes(-1, -2)) * self.scale
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v

  def __str__(self):
    return f"{self.form}{' half' if self.half else ''} T {self.T} S {self.S} D {self.D} H {self.H}"


class Checker:
  def __init__(self, tools, arch, folder):
    self.tools, self.arch, self.folder, self.bad, self.kernels, self.furthest = tools, arch, folder, 0, {}, 0

  def wrong(self, what, why):
    self.bad += 1
    print(f"{what} {self.arch}: {why}", flush=True)

  def compile(self, text, rect, *options):
    (self.folder / "model.yaml").write_text(text)
    where = ["--rect", rect] if rect else []
    return subprocess.run([self.tools / "cs-compile", self.folder / "model.yaml", "--operands", "resident", "-m", self.arch,
                           *where, *options, "--json", "-o", self.folder / "a.csp"], capture_output=True, text=True)

  def taken_as_loops(self, text, rect):
    """What is no attention is computed all the same, by a kernel of loops."""
    made = self.compile(text, rect)
    if made.returncode != 0 or "resident region" not in made.stdout:
      self.wrong("taken as loops", f"exit code {made.returncode}, {made.stderr}")

  def values(self, case, rect, estimate=True):
    """Compiles, runs and compares. What does not fit a PE is no error here; how many PEs are needed depends on that alone."""
    what = f"{case} on {rect}"
    made = self.compile(case.yaml(), rect, *(["--opt-level", "0"] if estimate else []))
    if "B per PE on" in made.stderr:
      return None
    if made.returncode != 0:
      return self.wrong(what, made.stderr)
    report = json.loads(made.stdout)
    kernel = report["kernels"][0]
    inputs = case.inputs()
    np.savez(self.folder / "in.npz", **inputs)
    done = subprocess.run([self.tools / "cs-sim", self.folder / "a.csp", "--json", "--inputs", self.folder / "in.npz", "--outputs",
                           self.folder / "out.npz"], capture_output=True, text=True)
    if done.returncode != 0:
      return self.wrong(what, done.stderr)
    got, expected = np.load(self.folder / "out.npz")["y"].astype(np.float64), case.expected(inputs)
    off = np.max(np.abs(got.reshape(expected.shape) - expected)) / np.max(np.abs(expected))
    if not off < (1e-3 if case.half else 1e-5):
      self.wrong(what, f"values differ from numpy's by {off:.2g} of the largest")
    cycles, estimated = json.loads(done.stdout)["launches"][0]["cycles"], kernel["estimated_cycles"]
    ratio = estimated / cycles
    print(f"{what:44} {self.arch} {kernel['kernel']:18}{cycles:9}{estimated:9.0f}{ratio:7.3f}{kernel['bytes_per_pe']:7} B", flush=True)
    if estimate and abs(ratio - 1) > NEAR:
      self.wrong(what, f"is estimated at {estimated:.0f} cycles and takes {cycles}")
    why = f"library kernel '{kernel['kernel']}', for operands on the PEs"
    if any(op["origin"] != "handwritten" or op["reason"] != why for op in report["ops"] if op["origin"] != "primitive"):
      self.wrong(what, f"the operators are not said to be of {kernel['kernel']}: {report['ops']}")
    self.kernels[kernel["kernel"]] = self.kernels.get(kernel["kernel"], 0) + 1
    return kernel

  def refused(self, text, rect, why):
    made = self.compile(text, rect)
    if made.returncode != 1 or why not in made.stderr:
      self.wrong(why, f"exit code {made.returncode}, {made.stderr}")


FORMS = ["scores", "gemm", "columns", "query", "roots", "moved", "primitives"]


def check_forms(check):
  for i, form in enumerate(FORMS):
    for half in (False, True):
      check.values(Case(10, 6, form, half=half), f"{2 + i}x1")
  check.values(Case(9, 4, scale=-0.5), "3x1")
  check.values(Case(16, 4, S=37), "5x1")      # fewer queries than keys
  check.values(Case(37, 4, "columns", S=16), "5x1")
  check.values(Case(16, 8, H=3), "4x3")       # a head on each row of PEs
  check.values(Case(21, 8, "columns", H=3, half=True), "4x4")
  check.values(Case(64, 16, H=2), "")          # on PEs of the compiler's choice


SIZES = [(2, 1, 1), (2, 4, 2), (3, 14, 2), (5, 4, 3), (16, 1, 4), (17, 14, 9), (32, 64, 4), (64, 14, 17), (64, 64, 8), (100, 14, 4),
         (100, 64, 32), (15, 4, 64), (224, 32, 16), (560, 32, 40)]  # T, D, PEs; the last two from block to block


def refusals(check):
  graph = Case(8, 4).yaml()
  scores = "{name: p, op: softmax, inputs: [s]"
  mask = graph.replace("inputs:\n", "inputs:\n  - {name: mask, type: \"f32[8, 8]\"}\n", 1)
  mask = mask.replace("  - " + scores, "  - {name: masked, op: add, inputs: [s, mask]}\n  - " + scores.replace("[s]", "[masked]"))
  check.taken_as_loops(mask, "2x1")  # a mask between products and softmax
  check.refused(Case(8, 4, H=3).yaml(), "4x2", "a head takes a row of PEs and there are 3")
  check.taken_as_loops(Case(8, 4).yaml().replace("v, type: \"f32[8, 4]\"", "v, type: \"f32[8, 5]\""), "2x1")  # keys have 4
  check.refused(Case(8, 8).yaml().replace("axis: -1", "axis: 0"), "2x1", "has no cut for 2 x 1 PEs")
  check.refused(Case(200, 64).yaml(), "2x1", "B per PE on 2 x 1 PEs")
  after = graph.replace("name: y,", "name: y0,").replace("outputs:", "  - {name: y, op: relu, inputs: [y0]}\noutputs:")
  check.refused(after, "2x1", "has no cut for 2 x 1 PEs")


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--bin", type=pathlib.Path, required=True)
  parser.add_argument("--arch", default="wse2")
  parser.add_argument("--every-size", action="store_true")
  args = parser.parse_args()
  with tempfile.TemporaryDirectory() as folder:
    check = Checker(args.bin, args.arch, pathlib.Path(folder))
    if args.every_size:
      for T in [*range(2, 18), 32, 64, 100]:
        for P in [*range(1, 18), 32, 64]:
          for D in (1, 4, 14, 64):
            check.values(Case(T, D, FORMS[(T + P + D) % len(FORMS)], half=(T + P) % 5 == 0), f"{P}x1")
    else:
      check_forms(check)
      for T, D, P in SIZES:
        check.values(Case(T, D), f"{P}x1")
      refusals(check)
      for kernel in ("attention", "attention_online"):
        if kernel not in check.kernels:
          check.wrong(kernel, "was never chosen")
  return 1 if check.bad else 0


if __name__ == "__main__":
  sys.exit(main())
