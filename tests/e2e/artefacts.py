#!/usr/bin/env python3
"""One compiled program: for any number of samples, wherever it lies, the same values whatever memory PEs have, and each
part of it there once.

Usage: artefacts.py BIN     folder of the tools
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

import numpy as np

import small_graphs
from small_graphs import Graph, kernels, tool

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def layers(count, size=16, samples=1):
    """A perceptron of `count` layers of the same size, its text and what numpy makes of its input."""
    g = Graph(2)
    weights = [(g.draw((size, size)) / 4, g.draw((size,)) / 4) for _ in range(count)]
    value = g.input("x", (samples, size), samples=True)
    name = "x"
    for i in range(count):
        w, b = g.constant(f"w{i}", weights[i][0]), g.constant(f"b{i}", weights[i][1])
        g.node(f"h{i}", "gemm", [name, f"w{i}", f"b{i}"])
        g.node(f"r{i}", "relu", [f"h{i}"])
        value, name = np.maximum(value @ w + b, 0), f"r{i}"
    g.outputs[name] = value.astype(np.float32)
    return g


def any_number_of_samples():
    for samples in (1, 7, 64):
        g = layers(3, samples=samples)
        if samples == 1:
            g.compile("any")
        figures = g.simulate("any")
        assert figures["iterations"] == samples, figures["iterations"]


def wherever_it_lies():
    g = layers(2)
    g.compile("here")
    os.makedirs("other/place")
    shutil.move("here.csp", "other/place/there.csp")
    os.symlink("other/place/there.csp", "link.csp")
    for name in ("other/place/there", "link"):
        g.simulate(name)


def less_memory_is_another_cut():
    """With half of the memory of a PE an operator is cut otherwise, no PE has more than there is, and values agree."""
    cuts = {}
    for size in (49152, 24576):
        g = Graph(4)
        x = g.input("x", (1, 9000))
        g.node("y", "softmax", ["x"])
        e = np.exp(x - x.max())
        g.outputs["y"] = (e / e.sum()).astype(np.float32)
        report = g.compile(f"memory{size}", "--set", f"machine.core.memory_bytes={size}")
        g.simulate(f"memory{size}")
        assert all(k["bytes_per_pe"] <= size and k["origin"] != "host" for k in report["kernels"]), report["kernels"]
        cuts[size] = [(k["op"], k["rect"][2:]) for k in kernels(report)]
    assert cuts[49152] != cuts[24576], cuts


def equal_layers_are_emitted_once():
    """24 equal layers are 24 kernels on PEs of their own, and as many texts of kernels as 2 layers have."""
    texts = {}
    for count in (2, 24):
        g = layers(count)
        # One kernel for each layer, whatever form of so small a network is the best.
        joined = ("--autogen-policy", "aggressive")
        report = g.compile(f"layers{count}", *joined)
        assert len(kernels(report)) == count
        tool("cs-compile", f"layers{count}.yaml", *joined, "--emit", "csl", "-o", f"text{count}", "--no-baselines")
        texts[count] = sorted(os.path.basename(f) for f in glob.glob(f"text{count}/*_kernel.csl"))
        g.simulate(f"layers{count}")
    assert texts[2] and texts[24] == texts[2], texts


def weights_are_no_streams():
    """What enters while it runs is the input; weights are constants of PEs."""
    g = layers(3)
    g.compile("weights")
    tool("cs-compile", "weights.yaml", "--emit", "csl", "-o", "weights_text", "--no-baselines")
    with open("weights_text/host.yaml", encoding="utf-8") as f:
        text = f.read()
    assert re.findall(r"- \{name: (\w+), direction: input", text) == ["in_x"], text
    held = sum(int(w) * int(h) * int(size) for w, h, size in
               re.findall(r"- \{symbol: \w+, rect: \[\d+, \d+, (\d+), (\d+)\], bytes_per_pe: (\d+)", text))
    assert held >= 3 * (16 * 16 + 16) * 4, held  # all of them, in f32


def one_pe_takes_what_counting_says():
    """A product whose operands lie on one PE: a multiply-add per cycle, and at most a tenth more for everything else."""
    for rows, columns in ((64, 64), (32, 128)):
        g = Graph(2)
        w = g.constant("w", g.draw((rows, columns)))
        x = g.input("x", (1, rows))
        g.node("y", "matmul", ["x", "w"])
        g.outputs["y"] = (x @ w).astype(np.float32)
        g.compile("one_pe", "--operands", "resident", "--rect", "1x1")
        cycles = [launch["cycles"] for launch in g.simulate("one_pe")["launches"]]
        assert len(cycles) == 1 and rows * columns <= cycles[0] <= 1.1 * rows * columns, (rows, columns, cycles)


def inference_has_nothing_of_training():
    """The same configuration without gradients and optimizer: less on every PE, and in all."""
    model, size = os.path.join(SOURCE, "tests", "training", "mlp.yaml"), {}
    for mode in ("train", "infer"):
        tool("cs-compile", model, "-q", "--set", f"runconfig.mode={mode}", "-o", f"{mode}.csp", "--no-advice", "--no-baselines")
        with open(f"{mode}.csp/compile_report.json", encoding="utf-8") as f:
            made = json.load(f)["kernels"]
        size[mode] = max(k["bytes_per_pe"] for k in made), sum(k["bytes_per_pe"] * k["rect"][2] * k["rect"][3] for k in made)
    assert all(less < more for less, more in zip(size["infer"], size["train"])), size


def resident_kilobytes(pid):
    """Of the mapping of weights.bin in a process; None: there is none."""
    kilobytes, inside = None, False
    with open(f"/proc/{pid}/smaps", encoding="utf-8") as f:
        for line in f:
            if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
                inside = "weights.bin" in line
            elif inside and line.startswith("Rss:"):
                kilobytes = (kilobytes or 0) + int(line.split()[1])
    return kilobytes


def weights_of_the_host_are_mapped():
    """4 MB that an operator of the host needs: mapped, and not in memory before it runs; read, the same values."""
    g = Graph(5)
    x = g.input("x", (1, 1 << 20))
    c = g.constant("c", g.draw((1, 1 << 20)))
    g.node("y", "mul", ["x", "c"])
    g.outputs["y"] = (x * c).astype(np.float32)
    report = g.compile("host", "--autogen-policy", "disabled", "--host-ops", "allow")
    assert [k["origin"] for k in report["kernels"]] == ["host"], report["kernels"]
    assert os.path.getsize("host.csp/weights.bin") >= 4 << 20
    np.savez("in.npz", **g.inputs)
    np.savez("out.npz", **g.outputs)
    for how in ("on", "off"):
        command = [os.path.join(small_graphs.BIN, "cs-sim"), "host.csp", "--serve", "-q", "--mmap-weights", how]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as at_cycle_zero:
            at_cycle_zero.stdout.read(1)  # the first frame: the program is loaded
            resident = resident_kilobytes(at_cycle_zero.pid)
            at_cycle_zero.stdin.close()
        assert (resident is not None) == (how == "on") and (resident or 0) < 256, (how, resident)
        tool("cs-sim", "host.csp", "--inputs", "in.npz", "--expect", "out.npz", "--mmap-weights", how)


def inputs_may_lie_anywhere():
    """Wherever an input begins in its file and in memory: the same values and cycles, and the artefact stays as it is."""
    g = layers(2)
    g.compile("offset")
    def files():
        return {f: (os.stat(f).st_mtime_ns, open(f, "rb").read()) for f in sorted(glob.glob("offset.csp/**", recursive=True))
                if os.path.isfile(f)}
    before, cycles = files(), set()
    np.savez("out.npz", **g.outputs)
    for shift in (0, 1, 2, 3, 5):
        # The name of a member of the archive comes before its bytes.
        value = g.inputs["x"]
        memory = np.zeros(value.nbytes + 8, np.uint8)
        view = memory[shift:shift + value.nbytes].view(np.float32).reshape(value.shape)
        view[...] = value
        with zipfile.ZipFile("shifted.npz", "w") as archive:
            if shift > 0:
                with archive.open(f"{'_' * shift}.npy", "w") as other:
                    np.save(other, np.zeros(0, np.float32))
            with archive.open("x.npy", "w") as member:
                np.save(member, view)
        figures = json.loads(tool("cs-sim", "offset.csp", "--inputs", "shifted.npz", "--expect", "out.npz", "--json").stdout)
        cycles.add(figures["cycles"])
    assert len(cycles) == 1 and files() == before, cycles


def loading_permutes_nothing():
    """Weights lie in weights.bin as PEs hold them; the words of a checkpoint, which has tensors, are looked for one by one."""
    g = layers(3)
    g.compile("packed")
    loading = g.simulate("packed")["loading"]
    assert loading["permuted_words"] == 0 and loading["constant_bytes"] >= 3 * (16 * 16 + 16) * 4, loading
    folder = os.path.join(SOURCE, "tests", "training")
    tool("cs-compile", f"{folder}/mlp.yaml", "-q", "-o", "step.csp", "--no-advice", "--no-baselines")
    run = ("cs-sim", "step.csp", "--data", f"{folder}/mlp.data.npz", "--iterations", "1", "--json")
    fresh = json.loads(tool(*run).stdout)["loading"]
    assert fresh["permuted_words"] == 0 and fresh["constant_bytes"] > 0, fresh
    given = json.loads(tool(*run, "--state-in", f"{folder}/mlp.start.npz").stdout)["loading"]
    assert given["permuted_words"] >= 64 * 32 + 32 * 10, given  # two matrices at least


def columns_are_padded_where_banks_ask_for_it():
    """A product of 33 outputs on one PE: each column of weights has 34 words, so that none begins in the bank of the sums. With
    columns of 33 every fourth one does, and takes twice as long. The same text, weights packed anew."""
    rows, columns = 33, 64
    g = Graph(3)
    w = g.constant("w", g.draw((columns, rows)))
    x = g.input("x", (8, columns), samples=True)
    g.node("y", "matmul", ["x", "w"])
    g.outputs["y"] = (x @ w).astype(np.float32)
    g.write("padded")
    options = ("--autogen-policy", "disabled", "--rect", "1x1", "--no-baselines", "--no-advice")
    tool("cs-compile", "padded.yaml", *options, "--emit", "csl", "-o", "padded")
    shutil.copytree("padded", "unpadded")
    narrow(rows, columns)
    cycles = {}
    for name in ("padded", "unpadded"):
        tool("cs-compile", f"{name}/layout.csl", "--host", f"{name}/host.yaml", "-o", f"{name}.csp")
        cycles[name] = g.simulate(name)["interval_cycles"]
    print(f"  {columns} columns of {rows} words: {cycles['padded']:.0f} cycles padded, {cycles['unpadded']:.0f} without")
    # By the law: 34 cycles for each column, or 33 for three of four and 66 for the fourth one.
    saved = columns * (33 * 5 / 4 - 34)
    assert abs(cycles["unpadded"] - cycles["padded"] - saved) <= 0.1 * saved, (cycles, saved)


def narrow(rows, columns):
    """Takes the padding out of the folder `unpadded`: text, constants and weights."""
    def change(name, *pairs):
        with open(f"unpadded/{name}", encoding="utf-8") as f:
            text = f.read()
        for old, new in pairs:
            assert re.search(old, text), (name, old, text)
            text = re.sub(old, new, text)
        with open(f"unpadded/{name}", "w", encoding="utf-8") as f:
            f.write(text)
    wide = rows + 1
    def has_weights(name):
        with open(f"unpadded/{name}", encoding="utf-8") as f:
            return f"[{wide * columns + 1}]f32" in f.read()
    program = [name for name in os.listdir("unpadded") if name.endswith(".csl") and has_weights(name)]
    assert len(program) == 1, program
    change(program[0], (rf"\[{wide * columns + 1}\]f32", f"[{rows * columns + 1}]f32"), (rf"\.m = {wide}\b", f".m = {rows}"))
    with open("unpadded/host.yaml", encoding="utf-8") as f:
        size = 4 * (wide * columns + 1)
        offset = int(re.search(rf"bytes_per_pe: {size}, offset: (\d+)", f.read()).group(1))
    change("host.yaml", (rf"bytes_per_pe: {size}\b", f"bytes_per_pe: {4 * (rows * columns + 1)}"))
    with open("unpadded/weights.bin", "rb") as f:
        data = bytearray(f.read())
    words = np.frombuffer(bytes(data[offset:offset + size]), np.float32)
    packed = np.concatenate([words[:1], words[1:].reshape(columns, wide)[:, :rows].ravel()]).tobytes()
    data[offset:offset + len(packed)] = packed
    with open("unpadded/weights.bin", "wb") as f:
        f.write(data)


def passes_add_up():
    report = layers(2).compile("passes")
    total = sum(p["seconds"] for p in report["passes"])
    assert abs(total - report["seconds"]) <= 0.05 * report["seconds"], report["passes"]
    assert {"frontend", "map"} <= {p["name"] for p in report["passes"]}


small_graphs.BIN = os.path.abspath(sys.argv[1])
with tempfile.TemporaryDirectory() as scratch:
    os.chdir(scratch)
    for step in (any_number_of_samples, wherever_it_lies, less_memory_is_another_cut, equal_layers_are_emitted_once,
                 weights_are_no_streams, one_pe_takes_what_counting_says, inference_has_nothing_of_training,
                 weights_of_the_host_are_mapped, inputs_may_lie_anywhere, loading_permutes_nothing,
                 columns_are_padded_where_banks_ask_for_it, passes_add_up):
        step()
        print(f"{step.__name__}: ok")
