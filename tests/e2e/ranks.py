#!/usr/bin/env python3
"""cs-sim under mpirun as a user runs it: 1, 2 and 4 ranks give the same outputs and stats.json, also from checkpoints of each other;
what several ranks cannot do is refused by name; a rank that is killed, and Ctrl-C, end all of them.

Usage: ranks.py BIN SOURCE     folder of the tools, folder of the sources
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

BIN, SOURCE = (os.path.abspath(a) for a in sys.argv[1:3])
MPIRUN = shutil.which("mpirun")
FLAGS = ["--oversubscribe", *(["--allow-run-as-root"] if os.getuid() == 0 else [])]
PATIENCE = 300


def tool(name, *arguments, code=0):
    run = subprocess.run([os.path.join(BIN, name), *arguments], capture_output=True, text=True, timeout=PATIENCE)
    assert run.returncode == code, f"{name} {arguments}: {run.returncode}\n{run.stdout}{run.stderr}"
    return run


def command(ranks, *arguments):
    return [*([MPIRUN, *FLAGS, "-n", str(ranks)] if ranks > 1 else []), os.path.join(BIN, "cs-sim"), *arguments]


def ranks_run(ranks, *arguments, code=0):
    run = subprocess.run(command(ranks, *arguments), capture_output=True, text=True, timeout=PATIENCE)
    assert run.returncode == code, f"{ranks} ranks, {arguments}: {run.returncode}\n{run.stdout}{run.stderr}"
    return run


def figures(text):
    """Without those of the simulating computer."""
    stats = json.loads(text)
    for key in ("simulator", "config"):
        stats.pop(key, None)
    return stats


def content(path):
    with open(path, "rb") as f:
        return f.read()


def same(folder, program, *arguments, checkpoint_at):
    """Outputs and figures by 1, 2 and 4 ranks, and of what goes on from their checkpoints with others."""
    seen = []
    for ranks, others in ((1, 2), (2, 4), (4, 1)):
        out, point = os.path.join(folder, f"{ranks}.npz"), os.path.join(folder, f"{ranks}.wsim")
        for more in (["--checkpoint", f"{point}@{checkpoint_at}"], ["--restore", point]):
            number = ranks if more[0] == "--checkpoint" else others
            stats = figures(ranks_run(number, program, "--json", "--outputs", out, *arguments, *more).stdout)
            seen.append((f"{number} ranks {more[0]}", stats, content(out)))
    for who, stats, out in seen[1:]:
        assert stats == seen[0][1], f"{who}: stats.json of {program} differs: {stats} {seen[0][1]}"
        assert out == seen[0][2], f"{who}: outputs of {program} differ"
    return seen[0][1]


def main():
    if MPIRUN is None:
        print("no mpirun: skipped")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        chain, network = os.path.join(folder, "shift.csp"), os.path.join(folder, "mlp.csp")
        tool("cs-compile", f"{SOURCE}/tests/bench/wafer/allreduce_layout.csl", "--params=W:12,H:12,n:64,plain:false",
             "--memcpy", "--fabric-dims=19,14", "--fabric-offsets=4,1", "-o", chain, "-q")
        tool("cs-compile", f"{SOURCE}/models/mnist_mlp/model.onnx", "-m", "wse2", "--no-baselines", "--no-advice", "-o",
             network, "-q")
        stats = same(folder, chain, "--launch", "main", checkpoint_at=100)
        assert stats["wavelet_hops"] > 10000, stats["wavelet_hops"]
        same(folder, network, "--inputs", f"{SOURCE}/models/mnist_mlp/inputs_0.npz", "--expect",
             f"{SOURCE}/models/mnist_mlp/expected_0.npz", checkpoint_at=1500)

        # A run that ends at a limit, with the state of PEs from all strips.
        texts = []
        for ranks in (1, 2):
            state = os.path.join(folder, f"state{ranks}.json")
            ended = ranks_run(ranks, chain, "--launch", "main", "--max-cycles", "120", "--state", state, "-q", code=3)
            assert "timeout at cycle 120" in ended.stderr, ended.stderr
            texts.append(content(state))
        assert texts[0] == texts[1] and len(texts[0]) > 1000, "states differ"

        # What is wrong is said once.
        refused = ranks_run(2, chain, "--trace", f"simlog={folder}/t.log", code=2)
        assert refused.stderr.count("--trace: not with several ranks") == 1, refused.stderr
        assert "--no-waits" in ranks_run(2, chain, "--report", f"{folder}/r", code=2).stderr
        assert "unknown option" in ranks_run(2, chain, "--rank", code=2).stderr
        assert "rows, too few for 20 ranks" in ranks_run(20, chain, "--launch", "main", code=1).stderr
        alone = tool("cs-sim", chain, "--ranks", "mpi", code=2)
        assert "start several with mpirun" in alone.stderr, alone.stderr
        missing = ranks_run(2, os.path.join(folder, "none.csp"), code=1)
        assert missing.stderr.count("none.csp: error") == 1, missing.stderr

        ends_with_all(folder)
    print("ranks: ok")
    return 0


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as f:
        return [int(child) for child in f.read().split()]


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def ends_with_all(folder):
    """A long run of three ranks; one is killed, the first or mpirun is interrupted. (mpirun itself lets the ranks half a
    second after its SIGTERM; whether that is enough for words depends on the computer.)"""
    program = os.path.join(folder, "long.csp")
    tool("cs-compile", f"{SOURCE}/tests/bench/wafer/stencil_layout.csl", "--params=W:32,H:32,n:32,rounds:60000", "--memcpy",
         "--fabric-dims=39,34", "--fabric-offsets=4,1", "-o", program, "-q")
    for what, words in (("kill", "rank 1 "), ("interrupt", "interrupted"), ("mpirun", "")):
        out = os.path.join(folder, f"{what}.npz")
        run = subprocess.Popen(command(3, program, "--launch", "main", "--outputs", out), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + PATIENCE
        while len(children(run.pid)) < 3 and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(3)  # into the run
        ranks = children(run.pid)
        assert len(ranks) == 3 and run.poll() is None, "the run is over too soon"
        whom = {"kill": ranks[1], "interrupt": ranks[0], "mpirun": run.pid}[what]
        os.kill(whom, signal.SIGKILL if what == "kill" else signal.SIGINT)
        _, err = run.communicate(timeout=PATIENCE)
        assert run.returncode != 0, err
        assert words in err, f"{what}: {err}"
        assert not any(alive(pid) for pid in ranks), f"{what}: processes are left"
        assert what != "kill" or not os.path.exists(out)


if __name__ == "__main__":
    sys.exit(main())
