#!/usr/bin/env python3
"""Where arrays begin on the host: with the promise that it is at a multiple of a word, elements of 16 bits go to PEs two to
a word; arrays that break it are cloned, or an error.

Usage: alignment.py BIN     folder of the tools
"""
import json
import os
import sys
import tempfile

import numpy as np

import small_graphs
from small_graphs import Graph, tool

ON = ("--assume-aligned-inputs", "on")


def added(n=4096, rect="4x1"):
    """x + y of n elements of 16 bits, which lie on four PEs."""
    g = Graph(1)
    x, y = (g.input(name, (1, n), np.float16) for name in "xy")
    g.node("z", "add", ["x", "y"])
    g.outputs["z"] = (x + y).astype(np.float16)
    g.options = ("--operands", "resident", "--rect", rect)
    return g


def product(rows=32):
    g = Graph(2)
    a, b = (g.input(name, (rows, rows), np.float16) for name in "ab")
    g.node("c", "matmul", ["a", "b"])
    g.outputs["c"] = (a @ b).astype(np.float16)
    g.options = ("--operands", "resident", "--rect", "2x2")
    return g


def compiled(g, name, *options):
    return g.compile(name, *g.options, *options)["alignment"]


def run(g, name, *offsets, code=0):
    """Figures of a run whose results are as expected; the error of one that is none."""
    np.savez("in.npz", **g.inputs)
    np.savez("out.npz", **g.outputs)
    moved = [word for offset in offsets for word in ("--input-offset", offset)]
    done = tool("cs-sim", f"{name}.csp", "--inputs", "in.npz", "--expect", "out.npz", "--json", *moved, code=code)
    return json.loads(done.stdout) if code == 0 else done.stderr


def host_part(g, name, *options):
    g.write(name)
    tool("cs-compile", f"{name}.yaml", "--emit", "csl", "-o", f"{name}_text", *g.options, *options)
    with open(f"{name}_text/host.yaml", encoding="utf-8") as f:
        return f.read()


def no_promise_is_the_default():
    g = added()
    report = compiled(g, "plain")
    assert len(report) == 2 and not any(t["assumed"] for t in report), report
    assert "align" not in host_part(g, "plain") and "words" not in host_part(g, "plain")
    cycles = {run(g, "plain", *offsets)["cycles"] for offsets in ((), ("x=2",), ("x=3", "y=1"))}
    assert len(cycles) == 1, cycles
    assert run(g, "plain", "x=2")["aligned_clones"] == 0, "nothing is cloned without a promise"


def the_artefact_says_what_it_assumes():
    text = host_part(added(), "promised", *ON)
    assert text.count("align: 4, clones: true") == 2 and text.count("words: true") == 2, text
    with open("promised_text/layout.csl", encoding="utf-8") as f:
        layout = f.read()
    assert '@export_name("x0", [*]u32, true)' in layout, layout
    g = added()
    compiled(g, "promised", *ON)
    with open("promised.csp/manifest.json", encoding="utf-8") as f:
        assert "runconfig.assume_aligned_inputs=[on]" in f.read()
    tool("cs-compile", "promised_text/layout.csl", "--host", "promised_text/host.yaml", "-o", "again.csp")
    for name in ("program.fb", "weights.bin"):
        with open(f"promised.csp/{name}", "rb") as one, open(f"again.csp/{name}", "rb") as other:
            assert one.read() == other.read(), name


def a_host_part_that_contradicts_itself_is_refused():
    text = host_part(added(), "wrong", *ON)
    for old, new, message in ((", align: 4, clones: true", "", "of which no alignment is promised"),
                              ("align: 4, clones: true", "align: 4", "clones"),
                              ("align: 4,", "align: 3,", "of which no alignment is promised"),
                              ("columns: 4096", "columns: 4095", "rows and tiles with an even number"),
                              ("type: f16", "type: f32", "takes elements of 16 bits")):
        assert old in text, (old, text)
        with open("wrong_text/host.yaml", "w", encoding="utf-8") as f:
            f.write(text.replace(old, new))
        error = tool("cs-compile", "wrong_text/layout.csl", "--host", "wrong_text/host.yaml", "-o", "x.csp", code=1).stderr
        assert message in error, (new, error)


def without_the_promise_transfers_are_slower():
    """A link of 3.4 GB/s brings a word of 4 bytes a cycle at 850 MHz: 4,096 elements of each operand are as many words, or half
    of that."""
    g, cycles = added(4096), {}
    for name, options in (("slow", ()), ("fast", ON)):
        compiled(g, name, *options)
        cycles[name] = run(g, name)["cycles"]
    assert abs(cycles["slow"] - cycles["fast"] - 2 * 4096 / 2) <= 2, cycles


def arrays_elsewhere_are_cloned_and_counted():
    g = added()
    compiled(g, "cloned", *ON)
    aligned = run(g, "cloned")
    assert aligned["aligned_clones"] == 0 and aligned["clone_cycles"] == 0
    assert run(g, "cloned", "x=4", "y=8")["aligned_clones"] == 0, "4 is a multiple of 4"
    for offsets, clones in ((("x=2",), 1), (("y=1",), 1), (("x=2", "y=6"), 2)):
        figures = run(g, "cloned", *offsets)
        assert figures["aligned_clones"] == clones, (offsets, figures["aligned_clones"])
        assert figures["clone_cycles"] > 0
        assert figures["cycles"] == aligned["cycles"] + figures["clone_cycles"], (offsets, figures["cycles"])


def the_cheaper_is_named():
    """Of an array that is not aligned; the run agrees, once for the clone and once against it."""
    named = {}
    for n in (2048, 65536):
        g = added(n, "16x1")
        by_words = compiled(g, "words", "--assume-aligned-inputs", "x=on")
        compiled(g, "elements")
        clone, elements = run(g, "words", "x=2")["cycles"], run(g, "elements", "x=2")["cycles"]
        x = [t for t in by_words if t["name"] == "x"][0]
        named[n] = x["cheaper_if_unaligned"]
        assert named[n] == ("clone" if clone < elements else "elements"), (n, clone, elements, x)
        saved = x["cycles"]["elements"] - x["cycles"]["words"] - x["cycles"]["clone"]
        assert (saved > 0) == (elements > clone), (saved, elements, clone)
        told = tool("cs-compile", "words.yaml", *g.options, "--explain", "alignment").stdout
        assert f"{named[n]}: " in told, told
    assert named == {2048: "elements", 65536: "clone"}, named


def each_input_for_itself():
    g = added()
    for how, options in (("command line", ("--assume-aligned-inputs", "x=on")),
                         ("all but one", ("--assume-aligned-inputs", "on,y=off"))):
        report = compiled(g, "mixed", *options)
        assert {t["name"]: t["assumed"] for t in report} == {"x": True, "y": False}, (how, report)
        assert run(g, "mixed", "x=2", "y=2")["aligned_clones"] == 1, how
        assert run(g, "mixed", "y=2")["aligned_clones"] == 0, how
    g.write("mixed")
    with open("mixed.yaml", encoding="utf-8") as f:
        text = f.read()
    with open("mixed.yaml", "w", encoding="utf-8") as f:
        f.write(text.replace('{name: x, type: "f16[1, 4096]"', '{name: x, type: "f16[1, 4096]", assume_aligned: true'))
    tool("cs-compile", "mixed.yaml", "-q", "-o", "mixed.csp", "--no-advice", *g.options)
    assert run(g, "mixed", "x=2", "y=2")["aligned_clones"] == 1, "the model's text"
    tool("cs-compile", "mixed.yaml", "-q", "-o", "mixed.csp", "--no-advice", *g.options, "--set",
         "runconfig.assume_aligned_inputs=true")
    assert run(g, "mixed", "x=2", "y=2")["aligned_clones"] == 2, "the configuration"


def operands_of_products_alone_may_be_cloned():
    g = product()
    compiled(g, "product", *ON, "--align-policy", "products")
    assert run(g, "product", "a=2", "b=2")["aligned_clones"] == 2
    g = added()
    compiled(g, "sum", *ON, "--align-policy", "products")
    error = run(g, "sum", "x=2", code=1)
    assert "array 'x' begins 2 bytes behind a multiple of 4" in error, error
    assert run(g, "sum")["aligned_clones"] == 0


def a_broken_promise_is_said():
    for g, name in ((added(), "y"), (product(), "b")):
        compiled(g, "never", *ON, "--align-policy", "never")
        error = run(g, "never", f"{name}=6", code=1)
        assert f"array '{name}' begins 2 bytes behind a multiple of 4" in error and "--align-policy always" in error, error
        assert run(g, "never", f"{name}=8")["aligned_clones"] == 0


def an_odd_row_makes_no_promise():
    """Two elements of a word are neighbours of a row on one PE."""
    g = added(4 * 33)
    report = compiled(g, "odd", *ON)
    assert not any(t["assumed"] for t in report), report
    assert all("33 elements of a row, an odd number" in t["not_in_words"] for t in report), report
    assert run(g, "odd", "x=2")["aligned_clones"] == 0, "nothing is promised, so nothing is cloned"


def each_alignment_has_its_own_entry_of_the_cache():
    g, seen = product(), []
    for options in ((), ON, (), ON, (*ON, "--align-policy", "never"), ("--assume-aligned-inputs", "a=on")):
        report = g.compile("kept", *g.options, *options, "--cache-dir", "cache")
        seen.append(report["cache"]["result"] == "hit")
        run(g, "kept")
    assert seen == [False, False, True, True, False, False], seen


def what_is_no_such_option_is_said():
    added().write("bad")
    for code, options, message in (
            (2, ("--assume-aligned-inputs", "maybe"), "takes on, off, NAME=on or NAME=off"),
            (1, ("--set", "runconfig.assume_aligned_inputs=maybe"), "takes on, off, NAME=on or NAME=off"),
            (1, ("--set", "runconfig.align_policy=sometimes"), "never, products or always"),
            (1, ("--assume-aligned-inputs", "z=on"), "there is no input 'z'")):
        error = tool("cs-compile", "bad.yaml", "-o", "x.csp", *options, code=code).stderr
        assert message in error, error
    g = added()
    compiled(g, "bad", *ON)
    assert "there is no input 'w'" in run(g, "bad", "w=2", code=1)
    assert "takes NAME=BYTES" in run(g, "bad", "x=two", code=1)


small_graphs.BIN = os.path.abspath(sys.argv[1])
with tempfile.TemporaryDirectory() as scratch:
    os.chdir(scratch)
    for check in (no_promise_is_the_default, the_artefact_says_what_it_assumes,
                  a_host_part_that_contradicts_itself_is_refused, without_the_promise_transfers_are_slower,
                  arrays_elsewhere_are_cloned_and_counted, the_cheaper_is_named, each_input_for_itself,
                  operands_of_products_alone_may_be_cloned, a_broken_promise_is_said, an_odd_row_makes_no_promise,
                  each_alignment_has_its_own_entry_of_the_cache, what_is_no_such_option_is_said):
        check()
        print(f"{check.__name__}: ok")
