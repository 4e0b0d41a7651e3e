#!/usr/bin/env python3
"""A plan reads back: the Program made from it has the bytes of the one made from the model.

  plans.py --bin build/release/bin        every model that compiles quickly, under every policy

Also: a plan of any pass can be gone on from, and is refused where flags contradict it.
"""
import argparse
import concurrent.futures
import functools
import itertools
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
POLICIES = ["disabled", "medium", "aggressive"]


def run(tools, folder, *flags):
    return subprocess.run([str(tools / "cs-compile"), "-q", *map(str, flags)], cwd=folder, capture_output=True, check=False)


def program(tools, folder, out, *flags):
    """program.fb and weights.bin, or what the compiler said."""
    done = run(tools, folder, *flags, "--no-baselines", "-o", out)
    if done.returncode != 0:
        return done.stderr.decode()
    return [(folder / out / name).read_bytes() for name in ("program.fb", "weights.bin")]


def flags_of(model, policy):
    return [model] + (["--autogen-policy", policy] if policy else [])


@functools.lru_cache(maxsize=None)
def in_one_go(tools, model, policy):
    with tempfile.TemporaryDirectory() as scratch:
        return program(tools, pathlib.Path(scratch), "direct.csp", *flags_of(model, policy))


def reads_back(tools, model, policy, stop_after=None):
    """Nothing, or what is wrong."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        flags = flags_of(model, policy)
        direct = in_one_go(tools, model, policy)
        if isinstance(direct, str):
            return direct
        made = run(tools, folder, *flags, *(["--stop-after", stop_after] if stop_after else ["--emit", "plan"]),
                   "-o", "plan.yaml")
        if made.returncode != 0:
            return made.stderr.decode()
        again = program(tools, folder, "again.csp", "--start-from", "plan.yaml")
        if isinstance(again, str):
            return again
        return None if again == direct else "the Program made from the plan differs"


def refused(tools, plan_line, flags, message):
    """Nothing, or what is said instead of the message."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        graph = (ROOT / "tests/golden/forms/inputs/join.yaml").read_text()
        (folder / "plan.yaml").write_text(graph.replace("graph: join\n", "graph: join\n" + plan_line + "\n"))
        done = run(tools, folder, "--start-from", "plan.yaml", "-o", "out.csp", *flags)
        said = done.stderr.decode()
        return None if done.returncode == 1 and message in said else f"exit code {done.returncode}\n{said}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of the tools")
    parser.add_argument("-j", "--threads", type=int, default=1, help="models at a time")
    options = parser.parse_args()
    tools = options.bin.resolve()
    models = [*sorted((ROOT / "models").glob("*/model.onnx")), *sorted((ROOT / "models/configs").glob("*_tiny*.yaml"))]
    passes = ["shapes", "fold", "canonicalise", "decompose", "tables", "policy", "rows", "fuse", "regions"]
    checks = {f"{m.relative_to(ROOT)} {p or 'own policy'}": (reads_back, m, p)
              for m, p in itertools.product(models, [*POLICIES, None])
              if p or m.suffix == ".yaml" and "autogen_policy" in m.read_text()}  # else its own one is medium
    checks.update({f"gpt2_tiny.yaml after {p}": (reads_back, ROOT / "models/configs/gpt2_tiny.yaml", "medium", p)
                   for p in passes})
    checks["another policy"] = (refused, "plan: {policy: aggressive, after: regions}", ["--autogen-policy", "disabled"],
                                "the plan was made with policy aggressive, not disabled")
    checks["no policy"] = (refused, "plan: {policy: bold, after: regions}", [], "the plan's policy 'bold' is none")
    checks["no pass"] = (refused, "plan: {policy: medium, after: tea}", [], "'after' names 'tea', which is no pass")
    checks["past it"] = (refused, "plan: {policy: medium, after: regions}", ["--stop-after", "fuse"],
                         "already past the pass 'fuse'")
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.threads) as pool:
        for name, wrong in zip(checks, pool.map(lambda c: c[0](tools, *c[1:]), checks.values())):
            if wrong:
                failed += 1
                print(f"{name}: {wrong}")
    print(f"{len(checks)} checks, {failed} failed")
    return 1 if failed or not models else 0


if __name__ == "__main__":
    sys.exit(main())
