#!/usr/bin/env python3
"""Rewrites of graphs (cs-compile --rewrite): values of numpy with each of them and without, kernels that go away, and which
products the rule for memory-bound ones takes.

Usage: rewrites.py BIN
"""
import hashlib
import json
import os
import re
import sys
import tempfile

import numpy as np

import small_graphs
from small_graphs import Graph, kernels, tool


def nodes_after(name, stage, *options):
    """Operators of the plan after a pass, in the order of its text."""
    tool("cs-compile", f"{name}.yaml", "-q", *options, "--stop-after", stage, "-o", f"{name}.plan.yaml")
    with open(f"{name}.plan.yaml", encoding="utf-8") as f:
        return re.findall(r"- \{name: \S+, op: (\w+)", f.read())


def many_features(parts=4, products=6):
    """What recommenders have: features that are scaled part by part, then several products of all of them."""
    g = Graph(7)
    x = g.input("x", (1, 8 * parts))
    g.lines.append("  - {name: s, op: split, inputs: [x], attrs: {axis: 1, num_outputs: %d}, outputs: [%s]}"
                   % (parts, ", ".join(f"p{k}" for k in range(parts))))
    for k in range(parts):
        g.node(f"t{k}", "tanh", [f"p{k}"])
        g.node(f"r{k}", "abs", [f"t{k}"])
    g.node("f", "concat", [f"r{k}" for k in range(parts)], "{axis: 1}")
    f, all_of = np.abs(np.tanh(x)), []
    for k in range(products):
        w, b = g.constant(f"w{k}", g.draw((8 * parts, 4)) / 4), g.constant(f"b{k}", g.draw((4,)))
        g.node(f"g{k}", "gemm", ["f", f"w{k}", f"b{k}"])
        all_of.append(f @ w + b)
    g.node("c", "concat", [f"g{k}" for k in range(products)], "{axis: 1}")
    g.node("y", "relu", ["c"])
    g.outputs["y"] = np.maximum(np.concatenate(all_of, axis=1), 0).astype(np.float32)
    return g


def parts_become_the_whole():
    """split and concat are gone, and the operators between are there once; off, they are back."""
    g = many_features()
    g.compile("on")
    g.simulate("on")
    g.compile("off", "--rewrite", "parts=off")
    g.simulate("off")
    on, off = nodes_after("on", "canonicalise"), nodes_after("off", "canonicalise", "--rewrite", "parts=off")
    assert (on.count("split"), on.count("tanh"), on.count("abs"), on.count("concat")) == (0, 1, 1, 1), on
    assert (off.count("split"), off.count("tanh"), off.count("abs"), off.count("concat")) == (1, 4, 4, 2), off
    # Not where one part is used elsewhere, or has another operator.
    for what in ("used", "other"):
        g = Graph()
        x = g.input("x", (1, 8))
        g.lines.append("  - {name: s, op: split, inputs: [x], attrs: {axis: 1, num_outputs: 2}, outputs: [p, q]}")
        g.node("a", "tanh", ["p"])
        g.node("b", "tanh" if what == "used" else "abs", ["q"])
        g.node("y", "concat", ["a", "b"], "{axis: 1}")
        second = np.tanh(x[:, 4:]) if what == "used" else np.abs(x[:, 4:])
        g.outputs["y"] = np.concatenate([np.tanh(x[:, :4]), second], axis=1).astype(np.float32)
        if what == "used":
            g.outputs["a"] = np.tanh(x[:, :4]).astype(np.float32)
        g.compile(what)
        g.simulate(what)
        assert nodes_after(what, "canonicalise").count("concat") == 1, what


def products_of_one_value_become_one():
    g = many_features()
    for least, count in ((5, 1), (6, 1), (7, 6), (0, 6)):
        option = ("--rewrite", f"batch_products={least}")
        g.compile(f"batch{least}", *option)
        made = nodes_after(f"batch{least}", "canonicalise", *option)
        assert made.count("gemm") == count and made.count("split") == (count == 1), (least, made)
        if least in (5, 7):
            g.simulate(f"batch{least}")


def stack(batch, m, k, n, constant=False):
    g = Graph(3)
    shape = (batch,) if batch > 1 else ()
    a = g.input("a", (*shape, m, k))
    b = g.constant("b", g.draw((*shape, k, n))) if constant else g.input("b", (*shape, k, n))
    g.node("y", "matmul", ["a", "b"])
    g.outputs["y"] = (a @ b).astype(np.float32)
    return g


def rule(cases, constant):
    for batch, m, k, n, taken in cases:
        g = stack(batch, m, k, n, constant)
        g.write("rule")
        made = nodes_after("rule", "decompose", "--rewrite", "products=rule")
        assert ("matmul" not in made) == taken, (batch, m, k, n, made)
        assert "matmul" in nodes_after("rule", "decompose"), "by itself nothing is taken apart"


def which_stacks_the_rule_takes():
    """Many of them, and m, k and n small."""
    rule([(16, 8, 8, 8, True), (15, 8, 8, 8, False), (16, 9, 8, 8, False), (16, 8, 9, 8, False), (16, 8, 8, 9, False),
          (64, 1, 4, 2, True)], constant=False)


def which_products_the_rule_takes():
    """m large, n and k small."""
    rule([(1, 64, 8, 8, True), (1, 63, 8, 8, False), (1, 64, 9, 8, False), (1, 64, 8, 9, False), (1, 512, 2, 3, True)],
         constant=True)


def gradients_of_inputs_stay_whole():
    """Their m is small and their n is large."""
    rule([(1, 8, 8, 64, False), (1, 8, 8, 1024, False), (1, 8, 64, 512, False)], constant=True)


def what_is_taken_apart_is_not_slower():
    """Whole and taken apart: values of numpy, two programs. What the rule takes apart is not slower for it, and neither
    is what the estimate makes (which may leave whole what would be faster)."""
    for batch, m, k, n, constant in ((16, 4, 4, 4, False), (1, 64, 4, 4, True), (32, 2, 8, 2, False)):
        g, intervals, digests = stack(batch, m, k, n, constant), {}, {}
        for way in ("whole", "rule", "estimate"):
            g.compile(way, "--rewrite", f"products={way}")
            g.simulate(way)
            figures = json.loads(tool("cs-sim", f"{way}.csp", "--inputs", "in.npz", "--iterations", "8", "--json").stdout)
            intervals[way] = figures["interval_cycles"]
            with open(f"{way}.csp/program.fb", "rb") as f:
                digests[way] = hashlib.sha256(f.read()).hexdigest()
        print(f"  {batch} x {m} x {k} x {n}: " + ", ".join(f"{way} {cycles} cycles {digests[way][:12]}"
                                                           for way, cycles in intervals.items()))
        assert "mul" in nodes_after("rule", "decompose", "--rewrite", "products=rule"), "it was taken apart"
        assert digests["whole"] != digests["rule"], digests
        assert max(intervals["rule"], intervals["estimate"]) <= intervals["whole"], intervals


def a_wrong_rewrite_is_a_usage_error():
    g = stack(1, 4, 4, 4)
    g.write("usage")
    for text in ("parts=perhaps", "batch_products=-1", "products=never", "stride=1", "columns=129",
                 "columns=0", "heads=33"):
        message = tool("cs-compile", "usage.yaml", "--rewrite", text, "-o", "x.csp", code=2).stderr
        assert f"'{text}' is no rewrite; there are parts=on|off" in message, message


small_graphs.BIN = os.path.abspath(sys.argv[1])
with tempfile.TemporaryDirectory() as scratch:
    os.chdir(scratch)
    for step in (parts_become_the_whole, products_of_one_value_become_one, which_stacks_the_rule_takes,
                 which_products_the_rule_takes, gradients_of_inputs_stay_whole, what_is_taken_apart_is_not_slower,
                 a_wrong_rewrite_is_a_usage_error):
        step()
        print(f"{step.__name__}: ok")
