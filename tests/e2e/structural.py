#!/usr/bin/env python3
"""cs-sim --model structural as a user runs it: a CSL program and a network give the outputs and cycles of the engine,
the waveform has signals of every part, what the model does not have is refused by name.

Usage: structural.py BIN SOURCE     folder of the tools, folder of the sources
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

BIN, SOURCE = (os.path.abspath(a) for a in sys.argv[1:3])


def tool(name, *arguments, code=0):
    run = subprocess.run([os.path.join(BIN, name), *arguments], capture_output=True, text=True)
    assert run.returncode == code, f"{name} {arguments}: {run.returncode}\n{run.stdout}{run.stderr}"
    return run


def same_outputs(a, b):
    x, y = np.load(a), np.load(b)
    assert sorted(x) == sorted(y)
    for name in x:
        assert x[name].tobytes() == y[name].tobytes(), name


def kernel():
    tool("cs-compile", f"{SOURCE}/tests/sim/chain_layout.csl", "--params", "P:16,B:64,buffered:true", "-m", "wse2",
         "-o", "chain.csp")
    engine = json.loads(tool("cs-sim", "chain.csp", "--launch", "run", "--json", "--outputs", "engine.npz").stdout)
    structural = json.loads(tool("cs-sim", "chain.csp", "--launch", "run", "--json", "--outputs", "structural.npz",
                                 "--model", "structural", "--trace", "vcd=run.vcd").stdout)
    same_outputs("engine.npz", "structural.npz")
    assert structural["cycles"] == engine["cycles"], (structural, engine["cycles"])
    assert structural["launches"][0]["cycles"] == engine["launches"][0]["cycles"]
    with open("run.vcd", encoding="utf-8") as f:
        text = f.read()
    for signal in ("route_clock", "cycle", "link_5_1_east", "credit", "from_core", "queue_room", "running", "pc"):
        assert signal in text, f"{signal} is not in the waveform"
    refused = tool("cs-sim", "chain.csp", "--launch", "run", "--model", "structural", "--report", "r", code=2)
    assert "--report" in refused.stderr, refused.stderr


def network():
    folder = f"{SOURCE}/models/mnist_softmax"
    tool("cs-compile", f"{folder}/model.onnx", "--fabric", "20x20", "-m", "wse2", "--no-baselines", "-o", "net.csp")
    data = ["--inputs", f"{folder}/inputs_0.npz", "--expect", f"{folder}/expected_0.npz"]
    engine = json.loads(tool("cs-sim", "net.csp", *data, "--json", "--outputs", "engine.npz").stdout)
    structural = json.loads(tool("cs-sim", "net.csp", *data, "--json", "--outputs", "structural.npz",
                                 "--model", "structural").stdout)
    same_outputs("engine.npz", "structural.npz")
    assert structural["latency_cycles"] == engine["latency_cycles"], (structural, engine["latency_cycles"])


with tempfile.TemporaryDirectory() as scratch:
    os.chdir(scratch)
    kernel()
    network()
print("ok")
