"""A graph of ONNX operators that the generator writes, the runner compiles and the shrinker cuts.

Small enough to be changed by hand: nodes in order, initializers and inputs as arrays, names of outputs. python3-onnx
turns it into a model and back.
"""
import io
import os
import zipfile
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import helper, numpy_helper

import reference

ONNX_TYPE = {"float32": 1, "uint8": 2, "int8": 3, "int16": 5, "int32": 6, "int64": 7, "bool": 9, "float16": 10, "uint32": 12}


@dataclass
class Node:
    op: str
    inputs: list      # names; "" is an operand left out
    outputs: list     # names; "" is a result that nobody wants
    attributes: dict  # ints, floats, texts, lists of them, or arrays


@dataclass
class Graph:
    opset: int = 17
    inputs: dict = field(default_factory=dict)        # name -> array, with its type
    batch: dict = field(default_factory=dict)         # name of an input -> symbol of its first dimension
    initializers: dict = field(default_factory=dict)  # name -> array
    nodes: list = field(default_factory=list)
    outputs: list = field(default_factory=list)
    options: list = field(default_factory=list)       # flags of cs-compile, such as --dim N=2

    def copy(self):
        nodes = [Node(n.op, list(n.inputs), list(n.outputs), dict(n.attributes)) for n in self.nodes]
        return Graph(self.opset, dict(self.inputs), dict(self.batch), dict(self.initializers), nodes, list(self.outputs),
                     list(self.options))


def evaluate(graph):
    """All values of the graph: (name -> array, name -> type). Floats are float64 (see reference.py)."""
    values, types = {}, {}
    for name, array in list(graph.inputs.items()) + list(graph.initializers.items()):
        types[name] = array.dtype.name
        values[name] = reference.settle(array, types[name])
    for n in graph.nodes:
        results, kinds = reference.evaluate(n.op, [values[i] if i else None for i in n.inputs],
                                            [types[i] if i else None for i in n.inputs], n.attributes, len(n.outputs),
                                            graph.opset)
        for name, array, kind in zip(n.outputs, results, kinds):
            if name:
                values[name], types[name] = array, kind
    return values, types


def prune(graph):
    """Without the nodes and initializers that no output needs. Inputs stay."""
    needed, kept = set(graph.outputs), []
    for n in reversed(graph.nodes):
        if any(o in needed for o in n.outputs):
            kept.append(n)
            needed.update(i for i in n.inputs if i)
    graph.nodes = kept[::-1]
    graph.initializers = {k: v for k, v in graph.initializers.items() if k in needed}
    return graph


def value_info(name, kind, shape):
    return helper.make_tensor_value_info(name, ONNX_TYPE[kind], shape)


def proto_of(n):
    attributes = {k: numpy_helper.from_array(v) if isinstance(v, np.ndarray) else v for k, v in n.attributes.items()}
    return helper.make_node(n.op, n.inputs, n.outputs, name=n.outputs[0] or n.outputs[-1], **attributes)


def to_model(graph, name, values, types):
    symbols = set(graph.batch.values())
    count = next((graph.inputs[i].shape[0] for i in graph.batch), None)
    inputs = [value_info(k, v.dtype.name, ([graph.batch[k]] if k in graph.batch else list(v.shape[:1])) + list(v.shape[1:]))
              for k, v in graph.inputs.items()]
    outputs = []
    for k in graph.outputs:
        shape = list(values[k].shape)
        if symbols and shape and shape[0] == count:
            shape[0] = next(iter(sorted(symbols)))
        outputs.append(value_info(k, types[k], shape))
    proto = helper.make_graph([proto_of(n) for n in graph.nodes], name, inputs, outputs,
                              [numpy_helper.from_array(v, k) for k, v in graph.initializers.items()])
    model = helper.make_model(proto, opset_imports=[helper.make_opsetid("", graph.opset)], producer_name="random_graphs")
    model.ir_version = 8
    return model


def attribute_of(a):
    if a.HasField("t"):
        return numpy_helper.to_array(a.t)
    value = helper.get_attribute_value(a)
    if isinstance(value, bytes):
        return value.decode()
    return [v.decode() if isinstance(v, bytes) else v for v in value] if not isinstance(value, (int, float)) else value


def from_model(path, arrays):
    """The graph of a model with these inputs (name -> array)."""
    model = onnx.load(path)
    graph = Graph(next(o.version for o in model.opset_import if o.domain in ("", "ai.onnx")))
    graph.initializers = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    for i in model.graph.input:
        if i.name in graph.initializers:
            continue
        graph.inputs[i.name] = arrays[i.name]
        dims = i.type.tensor_type.shape.dim
        if dims and dims[0].dim_param:
            graph.batch[i.name] = dims[0].dim_param
    for n in model.graph.node:
        graph.nodes.append(Node(n.op_type, list(n.input), list(n.output), {a.name: attribute_of(a) for a in n.attribute}))
    graph.outputs = [o.name for o in model.graph.output]
    return graph


def write_npz(path, arrays):
    """As numpy.savez, but the same arrays give the same bytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, np.ascontiguousarray(array).reshape(np.shape(array)))
            archive.writestr(zipfile.ZipInfo(name + ".npy"), buffer.getvalue())


def write(graph, folder, name, expected=None):
    """model.onnx, inputs_0.npz, expected_0.npz and, if there are any, the flags of cs-compile in `options`."""
    values, types = evaluate(graph)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "model.onnx"), "wb") as f:
        f.write(to_model(graph, name, values, types).SerializeToString(deterministic=True))
    write_npz(os.path.join(folder, "inputs_0.npz"), graph.inputs)
    expected = expected or {k: values[k].astype(types[k]) for k in graph.outputs}
    write_npz(os.path.join(folder, "expected_0.npz"), expected)
    if graph.options:
        with open(os.path.join(folder, "options"), "w") as f:
            f.write(" ".join(graph.options) + "\n")


def read(folder):
    with np.load(os.path.join(folder, "inputs_0.npz")) as f:
        arrays = {k: f[k] for k in f.files}
    graph = from_model(os.path.join(folder, "model.onnx"), arrays)
    options = os.path.join(folder, "options")
    if os.path.exists(options):
        with open(options) as f:
            graph.options = f.read().split()
    return graph
