"""A layout of three regions between two host streams, one of them with a fan-out.

     host --> double --+--> adders (2 x 1): + table of PE 0, + table of PE 1 --> host
                       +--> keep: stays in memory

With x = 0 ... n-1 all numbers are small integers, exact in f32: the host gets 2 x + t0 + t1, keep holds 2 x.
"""
import argparse
import os

import numpy as np

from cerebras.geometry.geometry import IntVector
from cerebras.sdk.runtime.sdkruntimepybind import (Color, Edge, Route, RoutingPosition, SdkCompileArtifacts, SdkLayout,
                                                   SdkRuntime, SdkTarget, SimfabConfig, get_platform)

HERE = os.path.dirname(os.path.abspath(__file__))
N = 6
INTO = [RoutingPosition().set_output([Route.RAMP])]
FROM = [RoutingPosition().set_input([Route.RAMP])]


def adders(layout, tables):
  region = layout.create_code_region(f"{HERE}/add.csl", "adders", 2, 1)
  rx, mid, tx = region.color("rx"), region.color("mid"), region.color("tx")
  left, right = IntVector(0, 0), IntVector(1, 0)
  region.set_param_all("n", N)
  region.set_param(left, rx)
  region.set_param(left, "tx", mid)
  region.set_param(right, "rx", mid)
  region.set_param(right, tx)
  region.paint(left, mid, [RoutingPosition().set_input([Route.RAMP]).set_output([Route.EAST])])
  region.paint(right, mid, [RoutingPosition().set_input([Route.WEST]).set_output([Route.RAMP])])
  region.set_symbol_all("table", tables, 2 * N, 1)
  region.place(5, 1)
  return region.create_input_port(rx, Edge.LEFT, INTO, N), region.create_output_port(tx, Edge.RIGHT, FROM, N)


def build(platform, tables):
  layout = SdkLayout(platform)
  double = layout.create_code_region(f"{HERE}/double.csl", "double", 1, 1)
  rx, tx = double.color("rx"), double.color("tx")
  double.set_param_all("n", N)
  double.set_param_all("factor", 2.0)
  double.set_param_all(rx)
  double.set_param_all(tx)
  double.place(2, 2)
  source = double.create_input_port(rx, Edge.LEFT, INTO, N)
  doubled = double.create_output_port(tx, Edge.RIGHT, FROM, N)
  keep = layout.create_code_region(f"{HERE}/keep.csl", "keep", 1, 1)
  kept = Color("rx")
  keep.set_param_all("n", N)
  keep.set_param_all(kept)
  keep.place(4, 4)
  added, result = adders(layout, tables)
  layout.connect(doubled, added)
  layout.connect(doubled, keep.create_input_port(kept, Edge.TOP, INTO, N))
  return layout, layout.create_input_stream(source), layout.create_output_stream(result)


def check_errors(platform):
  """The compiler's message comes through, with the place in the region's file."""
  layout = SdkLayout(platform)
  layout.create_code_region(f"{HERE}/keep.csl", "keep", 1, 1).set_param_all(Color("rx"))
  try:
    layout.compile("wrong")
  except RuntimeError as error:
    assert "keep.csl" in str(error) and "'n'" in str(error), error
  else:
    raise AssertionError("a missing parameter was accepted")


def run(artifacts, platform, source, result, tables):
  x = np.arange(N, dtype=np.float32)
  got = np.zeros(N, np.float32)
  runtime = SdkRuntime(artifacts, platform, memcpy_required=False)
  runtime.load()
  runtime.run()
  runtime.send(source, x, nonblock=True)
  runtime.receive(result, got, N, nonblock=True)
  runtime.stop()
  np.testing.assert_array_equal(got, 2 * x + tables[:N] + tables[N:])
  np.testing.assert_array_equal(runtime.read_symbol(4, 4, "kept", dtype="float32"), 2 * x)
  np.testing.assert_array_equal(runtime.read_symbol(6, 1, "table", dtype="float32"), tables[N:])


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument("--arch", choices=["wse2", "wse3"], required=True)
  arch = parser.parse_args().arch
  target = SdkTarget.WSE2 if arch == "wse2" else SdkTarget.WSE3
  platform = get_platform(None, SimfabConfig(dump_core=False), target)
  tables = (np.arange(2 * N) * 10).astype(np.float32)
  layout, source, result = build(platform, tables)
  artifacts = layout.compile(out_prefix=f"{arch}/out", save_port_map=True)
  run(artifacts, platform, source, result, tables)
  again = SdkCompileArtifacts(arch).add_port_mapping(f"{arch}/out_port_map.json")
  run(again, platform, "double_rx_port", "adders_tx_port", tables)
  check_errors(platform)
  print("SUCCESS!")


if __name__ == "__main__":
  main()
