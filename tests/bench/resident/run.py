"""Kernels on operands that lie on the PEs (GEMM twice, GEMV, attention, transpose, embedding, reduce and
all-reduce): values against numpy, cycles against the kernels' closed forms and, with --sdk-examples, those of GEMM and GEMV against the public
gemm-collectives_2d and gemv-collectives_2d of the same size on the same PEs. Then values alone of sizes beyond the machine's limits (8 commands
of a control wavelet, 8 queues, tiles that fit a queue); --every-size does nothing but that, on all of 2 to 17, 32 and 64 PEs a side with tiles
of 1, 4 and 14.

  cs_python run.py --bin BUILD/bin [--arch wse2 wse3] [--sdk-examples PATH]     PATH holds benchmarks/gemm-collectives_2d
  cs_python run.py --bin BUILD/bin [--arch wse2 wse3] --every-size [--sides 2 3 64] [--kinds gemm transpose]
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
LAUNCH = ["--launch", "main", "--json", "--set", "machine.memcpy.command_cycles=0", "--set",
          "machine.host.link_gb_per_s=1000000", "--on-other-machine"]  # what the host does before and after a launch does not count


def run(command):
  done = subprocess.run(command, capture_output=True, text=True)
  if done.returncode != 0:
    sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
  return done.stdout


def cycles_of(tools, layout, arch, params, width, height, inputs, outputs, launches=1):
  """Compiles, launches and gives the cycles of the last launch; `outputs` are filled by name. Closed forms are of the code
  as it is written: optimised, short kernels take up to a third less."""
  with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    flags = ",".join(f"{name}:{value}" for name, value in params.items())
    run([tools / "cslc", layout, f"--arch={arch}", f"--params={flags}", f"--fabric-dims={width + 7},{height + 2}",
         "--opt-level=0", "--fabric-offsets=4,1", "--memcpy", "--channels=1", "-o", folder / "out"])
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


def ring(P):
  """The numbers of the PEs of a line in the folded ring of shift_layout.csl."""
  return [x // 2 if x % 2 == 0 else P - (x + 1) // 2 for x in range(P)]


def shift_gemm(tools, layout, arch, size, _):
  P, M, K, N = (size[name] for name in ("P", "Mt", "Kt", "Nt"))
  rng = np.random.default_rng(7)
  A, B = (rng.uniform(-1, 1, shape).astype(np.float32) for shape in ((M * P, K * P), (K * P, N * P)))
  number = ring(P)
  a, b = np.zeros((P, P, M * K), np.float32), np.zeros((P, P, K * N), np.float32)
  for y, i in enumerate(number):
    for x, j in enumerate(number):
      k = (i + j) % P
      a[y, x] = A[i * M:(i + 1) * M, k * K:(k + 1) * K].T.ravel()
      b[y, x] = B[k * K:(k + 1) * K, j * N:(j + 1) * N].ravel()
  outputs = {"C": None}
  cycles = cycles_of(tools, layout, arch, size, P, P, {"A": a, "B": b}, outputs)
  C = np.zeros((M * P, N * P), np.float32)
  for y, i in enumerate(number):
    for x, j in enumerate(number):
      C[i * M:(i + 1) * M, j * N:(j + 1) * N] = outputs["C"][y, x].reshape(N, M).T
  check(f"{layout} {size} {arch}", C, A.astype(np.float64) @ B)
  return cycles


def attention(tools, layout, arch, size, _):
  P, R, D = size
  rng = np.random.default_rng(7)
  Q, K, V = (rng.uniform(-2, 2, (P * R, D)).astype(np.float32) for _ in range(3))
  number = ring(P)
  tiles = lambda m: np.stack([m[i * R:(i + 1) * R].ravel() for i in number])[None]
  columns = lambda m: np.stack([m[i * R:(i + 1) * R].T.ravel() for i in number])[None]
  outputs = {"O": None}
  scale = np.float32(np.log2(np.e) / np.sqrt(D))
  cycles = cycles_of(tools, layout, arch, {"P": P, "R": R, "D": D}, P, 1,
                     {"Q": columns(Q * scale), "K": columns(K), "V": tiles(V)}, outputs)
  scores = Q.astype(np.float64) @ K.T / np.sqrt(D)
  weights = np.exp(scores - scores.max(1, keepdims=True))
  expected = weights / weights.sum(1, keepdims=True) @ V
  check(f"{layout} {size} {arch}", outputs["O"], columns(expected))
  return cycles


def transpose(tools, layout, arch, size, _):
  P, R, C = size
  A = np.random.default_rng(7).uniform(-1, 1, (P * R, P * C)).astype(np.float32)
  tiles = lambda m, r, c: m.reshape(P, r, P, c).transpose(0, 2, 1, 3).reshape(P, P, r * c)
  outputs = {"B": None}
  cycles = cycles_of(tools, layout, arch, {"P": P, "R": R, "C": C}, P, P, {"A": tiles(A, R, C)}, outputs, 2)
  check(f"{layout} {size} {arch}", outputs["B"], tiles(A.T, C, R))
  return cycles


def embedding(tools, layout, arch, size, _):
  P, rows, width, count = size
  rng = np.random.default_rng(7)
  table = rng.uniform(-1, 1, (P * rows, width)).astype(np.float32)
  ids = rng.integers(0, P * rows + 2, count).astype(np.uint32)  # some that nobody has
  outputs = {"result": None}
  cycles = cycles_of(tools, layout, arch, {"P": P, "rows": rows, "width": width, "count": count}, P, 1,
                     {"table": table.reshape(1, P, -1), "ids": np.tile(ids, (1, P, 1))}, outputs, 2)
  expected = np.vstack([table, np.zeros((2, width))])[ids]
  check(f"{layout} {size} {arch}", outputs["result"][0, P - 1].reshape(count, width), expected)
  return cycles


def reduce(tools, layout, arch, size, _):
  how, all_reduce, vertical, P, group, n = size
  data = np.random.default_rng(7).integers(-50, 50, (P, n)).astype(np.float32)
  width, height = (1, P) if vertical else (P, 1)
  params = {"P": P, "group": group, "n": n, "how": REDUCES.index(how), "all": str(all_reduce).lower(),
            "vertical": str(vertical).lower()}
  outputs = {"data": None}
  cycles = cycles_of(tools, layout, arch, params, width, height, {"data": data.reshape(height, width, n)}, outputs)
  got = outputs["data"].reshape(P, n)
  check(f"{layout} {size} {arch}", got if all_reduce else got[:1], np.tile(data.sum(0), (P if all_reduce else 1, 1)))
  return cycles


# The closed forms stand in the kernels, with what the letters mean; `hop` is that of the machine. Second: what may be missing
# at the beginning and the end, in parts of the form and in cycles.
def product_cycles(M, K, N, copies):
  """tile_product.csl without optimisation. Of an element of B: its load and a multiply-add of M. Of eight
  elements: 2 for their address, 2 for the count and its comparison, 8 for the jump (6 taken, 2 waiting for its
  condition); the loop is entered by a jump that falls through (5) and left by one (3 less), or passed over (8). Each of
  the others loads the pointer first. Of a row: 8 for every descriptor that is copied (4 loads and 4 stores of 16 bits),
  3 loads of DSRs, 3 to begin with the loop, 3 for each of the two pointers that go on, 2 for the count of rows and its
  comparison, 8 for the jump."""
  return K * (N * (M + 1) + max(12 * (N // 8) + 2, 8) + N % 8 + 8 * copies + 22)


def gemm_cycles(size, hop):
  P, M, K, N = (size[name] for name in ("P", "Mt", "Kt", "Nt"))
  product, words = product_cycles(M, K, N, 1), K * (M + N)  # C's descriptor is a constant, A's is copied
  # The product waits for every word: P - 1 pairs of tiles come and the own one is sent twice; of two PEs each has one
  # pair in one step. What comes in the 140 scalar cycles from the first question to the first multiply-add is free.
  waits = max((P + 1 if P > 2 else 1) / P * words - 140, 0)
  # Scalars of a step: 49 of the two arrivals, two questions of 53, two addresses of 22, 31 for the rest; in a corner,
  # for which all wait, the test for the own tile is 6 more of a question and 17 of an address.
  scalars = 230 + 2 * 6 + 2 * 17
  return P * max(product + waits + scalars, 3.15 * words + scalars) + max(M * K, K * N) + 2 * P + 30, 0.07, 0


def shift_gemm_cycles(size, hop):
  P, M, K, N = (size[name] for name in ("P", "Mt", "Kt", "Nt"))
  product = product_cycles(M, K, N, 3)
  # Scalars of a step: 76 of `compute` around the product, 27 for each of three ends of what moves, 104 for the fourth,
  # which starts the next step (103 and 106 in turn). Once: 61 of `main`, 67 of the first `compute`, less 43 that the
  # last step does not start.
  return (P - 1) * max(product + 261, K * (N * M + 2 * (M + N)) + 100) + product + 85, 0.07, 0


def attention_cycles(size, hop):
  P, R, D = size

  def product(K, N):
    """tile_product.csl. An element of B: its ld32, R of the multiply-add. Eight of them: address 2, count, comparison, jump 8, together 12;
    one of the rest loads its address again. A row of B: three descriptors copied and loaded 27, pointer, 0, comparison and jump that falls
    through 8, next addresses 6, count, comparison, jump 10; of the octets' last jump 3 less, or 3 more for jumping over them."""
    return K * (N * (R + 1) + 12 * (N // 8) + N % 8 + 51 + (-3 if N >= 8 else 3))

  each = product(D, R) + product(R, D) + (12.5 if hop == 1 else 9.5) * R * R
  online = P * R > 6144 // R  # as attention.csl chooses
  # Two steps, of each: task `compute` 60, beginning and end of the product 22, one_done three times 76, the tasks of what has moved 7 each,
  # begin_step 64. The exponentials: 15 vector instructions that wait 3 each for 27 DSR loads, addresses 11, three descriptors 12, loop 10.
  if not online:
    each += 2 * (60 + 22 + 76 + 2 * 7 + 64) + 15 * 3 + 27 + 11 + 12 + 10
  else:
    # The exponentials are functions: 14 instructions, 25 loads, two descriptors 8, address, call and return 14; ten more vector instructions
    # with 19 loads. Vectors of R take 12 to 14 by their banks; O times `before` takes twice as long in one of the two places for its bank.
    each += 2 * (36.5 + 22 + 85 + 2 * 7 + 49.5) + 2 * (14 * 3 + 25 + 8 + 14) + 10 * 3 + 19 + 13 * R + 1.5 * D * R
  # 1 / total: a row 1 + 50 + 1 for ld32, division, st32, 11 for address, count, comparison, jump. O: zeros R D / 2, times 1 / total 1.5 R D (see
  # `before`). The last of the steps with K and with V move nothing: 86 less each; start and end of softmax and launch 52.
  return P * each + 63 * R + 2 * R * D - 2 * 86 + 52, 0.05, 0


def core_cycles(hop):
  """Through a core that adds: ramp up, what WSE-3 takes longer for sums, ramp down, the addition."""
  return 5 if hop == 1 else 2 + 4 + 3 + 1


def gemv_cycles(size, hop):  # with source.csl and sink.csl
  W, H, M, N = size
  m, n = M // H, N // W
  # Columns of eights: 2 for the load of x's element beside the multiply-add, and 12 for eight (2 the address, 2 the
  # count, 8 the jump: 6 taken, 2 waiting for its condition); the others: 2 for the address, 2 for the load, 2 for the
  # count, 8 for the jump. A loop is entered and left in 2 more, or passed over in 8.
  product = n * m + n // 8 * (8 * 2 + 12) + n % 8 * 14 + sum(2 if turns else 8 for turns in (n // 8, n % 8))
  # The origin sends b and x, 11 more of a slice but the last (control wavelet 1, count 2, jump 8); only then it computes.
  sent = 6 + 12 + M + N + 11 * (W - 1)  # 6 of the launch, 12 until the first word
  # Task 1, scalars and starts 12, y begins with two words a cycle; 7 until the first sum is sent along the row.
  computed = 1 + 12 + m / 2 + product + 7
  # In the last column all m sums must be there, 8 until the first leaves; 2 of a turn; ramps 2 and 2, end 1.
  received = (core_cycles(hop) + hop) * (W - 1) + m + 8 + M + 2 * (H - 1) + 5
  return sent + computed + received, 0.12, 0


def transpose_cycles(size, hop):
  P, R, C = size
  return P * (R * C + 5) + 2 * (P - 1) * hop + 45, 0.03, 5


def embedding_cycles(size, hop):
  P, _, width, count = size
  # A row on the last PE, which has a place to move on: `next` == count 10 and own 9 (a jump that is taken takes 6, and 2 for its condition), DSR
  # loads and instruction 6, place and `next` 13, call 6, search 18 (ld32, sub32, ltu32: 2 each), return 6, yield 1. Own rows, one of P, take
  # 9 more: two jumps fall through, 3 less each; a DSR load, a jump over the other way, address and descriptor 8.
  search = 10 + 9 + 6 + 13 + 6 + 18 + 6 + 1 + 9 / P
  # From the last word of a row to the first of the next 27: 10 and 9 as above, DSR loads and start of the vector instruction 9, one word less.
  # The first word: launch 11, search 24, start of the task 3, 10 + 9 + 9 as before; behind the last row 8 of the 10.
  return max(count * (width + 27) + 11 + 24 + 3 + 28 - 27, count * search) + 6 * P + 10, 0.06, 0


def reduce_cycles(size, hop):
  how, all_reduce, _, P, group, n = size
  core, rounds = core_cycles(hop), int(np.ceil(np.log2(P)))
  down = {"chain": n + (core + hop) * (P - 1),
          "two_phase": 2 * n + (core + hop) * (group - 1) + (core + group * hop) * (P // group - 1),
          # Of a number of PEs that is no power of two the last sum has long been there.
          "tree": n * rounds + hop * P + core * int(np.log2(P))}[how]
  return down + (n + hop * P if all_reduce else 0) + 15, 0, 26


REDUCES = ["chain", "two_phase", "tree"]
PRODUCTS = [{"P": 4, "Mt": 14, "Kt": 14, "Nt": 14}, {"P": 8, "Mt": 32, "Kt": 32, "Nt": 32}, {"P": 3, "Mt": 6, "Kt": 5, "Nt": 9},
            {"P": 8, "Mt": 4, "Kt": 4, "Nt": 4}, {"P": 4, "Mt": 32, "Kt": 32, "Nt": 1}, {"P": 2, "Mt": 8, "Kt": 8, "Nt": 8}]
KINDS = [  # sizes; of gemm and gemv the public programs run the first two as well
    (gemm, gemm_cycles, PRODUCTS),
    (shift_gemm, shift_gemm_cycles, PRODUCTS),
    # columns and rows of PEs, rows and columns of A
    (gemv, gemv_cycles, [(4, 4, 32, 16), (8, 8, 512, 512), (3, 5, 20, 18), (1, 2, 8, 12), (2, 1, 8, 12)]),
    (transpose, transpose_cycles, [(2, 3, 7), (4, 6, 5), (8, 16, 16), (5, 2, 14)]),  # P, rows and columns of a tile
    (embedding, embedding_cycles, [(8, 16, 64, 20), (4, 10, 32, 40), (3, 5, 7, 9), (16, 16, 64, 20)]),  # P, rows, width, ids
    (attention, attention_cycles, [(2, 4, 6), (4, 16, 16), (8, 16, 64), (1, 8, 8), (40, 14, 32)]),  # P, rows of a PE, width
    # how, all, vertical, P, group, words
    (reduce, reduce_cycles, [(how, every, vertical, P, group, n) for how in REDUCES for every in (False, True)
                             for vertical, P, group, n in ((False, 8, 2, 64), (False, 64, 8, 256), (True, 12, 4, 16))]),
]
COMPARED = {"gemm": 2, "gemv": 2}
SIDES = [*range(2, 18), 32, 64]


def sizes_of(kind, P, tile):
  """What a kernel is tried with on P PEs a side and tiles of so many rows and columns."""
  if kind in (gemm, shift_gemm):
    return [{"P": P, "Mt": tile, "Kt": tile, "Nt": tile}]
  if kind is transpose:
    return [(P, tile, tile), (P, tile, tile + 3)]
  if kind is embedding:
    return [(P, tile, tile + 2, 5)]
  if kind is attention:
    return [(P, tile, tile + 2)]
  if kind is gemv:
    return [(P, P, 2 * P * tile, P * tile)]  # an even number of rows on every PE, says gemv.csl
  group = max(d for d in range(1, P) if P % d == 0 and d * d <= P)
  return [(how, every, vertical, P, group, tile) for how in REDUCES for every in (False, True) for vertical in (False, True)]


def check_values(tools, archs, sides, tiles, kinds):
  """Small machines before large ones: what breaks shows early. How many lines are wrong."""
  bad = 0
  for P in sides:
    for kind in kinds:
      for arch in archs:
        begin, wrong = time.monotonic(), ""
        for size in [size for tile in tiles for size in sizes_of(kind, P, tile)]:
          try:
            kind(tools, HERE / f"{kind.__name__}_layout.csl", arch, size, True)
          except SystemExit as why:
            wrong += f"\n{why}"
        bad += bool(wrong)
        print(f"{kind.__name__ + ' on ' + str(P):40} {arch:6} {'WRONG' if wrong else 'right'} with tiles of"
              f" {', '.join(map(str, tiles))} ({time.monotonic() - begin:.0f} s){wrong}", flush=True)
  return bad


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--bin", type=pathlib.Path, required=True)
  parser.add_argument("--arch", nargs="+", default=["wse2", "wse3"])
  parser.add_argument("--every-size", action="store_true", help="an hour; values alone")
  parser.add_argument("--sides", nargs="+", type=int, help="these sides instead of all")
  parser.add_argument("--kinds", nargs="+", choices=[kind.__name__ for kind, _, _ in KINDS], help="these kernels instead of all")
  parser.add_argument("--sdk-examples", type=pathlib.Path)
  args = parser.parse_args()
  kinds = [kind for kind, _, _ in KINDS if not args.kinds or kind.__name__ in args.kinds]
  if args.every_size:
    return 1 if check_values(args.bin, args.arch, args.sides or SIDES, [1, 4, 14], kinds) else 0
  bad = 0
  print(f"{'':46}{'cycles':>9}{'closed':>9}{'public':>9}{'ratio':>7}")
  for arch in args.arch:
    for one, closed_form, sizes in KINDS:
      kind = one.__name__
      for i, size in enumerate(sizes):
        ours = one(args.bin, HERE / f"{kind}_layout.csl", arch, size, True)
        values = size.values() if isinstance(size, dict) else size
        line = f"{kind + ' ' + ' '.join(map(str, values)):40} {arch:6}{ours:9}"
        closed, part, cycles = closed_form(size, 1 if arch == "wse2" else 2)
        line += f"{closed:9.0f}"
        if abs(ours - closed) > part * closed + cycles:
          line += f"  more than {part:.0%} + {cycles} from its closed form"
          bad += 1
        if args.sdk_examples and i < COMPARED.get(kind, 0):
          other = one(args.bin, args.sdk_examples / f"benchmarks/{kind}-collectives_2d/layout.csl", arch, size, False)
          line += f"{other:9}{ours / other:7.3f}"
          if ours > other:
            line += "  slower"
            bad += 1
        print(line)
  bad += check_values(args.bin, args.arch, [9], [1, 4], [kind for kind, _, _ in KINDS])
  return 1 if bad else 0


if __name__ == "__main__":
  sys.exit(main())
