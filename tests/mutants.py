#!/usr/bin/env python3
"""Plants the errors of tests/mutants.yaml in the sources, one after the other, builds and runs the test that shall notice it. An error
that nothing notices is a line of this output and exit code 1. Takes about a minute for each on a quiet core, so it is run by hand. Sources
are put back; nobody else should build in this checkout meanwhile.

  tests/mutants.py [--build build/release] [--only TEXT]
"""
import argparse
import pathlib
import subprocess
import sys

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent


def passes(build, target, tests):
  """Whether the tests pass; None if it does not even build."""
  made = subprocess.run(["cmake", "--build", build, "-j", "1", "--target", target], cwd=ROOT, capture_output=True, text=True)
  if made.returncode != 0:
    return None
  command = [ROOT / build / "bin" / target, f"--gtest_filter={tests}", "--gtest_brief=1"]
  try:
    return subprocess.run(command, cwd=ROOT, capture_output=True, timeout=600).returncode == 0
  except subprocess.TimeoutExpired:
    return False


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--build", default="build/release")
  parser.add_argument("--only", default="", help="names that contain this")
  args = parser.parse_args()
  mutants = [m for m in yaml.safe_load((ROOT / "tests/mutants.yaml").read_text())["mutants"] if args.only in m["name"]]
  for target, tests in sorted({(m["kills"], m["tests"]) for m in mutants}):
    if not passes(args.build, target, tests):
      sys.exit(f"{target} {tests} does not pass as it is")
  alive = 0
  for m in mutants:
    path = ROOT / m["file"]
    text = path.read_text()
    if text.count(m["find"]) != 1:
      sys.exit(f"{m['file']} has {text.count(m['find'])} times: {m['find']}")
    try:
      path.write_text(text.replace(m["find"], m["replace"]))
      result = passes(args.build, m["kills"], m["tests"])
    finally:
      path.write_text(text)
    alive += result is not False
    print(f"{'ALIVE' if result else 'killed' if result is False else 'DOES NOT BUILD':15}{m['name']} ({m['file']}; {m['kills']} {m['tests']})",
          flush=True)
  return 1 if alive else 0


if __name__ == "__main__":
  sys.exit(main())
