"""Public headers (tools/api/wafersmith): what they declare is documented. Part of tools/check_style.py.

A class, an enumeration or a function of the namespace has a comment above it, beside it, or is what the first line of its
file is about ("// Session: ..."); declarations that stand together share the comment above the first of them."""
import os
import re

FOLDER = "tools/api/wafersmith"
TYPE = re.compile(r"^(?:struct|class|enum class|enum) (\w+)\b(?!\s*;)")
FUNCTION = re.compile(r"^(?!static_assert)[A-Za-z][\w:<>,&*\[\] ]*[ &*](\w+)\(")


def undocumented(text):
    """Pairs of line and name, of declarations of the namespace without a comment."""
    lines = text.split("\n")
    about = re.match(r"// (\w+)", lines[0])
    found = []
    for i, line in enumerate(lines):
        match = TYPE.match(line) or FUNCTION.match(line)
        if not match or line.startswith(("#", "//", "namespace", "using", "return", "}")):
            continue
        name = match.group(1)
        if "//" in line or (about and about.group(1) == name):
            continue
        above = i - 1
        if above >= 0 and lines[above].startswith("template"):
            above -= 1
        while above >= 0 and (re.match(r"^ +\S.*;$", lines[above]) or FUNCTION.match(lines[above]) or lines[above].startswith("template")) and "//" not in lines[above]:
            above -= 1  # declarations that stand together
        if above < 0 or not lines[above].startswith("//"):
            found.append((i + 1, name))
    return found


def check_headers(root):
    """Triples of path, line and problem."""
    problems = []
    for name in sorted(os.listdir(os.path.join(root, FOLDER))):
        if not name.endswith(".h") or name == "internal.h":
            continue
        path = os.path.join(FOLDER, name)
        with open(os.path.join(root, path), encoding="utf-8") as f:
            text = f.read()
        for line, what in undocumented(text):
            problems.append((path, line, f"{what} is public and has no comment that says what it is"))
    return problems


# The check itself: a comment above, beside, of the file, of a group; and none.
assert undocumented("// Thing: x\nclass Thing {\n};\nstruct Bare {\n};\n") == [(4, "Bare")]
assert undocumented("// x\n\n// Two.\nint one();\nint two(int x);\n\nint three();\n") == [(7, "three")]
