# Writes the models of this folder, their inputs and what numpy makes of them.
#
#   python3 tests/models/wide/generate.py
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

FOLDER = Path(__file__).parent
SAMPLES, WIDTH = 3, 8
RNG = np.random.default_rng(5)
FUNCTIONS = {"Neg": np.negative, "Abs": np.abs, "Relu": lambda v: np.maximum(v, 0),
             "Sigmoid": lambda v: 1 / (1 + np.exp(-v))}


def values(count):
  return {f"x{k}": RNG.standard_normal((SAMPLES, WIDTH)).astype(np.float32) for k in range(count)}


def save(name, nodes, inputs, outputs):
  infos = [[helper.make_tensor_value_info(n, TensorProto.FLOAT, ["N", WIDTH]) for n in names]
           for names in (inputs, outputs)]
  graph = helper.make_graph(nodes, name, infos[0], infos[1])
  model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
  model.ir_version = 8
  onnx.checker.check_model(model)
  folder = FOLDER / name
  folder.mkdir(exist_ok=True)
  onnx.save(model, folder / "model.onnx")
  np.savez_compressed(folder / "inputs_0.npz", **inputs)
  np.savez_compressed(folder / "expected_0.npz", **{k: np.float32(v) for k, v in outputs.items()})


# Every operator of a chain is a result of the model.
def many_outputs(count):
  inputs = values(1)
  nodes, outputs, value, name = [], {}, inputs["x0"], "x0"
  for k in range(count):
    op = ("Neg", "Abs", "Relu")[k % 3]
    value = FUNCTIONS[op](value)
    nodes.append(helper.make_node(op, [name], [f"y{k}"]))
    name = f"y{k}"
    outputs[name] = value
  save("many_outputs", nodes, inputs, outputs)


# All operators of one level take the value of one operator, and a sum takes all of theirs.
def many_takers(count):
  inputs = values(1)
  value = np.tanh(inputs["x0"])
  nodes, total = [helper.make_node("Tanh", ["x0"], ["t"])], 0
  for k in range(count):
    op = list(FUNCTIONS)[k % 4]
    nodes.append(helper.make_node(op, ["t"], [f"c{k}"]))
    total = total + FUNCTIONS[op](value).astype(np.float64)
  nodes.append(helper.make_node("Sum", [f"c{k}" for k in range(count)], ["y"]))
  save("many_takers", nodes, inputs, {"y": total})


def many_operands(count):
  inputs = values(count)
  save("many_operands", [helper.make_node("Sum", list(inputs), ["y"])], inputs, {"y": sum(inputs.values())})


many_outputs(500)
many_takers(1000)
many_operands(300)
