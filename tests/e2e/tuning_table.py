#!/usr/bin/env python3
"""tools/tuning_table over a suite of six small networks, measured here: a line for each batch, number of PEs and level
with a ratio for each of the three groups, which this test computes again; the movers, the batches side by side, the share
of networks that measured fusion improves, and steps of training.

Usage: tuning_table.py BIN SOURCE
"""
import json
import math
import os
import re
import subprocess
import sys
import tempfile

BIN, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
GROUPS = ["mlp_cnn", "transformer", "vision"]
NAMES = {"mlp_cnn": "quantised_mlp", "transformer": "attention_mask", "vision": "squeeze_excite"}


def suite(path):
    with open(path, "w", encoding="utf-8") as f:
        f.write("suite:\n")
        for kind, name in NAMES.items():
            for suffix in ("", "_batch"):
                f.write(f"  - name: {name}{suffix}\n    program: {model_of(name + suffix)}\n    group: quick,{kind}\n")


def model_of(name):
    """As the suite of networks names it."""
    with open(os.path.join(SOURCE, "configs", "suites", "networks.yaml"), encoding="utf-8") as f:
        text = f.read()
    program = re.search(rf"- name: {name}\n    program: (\S+)", text).group(1)
    return os.path.normpath(os.path.join(SOURCE, "configs", "suites", program))


def table(*arguments):
    run = subprocess.run([sys.executable, os.path.join(SOURCE, "tools", "tuning_table"), "--bin", BIN, "--rows", "rows.jsonl",
                          *arguments, "suite.yaml"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout


def rows():
    with open("rows.jsonl", encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def interval(name, pes, level):
    return next((r.get("interval") for r in rows() if (r["name"], r["pes"], r["level"]) == (name, pes, level)), None)


def line_of(text, *cells):
    """The cells behind these of a line of a table."""
    start = "| " + " | ".join(cells) + " | "
    found = [line for line in text.split("\n") if line.startswith(start)]
    assert len(found) == 1, (start, found, text)
    return [c.strip() for c in found[0][len(start):].strip(" |").split("|")]


def eight_lines_have_a_ratio_for_each_group(text):
    against = text[text.index("library's kernels alone"):text.index("throughput without tuning")]
    for batch, suffix in (("fixed", ""), ("symbolic", "_batch")):
        for pes in ("many", "one"):
            for level, line in (("off", "not tuned"), ("max", "tuned (max)")):
                cells = line_of(against, batch, pes, line)
                logs = []
                for kind, cell in zip(GROUPS, cells):
                    before, after = (interval(NAMES[kind] + suffix, pes, one) for one in ("library", level))
                    if before and after:
                        logs.append(math.log(before / after))
                    assert cell == (f"{before / after:.3f} (1)" if before and after else "- (0)"), (batch, pes, level, kind, cell)
                assert len(logs) >= 2 and cells[3] == f"{math.exp(sum(logs) / len(logs)):.3f} ({len(logs)})", cells


def movers_have_names(text):
    for batch, suffix in (("fixed", ""), ("symbolic", "_batch")):
        line = re.search(rf"Batch {batch}, against library: gains: (.*)\. Losses: (.*)\.", text)
        moved = [f"{name}{suffix} ({pes}, off, {interval(name + suffix, pes, 'library'):.0f} -> "
                 f"{interval(name + suffix, pes, 'off'):.0f})" for name in NAMES.values() for pes in ("many", "one")
                 if interval(name + suffix, pes, "library") and interval(name + suffix, pes, "off")
                 and interval(name + suffix, pes, "library") != interval(name + suffix, pes, "off")]
        assert line and moved, text
        missing = [m for m in moved if m not in line.group(1) and m not in line.group(2)]
        assert len(missing) <= max(0, len(moved) - 5), (missing, line.group(0))


def batches_stand_side_by_side(text):
    for name in NAMES.values():
        values = [interval(name + suffix, "many", level) for suffix in ("", "_batch") for level in ("library", "off")]
        if all(values):
            assert line_of(text, name, "many") == [f"{values[0] / values[1]:.3f}", f"{values[2] / values[3]:.3f}"], text


def made_up_rows_are_counted():
    """What is printed is computed from the rows: of two networks one gains by measuring, one loses."""
    with open("rows.jsonl", "w", encoding="utf-8") as f:
        for name, always, measured in (("a", 200, 100), ("b", 100, 125)):
            for level, cycles in (("always", always), ("max", measured)):
                f.write(json.dumps({"name": name, "kind": "vision", "batch": "fixed", "pes": "many", "level": level,
                                    "interval": cycles, "cpu_seconds": 1}) + "\n")
    text = table("--print")
    assert "1 of 2 networks improve (50 %): a 2.000x. Slower: b 0.800x." in text, text


def steps_of_training_are_beside_inference(text):
    assert text.startswith("Inference, cycles from one sample to the next."), text
    library, off = interval("mlp", "many", "library"), interval("mlp", "many", "off")
    assert library and off, rows()
    assert line_of(text[text.index("Steps of training"):], "mlp") == [f"{library:.1f}", f"{off:.1f}", f"{library / off:.3f}"]


with tempfile.TemporaryDirectory() as scratch:
    os.chdir(scratch)
    suite("suite.yaml")
    os.mkdir("training")
    os.symlink(os.path.join(SOURCE, "tests", "training", "mlp.yaml"), "training/mlp.yaml")
    printed = table("--levels", "library,off,max", "--budget", "1", "--training", "training")
    for step in (eight_lines_have_a_ratio_for_each_group, movers_have_names, batches_stand_side_by_side,
                 steps_of_training_are_beside_inference):
        step(printed)
        print(f"{step.__name__}: ok")
    made_up_rows_are_counted()
    print("made_up_rows_are_counted: ok")
