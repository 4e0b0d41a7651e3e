#!/usr/bin/env python3
"""What stands behind a product or a convolution is part of its kernel: one kernel beside what moves words, values of
numpy. Then random expressions of the result, a bias, a residual and a number; residual blocks; element types.

Usage: epilogues.py BIN [--trees N]     folder of the tools; how many random expressions (200)
"""
import argparse
import math
import os
import tempfile

import numpy as np

import small_graphs
from small_graphs import Graph, kernels

ERF = np.vectorize(math.erf)
ACTIVATIONS = {  # operator, its definition in double precision
    "relu": ("relu", lambda v: np.maximum(v, 0)),
    "gelu": ("gelu", lambda v: 0.5 * v * (1 + ERF(v / math.sqrt(2)))),
    "gelu_tanh": ("gelu_tanh", lambda v: 0.5 * v * (1 + np.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3)))),
    "sigmoid": ("sigmoid", lambda v: 1 / (1 + np.exp(-v))),
    "silu": ("swish", lambda v: v / (1 + np.exp(-v))),
    "hardswish": ("hard_swish", lambda v: v * np.clip(v + 3, 0, 6) / 6),
}


def convolve(x, w, b, pad=1):
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    height, width = x.shape[2] - w.shape[2] + 1, x.shape[3] - w.shape[3] + 1
    y = np.zeros((1, w.shape[0], height, width)) + (0 if b is None else b.reshape(1, -1, 1, 1))
    for i in range(w.shape[2]):
        for j in range(w.shape[3]):
            y += np.einsum("nchw,oc->nohw", x[:, :, i:i + height, j:j + width], w[:, :, i, j])
    return y


def product(g, name, x, value, size=8):
    """gemm with a bias; `value` is what x holds."""
    w = g.constant(f"w_{name}", g.draw((value.shape[1], size)) / 2)
    b = g.constant(f"b_{name}", g.draw((size,)))
    g.node(name, "gemm", [x, f"w_{name}", f"b_{name}"])
    return value @ w + b


def convolution(g, name, x, value, channels, bias=True):
    w = g.constant(f"w_{name}", g.draw((channels, value.shape[1], 3, 3)) / 4)
    b = g.constant(f"b_{name}", g.draw((channels,))) if bias else None
    g.node(name, "conv", [x, f"w_{name}"] + ([f"b_{name}"] if bias else []), "{pads: [1, 1, 1, 1]}")
    return convolve(value, w, b)


def one_kernel(g, name, y, value, nodes, *options):
    g.outputs[y] = value.astype(np.float32)
    # Who leaves a pass out has the network in one form: as it is fused, not the fastest one of several.
    report = g.compile(name, *options, "--without", "rows")
    made = kernels(report)
    assert len(made) == 1, f"{name}: {[(k['op'], k['nodes']) for k in made]}"
    assert sorted(made[0]["nodes"]) == sorted(nodes), (name, made[0]["nodes"])
    assert made[0]["origin"] != "host", name
    g.simulate(name)


def epilogues():
    for name, (op, function) in [("none", (None, None)), *ACTIVATIONS.items()]:
        g = Graph()
        value = product(g, "g", "x", g.input("x", (1, 24)))
        if op:
            g.node("y", op, ["g"])
        one_kernel(g, f"gemm_bias_{name}", "y" if op else "g", function(value) if op else value, ["g", "y"] if op else ["g"])
    g = Graph()
    w = g.constant("w", g.draw((24, 8)) / 2)
    x = g.input("x", (1, 24))
    g.node("g", "matmul", ["x", "w"])
    one_kernel(g, "gemm", "g", x @ w, ["g"])
    for name in ("relu", "sigmoid", "silu", "hardswish"):
        op, function = ACTIVATIONS[name]
        g = Graph()
        value = convolution(g, "c", "x", g.input("x", (1, 3, 8, 8)), 4)
        g.node("y", op, ["c"])
        one_kernel(g, f"conv2d_bias_{name}", "y", function(value), ["c", "y"], "--operands", "resident", "--rect", "1x4")
    for bias in (False, True):
        g = Graph()
        value = convolution(g, "c", "x", g.input("x", (1, 3, 8, 8)), 4, bias)
        one_kernel(g, f"conv2d{'_bias' * bias}", "c", value, ["c"], "--operands", "resident", "--rect", "1x4")


def residual_block():
    """conv, relu, conv, add of what the first one took, relu: the add is in the second convolution's kernel, and the
    block with its parts apart takes longer."""
    figures = {}
    for name, options in (("fused", []), ("apart", ["--without", "fuse", "--without", "regions"])):
        g = Graph(3)
        x = g.input("x", (1, 4, 12, 12))
        first = np.maximum(convolution(g, "a", "x", x, 4), 0)
        g.node("r", "relu", ["a"])
        value = np.maximum(convolution(g, "b", "r", first, 4) + x, 0)
        g.node("s", "add", ["b", "x"])
        g.node("y", "relu", ["s"])
        g.outputs["y"] = value.astype(np.float32)
        report = g.compile(f"block_{name}", *options)
        of = {node: k["name"] for k in kernels(report) for node in k["nodes"]}
        figures[name] = g.simulate(f"block_{name}")["cycles"], of
    cycles, of = figures["fused"]
    assert of["s"] == of["b"] == of["y"], f"the add is not in the convolution: {of}"
    slower, parts = figures["apart"]
    assert parts["s"] != parts["b"], parts
    assert cycles < slower, (cycles, slower)
    print(f"residual block: {cycles} cycles fused, {slower} apart, ratio {slower / cycles:.2f}")


class Tree:
    """A random expression of the result, a bias, a residual and a number; kept small by bounded operators."""

    def __init__(self, g, stem, leaves):
        self.g, self.stem, self.leaves, self.count = g, stem, leaves, 0

    def draw(self, depth):
        """The name of a value, and the value."""
        if depth == 0 or self.g.random.random() < 0.15:
            return self.leaves[self.g.random.integers(len(self.leaves))]
        kind = self.g.random.choice(["relu", "sigmoid", "tanh", "silu", "add", "sub", "mul", "max", "min"])
        a, x = self.draw(depth - 1)
        name = f"{self.stem}_{self.count}"
        self.count += 1
        if kind in ("relu", "sigmoid", "silu"):
            op, function = ACTIVATIONS[kind]
            self.g.node(name, op, [a])
            return name, function(x)
        if kind == "tanh":
            self.g.node(name, "tanh", [a])
            return name, np.tanh(x)
        b, y = self.draw(depth - 1)
        self.g.node(name, kind, [a, b])
        return name, {"add": np.add, "sub": np.subtract, "mul": np.multiply, "max": np.maximum, "min": np.minimum}[kind](x, y)


def random_trees(count, per_graph=5):
    drawn = 0
    while drawn < count:
        g = Graph(drawn + 1)
        x = g.input("x", (1, 16))
        for t in range(min(per_graph, count - drawn)):
            acc = product(g, f"acc{t}", "x", x)
            bias = g.constant(f"bias{t}", g.draw((1, 8)))
            scalar = g.constant(f"scalar{t}", np.float32(g.random.uniform(-1, 1)).reshape(()))
            residual = g.input(f"residual{t}", (1, 8))
            leaves = [(f"acc{t}", acc), (f"bias{t}", np.broadcast_to(bias, (1, 8))),
                      (f"residual{t}", residual), (f"scalar{t}", np.broadcast_to(scalar, (1, 8)))]
            name, value = Tree(g, f"t{t}", leaves).draw(3)
            g.node(f"y{t}", "add", [name, f"acc{t}"])  # so that it is of the product, and of full shape
            g.outputs[f"y{t}"] = (value + acc).astype(np.float32)
        g.compile(f"trees{drawn}")
        g.simulate(f"trees{drawn}")
        drawn += per_graph


def element_types():
    """Operands of 16 bits, sums of 32, results of either."""
    for wide in (False, True):
        g = Graph(5)
        x = g.input("x", (1, 64), np.float16)
        w = g.constant("w", (g.draw((64, 8)) / 2).astype(np.float16))
        value = x @ w
        g.node("g", "matmul", ["x", "w"])
        if wide:
            g.node("y", "cast", ["g"], "{to: f32}")
        g.outputs["y" if wide else "g"] = value.astype(np.float32 if wide else np.float16)
        g.compile(f"half_{'single' if wide else 'half'}")
        g.simulate(f"half_{'single' if wide else 'half'}")


parser = argparse.ArgumentParser()
parser.add_argument("bin")
parser.add_argument("--trees", type=int, default=200)
parser.add_argument("--only")
given = parser.parse_args()
small_graphs.BIN = os.path.abspath(given.bin)
with tempfile.TemporaryDirectory() as scratch:
    os.chdir(scratch)
    steps = {"epilogues": epilogues, "residual_block": residual_block, "random_trees": lambda: random_trees(given.trees),
             "element_types": element_types}
    for step, run_it in steps.items():
        if given.only in (None, step):
            run_it()
            print(f"{step}: ok")
