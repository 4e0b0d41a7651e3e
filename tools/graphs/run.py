"""Compiles, simulates and compares graphs, and says how a run ended.

A run is one graph on one machine under one policy. Its end is one of KINDS; everything but `ok` is a failure.
"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass

# ok, and what can go wrong, the worst first
KINDS = {
    "ok": "ran, and every output agrees",
    "wrong": "ran, and an output differs (exit 4)",
    "internal": "exit 70, a signal, or a message about generated CSL or ports that the user did not write",
    "deadlock": "the simulated program stopped",
    "leftover": "wavelets were left at the end",
    "fault": "another fault of the simulated program (exit 3)",
    "timeout": "a tool took longer than allowed",
    "refused": "not compiled, with a message in terms of the model (exit 1)",
}

# Words of our own that no user of a model should read.
INTERNAL = re.compile(r"\.csl[:'\" ]|no tile program exports|there is no port|is not declared|map::at|\bhost step \d+: error")
MACHINES = ("wse2", "wse3", "small")
POLICIES = ("disabled", "medium", "aggressive")


@dataclass
class Outcome:
    kind: str
    message: str = ""
    seconds: float = 0

    @property
    def cause(self):
        """The message without names and numbers: equal for failures that are alike."""
        text = re.sub(r"'[^']*'|\"[^\"]*\"", "'...'", self.message)
        text = re.sub(r"\b[A-Za-z]+_?\w*\d\w*\b", "X", text)
        text = re.sub(r"-?\d[\d.,e+-]*", "#", text)
        return f"{self.kind}: {text[:140]}"


@dataclass
class Job:
    folder: str
    machine: str
    policy: str
    flags: tuple = ()  # of cs-compile, besides those in the folder's `options`


def command(argv, seconds):
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds,
                              check=False)
        return done.returncode, done.stdout.decode(errors="replace")
    except subprocess.TimeoutExpired:
        return None, ""


def first_error(text):
    lines = [s for s in text.splitlines() if s.strip()]
    return next((s for s in lines if "error" in s), lines[0] if lines else "").strip()


def compile_argv(tools, job, out):
    options = os.path.join(job.folder, "options")
    extra = open(options, encoding="ascii").read().split() if os.path.exists(options) else []
    return [os.path.join(tools, "cs-compile"), os.path.join(job.folder, "model.onnx"), "-m", job.machine, "--autogen-policy",
            job.policy, *extra, *job.flags, "-q", "-o", out]


def simulate_argv(tools, job, out):
    return [os.path.join(tools, "cs-sim"), out, "--inputs", os.path.join(job.folder, "inputs_0.npz"), "--expect",
            os.path.join(job.folder, "expected_0.npz"), "-q"]


def judge_compile(code, text):
    if code is None:
        return Outcome("timeout", "cs-compile")
    if code == 0:
        return None
    internal = code != 1 or INTERNAL.search(text)
    return Outcome("internal" if internal else "refused", first_error(text) or f"cs-compile: exit {code}")


def judge_simulation(code, text):
    if code == 0:
        return Outcome("ok")
    if code is None:
        return Outcome("timeout", "cs-sim")
    message = first_error(text) if code not in (3, 4) else next((s for s in text.splitlines() if "cs-sim:" in s), text[:200])
    if code == 4:
        return Outcome("wrong", message)
    if code == 3:
        kind = "deadlock" if "deadlock" in text else "leftover" if "leftover-wavelets" in text else "fault"
        return Outcome(kind, message)
    return Outcome("internal", message or f"cs-sim: exit {code}")


def run_job(tools, job, seconds=60):
    work = tempfile.mkdtemp(prefix="graph-")
    try:
        out = os.path.join(work, "p.csp")
        outcome = judge_compile(*command(compile_argv(tools, job, out), seconds)) or \
            judge_simulation(*command(simulate_argv(tools, job, out), seconds))
        outcome.message = outcome.message.replace(job.folder + os.sep, "").replace(work + os.sep, "")
        return outcome
    finally:
        shutil.rmtree(work, ignore_errors=True)


def jobs_of(folders, per_policy, flags=()):
    """Every policy of every graph on `per_policy` of the machines, which ones rotates with the graph."""
    jobs = []
    for number, folder in enumerate(folders):
        for p, policy in enumerate(POLICIES):
            for k in range(per_policy):
                jobs.append(Job(folder, MACHINES[(number + p + k) % len(MACHINES)], policy, flags))
    return jobs


def run_all(tools, jobs, threads, seconds, progress=lambda job, outcome: None):
    """Outcomes in the order of the jobs; after Ctrl-C those of the first jobs."""
    outcomes = []
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        try:
            for job, outcome in zip(jobs, pool.map(lambda j: run_job(tools, j, seconds), jobs)):
                outcomes.append(outcome)
                progress(job, outcome)
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
    return outcomes


def shell(job, tools=""):
    """The two commands that show a failure."""
    short = Job(job.folder, job.machine, job.policy, job.flags)
    text = " ".join(compile_argv(tools, short, "p.csp")) + "\n" + " ".join(simulate_argv(tools, short, "p.csp")) + "\n"
    return text.replace(job.folder, os.path.basename(job.folder))
