#!/usr/bin/env python3
"""Checks what the compiler cannot: who may include whom, one home per third-party library, and the shape of files.

Usage: tools/check_style.py [ROOT]     prints FILE:LINE: problem; exit 1 if there is any.
"""
import os
import re
import sys

# The arrows of the design: a folder may include itself and what stands here.
MAY_INCLUDE = {
    "runtime": {"runtime"},
    "compiler": {"compiler", "runtime"},
    "simulator": {"simulator", "runtime"},
    "tools": {"tools", "compiler", "simulator", "runtime"},
    "tests": {"tests", "tools", "compiler", "simulator", "runtime"},
}
# Inside runtime: lower layers know nothing of higher ones.
RUNTIME_ORDER = ["support", "machine", "numerics", "isa", "program", "ops", "host"]

# Third-party headers and the only places that may include them.
HOMES = [
    (r"yaml-cpp/", ["runtime/support/"]),
    (r"systemc|tlm", ["simulator/systemc/", "tools/cs-sim/"]),
    (r"boost/", ["compiler/algo/"]),
    (r"(onnx|google/protobuf)/", ["compiler/frontend/"]),
    (r"Eigen/", ["runtime/ops/"]),
    (r"(flatbuffers/|program_generated\.h)", ["runtime/program/"]),
    (r"CLI/", ["tools/"]),
    (r"nlohmann/", ["runtime/program/", "simulator/report/", "tools/"]),
    (r"(zlib|xxhash)\.h", ["runtime/support/", "runtime/program/", "runtime/host/", "simulator/trace/"]),
    (r"(oneapi/)?tbb/", ["runtime/support/"]),
    (r"mpi\.h", ["simulator/mpi/"]),
    (r"(pybind11/|Python\.h)", ["tools/python/"]),
]
MAX_LINES = 400
MAX_COLUMNS = 120
SOURCE = (".h", ".cpp", ".def")


def sources(root):
    for top in MAY_INCLUDE:
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                if name.endswith(SOURCE):
                    yield os.path.relpath(os.path.join(folder, name), root)


def check_own_include(path, target):
    top, goal = path.split("/")[0], target.split("/")[0]
    if goal in MAY_INCLUDE and goal not in MAY_INCLUDE[top]:
        return f"{top} must not include {goal}"
    if top == goal == "runtime":
        here, there = path.split("/")[1], target.split("/")[1]
        if here in RUNTIME_ORDER and there in RUNTIME_ORDER:
            if RUNTIME_ORDER.index(there) > RUNTIME_ORDER.index(here):
                return f"runtime/{here} must not include runtime/{there}"
    return None


def check_file(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as f:
        lines = f.read().split("\n")
    problems = []
    if not lines[0].startswith("//"):
        problems.append((1, "a file begins with a comment that says what it is for"))
    if path.endswith(".h") and not any(line == "#pragma once" for line in lines[:60]):
        problems.append((1, "header without #pragma once"))
    if not path.endswith(".def") and len(lines) > MAX_LINES + 1:
        problems.append((MAX_LINES, f"{len(lines) - 1} lines, at most {MAX_LINES}: split by concept"))
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_COLUMNS and not path.endswith(".def"):
            problems.append((number, f"{len(line)} columns, at most {MAX_COLUMNS}"))
        if line != line.rstrip():
            problems.append((number, "trailing white space"))
        if path.endswith(".h") and re.match(r"\s*using namespace", line):
            problems.append((number, "using namespace in a header"))
        include = re.match(r'\s*#include\s+["<]([^">]+)[">]', line)
        if not include:
            continue
        target = include.group(1)
        own = check_own_include(path, target)
        if own:
            problems.append((number, own))
        for pattern, homes in HOMES:
            if re.match(pattern, target) and not path.startswith("tests/") and not any(path.startswith(h) for h in homes):
                problems.append((number, f"<{target}> has its home in {', '.join(homes)}"))
    return problems


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    count = 0
    for path in sources(root):
        for line, problem in check_file(root, path):
            print(f"{path}:{line}: {problem}")
            count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
