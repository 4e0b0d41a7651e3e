"""Hosts of the appliance by its local stand-in: compile to an artifact, run it in a context, run a host beside it; and errors."""
import os
import sys
import tempfile

import numpy as np

import cerebras_appliance.sdk
from cerebras.appliance.pb.sdk.sdk_common_pb2 import MemcpyDataType, MemcpyOrder
from cerebras.sdk.client import SdkCompiler, SdkLauncher, SdkRuntime, sdk_utils
from cerebras_appliance.pb.sdk.sdk_common_pb2 import MemcpyOrder as OlderOrder

HERE, ARCH = sys.path[0], sys.argv[1]
WIDTH = 3
OPTIONS = f"--arch={ARCH} --fabric-dims=10,3 --fabric-offsets=4,1 --params=width:{WIDTH} -o out --memcpy --channels=1"


def fails(kind, text, function, *args, **options):
  try:
    function(*args, **options)
  except kind as error:
    assert text in str(error), f"{text!r} is not in {error}"
  else:
    raise AssertionError(f"no error with {text!r}")


assert MemcpyOrder is OlderOrder and cerebras_appliance.sdk.SdkRuntime is SdkRuntime
with tempfile.TemporaryDirectory() as work:
  os.chdir(work)
  with SdkCompiler(resource_cpu=48000, resource_mem=64 << 30, disable_version_check=True) as compiler:
    artifact = compiler.compile(app_path=f"{HERE}/app", csl_main="layout.csl", options=OPTIONS, out_path="compile_out")
    assert artifact == compiler.compile(f"{HERE}/app", "layout.csl", OPTIONS, "compile_out")
    other = compiler.compile(f"{HERE}/app", "layout.csl", OPTIONS.replace("width:3", "width:2"), "compile_out")
    assert other != artifact and os.path.isfile(artifact) and artifact.startswith("compile_out/cs_")
    fails(RuntimeError, "parameter 'width' has no value", compiler.compile, f"{HERE}/app", "layout.csl", "--memcpy", "o")
    fails(FileNotFoundError, "no layout 'other.csl'", compiler.compile, f"{HERE}/app", "other.csl", OPTIONS, "o")
    fails(ValueError, "-o needs", compiler.compile, f"{HERE}/app", "layout.csl", "--memcpy -o", "o")
  assert sorted(os.listdir("compile_out")) == sorted(os.path.basename(a) for a in (artifact, other))
  fails(TypeError, "no option cpus", SdkCompiler, cpus=3)

  # 1, 2, …, 12 and 0.5 more: exact in f32.
  with SdkRuntime(artifact, simulator=True, disable_version_check=True) as runner:
    runner.load()
    runner.run()
    data = runner.get_id("data")
    sent = np.arange(1, 4 * WIDTH + 1, dtype=np.float32)
    words = {"streaming": False, "data_type": MemcpyDataType.MEMCPY_32BIT, "order": MemcpyOrder.ROW_MAJOR,
             "nonblock": False}
    runner.memcpy_h2d(data, sent, 0, 0, WIDTH, 1, 4, **words)
    runner.launch("add", np.float32(0.5), nonblock=False)
    got = np.zeros(4 * WIDTH, np.uint32)
    runner.memcpy_d2h(got, data, 0, 0, WIDTH, 1, 4, **words)
    np.testing.assert_array_equal(sdk_utils.memcpy_view(got, np.dtype(np.float32)), sent + 0.5)
    runner.stop()
  fails(FileNotFoundError, "no artifact 'missing.tar.gz'", SdkRuntime, "missing.tar.gz", simulator=True)
  with open("text.tar.gz", "w", encoding="utf-8") as file:
    file.write("no tar file")
  fails(RuntimeError, "is no artifact", SdkRuntime, "text.tar.gz")

  with SdkLauncher(artifact, simulator=False, disable_version_check=True) as launcher:
    launcher.stage(f"{HERE}/host.py")
    printed = launcher.run("echo before", "cs_python host.py --name out --cmaddr %CMADDR%")
    assert printed.startswith("before\n") and f"SUCCESS with {WIDTH} PEs" in printed, printed
    launcher.download_artifact("sim.log", "logs/sim.log")
    launcher.download_artifact("result.npy", ".")
    fails(RuntimeError, "failed (3)", launcher.run, "exit 3")
    fails(FileNotFoundError, "left no 'nothing'", launcher.download_artifact, "nothing", ".")
    fails(FileNotFoundError, "'nowhere' to stage", launcher.stage, "nowhere")
  assert os.path.isfile("logs/sim.log")
  np.testing.assert_array_equal(np.load("result.npy"), np.full(4 * WIDTH, 2.5, np.float32))
  os.chdir(HERE)
print("SUCCESS!")
