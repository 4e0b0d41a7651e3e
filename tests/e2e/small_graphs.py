"""Small graphs for tests: their text with weights, inputs and what is expected; the tools that compile and simulate them."""
import json
import os
import subprocess

import numpy as np

BIN = None  # the folder of the tools, set by who imports this
KINDS = {"float32": "f32", "float16": "f16"}


def tool(name, *arguments, code=0):
    run = subprocess.run([os.path.join(BIN, name), *arguments], capture_output=True, text=True)
    assert run.returncode == code, f"{name} {arguments}: {run.returncode}\n{run.stdout}{run.stderr}"
    return run


class Graph:
    """The text of a graph with its weights, inputs and what is expected of it."""

    def __init__(self, seed=0):
        self.random = np.random.default_rng(seed)
        self.lines, self.inputs, self.constants, self.weights = [], {}, [], b""
        self.outputs, self.samples = {}, set()

    def draw(self, shape):
        return self.random.standard_normal(shape).astype(np.float32)

    def input(self, name, shape, dtype=np.float32, samples=False):
        """`samples`: its first dimension counts samples, of which the graph has one and a run any number."""
        self.inputs[name] = self.draw(shape).astype(dtype)
        self.samples |= {name} if samples else set()
        return self.inputs[name].astype(np.float64)

    def constant(self, name, value):
        kind = KINDS[value.dtype.name]
        self.constants.append(f'  - {{name: {name}, type: "{kind}{list(value.shape)}", offset: {len(self.weights)}}}')
        self.weights += value.tobytes()
        self.weights += bytes(-len(self.weights) % 16)
        return value.astype(np.float64)

    def node(self, name, op, inputs, attrs=""):
        self.lines.append(f"  - {{name: {name}, op: {op}, inputs: [{', '.join(inputs)}]{attrs and f', attrs: {attrs}'}}}")

    def write(self, name):
        with open(f"{name}.yaml", "w", encoding="utf-8") as f:
            f.write(f"graph: {name}\nweights: {name}.bin\ninputs:\n")
            for key, value in self.inputs.items():
                shape = [1, *value.shape[1:]] if key in self.samples else list(value.shape)
                f.write(f'  - {{name: {key}, type: "{KINDS[value.dtype.name]}{shape}"'
                        f'{", sample_dim: 0" * (key in self.samples)}}}\n')
            f.write("constants:\n" + "\n".join(self.constants) + "\nnodes:\n" + "\n".join(self.lines))
            f.write(f"\noutputs: [{', '.join(self.outputs)}]\n")
        with open(f"{name}.bin", "wb") as f:
            f.write(self.weights)

    def compile(self, name, *options):
        self.write(name)
        tool("cs-compile", f"{name}.yaml", "-q", "-o", f"{name}.csp", "--no-advice", "--no-baselines", *options)
        with open(f"{name}.csp/compile_report.json", encoding="utf-8") as f:
            return json.load(f)

    def simulate(self, name):
        """cs-sim compares with what is expected (exit code 4 if it differs); the figures."""
        np.savez("in.npz", **self.inputs)
        np.savez("out.npz", **self.outputs)
        return json.loads(tool("cs-sim", f"{name}.csp", "--inputs", "in.npz", "--expect", "out.npz", "--json").stdout)


def kernels(report):
    """Kernels that compute something of the graph."""
    return [k for k in report["kernels"] if k["nodes"]]
