#!/usr/bin/env python3
"""Golden texts of the forms: graph, plan, CSL, MIR and assembly of small inputs, as the tools print them.

The first line of a golden file says which command prints the rest:

    # RUN: cs-compile gemm_relu.yaml --emit plan

It runs in inputs/ with the tools of --bin. If it has `-o %t`, the text is that of the files which it writes below %t:
CSL and host.yaml as they are, weights.bin as words in hexadecimal; files of the kernel library are only named. The
machine that a Program carries is left out.

  run.py --bin build/release/bin                      compares every golden text, exit 1 and the differences if one differs
  run.py --bin build/release/bin --form csl --update  writes them anew (for a new one, write its first line and update)
"""
import argparse
import difflib
import pathlib
import re
import shlex
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
LIBRARY = HERE.parents[2] / "compiler" / "kernels"
FORMS = ["graph", "plan", "csl", "mir", "asm"]
PREFIX = "# RUN: "


def words(data):
    list_ = [f"{w:08x}" for (w,) in struct.iter_unpack("<I", data[:len(data) // 4 * 4])]
    return "".join(" ".join(list_[i:i + 8]) + "\n" for i in range(0, len(list_), 8))


def folder_text(folder):
    text = ""
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        data = path.read_bytes()
        library = LIBRARY / path.name
        if library.exists() and library.read_bytes() == data:
            text += f"==== {path.name}: as in the library\n"
        else:
            text += f"==== {path.relative_to(folder)}\n" + (words(data) if path.suffix == ".bin" else data.decode())
    return text


def produce(command, bin_folder):
    with tempfile.TemporaryDirectory() as scratch:
        target = pathlib.Path(scratch) / "out"
        argv = [str(target) if a == "%t" else a for a in shlex.split(command)]
        argv[0] = str(bin_folder / argv[0])
        done = subprocess.run(argv, cwd=HERE / "inputs", capture_output=True, check=False)
        if done.returncode != 0:
            return f"exit code {done.returncode}\n" + done.stderr.decode()
        if target.is_dir():
            return folder_text(target)
        return re.sub(r"^machine_text: \|\n(?:(?:  .*)?\n)+", "machine_text: left out\n", done.stdout.decode(), flags=re.M)


def check(path, options):
    first, _, expected = path.read_text().partition("\n")
    if not first.startswith(PREFIX):
        print(f"{path}: the first line must be '{PREFIX}COMMAND'")
        return False
    actual = produce(first[len(PREFIX):], options.bin.resolve())
    if actual == expected:
        return True
    name = str(path.relative_to(HERE))
    if options.update:
        path.write_text(first + "\n" + actual)
        print(f"{name}: written")
        return True
    sys.stdout.writelines(line if line.endswith("\n") else line + "\n" for line in difflib.unified_diff(
        expected.splitlines(True), actual.splitlines(True), name, first[len(PREFIX):]))
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of the tools")
    parser.add_argument("--form", choices=FORMS, help="only this form")
    parser.add_argument("--update", action="store_true", help="write the texts instead of comparing them")
    options = parser.parse_args()
    files = [f for form in ([options.form] if options.form else FORMS) for f in sorted((HERE / form).iterdir())]
    wrong = sum(not check(f, options) for f in files)
    print(f"{len(files)} golden texts, {wrong} differ")
    return 1 if wrong or not files else 0


if __name__ == "__main__":
    sys.exit(main())
