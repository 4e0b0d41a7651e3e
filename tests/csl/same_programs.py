#!/usr/bin/env python3
"""Shows that formatting changes no program: compiles CSL as it is and as csl-fmt writes it, and compares.

Programs are what the shell scripts below a folder compile (lines with cslc), and files with a layout block. Compared is
the text of the whole Program (cs-objdump --text) without positions in the source, which are all that may move; what does
not compile must fail either way.

Usage: same_programs.py --bin BUILD/bin [--other-bin BUILD/bin] [--squeeze] DIR...
       --other-bin: the tools for the formatted side, whose embedded libraries and kernels may be formatted too
       --squeeze: formats with --width 40, which moves what is formatted already

Exit codes: 0 all are equal, 1 some differ or csl-fmt is not stable.
"""
import argparse
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

POSITION = re.compile(r"  ; \S+:\d+$")


def run(argv, folder):
    return subprocess.run([str(a) for a in argv], cwd=folder, capture_output=True, text=True, check=False, timeout=600)


def without_positions(text):
    out, skipping = [], False
    for line in text.split("\n"):
        if line.strip() == "lines:":
            skipping = True
        elif skipping and line.lstrip().startswith("- ["):
            continue
        else:
            skipping = False
            out.append(POSITION.sub("", line))
    return "\n".join(out)


def commands(root):
    """(folder, arguments of cslc), each once."""
    found = []
    for script in sorted(root.rglob("*.sh")):
        text = script.read_text(errors="replace").replace("\\\n", " ")
        for line in text.split("\n"):
            words = line.strip()
            if not re.match(r"(\S*/)?cslc\s", words) or "$" in words:
                continue
            try:
                found.append((script.parent.relative_to(root), tuple(shlex.split(words, comments=True)[1:])))
            except ValueError:
                continue
    for layout in sorted(root.rglob("*.csl")):
        if re.search(r"^layout\b", layout.read_text(errors="replace"), re.M):
            found.append((layout.parent.relative_to(root), (layout.name,)))
            found.append((layout.parent.relative_to(root), (layout.name, "--arch=wse3")))
    return list(dict.fromkeys(found))


def program(tools, folder, words, out):
    """Text of the Program, or None if the compiler refuses it."""
    kept, skip = [], False
    for word in words:
        if skip:
            skip = False
        elif word == "-o":
            skip = True
        elif not word.startswith("-o="):
            kept.append(word)
    if run([tools / "cslc", *kept, "-o", out], folder).returncode != 0:
        return None
    dump = run([tools / "cs-objdump", "--text", out], folder)
    shutil.rmtree(out)
    return without_positions(dump.stdout) if dump.returncode == 0 else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--other-bin", type=pathlib.Path)
    parser.add_argument("--squeeze", action="store_true")
    parser.add_argument("dirs", type=pathlib.Path, nargs="+")
    args = parser.parse_args()
    tools = args.bin.resolve()
    other = (args.other_bin or args.bin).resolve()
    same = refused = differ = 0
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        for number, root in enumerate(args.dirs):
            copy = scratch / str(number)
            shutil.copytree(root, copy)
            width = ["--width", "40" if args.squeeze else "120"]
            run([other / "csl-fmt", *width, "--in-place", copy], scratch)  # files with syntax errors stay
            unstable = run([other / "csl-fmt", *width, "--check", copy], scratch).stdout
            if unstable:
                print(f"formatting again changes:\n{unstable}", end="")
                differ += 1
            for folder, words in commands(root):
                before = program(tools, root / folder, words, scratch / "before")
                after = program(other, copy / folder, words, scratch / "after")
                if before != after:
                    differ += 1
                    print(f"differs: {root / folder}: cslc {' '.join(words)}", flush=True)
                elif before is None:
                    refused += 1
                else:
                    same += 1
    print(f"{same} programs are the same, {differ} differ, {refused} are refused either way")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
