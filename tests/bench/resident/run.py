"""GEMM and GEMV on operands that lie on the PEs: values against numpy, cycles against the kernels' closed forms and,
with --sdk-examples, against the public gemm-collectives_2d and gemv-collectives_2d of the same size on the same PEs.

  cs_python run.py --bin BUILD/bin [--arch wse2 wse3] [--sdk-examples PATH]     PATH holds benchmarks/gemm-collectives_2d
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
GEMM = [{"P": 4, "Mt": 14, "Kt": 14, "Nt": 14}, {"P": 8, "Mt": 32, "Kt": 32, "Nt": 32}, {"P": 3, "Mt": 6, "Kt": 5, "Nt": 9},
        {"P": 2, "Mt": 8, "Kt": 8, "Nt": 8}]
GEMV = [(4, 4, 32, 16), (8, 8, 512, 512), (3, 5, 20, 18), (1, 2, 8, 12), (2, 1, 8, 12)]  # columns, rows of PEs; of A
COMPARED = 2  # the first sizes of each are those that the public programs run too
LAUNCH = ["--launch", "main", "--json", "--set", "machine.host.host_call_us=0", "--set",
          "machine.host.link_gb_per_s=1000000"]  # what the host does before and after a launch does not count


def run(command):
  done = subprocess.run(command, capture_output=True, text=True)
  if done.returncode != 0:
    sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
  return done.stdout


def cycles_of(tools, layout, arch, params, width, height, inputs, outputs, launches=1):
  """Compiles, launches and gives the cycles of the last launch; `outputs` are filled by name."""
  with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    flags = ",".join(f"{name}:{value}" for name, value in params.items())
    run([tools / "cslc", layout, f"--arch={arch}", f"--params={flags}", f"--fabric-dims={width + 7},{height + 2}",
         "--fabric-offsets=4,1", "--memcpy", "--channels=1", "-o", folder / "out"])
    np.savez(folder / "in.npz", **inputs)
    text = run([tools / "cs-sim", folder / "out", *LAUNCH, "--inputs", folder / "in.npz", "--outputs",
                folder / "out.npz", "--iterations", str(launches)])
    with np.load(folder / "out.npz") as arrays:
      for name in outputs:
        outputs[name] = arrays[name]
    ends = [0, *json.loads(text)["sample_end"]]
    return ends[-1] - ends[-2]


def check(name, got, expected):
  worst = np.max(np.abs(got - expected)) / np.max(np.abs(expected))
  if not worst < 1e-5:
    sys.exit(f"{name}: values differ from numpy's by {worst:.2g} of the largest")


def gemm(tools, layout, arch, size, row_major_b):
  P, M, K, N = (size[name] for name in ("P", "Mt", "Kt", "Nt"))
  rng = np.random.default_rng(7)
  A, B = (rng.uniform(-1, 1, shape).astype(np.float32) for shape in ((M * P, K * P), (K * P, N * P)))
  tiles = lambda m, r, c: m.reshape(P, r, P, c).transpose(0, 2, 3, 1).reshape(P, P, r * c)  # column by column
  by_rows = B.reshape(P, K, P, N).transpose(0, 2, 1, 3).reshape(P, P, K * N)
  outputs = {"C": None}
  inputs = {"A": tiles(A, M, K), "B": by_rows if row_major_b else tiles(B, K, N)}
  cycles = cycles_of(tools, layout, arch, size, P, P, inputs, outputs)
  C = outputs["C"].reshape(P, P, N, M).transpose(0, 3, 1, 2).reshape(M * P, N * P)
  check(f"{layout} {size} {arch}", C, A.astype(np.float64) @ B)
  return cycles


def gemv(tools, layout, arch, size, columns_first):
  W, H, M, N = size
  params = {"kernel_rows": H, "kernel_cols": W, "matrix_rows": M, "matrix_cols": N}
  rng = np.random.default_rng(7)
  A, x, b = (rng.uniform(-1, 1, shape).astype(np.float32) for shape in ((M, N), N, M))
  order = (0, 2, 3, 1) if columns_first else (0, 2, 1, 3)
  inputs = {"A": A.reshape(H, M // H, W, N // W).transpose(order).reshape(H, W, -1)}
  for name, vector in (("x", x), ("b", b)):
    inputs[name] = np.zeros((H, W, vector.size), np.float32)
    inputs[name][0, 0] = vector
  outputs = {"y": None}
  cycles = cycles_of(tools, layout, arch, params, W, H, inputs, outputs)
  check(f"{layout} {size} {arch}", outputs["y"].reshape(H, W, -1)[-1, -1, :M], A.astype(np.float64) @ x + b)
  return cycles


def gemm_cycles(size):  # summa.csl
  P, M, K, N = (size[name] for name in ("P", "Mt", "Kt", "Nt"))
  return P * (K * (N * (M + 2) + 3.2 * (N // 8) + 32) + 147) + max(M * K, K * N) + 2 * P + 60, 0.05


def gemv_cycles(size):  # gemv.csl with source.csl and sink.csl
  W, H, M, N = size
  return N + 2 * M + N // W * (M // H + 4.3) + 2 * M // H + 6 * W + 2 * H + 90, 0.12


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--bin", type=pathlib.Path, required=True)
  parser.add_argument("--arch", nargs="+", default=["wse2", "wse3"])
  parser.add_argument("--sdk-examples", type=pathlib.Path)
  args = parser.parse_args()
  bad = 0
  print(f"{'':36}{'cycles':>9}{'closed':>9}{'public':>9}{'ratio':>7}")
  for arch in args.arch:
    for kind, sizes in (("gemm", GEMM), ("gemv", GEMV)):
      for i, size in enumerate(sizes):
        one = gemm if kind == "gemm" else gemv
        ours = one(args.bin, HERE / f"{kind}_layout.csl", arch, size, True)
        line = f"{kind} {' '.join(map(str, size.values() if kind == 'gemm' else size)):24} {arch:6}{ours:9}"
        closed, tolerance = gemm_cycles(size) if kind == "gemm" else gemv_cycles(size)
        line += f"{closed:9.0f}"
        if abs(ours / closed - 1) > tolerance:
          line += f"  more than {tolerance:.0%} from its closed form"
          bad += 1
        if args.sdk_examples and i < COMPARED:
          other = one(args.bin, args.sdk_examples / f"benchmarks/{kind}-collectives_2d/layout.csl", arch, size, False)
          line += f"{other:9}{ours / other:7.3f}"
          if ours > other:
            line += "  slower"
            bad += 1
        print(line)
  return 1 if bad else 0


if __name__ == "__main__":
  sys.exit(main())
