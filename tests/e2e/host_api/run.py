"""A host program as users write them: compile with cslc, copy, launch, read back; and the errors they meet."""
import contextlib
import io
import json
import subprocess
import sys

import numpy as np

from cerebras.sdk.debug.debug_util import debug_util
from cerebras.sdk.runtime.sdkruntimepybind import MemcpyDataType, MemcpyOrder, SdkRuntime
from cerebras.sdk.sdk_utils import calculate_cycles, input_array_to_u32, memcpy_view

HERE, ARCH = sys.path[0], sys.argv[1]
W, H, N = 3, 2, 3
OUT = f"host_api_{ARCH}"
WORDS = {"data_type": MemcpyDataType.MEMCPY_32BIT, "streaming": False}
HALVES = {"data_type": MemcpyDataType.MEMCPY_16BIT, "streaming": False}


def fails(text, function, *args, **options):
  try:
    function(*args, **options)
  except Exception as error:  # pylint: disable=broad-except
    assert text in str(error), f"{text!r} is not in {error}"
  else:
    raise AssertionError(f"no error with {text!r}")


subprocess.run(["cslc", f"{HERE}/layout.csl", f"--arch={ARCH}", f"--params=width:{W}", "--fabric-dims=10,4",
                "--fabric-offsets=4,1", "--memcpy", "--channels=1", f"-o={OUT}"], check=True)
with open(f"{OUT}/out.json", encoding="utf-8") as file:
  assert json.load(file)["params"] == {"width": str(W)}
with open(f"{OUT}/bin/out_rpc.json", encoding="utf-8") as file:
  rpc = json.load(file)["rpc_symbols"]
assert [(s["id"], s["name"], s["kind"]) for s in rpc] == \
    [(0, "data", "Var"), (1, "halves", "Var"), (2, "scale", "Func"), (3, "stuck", "Func"), (4, "leave", "Func")]
assert [i["type"] for i in rpc[2]["inputs"]] == ["i32", "i16"]

runner = SdkRuntime(OUT, suppress_simfab_trace=True)
data, halves = runner.get_id("data"), runner.get_id("halves")
assert runner.get_id("nothing") is None
fails("needs a running program", runner.launch, "scale", 1, 2)
runner.load()
runner.run()

# Row-major: A[h][w][n]. 5 a - 7, computed by hand below with numpy.
a = np.arange(W * H * N, dtype=np.int32)
runner.memcpy_h2d(data, a, 0, 0, W, H, N, order=MemcpyOrder.ROW_MAJOR, nonblock=True, **WORDS)
task = runner.launch("scale", np.int32(5), np.int16(-7), nonblock=True)
result = np.zeros(W * H * N, np.int32)
runner.memcpy_d2h(result, data, 0, 0, W, H, N, order=MemcpyOrder.ROW_MAJOR, nonblock=False, **WORDS)
assert runner.is_task_done(task)
np.testing.assert_equal(result, 5 * a - 7)

# 16-bit data comes zero-extended; column-major: the array [h][w][n] in Fortran order.
words = np.full(W * H * N, 0xFFFFFFFF, np.uint32)
runner.memcpy_d2h(words, halves, 0, 0, W, H, N, order=MemcpyOrder.COL_MAJOR, nonblock=False, **HALVES)
expected = (5 * a - 7).astype(np.uint16).reshape(H, W, N)
np.testing.assert_equal(words, expected.ravel(order="F").astype(np.uint32))
np.testing.assert_equal(memcpy_view(words, np.dtype(np.uint16)), expected.ravel(order="F"))

# Broadcasts: one PE's data per row, per column.
row, column = np.arange(H * N, dtype=np.int32), np.arange(W * N, dtype=np.int32)
runner.memcpy_h2d_rowbcast(data, row, 0, 0, W, H, N, order=MemcpyOrder.ROW_MAJOR, nonblock=False, **WORDS)
runner.memcpy_d2h(result, data, 0, 0, W, H, N, order=MemcpyOrder.ROW_MAJOR, nonblock=False, **WORDS)
np.testing.assert_equal(result.reshape(H, W, N), np.repeat(row.reshape(H, 1, N), W, axis=1))
runner.memcpy_h2d_colbcast(data, column, 0, 0, W, H, N, order=MemcpyOrder.ROW_MAJOR, nonblock=False, **WORDS)
runner.memcpy_d2h(result, data, 0, 0, W, H, N, order=MemcpyOrder.ROW_MAJOR, nonblock=False, **WORDS)
np.testing.assert_equal(result.reshape(H, W, N), np.repeat(column.reshape(1, W, N), H, axis=0))

# Every second PE of a row of three and every row: 2 x 2 PEs take part, the others keep what they have.
before = result.reshape(H, W, N).copy()
part = 1000 + np.arange(H * 2 * N, dtype=np.int32)
runner.memcpy_h2d_stride(data, part, 0, 0, W, H, N, 2, 1, order=MemcpyOrder.ROW_MAJOR, nonblock=False, **WORDS)
runner.memcpy_d2h(result, data, 0, 0, W, H, N, order=MemcpyOrder.ROW_MAJOR, nonblock=False, **WORDS)
before[:, ::2] = part.reshape(H, 2, N)
np.testing.assert_equal(result.reshape(H, W, N), before)

# Errors say what is wrong, and the program goes on.
order = {"order": MemcpyOrder.ROW_MAJOR}
fails("takes 2 arguments", runner.launch, "scale", 1)
fails("does not fit a parameter of type i16", runner.launch, "scale", 1, 40000)
fails("exports no function 'scal'", runner.launch, "scal")
fails("does not lie in", runner.memcpy_h2d, data, a, 1, 0, W, H, N, **order, **WORDS)
fails("the symbol has 3", runner.memcpy_h2d, data, np.zeros(4, np.int32), 0, 0, 1, 1, 4, **order, **WORDS)
fails("must be positive", runner.memcpy_h2d_stride, data, a, 0, 0, W, H, N, 0, 1, **order, **WORDS)
fails("the array has 17", runner.memcpy_h2d, data, a[1:], 0, 0, W, H, N, **order, **WORDS)
fails("float64", runner.memcpy_d2h, np.zeros(W * H * N), data, 0, 0, W, H, N, **order, **WORDS)
fails("is a function", runner.memcpy_h2d, 2, a, 0, 0, W, H, N, **order, **WORDS)

# Two simulations at a time; the second one hangs and says why.
with SdkRuntime(OUT) as other:
  fails("unblock_cmd_stream", other.launch, "stuck", nonblock=False)
runner.call("scale", [2, 1], nonblock=False)
runner.stop()

# What nobody took is told when a program stops: one wavelet on each of the 3 x 2 PEs.
said = io.StringIO()
with contextlib.redirect_stderr(said):
  with SdkRuntime(OUT) as third:
    third.launch("leave", nonblock=False)
assert "leftover-wavelets: wavelets were left in 6 places" in said.getvalue(), said.getvalue()
assert "PE (4, 1): input queue 2, color 2: 1 wavelet" in said.getvalue(), said.getvalue()

# Memory stays readable, exported or not, in the program's coordinates and in the fabric's.
assert runner.read_symbol(2, 1, "calls", dtype="uint16") == [2]
debug = debug_util(OUT)
fails("no symbol 'nothing'", runner.read_symbol, 0, 0, "nothing")
fails("no SdkRuntime", debug_util, ".")

# Arrays by hand: index in the upper half every 2 elements; 2^32 + 5 - 3 cycles between two stamps.
np.testing.assert_equal(input_array_to_u32(np.array([7, 8, 9], np.int16), 1, 2), [7, 8 + 0x10000, 9])
np.testing.assert_equal(input_array_to_u32(np.array([-1], np.int16), None, 1), [0xFFFF])
stamps = np.array([3, 0, 0, 5, 0, 1], np.uint16).view(np.float32)
assert calculate_cycles(stamps) == 2**32 + 2
print("SUCCESS")
