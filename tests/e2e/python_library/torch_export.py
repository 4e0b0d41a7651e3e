"""A torch.nn.Module on the wafer by way of ONNX, as docs/python.md shows it; exit code 77 without torch."""
import os
import sys
import tempfile

import numpy as np

import wafersmith as ws

try:
  import torch
except ImportError:
  print("torch is not installed: nothing was compared with it")
  sys.exit(77)

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(16, 24), torch.nn.ReLU(), torch.nn.Linear(24, 5)).eval()
x = torch.randn(4, 16)
with tempfile.TemporaryDirectory() as folder:
  path = os.path.join(folder, "model.onnx")
  options = {"dynamo": False} if "dynamo" in torch.onnx.export.__code__.co_varnames else {}
  torch.onnx.export(model, x[:1], path, input_names=["x"], output_names=["y"],
                    dynamic_axes={"x": {0: "samples"}, "y": {0: "samples"}}, **options)
  program = ws.compile_model(path, machine="wse3")
with torch.no_grad():
  want = model(x).numpy()
result = program.run({"x": x.numpy()})
error = np.abs(result.outputs["y"] - want).max()
assert error <= 1e-4 * np.abs(want).max(), error
print(f"largest difference to torch {error:.2g}, {result.cycles} cycles")
