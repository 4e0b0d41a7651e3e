"""The catalogue (docs/catalogue.md) against the tree: every row once, tests that it names exist, its counts are those of
its table. Part of tools/check_style.py."""
import os
import re

PAGE = "docs/catalogue.md"
ROWS = [f"K{i:02}" for i in range(1, 25)] + [f"I{i:03}" for i in range(1, 135)]
MOST_WITHOUT_SENSE = 12
GTEST = re.compile(r"^TEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\)", re.M)
CTEST = re.compile(r"add_test\(\s*NAME\s+([^\s)]+)")
COUNTS = re.compile(r"(\d+) of them work here, (\d+) are missing, (\d+) make no sense here")
ROW = re.compile(r"^\| ([KI]\d+) \| ([^|]*) \| ([^|]*) \|$")


def tests_of(root):
    """Names of GoogleTests as SUITE.NAME, and patterns of CTest's names."""
    suites, patterns = set(), []
    for folder, _, names in os.walk(os.path.join(root, "tests")):
        for name in names:
            if not name.endswith(".cpp") and name != "CMakeLists.txt":
                continue
            with open(os.path.join(folder, name), encoding="utf-8") as f:
                text = f.read()
            if name.endswith(".cpp"):
                suites |= {f"{suite}.{test}" for suite, test in GTEST.findall(text)}
            else:
                parts = [re.split(r"\$\{\w+\}", found) for found in CTEST.findall(text)]
                patterns += [re.compile(r"\w+".join(re.escape(p) for p in split)) for split in parts if any(split)]
    return suites, patterns


def is_test(name, suites, patterns):
    return name in suites or any(p.fullmatch(name) for p in patterns)


def looks_like_a_test(word):
    return re.fullmatch(r"[A-Z]\w*\.[A-Z]\w*|[a-z0-9_]+", word) is not None


def check_catalogue(root):
    """Pairs of line and problem."""
    with open(os.path.join(root, PAGE), encoding="utf-8") as f:
        lines = f.read().split("\n")
    suites, patterns = tests_of(root)
    problems, seen, states = [], [], {"works": 0, "missing": 0, "no sense here": 0}
    for number, line in enumerate(lines, 1):
        row = ROW.match(line)
        if not row:
            if re.match(r"\| [KI]\d", line):
                problems.append((number, "a row is | number | what it asks for | state |"))
            continue
        seen.append(row.group(1))
        state = next((s for s in states if row.group(3).startswith(s)), None)
        if state is None:
            problems.append((number, f"the state of {row.group(1)} is works:, missing or no sense here:"))
            continue
        states[state] += 1
        named = [w for w in re.findall(r"`([^`]+)`", row.group(3)) if looks_like_a_test(w)]
        if state == "works" and not named:
            problems.append((number, f"{row.group(1)} works, so a test holds it: which one?"))
        if state == "no sense here" and not row.group(3)[len(state):].strip(": "):
            problems.append((number, f"{row.group(1)} makes no sense here: why?"))
        problems += [(number, f"there is no test {w}") for w in named if not is_test(w, suites, patterns)]
    if seen != ROWS:
        wrong = sorted(set(ROWS) ^ set(seen)) or [r for r in ROWS if seen.count(r) > 1] or ["their order"]
        problems.append((1, f"every row stands once, in order: {', '.join(wrong[:5])}"))
    if states["no sense here"] > MOST_WITHOUT_SENSE:
        problems.append((1, f"{states['no sense here']} rows make no sense here, at most {MOST_WITHOUT_SENSE} may"))
    counts = COUNTS.search("\n".join(lines))
    is_so = tuple(str(states[s]) for s in states)
    if not counts or counts.groups() != is_so:
        problems.append((1, f"{is_so[0]} of them work here, {is_so[1]} are missing, {is_so[2]} make no sense here"))
    return problems
