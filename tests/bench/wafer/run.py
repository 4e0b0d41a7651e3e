"""Programs for a whole wafer, values against numpy: an all-reduce of 256 words, a GEMV of 16,384 x 16,384 in f16, a 7-point stencil with 256
points per PE and a GEMM by shifts of 512 x 512 tiles of 4 x 4; and an all-reduce without a command stream on every PE there is. Without
--full they run on 64 x 64 PEs (--side N: on N x N). A line for each: cycles, seconds, memory, bytes of state per PE.

  cs_python run.py --bin BUILD/bin [--full | --side 64] [--programs allreduce gemv stencil shift_gemm plain] [--threads 2] [--arch wse2]
"""
import argparse
import json
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "resident"))
from run import ring  # the numbers of PEs in the folded ring of shift_layout.csl

MOST_SECONDS, MOST_GB = 1800, 8


def run(command, what):
  """Runs it and gives its stdout, seconds and the GB it had at most."""
  begin, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
  done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
  if done.returncode != 0:
    sys.exit(f"{what}: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
  most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
  return done.stdout, time.monotonic() - begin, most / 1e6 if most > before else None


def close(got, expected, tolerance):
  worst = np.max(np.abs(np.asarray(got, np.float64) - expected))
  if not worst <= tolerance * np.max(np.abs(expected)):
    sys.exit(f"values differ from numpy's by {worst:.3g}, largest {np.max(np.abs(expected)):.3g}")


class AllReduce:
  def __init__(self, W, H, n=256):
    self.layout, self.params, self.size = "allreduce_layout.csl", {"W": W, "H": H, "n": n, "plain": "false"}, (W, H)
    self.data = np.random.default_rng(7).integers(0, 16, (H, W, n)).astype(np.float32)  # sums are exact
    self.inputs = {"data": self.data}

  def check(self, out):
    close(out["data"], np.broadcast_to(self.data.sum((0, 1), dtype=np.float64), self.data.shape), 0)


class Plain:
  """No command stream: begins by itself. Data are what allreduce.csl says."""
  plain = True

  def __init__(self, W, H, n=256):
    self.layout, self.params, self.size = "allreduce_layout.csl", {"W": W, "H": H, "n": n, "plain": "true"}, (W, H)
    self.inputs = None

  def check(self, out):
    W, H = self.size
    n = self.params["n"]
    first = np.add.outer(2 * np.arange(H), np.arange(W)) & 7
    counts = np.bincount(first.ravel(), minlength=8)
    total = [sum(count * ((i + shift) & 7) for shift, count in enumerate(counts)) for i in range(n)]
    close(out["data"], np.broadcast_to(np.array(total, np.float64), out["data"].shape), 0)


class Gemv:
  def __init__(self, W, H, size=None):
    size = size or 22 * W
    M, N = -(-size // H), -(-size // W)
    M += M % 2
    rng = np.random.default_rng(7)
    A, x = np.zeros((M * H, N * W), np.float16), np.zeros(N * W, np.float16)
    A[:size, :size] = rng.uniform(-1, 1, (size, size)).astype(np.float16)
    x[:size] = rng.uniform(-1, 1, size).astype(np.float16)
    self.layout, self.params, self.size, self.rows = "gemv_layout.csl", {"W": W, "H": H, "M": M, "N": N}, (W, H), size
    place = np.zeros((H, W, N), np.float16)
    place[0] = x.reshape(W, N)
    self.expected = np.array([row.astype(np.float64) @ x.astype(np.float64) for row in A[:size]])
    self.inputs = {"A": A.reshape(H, M, W, N).transpose(0, 2, 3, 1).reshape(H, W, M * N), "x": place}

  def check(self, out):
    close(out["y"][:, -1].ravel()[:self.rows], self.expected, 2e-2)


class Stencil:
  def __init__(self, W, H, n=256, rounds=10):
    self.layout, self.params, self.size = "stencil_layout.csl", {"W": W, "H": H, "n": n, "rounds": rounds}, (W, H)
    self.u = np.zeros((H, W, n + 2), np.float32)
    self.u[..., 1:-1] = np.random.default_rng(7).uniform(-1, 1, (H, W, n))
    self.inputs = {"u": self.u}

  def check(self, out):
    u = self.u
    for _ in range(self.params["rounds"]):
      new = np.float32(0.25) * u
      for to, of in ((np.s_[:, :, 1:], np.s_[:, :, :-1]), (np.s_[:, 1:], np.s_[:, :-1]), (np.s_[1:], np.s_[:-1])):
        new[to] += np.float32(0.125) * u[of]
        new[of] += np.float32(0.125) * u[to]
      new[..., 0] = new[..., -1] = 0
      u = new
    close(out["u"], u, 1e-5)


class ShiftGemm:
  def __init__(self, W, _, tile=4):
    P = W
    self.layout = "../resident/shift_gemm_layout.csl"
    self.params, self.size = {"P": P, "Mt": tile, "Kt": tile, "Nt": tile}, (P, P)
    rng = np.random.default_rng(7)
    self.A, self.B = (rng.uniform(-1, 1, (P * tile, P * tile)).astype(np.float32) for _ in range(2))
    i, t = np.array(ring(P)), tile
    k = np.add.outer(i, i) % P  # of the PE in row y and column x
    tiles = lambda m: m.reshape(P, t, P, t).transpose(0, 2, 1, 3)  # by row and column of tiles
    a = tiles(self.A)[i[:, None], k]
    b = tiles(self.B)[k, i[None, :]]
    self.number = i
    self.inputs = {"A": a.transpose(0, 1, 3, 2).reshape(P, P, t * t), "B": b.reshape(P, P, t * t)}

  def check(self, out):
    P, t, i = self.size[0], self.params["Mt"], self.number
    got = np.zeros((P, P, t, t), np.float32)
    got[i[:, None], i[None, :]] = out["C"].reshape(P, P, t, t).transpose(0, 1, 3, 2)
    close(got.transpose(0, 2, 1, 3).reshape(P * t, P * t), self.A.astype(np.float64) @ self.B, 1e-5)


FULL = {"allreduce": lambda: AllReduce(750, 994), "gemv": lambda: Gemv(750, 994, 16384), "stencil": lambda: Stencil(750, 994),
        "shift_gemm": lambda: ShiftGemm(512, 512), "plain": lambda: Plain(757, 996)}
SMALL = {"allreduce": AllReduce, "gemv": Gemv, "stencil": Stencil, "shift_gemm": ShiftGemm, "plain": Plain}


def measure(name, program, tools, arch, threads):
  W, H = program.size
  plain = getattr(program, "plain", False)
  flags = ",".join(f"{key}:{value}" for key, value in program.params.items())
  with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    fabric = [f"--fabric-dims={W},{H}", "--fabric-offsets=0,0"] if plain else \
             [f"--fabric-dims={W + 7},{H + 2}", "--fabric-offsets=4,1", "--memcpy", "--channels=1"]
    _, compile_s, _ = run([tools / "cslc", HERE / program.layout, f"--arch={arch}", f"--params={flags}", *fabric, "-o",
                           folder / "out"], name)
    command = [tools / "cs-sim", folder / "out", "--json", "-j", threads, "--outputs", folder / "out.npz"]
    if not plain:
      np.savez(folder / "in.npz", **program.inputs)
      command += ["--launch", "main", "--inputs", folder / "in.npz"]
    text, seconds, gb = run(command, name)
    stats = json.loads(text)
    with np.load(folder / "out.npz") as arrays:
      program.check(dict(arrays))
  simulator = stats["simulator"]
  cycles = stats["launches"][0]["cycles"] if stats.get("launches") else stats["cycles"]
  state = simulator.get("memory", {})
  print(f"{name:11}{W:5} x {H:<4}{cycles:9} cycles  compile {compile_s:6.1f} s  run {seconds:7.1f} s"
        f"{f'{gb:6.2f} GB' if gb else '      -   '}  {state.get('bytes_per_working_pe', 0):6.0f} bytes/PE"
        f"  {simulator['wavelet_hops_per_s'] / 1e6:6.2f} M hops/s {simulator['tile_cycles_per_s'] / 1e6:7.2f} M tile-cycles/s",
        flush=True)
  return seconds > MOST_SECONDS or (gb or 0) > MOST_GB


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--bin", type=pathlib.Path, required=True)
  parser.add_argument("--arch", default="wse2")
  parser.add_argument("--full", action="store_true", help="the whole wafer: half an hour each at most, 8 GB")
  parser.add_argument("--side", type=int, default=64)
  parser.add_argument("--programs", nargs="+", choices=list(FULL), default=list(FULL))
  parser.add_argument("--threads", type=int, default=2)
  args = parser.parse_args()
  beyond = 0
  for name in args.programs:
    program = FULL[name]() if args.full else SMALL[name](args.side, args.side)
    beyond += measure(name, program, args.bin, args.arch, args.threads)
  return 1 if beyond else 0


if __name__ == "__main__":
  sys.exit(main())
