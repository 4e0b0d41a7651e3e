#!/usr/bin/env python3
"""Checks what the compiler cannot: who may include whom, one home per third-party library, the shape of files, and that
design.md, tools.md, cache.md and catalogue.md name no flag, file or folder that does not exist, nor the catalogue a test.

Usage: tools/check_style.py [ROOT]     prints FILE:LINE: problem; exit 1 if there is any.
"""
import glob
import os
import re
import sys

from check_catalogue import PAGE as CATALOGUE, check_catalogue
from check_headers import check_headers

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

# Inside the compiler: mapping knows kernels by their contract alone, and no kernel by name.
CONTRACT = {f"compiler/kernels/{name}.h" for name in ("blocking", "choice", "description", "kernels", "kind", "library", "measured",
                                                          "roles", "skew")}
KERNEL_NAME = re.compile(r'"dtg-')

# Third-party headers and the only places that may include them.
HOMES = [
    (r"yaml-cpp/", ["runtime/support/"]),
    (r"systemc|tlm", ["simulator/systemc/", "tools/cs-sim/", "tools/api/wafersmith/systemc"]),
    (r"boost/", ["compiler/algo/"]),
    (r"(onnx|google/protobuf)/", ["compiler/frontend/"]),
    (r"Eigen/", ["runtime/ops/"]),
    (r"(flatbuffers/|program_generated\.h)", ["runtime/program/"]),
    (r"CLI/", ["tools/"]),
    (r"nlohmann/", ["runtime/program/", "simulator/report/", "tools/"]),
    (r"(zlib|xxhash)\.h", ["runtime/support/", "runtime/program/", "runtime/host/", "simulator/trace/"]),
    (r"(oneapi/)?tbb/", ["runtime/support/"]),
    (r"hiredis/", ["tools/cache/"]),
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
    if path.startswith("simulator/systemc/structural/") and target.startswith("simulator/engine/"):
        return "the structural model judges the engine: it shares values (simulator/exec) with it, nothing else"
    if path.startswith("simulator/exec/") and target.startswith("simulator/") and not target.startswith("simulator/exec/"):
        return "what instructions do to values knows neither of the models"
    if path.startswith("compiler/mapping/") and target not in CONTRACT:
        if target.startswith(("compiler/kernels/", "compiler/autogen/")):
            return f"mapping knows kernels by their contract, not by {target}"
    return None


def names_a_kernel(root, path, line):
    """A generated kernel outside of kernels, or a file of the library where only kinds may know it."""
    if path.startswith("compiler/kernels/"):
        return False
    files = [] if path.startswith("compiler/autogen/") else re.findall(r'"(\w+\.csl)"', line)
    return KERNEL_NAME.search(line) or any(os.path.exists(os.path.join(root, "compiler/kernels", f)) for f in files)


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
        if path.startswith("compiler/") and names_a_kernel(root, path, line):
            problems.append((number, "the name of a kernel stands in the file of its kind alone"))
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


# ---- pages that must name what is there

PAGES = ["docs/design.md", "docs/tools.md", "docs/cache.md", CATALOGUE]
TOP = ["runtime", "compiler", "simulator", "models", "configs", "tests", "tools", "docs"]
# Where the flags of a tool are declared.
FLAGS_OF = {
    "cs-compile": ["tools/cs-compile", "tools/cslc", "tools/cache"], "cs-cache": ["tools/cs-cache", "tools/cache"],
    "cslc": ["tools/cslc"], "cs-sim": ["tools/cs-sim"],
    "cs-objdump": ["tools/cs-objdump"], "csl-fmt": ["tools/csl-fmt"], "csl-lsp": ["tools/csl-lsp"], "cs-regress": ["tools/cs-regress"], "tools/replay": ["tools/replay"],
    "tools/random_graphs": ["tools/random_graphs", "tools/graphs"],
}
FOREIGN = {"cmake", "ctest"}  # commands of others, whose flags are theirs
DECLARED = re.compile(r"""["'](?:-\w,)*(--[a-z][\w-]*)(?:,-[\w,-]*)?["']|^\s*(--[a-z][\w-]*)\)""", re.M)
FILE_NAME = re.compile(r"[\w*{},-]+\.(?:h|cpp|csl|py|md|yaml|def|fbs)")


def declared_flags(root, places):
    flags = {"--help", "--version"}
    for place in places:
        path = os.path.join(root, place)
        files = [path] if os.path.isfile(path) else [os.path.join(folder, name) for folder, _, names in os.walk(path)
                                                     for name in names]
        for file in files:
            with open(file, encoding="utf-8", errors="ignore") as f:
                real = "".join(line for line in f if "not available in this version" not in line)
            flags |= {a or b for a, b in DECLARED.findall(real)}
    return flags


def tree_names(root):
    """Names of all files, of all folders below each top folder, and the text of the tools' and the host part's sources."""
    files, folders, text = set(), {top: set() for top in TOP}, ""
    for top in TOP:
        for folder, names, here in os.walk(os.path.join(root, top)):
            folders[top] |= set(names)
            files |= set(here)
            for name in here:
                if name.endswith(SOURCE) and top in ("tools", "runtime", "compiler", "simulator"):
                    with open(os.path.join(folder, name), encoding="utf-8") as f:
                        text += f.read()
    return files, folders, text


def braces(path):
    """a/{b,c}.h stands for a/b.h and a/c.h."""
    inner = re.search(r"\{([^{}]*,[^{}]*)\}", path)
    if not inner:
        return [path]
    return [p for choice in inner.group(1).split(",") for p in braces(path[:inner.start()] + choice + path[inner.end():])]


class Page:
    """Problems of one page, line by line: inside blocks of commands the tool of the line decides which flags there are."""

    def __init__(self, root):
        self.root = root
        self.flags = {tool: declared_flags(root, places) for tool, places in FLAGS_OF.items()}
        self.any_flag = declared_flags(root, ["tools", "tests/golden"])
        self.files, self.folders, self.text = tree_names(root)

    def check(self, page):
        problems, block, tool, top = [], False, None, None
        with open(os.path.join(self.root, page), encoding="utf-8") as f:
            lines = f.read().split("\n")
        for number, line in enumerate(lines, 1):
            if line.startswith("```"):
                block, tool, top = not block, None, None
                continue
            code = block or line.startswith("    ")
            first = re.match(r"\s*(\S+)", line)
            if code and first and not (block and line.startswith(" ")):
                tool = first.group(1) if first.group(1) in self.flags or first.group(1) in FOREIGN else None
                top = next((t for t in TOP if line.startswith(t + "/ ")), None)
            problems += [(number, p) for p in self.line(line, code, tool if code else None, top if block else None)]
        return problems

    def line(self, line, code, tool, top):
        for command in re.split(r"&&|`", line):
            words = command.split()
            known = self.flags.get(tool, self.any_flag)
            if tool in FOREIGN or (words and words[0] in FOREIGN):
                continue
            for flag in re.findall(r"(?<![\w-])--[a-z][\w-]*", command):
                if flag not in known:
                    yield f"{tool or 'no tool'} has no flag {flag}" if tool else f"no tool has a flag {flag}"
        quoted = re.findall(r"`([^`\s]+)`", line) + re.findall(r"\]\(([^)#:]+)\)", line)
        for word in quoted + (line.split() if code else []):
            yield from self.path(word.strip("(),;[]"))
        if top:
            for folder in re.findall(r"(?<![\w/.])([a-z][\w-]*)/", line):
                if folder != top and folder not in self.folders[top]:
                    yield f"there is no folder {folder} below {top}"

    def path(self, word):
        if re.search(r"[<>$=|]|[A-Z].*/", word) or word.startswith(("http", "--", "/")):
            return
        if word.split("/")[0] in TOP and "/" in word.rstrip("/"):
            for path in braces(word.split(":")[0]):
                if not glob.glob(os.path.join(self.root, path)):
                    yield f"there is no {path}"
        elif FILE_NAME.fullmatch(word.split("/")[-1]) and not re.search(r"[A-Z]{2}", word):
            for name in braces(word.split("/")[-1]):
                if not any(glob.fnmatch.fnmatch(file, name) for file in self.files) and name not in self.text:
                    yield f"there is no file {name}, and no source writes one"


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    count = 0
    for path in sources(root):
        for line, problem in check_file(root, path):
            print(f"{path}:{line}: {problem}")
            count += 1
    page = Page(root)
    for name in PAGES:
        for line, problem in page.check(name):
            print(f"{name}:{line}: {problem}")
            count += 1
    for line, problem in check_catalogue(root):
        print(f"{CATALOGUE}:{line}: {problem}")
        count += 1
    for path, line, problem in check_headers(root):
        print(f"{path}:{line}: {problem}")
        count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
