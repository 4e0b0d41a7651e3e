#!/usr/bin/env python3
"""What kernels need of a machine and how they are cut; what the library of handwritten kernels can do, which the
compiler asks; workarounds, under their conditions alone; and checks in kernels.

Usage: contracts.py BIN SOURCE     folders of the tools and of the sources
"""
import json
import os
import re
import shutil
import sys
import tempfile

import numpy as np

import small_graphs
from small_graphs import Graph, kernels, tool

SOURCE = None


def product(g, rows=1, n=64, m=48, activation=None):
    """y = x W, then an activation; what is expected is kept."""
    x = g.input("x", (rows, n))
    w = g.constant("w", g.draw((n, m)) / 4)
    value = x @ w
    g.node("h" if activation else "y", "matmul", ["x", "w"])
    if activation:
        value = np.maximum(value, 0)
        g.node("y", activation, ["h"])
    g.outputs["y"] = value.astype(np.float32)


def kernel_of(report):
    (made,) = kernels(report)
    return made


def machine(name, text):
    with open(name, "w", encoding="utf-8") as f:
        f.write(f"base: wse2\nname: {name.split('.')[0]}\n{text}")
    return name


def machines_choose_forms():
    """The library says that SUMMA needs three switch positions, another one what shifts need: a machine that has less gets
    the other form, and the reason says so. Where routers have no switches, streamed kernels get one PE each."""
    two = machine("two.yaml", "router: {switch_positions: 2}\n")
    one = machine("one.yaml", "router: {switch_positions: 1}\n")
    few = machine("few.yaml", "host: {host_cores: 2}\n")
    other = library("other", {"gemm": ["half"]})
    with open("other/library.yaml", "a", encoding="utf-8") as f:
        f.write("needs: {shift_gemm: {host.host_cores: 4}}\n")
    options = ["--operands", "resident", "--rect", "4x4", "--autogen-policy", "disabled"]
    by_other = [*options, "--kernel-library", other]
    for given, flags, form, why in [
            ("wse2", options, "shift_gemm", ""),
            (two, options, "shift_gemm", "summa needs router.switch_positions 3, the machine has 2"),
            ("wse2", by_other, "shift_gemm", ""),
            (few, by_other, "summa", "shift_gemm needs host.host_cores 4, the machine has 2")]:
        g = Graph()
        product(g, 32, 32, 32)
        report = g.compile("square", "-m", given, *flags)
        g.simulate("square")
        (op,) = report["ops"]
        assert kernel_of(report)["kernel"] == form, (given, report["kernels"])
        assert why in op["reason"] and ("left out" in op["reason"]) == bool(why), op
        assert why in tool("cs-compile", "square.yaml", "-m", given, *flags, "--explain", "origins").stdout, why
    g = Graph()
    product(g)
    rects = {}
    for given in ["wse2", one]:
        rects[given] = kernel_of(g.compile("streamed", "-m", given))["rect"]
        g.simulate("streamed")
    assert rects["wse2"][2] * rects["wse2"][3] > 1 and rects[one][2:] == [1, 1], rects


def work_is_cut_as_it_is_said():
    """Four numbers for every kernel, and the description of a product."""
    for residency in ["streamed", "resident"]:
        for rows, n, m in [(1, 64, 48), (32, 32, 32)]:
            g = Graph()
            product(g, rows, n, m)
            g.compile("cut", "--operands", residency)
            shown = tool("cs-compile", "cut.yaml", "--operands", residency, "--explain", "fit").stdout
            down, across, tall, wide = map(int, re.search(r": (\d+) x (\d+) parts of (\d+) x (\d+), ", shown).groups())
            plane = (m, n) if residency == "streamed" and "kernel: dtg-region" not in shown else (rows, m)
            if re.search(r"\{kernel: \S+, rows: %d, inputs: %d, outputs: %d" % (rows, n, m), shown):
                assert down * tall >= plane[0] > (down - 1) * tall, (residency, shown)
                assert across * wide >= plane[1], (residency, shown)
                assert f"parts: [{down}, {across}], tile: [{tall}, {wide}]" in shown, shown


def library(name, capabilities, version=1, files=()):
    os.makedirs(name, exist_ok=True)
    with open(os.path.join(name, "library.yaml"), "w", encoding="utf-8") as f:
        f.write(f"version: {version}\ncapabilities:\n")
        f.writelines(f"  {kernel}: [{', '.join(can)}]\n" for kernel, can in capabilities.items())
    for file in files:
        shutil.copy(os.path.join(SOURCE, "compiler/kernels", file), name)
    return name


def the_library_is_asked():
    """What the library can do is used; what an older one cannot is computed otherwise, and the reason says so."""
    old = library("old", {"gemm": ["half"]}, version=3)
    # Streams of 16-bit floats: without `half` the product is generated, and the reason says so.
    h = Graph()
    x = h.input("x", (1, 64), np.float16)
    w = h.constant("w", (h.draw((64, 48)) / 8).astype(np.float16))
    h.node("y", "matmul", ["x", "w"])
    h.outputs["y"] = (x @ w).astype(np.float16)
    by_hand = ["--autogen-policy", "disabled"]
    assert kernel_of(h.compile("half", *by_hand))["kernel"] == "gemv"
    report = h.compile("half_old", "--kernel-library", old)
    assert kernel_of(report)["origin"] == "autogen"
    (op,) = report["ops"]
    assert "the library (version 3) has no gemv with 'half'" in op["reason"], op

    # Files of the folder take the places of ours, and nothing else may lie there.
    listed = tool("cs-compile", "--list-kernels", "--kernel-library", old).stdout
    assert "Version 3 of the library" in listed and "epilogue" not in listed, listed
    same = library("same", {"gemv": ["half", "bytes", "epilogue"]}, files=["gemv.csl"])
    with open("same/gemv.csl", "a", encoding="utf-8") as f:
        f.write("// of another version\n")
    tool("cs-compile", "half.yaml", *by_hand, "--kernel-library", same, "--emit", "csl", "-o", "half.csl")
    assert "// of another version" in open("half.csl/gemv.csl", encoding="utf-8").read()
    for text, message in [("version: 1\ncapabilities: {gemv: [fast]}\n", "there is no capability 'fast'"),
                          ("version: 1\ncapabilities: {gemw: [half]}\n", "there is no kernel 'gemw'"),
                          ("version: 1\nneeds: {summa: {router.hops: 2}}\n", "machines have no 'router.hops'"),
                          ("version: 0\n", "versions begin with 1"), ("versoin: 1\n", "unknown key 'versoin'")]:
        with open("same/library.yaml", "w", encoding="utf-8") as f:
            f.write(text)
        assert message in tool("cs-compile", "--list-kernels", "--kernel-library", "same", code=1).stderr, message


def epilogues_are_declared():
    """What cannot carry an epilogue keeps it apart; options and values that there are not are errors."""
    g = Graph()
    x = g.input("x", (1, 64))
    g.node("s", "reduce_sum", ["x"], "{axes: [1]}")
    g.node("y", "relu", ["s"])
    g.outputs["y"] = np.maximum(x.sum(1, keepdims=True), 0).astype(np.float32)
    made = kernels(g.compile("apart", "--epilogue-fusion", "always", "--without", "rows", "--without", "regions"))
    assert len(made) == 2, made
    g.simulate("apart")
    assert "--epilog" in tool("cs-compile", "apart.yaml", "--epilog", "always", code=2).stderr
    assert "--epilogue-fusion" in tool("cs-compile", "apart.yaml", "--epilogue-fusion", "sometimes", code=2).stderr


def checks_find_what_lands_in_a_neighbour():
    """An index beyond its array that ends in another variable: found with checks, and only they cost cycles."""
    text = """param memcpy_params: comptime_struct;
const sys = @import_module("<memcpy/memcpy>", memcpy_params);
var a = @zeros([4]u16);
var b = @zeros([4]u16);
var first: *u16 = &a[0];
var steps: u16 = STEPS;
fn run() void {
  var i: u16 = 0;
  while (i < steps) : (i += 1) { a[i + 1] = i; }
  b[0] += a[steps];
  sys.unblock_cmd_stream();
}
comptime { @export_symbol(run); @export_symbol(steps); }
"""
    layout = """const memcpy = @import_module("<memcpy/get_params>", .{ .width = 1, .height = 1 });
layout {
  @set_rectangle(1, 1);
  @set_tile_code(0, 0, "pe.csl", .{ .memcpy_params = memcpy.get_params(0) });
  @export_name("run", fn() void);
  @export_name("steps", u16);
}
"""
    cycles = {}
    for steps, what in [(3, "good"), (5, "bad")]:
        with open("layout.csl", "w", encoding="utf-8") as f:
            f.write(layout)
        with open("pe.csl", "w", encoding="utf-8") as f:
            f.write(text.replace("STEPS", str(steps)))
        for checks in [[], ["--kernel-checks", "off"], ["--kernel-checks", "on"]]:
            tool("cs-compile", "layout.csl", *checks, "-q", "-o", "checked.csp")
            found = what == "bad" and checks[-1:] == ["on"]
            run = tool("cs-sim", "checked.csp", "--launch", "run", "--json", code=3 if found else 0)
            if found:
                assert "out-of-bounds" in run.stdout + run.stderr, run
                assert "an index is outside of its array" in run.stdout + run.stderr, run
                assert "pe.csl" in run.stdout + run.stderr and "a[i + 1]" in open("pe.csl", encoding="utf-8").read()
            else:
                cycles[what, checks[-1] if checks else ""] = json.loads(run.stdout)["cycles"]
                if what == "good":
                    with open("checked.csp/program.fb", "rb") as f:
                        cycles["bytes", checks[-1] if checks else ""] = f.read()
    assert cycles["bytes", ""] == cycles["bytes", "off"] != cycles["bytes", "on"]
    assert cycles["good", "off"] == cycles["good", ""] < cycles["good", "on"], cycles
    # A network's kernels give the same with checks.
    g = Graph()
    product(g, activation="relu")
    g.compile("checked", "--kernel-checks", "on")
    g.simulate("checked")
    assert "--kernel-checks" in tool("cs-compile", "checked.yaml", "--kernel-checks", "maybe", code=2).stderr


def onnx_model(name, nodes, inputs, outputs, weights=(), opset=13, listed=()):
    """ONNX bytes by hand: (operator, inputs, outputs, attributes); tensors (name, array)."""
    def number(field, value):
        return varint(field << 3) + varint(value)

    def varint(value):
        value &= (1 << 64) - 1
        out = b""
        while True:
            out += bytes([value & 127 | (128 if value > 127 else 0)])
            value >>= 7
            if not value:
                return out

    def block(field, data):
        data = data.encode() if isinstance(data, str) else data
        return varint(field << 3 | 2) + varint(len(data)) + data

    def value_info(name, shape):
        dims = b"".join(block(1, number(1, n)) for n in shape)
        return block(1, name) + block(2, block(1, number(1, 1) + block(2, dims)))

    def attribute(key, value):
        if isinstance(value, int):
            return block(1, key) + number(3, value) + number(20, 2)
        return block(1, key) + b"".join(number(8, v) for v in value) + number(20, 7)

    graph = b""
    for k, (op, ins, outs, attributes) in enumerate(nodes):
        body = b"".join(block(1, i) for i in ins) + b"".join(block(2, o) for o in outs)
        body += block(3, f"{op}_{k}") + block(4, op) + b"".join(block(5, attribute(*a)) for a in attributes.items())
        graph += block(1, body)
    graph += block(2, name)
    for key, array in weights:
        graph += block(5, b"".join(number(1, n) for n in array.shape) + number(2, 1) + block(8, key) +
                       block(9, array.astype(np.float32).tobytes()))
    for key, shape in [*inputs, *listed]:
        graph += block(11, value_info(key, shape))
    for key, shape in outputs:
        graph += block(12, value_info(key, shape))
    with open(f"{name}.onnx", "wb") as f:
        f.write(number(1, 3) + block(7, graph) + block(8, number(2, opset)))
    return f"{name}.onnx"


def met(path, *options):
    """The workarounds that compiling this meets."""
    tool("cs-compile", path, "-q", "-o", "met.csp", "--no-advice", "--no-baselines", *options)
    with open("met.csp/compile_report.json", encoding="utf-8") as f:
        return json.load(f)["workarounds"]


def workarounds():
    """Every one of the table: a model that meets it and nothing else, and one beside it that meets none."""
    square = np.eye(4)
    row = [("y", (1, 4))]
    x = [("x", (1, 4))]
    picture, channels = [("x", (1, 2, 3, 3))], [("y", (1, 2, 3, 3))]
    ones = [(k, np.ones(2)) for k in "abcd"]

    def multiply(listed):
        return onnx_model("weights", [("MatMul", ["x", "w"], ["y"], {})], x, row, [("w", square)], listed=listed)

    def add(name, opset, axis):
        nodes = [("Add", ["x", "b"], ["y"], {"axis": axis, "broadcast": 1} if opset < 7 else {})]
        return onnx_model(name, nodes, picture, channels, [("b", np.ones(2 if axis == 1 else 3))], opset)

    def softmax(name, opset):
        return onnx_model(name, [("Softmax", ["x"], ["y"], {"axis": 1})], picture, channels, opset=opset)

    def pad(name, key):
        opset = 1 if key == "paddings" else 10
        return onnx_model(name, [("Pad", ["x"], ["y"], {key: [0, 1, 0, 0]})], x, [("y", (1, 5))], opset=opset)

    def norm(name, opset, attributes):
        nodes = [("BatchNormalization", ["x", *"abcd"], ["y"], attributes)]
        return onnx_model(name, nodes, picture, channels, ones, opset)

    def program(folder, imported, rpc=False):
        os.makedirs(f"{folder}/inner", exist_ok=True)
        with open(f"{folder}/layout.csl", "w", encoding="utf-8") as f:
            f.write("layout {\n  @set_rectangle(1, 1);\n  @set_tile_code(0, 0, \"inner/pe.csl\", .{});\n}\n")
        with open(f"{folder}/inner/pe.csl", "w", encoding="utf-8") as f:
            f.write(f"const other = @import_module(\"{imported}\");\ncomptime {{ _ = other.one; "
                    f"{'@rpc(@get_data_task_id(@get_color(21)));' if rpc else ''} }}\n")
        for place in ("inner/near.csl", "far.csl"):
            with open(f"{folder}/{place}", "w", encoding="utf-8") as f:
                f.write("const one: u16 = 1;\n")
        return f"{folder}/layout.csl"

    cases = {  # id: what meets it, what is like it and meets none
        "onnx-weights-as-inputs": (lambda: multiply([("w", (4, 4))]), lambda: multiply([])),
        "onnx-operand-at-axis": (lambda: add("at", 6, 1), lambda: add("end", 6, 3)),
        "onnx-softmax-of-matrices": (lambda: softmax("old", 12), lambda: softmax("new", 13)),
        "onnx-pad-paddings": (lambda: pad("paddings", "paddings"), lambda: pad("pads", "pads")),
        "onnx-norm-is-test": (lambda: norm("test", 6, {"is_test": 1}), lambda: norm("norm", 9, {})),
        "csl-import-beside-layout": (lambda: program("a", "far.csl"), lambda: program("b", "near.csl")),
        "csl-rpc": (lambda: program("c", "near.csl", True), lambda: program("d", "near.csl")),
    }
    listed = re.findall(r"^(\S+)$", tool("cs-compile", "--list-workarounds").stdout, re.M)
    assert listed == list(cases), (listed, list(cases))
    for name, (with_it, without) in cases.items():
        for make, expected in [(with_it, [name]), (without, [])]:
            found = met(make())
            assert found == expected, (name, expected, found)


def main():
    global SOURCE
    small_graphs.BIN, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    only = sys.argv[3:]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for test in (machines_choose_forms, work_is_cut_as_it_is_said, the_library_is_asked, epilogues_are_declared,
                     checks_find_what_lands_in_a_neighbour, workarounds):
            if not only or test.__name__ in only:
                print(test.__name__, test() or "ok", flush=True)


if __name__ == "__main__":
    main()
