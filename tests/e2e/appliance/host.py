"""The host that a launcher runs beside the artifact."""
import argparse
import json

import numpy as np

from cerebras.sdk.runtime.sdkruntimepybind import MemcpyDataType, MemcpyOrder, SdkRuntime

parser = argparse.ArgumentParser()
parser.add_argument("--name")
parser.add_argument("--cmaddr")
args = parser.parse_args()
with open(f"{args.name}/out.json", encoding="utf-8") as file:
  width = int(json.load(file)["params"]["width"])
runner = SdkRuntime(args.name, cmaddr=args.cmaddr)
runner.load()
runner.run()
runner.launch("add", np.float32(2.5), nonblock=False)
result = np.zeros(4 * width, np.float32)
runner.memcpy_d2h(result, runner.get_id("data"), 0, 0, width, 1, 4, streaming=False,
                  data_type=MemcpyDataType.MEMCPY_32BIT, order=MemcpyOrder.ROW_MAJOR, nonblock=False)
runner.stop()
np.save("result.npy", result)
print(f"SUCCESS with {width} PEs")
