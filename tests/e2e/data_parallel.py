#!/usr/bin/env python3
"""Replicas of a network in a step of training: the weights of one network whatever way their gradients are reduced, and
what each way consists of.

Usage: data_parallel.py BIN SOURCE
"""
import json
import os
import re
import sys
import tempfile

import numpy as np

import small_graphs
from small_graphs import tool

SOURCE = os.path.abspath(sys.argv[2])
STEPS = "4"  # as many as a time from step to step is measured over
# Bytes of the gradients of tests/training/mlp.yaml in f32, the last layer first.
SIZES = {"classifier_b": 10 * 4, "classifier_w": 32 * 10 * 4, "layer0_b": 32 * 4, "layer0_w": 64 * 32 * 4}


def training(name):
    return os.path.join(SOURCE, "tests", "training", name)


def options(**keys):
    return [word for key, value in keys.items() for word in ("--set", f"{key.replace('__', '.')}={value}")]


def step(name, **keys):
    """Compiled and run; states after some steps."""
    tool("cs-compile", training("mlp.yaml"), "-q", "--no-baselines", "--no-advice", "-o", f"{name}.csp", *options(**keys))
    run = tool("cs-sim", f"{name}.csp", "--data", training("mlp.data.npz"), "--state-in", training("mlp.start.npz"),
               "--iterations", STEPS, "--state-out", f"{name}.npz", "--json")
    with open(f"{name}.csp/compile_report.json", encoding="utf-8") as f:
        made = json.load(f)["kernels"]
    return dict(np.load(f"{name}.npz")), json.loads(run.stdout), made


def graph(**keys):
    """Nodes of the step by name: operator and text."""
    tool("cs-compile", training("mlp.yaml"), "-q", "--emit", "graph", "-o", "g.yaml",
         "--autogen-policy", "disabled", *options(**keys))  # which tries no forms of the network
    with open("g.yaml", encoding="utf-8") as f:
        return {m.group(1): (m.group(2), m.group(0)) for m in re.finditer(r"- \{name: (\S+), op: (\w+).*", f.read())}


def count(nodes, op, prefix=""):
    return sum(1 for name, (o, _) in nodes.items() if o == op and name.startswith(prefix))


def same(a, b, within):
    for name in SIZES:
        distance = np.linalg.norm(a[name] - b[name]) / np.linalg.norm(b[name])
        assert distance <= within, (name, distance)


def replicas_train_what_one_network_does():
    """Two replicas with half of the batch each, which kernels of several PEs compute: data and tensors in parallel."""
    one, _, _ = step("one", runconfig__batch_copies=1)
    start = dict(np.load(training("mlp.start.npz")))
    assert any(np.linalg.norm(one[n] - start[n]) > 1e-3 for n in SIZES), "training changes something"
    for fusion in ("off", "concat", "coalesced"):
        states, figures, made = step(fusion, runconfig__replicas=2, runconfig__allreduce_fusion=fusion)
        same(states, one, 1e-6)
        assert not [k for k in made if k["origin"] == "host"], fusion
        several = [k["name"] for k in made if k["rect"] and k["rect"][2] * k["rect"][3] > 1]
        assert any("replica1" in name for name in several) and any("layer0" in name for name in several), several
        kernels = [k for k in made if any(n.endswith("_all_reduce") for n in k["nodes"])]
        assert len(kernels) == (fusion == "coalesced"), (fusion, kernels)
        print(f"  {fusion}: {figures['interval_cycles']:.0f} cycles a step")


def one_vector_per_bucket():
    nodes = graph(runconfig__replicas=2, runconfig__allreduce_fusion="concat")
    assert count(nodes, "concat", "bucket0") == 2 and count(nodes, "split", "bucket0") == 1, nodes
    assert count(nodes, "add", "bucket0") == 1 and count(nodes, "mul", "bucket0") == 1, nodes
    assert not any(name.startswith("bucket1") for name in nodes), "all of them have room in one"


def one_kernel_per_bucket_and_no_copies():
    nodes = graph(runconfig__replicas=2, runconfig__allreduce_fusion="coalesced")
    buckets = [name for name, (op, _) in nodes.items() if op == "all_reduce"]
    assert len(buckets) == 1 and not count(nodes, "concat", "bucket") and not count(nodes, "split", "bucket"), nodes
    assert count(nodes, "mul", "bucket") == len(SIZES), "a scaling for every buffer"


def apart_there_is_no_bucket():
    for keys in ({"runconfig__allreduce_fusion": "off"}, {"runconfig__allreduce_fusion": "auto"}, {}):
        nodes = graph(runconfig__replicas=2, **keys)
        assert not any(name.startswith("bucket") for name in nodes), keys
        assert count(nodes, "mul", "gradient_") == len(SIZES), nodes
    assert not any("replica" in name or name.startswith(("bucket", "gradient_")) for name in graph()), "one network"


def buckets_have_room_for_so_many_bytes():
    """The last layer first; a gradient that alone has more is a bucket of its own."""
    def expected(most):
        buckets, filled = [], 0
        for name, size in SIZES.items():
            if not buckets or filled + size > most:
                buckets.append([])
                filled = 0
            buckets[-1].append(name)
            filled += size
        return buckets
    for most in (1, 1320, 1448, 8192, 100000):
        nodes = graph(runconfig__replicas=2, runconfig__allreduce_fusion="coalesced", runconfig__bucket_bytes=most)
        found = []
        for k in range(len(SIZES)):
            text = [t for name, (op, t) in nodes.items() if op == "all_reduce" and name.startswith(f"bucket{k}")]
            if text:
                found.append(re.search(r"inputs: \[([^\]]*)\]", text[0]).group(1).split(", "))
        want = expected(most)
        assert [len(f) // 2 for f in found] == [len(w) for w in want], (most, found, want)
    assert len(expected(1)) == 4 and len(expected(100000)) == 1


def gradients(name):
    """Ways to reduce gradients that were simulated, of which the fastest one is taken."""
    with open(f"{name}.csp/compile_report.json", encoding="utf-8") as f:
        tried = [form for form in json.load(f)["forms"] if form["form"].startswith("gradients")]
    assert sum(form["taken"] for form in tried) == 1 and all(form["simulated_cycles"] for form in tried), tried
    assert min(tried, key=lambda form: form["simulated_cycles"])["taken"], tried
    return tried


def buckets_by_simulated_steps():
    """auto is within 5 % of the best of five sizes that were given, and of gradients that stay apart if it may choose that."""
    fixed = {}
    for most in (1, 1320, 1448, 8192, 100000):
        _, figures, _ = step("fixed", runconfig__replicas=2, runconfig__allreduce_fusion="coalesced",
                             runconfig__bucket_bytes=most)
        fixed[most] = figures["interval_cycles"]
    assert len(set(fixed.values())) > 1, fixed
    _, figures, _ = step("auto", runconfig__replicas=2, runconfig__allreduce_fusion="coalesced",
                         runconfig__bucket_bytes="auto")
    print(f"  auto: {figures['interval_cycles']:.0f} cycles a step, of given sizes {fixed}")
    assert figures["interval_cycles"] <= 1.05 * min(fixed.values()), (figures["interval_cycles"], fixed)
    tried = gradients("auto")
    assert all(f["form"].startswith("gradients coalesced in buckets of ") for f in tried) and len(tried) >= 3, tried


def joined_by_itself_where_that_is_not_slower():
    """Every way competes, and gradients that stay apart too; the one that takes the fewest cycles is in the program."""
    states, figures, _ = step("own", runconfig__replicas=2, runconfig__bucket_bytes="auto")
    tried = gradients("own")
    assert {f["form"].split(" in ")[0] for f in tried} == {f"gradients {w}" for w in ("apart", "coalesced", "concat")}, tried
    taken = [f for f in tried if f["taken"]][0]
    assert abs(figures["interval_cycles"] - taken["simulated_cycles"]) <= 0.01 * taken["simulated_cycles"], (figures["interval_cycles"], taken)
    print(f"  by itself: {taken['form']}, {figures['interval_cycles']:.0f} cycles a step")
    one, _, _ = step("one", runconfig__batch_copies=1)
    same(states, one, 1e-6)


def sixteen_bits_are_added_up_in_thirty_two():
    keys = {"model__mixed_precision": "true", "runconfig__replicas": 2}
    nodes = graph(**keys, runconfig__allreduce_fusion="concat")
    text = {name: t for name, (op, t) in nodes.items() if name.startswith("bucket0")}
    casts = [t for name, t in text.items() if nodes[name][0] == "cast"]
    assert len(casts) == 2 and all("to: f32" in t for t in casts), text
    one, _, _ = step("one16", model__mixed_precision="true", runconfig__batch_copies=1)
    states, _, _ = step("concat16", **keys, runconfig__allreduce_fusion="concat")
    same(states, one, 2e-2)


def what_replicas_cannot_do_is_said():
    for keys, message in (({"runconfig__replicas": 3}, "16 samples have no 3 equal shares"),
                          ({"runconfig__replicas": 2, "runconfig__mode": "train_and_eval"}, "replicas are for mode train"),
                          ({"runconfig__replicas": 2, "runconfig__allreduce_fusion": "ring"}, "unknown value 'ring'"),
                          ({"runconfig__replicas": 2, "runconfig__bucket_bytes": 0}, "a bucket has room for something"),
                          ({"runconfig__replicas": 2, "model__dropout": 0.5}, "dropout draws one mask")):
        error = tool("cs-compile", training("mlp.yaml"), "-o", "x.csp", *options(**keys), code=1).stderr
        assert message in error, error


small_graphs.BIN = os.path.abspath(sys.argv[1])
with tempfile.TemporaryDirectory() as scratch:
    os.chdir(scratch)
    for check in (replicas_train_what_one_network_does, one_vector_per_bucket, one_kernel_per_bucket_and_no_copies,
                  apart_there_is_no_bucket, buckets_have_room_for_so_many_bytes, buckets_by_simulated_steps,
                  joined_by_itself_where_that_is_not_slower, sixteen_bits_are_added_up_in_thirty_two,
                  what_replicas_cannot_do_is_said):
        check()
        print(f"{check.__name__}: ok")
