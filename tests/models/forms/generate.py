#!/usr/bin/env python3
"""Writes the models of this folder that PyTorch exports, with inputs and PyTorch's outputs.

    generate.py [NAME ...]        Debian: python3-torch python3-onnx

The files are committed; tests need neither of the packages.
"""
import math
import os
import sys

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = {}


def model(dynamic=True, opset=14, batch=0):
    """A function that returns (module, inputs); dynamic: of three samples, along dimension `batch`."""
    def add(make):
        MODELS[make.__name__] = lambda: export(make.__name__, *make(), dynamic, opset, batch)
        return make
    return add


def save(name, proto, inputs, outputs, args="", refused=""):
    """`args`: of cs-compile; `refused`: what it says without them, or if there are no outputs."""
    folder = os.path.join(HERE, name)
    os.makedirs(folder, exist_ok=True)
    del proto.metadata_props[:]
    onnx.save(proto, os.path.join(folder, "model.onnx"))
    if outputs:
        np.savez(os.path.join(folder, "inputs_0.npz"), **inputs)
        np.savez(os.path.join(folder, "expected_0.npz"), **outputs)
    for file, text in (("args.txt", args), ("refused.txt", refused)):
        if text:
            with open(os.path.join(folder, file), "w") as f:
                f.write(text + "\n")


def export(name, module, inputs, dynamic, opset, batch):
    module.eval()
    names = [f"x{k}" for k in range(len(inputs))]
    file = os.path.join("/tmp", name + ".onnx")
    axes = {n: {batch: "batch"} for n in names + ["y"]} if dynamic else None
    torch.onnx.export(module, tuple(inputs), file, input_names=names, output_names=["y"], opset_version=opset,
                      dynamic_axes=axes)
    with torch.no_grad():
        y = module(*inputs)
    save(name, onnx.load(file), {n: t.numpy() for n, t in zip(names, inputs)}, {"y": y.numpy()})


def randn(*shape):
    return torch.randn(*shape)


class Lambda(nn.Module):
    def __init__(self, f, **parts):
        super().__init__()
        for key, part in parts.items():
            setattr(self, key, part)
        self.f = f

    def forward(self, *x):
        return self.f(self, *x)


def with_statistics(norm):
    norm.running_mean.normal_(0, 0.3)
    norm.running_var.uniform_(0.5, 1.5)
    return norm


@model()
def mlp_batch_norm():
    net = nn.Sequential(nn.Linear(6, 10), with_statistics(nn.BatchNorm1d(10)), nn.ReLU(), nn.Linear(10, 4))
    return net, [randn(3, 6)]


def recurrent(kind, **options):
    """Batch first; the last layer's sequence through a linear map."""
    ways = 2 if options.get("bidirectional") else 1
    return Lambda(lambda m, x: m.out(m.rnn(x)[0]), rnn=kind(4, 5, batch_first=True, **options), out=nn.Linear(5 * ways, 3))


@model()
def lstm_two_ways_two_layers():
    return recurrent(nn.LSTM, num_layers=2, bidirectional=True), [randn(3, 6, 4)]


@model()
def gru_two_ways():
    return recurrent(nn.GRU, bidirectional=True), [randn(3, 6, 4)]


@model()
def rnn_two_layers():
    return recurrent(nn.RNN, num_layers=2), [randn(3, 6, 4)]


@model(dynamic=False)
def rnn_two_ways_fixed():
    return recurrent(nn.RNN, bidirectional=True), [randn(2, 5, 4)]


@model(dynamic=False)
def gru_steps_first():
    return Lambda(lambda m, x: m.rnn(x)[0], rnn=nn.GRU(4, 5, bidirectional=True)), [randn(5, 2, 4)]


@model(batch=1)
def lstm_steps_first():
    return Lambda(lambda m, x: m.out(m.rnn(x)[0]), rnn=nn.LSTM(4, 5), out=nn.Linear(5, 2)), [randn(6, 3, 4)]


@model(batch=1)
def transformer_steps_first():
    return nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0), [randn(5, 3, 8)]


@model()
def lstm_last_state():
    return Lambda(lambda m, x: m.out(m.rnn(x)[1][0][-1]), rnn=nn.LSTM(4, 5, batch_first=True), out=nn.Linear(5, 2)), \
        [randn(3, 6, 4)]


class Attention(nn.Module):
    def __init__(self, width, heads, causal=False):
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.heads, self.causal = heads, causal

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        a = q @ k.transpose(-2, -1) / math.sqrt(c // self.heads)
        if self.causal:
            a = a.masked_fill(torch.tril(torch.ones(n, n)) == 0, float("-inf"))
        return self.out((a.softmax(-1) @ v).transpose(1, 2).reshape(b, n, c))


class Block(nn.Module):
    def __init__(self, width, heads, causal=False):
        super().__init__()
        self.n1, self.n2, self.attention = nn.LayerNorm(width), nn.LayerNorm(width), Attention(width, heads, causal)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        x = x + self.attention(self.n1(x))
        return x + self.mlp(self.n2(x))


@model()
def attention_causal():
    return Attention(8, 2, causal=True), [randn(3, 5, 8)]


@model()
def attention_padding_mask():
    def run(m, x, keep):
        q, k, v = m.q(x), m.k(x), m.v(x)
        a = (q @ k.transpose(1, 2)).masked_fill(keep.unsqueeze(1) == 0, -1e4)
        return torch.softmax(a, -1) @ v
    keep = torch.tensor([[1.0, 1, 1, 0], [1, 1, 0, 0], [1, 1, 1, 1]])
    return Lambda(run, q=nn.Linear(6, 6), k=nn.Linear(6, 6), v=nn.Linear(6, 6)), [randn(3, 4, 6), keep]


@model()
def transformer_encoder():
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0)
    return nn.TransformerEncoder(layer, 1, enable_nested_tensor=False), [randn(3, 5, 8)]


@model()
def multihead_attention():
    return Lambda(lambda m, x: m.a(x, x, x, need_weights=False)[0], a=nn.MultiheadAttention(8, 2, batch_first=True)), \
        [randn(3, 5, 8)]


class Vit(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch = nn.Conv2d(1, 8, 4, 4)
        self.cls = nn.Parameter(randn(1, 1, 8))
        self.position = nn.Parameter(0.1 * randn(1, 5, 8))
        self.block, self.norm, self.head = Block(8, 2), nn.LayerNorm(8), nn.Linear(8, 3)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], 1) + self.position
        return self.head(self.norm(self.block(x))[:, 0])


@model()
def vit_block():
    return Vit(), [randn(3, 1, 8, 8)]


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(11, 8), nn.Embedding(6, 8)
        self.block, self.norm, self.head = Block(8, 2, causal=True), nn.LayerNorm(8), nn.Linear(8, 11, bias=False)

    def forward(self, tokens):
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1]))
        return self.head(self.norm(self.block(x)))


@model()
def gpt_block():
    return Gpt(), [torch.randint(0, 11, (3, 6))]


@model()
def einsum_attention():
    def run(m, q, k):
        return torch.einsum("bhqk,bkhd->bqhd", torch.einsum("bqhd,bkhd->bhqk", q, k).softmax(-1), k)
    return Lambda(run), [randn(3, 4, 2, 3), randn(3, 5, 2, 3)]


@model()
def einsum_bilinear():
    return Lambda(lambda m, x, y: torch.einsum("bi,oij,bj->bo", x, m.w, y), w=nn.Parameter(randn(4, 3, 5))), \
        [randn(3, 3), randn(3, 5)]


@model()
def top_k_values():
    return Lambda(lambda m, x: torch.topk(m.l(x), 3, dim=-1)[0], l=nn.Linear(5, 9)), [randn(3, 5)]


@model()
def top_k_smallest():
    return Lambda(lambda m, x: torch.topk(x, 2, dim=1, largest=False, sorted=True)[0] * 2), [randn(3, 7, 2)]


@model()
def cumulative_sum():
    return Lambda(lambda m, x: torch.cumsum(x, 1) - torch.cumsum(x.flip(1), 1).flip(1)), [randn(3, 7)]


@model()
def where_forms():
    def run(m, x, y):
        a = torch.where(x > y, x, torch.tensor(0.5))
        b = torch.where(x.abs() < 1, torch.zeros_like(x), y)
        return a.masked_fill(b > 1, -1.0) + b.clamp(min=-0.5)
    return Lambda(run), [randn(3, 4, 5), randn(3, 4, 5)]


@model()
def zeros_of_batch():
    def run(m, x):
        state = torch.zeros(x.shape[0], 4)
        for t in range(3):
            state = torch.tanh(m.cell(x[:, t]) + m.back(state))
        return state
    return Lambda(run, cell=nn.Linear(3, 4), back=nn.Linear(4, 4)), [randn(3, 3, 3)]


@model()
def flatten_and_back():
    """Samples and steps in one dimension, as linear maps over sequences are exported."""
    def run(m, x):
        b, t, c = x.shape
        return m.l(x.reshape(b * t, c)).relu().reshape(b, t, -1).mean(1)
    return Lambda(run, l=nn.Linear(3, 4)), [randn(3, 5, 3)]


@model()
def normalise_rows():
    return Lambda(lambda m, x: nn.functional.normalize(x, dim=-1)), [randn(3, 6)]


class QuantisedMlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 8), nn.Linear(8, 4)

    def forward(self, x):
        x = torch.fake_quantize_per_tensor_affine(x, 0.03, 128, 0, 255)
        w = torch.fake_quantize_per_channel_affine(self.a.weight, torch.full((8,), 0.004), torch.zeros(8, dtype=torch.int32),
                                                   0, -128, 127)
        x = torch.relu(nn.functional.linear(x, w, self.a.bias))
        x = torch.fake_quantize_per_tensor_affine(x, 0.02, 0, 0, 255)
        w = torch.fake_quantize_per_tensor_affine(self.b.weight, 0.003, 3, -128, 127)
        return nn.functional.linear(x, w, self.b.bias)


@model()
def quantised_mlp():
    return QuantisedMlp(), [randn(3, 6)]


class QuantisedCnn(nn.Module):
    """Convolutions with scales per channel and per tensor: all channels, depthwise, in two groups with a stride."""
    def __init__(self):
        super().__init__()
        self.scales = [torch.linspace(0.002, 0.004, n) for n in (8, 8, 12, 5)]
        self.layers = nn.ModuleList([nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1, groups=8),
                                     nn.Conv2d(8, 12, 3, stride=2, groups=2), nn.Conv2d(12, 5, 1)])

    def forward(self, x):
        for k, layer in enumerate(self.layers):
            zeros = torch.zeros(layer.weight.shape[0], dtype=torch.int32)
            w = (torch.fake_quantize_per_tensor_affine(layer.weight, 0.003, 0, -128, 127) if k == 1 else
                 torch.fake_quantize_per_channel_affine(layer.weight, self.scales[k], zeros, 0, -128, 127))
            x = nn.functional.conv2d(x, w, layer.bias, layer.stride, layer.padding, 1, layer.groups).relu()
        return x.mean((2, 3))


@model()
def quantised_cnn():
    return QuantisedCnn(), [randn(3, 3, 9, 9)]


# ---- written node by node: forms that the exporter has no words for

def graph_model(name, nodes, inputs, outputs, initializers, feeds, expected, opset=13, args="", refused=""):
    def tensor(n, shape, kind=TensorProto.FLOAT):
        return helper.make_tensor_value_info(n, kind, shape)
    graph = helper.make_graph(nodes, "g", [tensor(*i) for i in inputs], [tensor(*o) for o in outputs],
                              [numpy_helper.from_array(v, k) for k, v in initializers.items()])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    proto.ir_version = 7
    save(name, proto, feeds, expected, args, refused)


def written(make):
    MODELS[make.__name__] = make
    return make


@written
def if_constant():
    """One branch uses a value from outside, and a name that is also used there."""
    x = np.random.randn(2, 3).astype(np.float32)
    branch = {}
    for key, op in (("then_branch", "Relu"), ("else_branch", "Neg")):
        out = helper.make_tensor_value_info("t", TensorProto.FLOAT, [2, 3])
        branch[key] = helper.make_graph([helper.make_node(op, ["x"], ["h"]), helper.make_node("Mul", ["h", "two"], ["t"])],
                                        key, [], [out])
    nodes = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Gather", ["s", "zero"], ["n"]),
             helper.make_node("Equal", ["n", "two_i"], ["c"]), helper.make_node("If", ["c"], ["h"], **branch),
             helper.make_node("Add", ["h", "x"], ["y"])]
    graph_model("if_constant", nodes, [("x", [2, 3])], [("y", [2, 3])],
                {"two": np.float32(2), "zero": np.int64(0), "two_i": np.int64(2)}, {"x": x}, {"y": np.maximum(x, 0) * 2 + x})


@written
def loop_trips():
    """y := tanh(y W + x) three times; every state is given too."""
    w, x = (np.random.randn(4, 4) * 0.5).astype(np.float32), np.random.randn(2, 4).astype(np.float32)
    float_2_4 = [2, 4]
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["go_on"]), helper.make_node("MatMul", ["state", "w"], ["p"]),
         helper.make_node("Add", ["p", "x"], ["s"]), helper.make_node("Tanh", ["s"], ["next"]),
         helper.make_node("Identity", ["next"], ["seen"])], "body",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("go", TensorProto.BOOL, []),
         helper.make_tensor_value_info("state", TensorProto.FLOAT, float_2_4)],
        [helper.make_tensor_value_info("go_on", TensorProto.BOOL, []),
         helper.make_tensor_value_info("next", TensorProto.FLOAT, float_2_4),
         helper.make_tensor_value_info("seen", TensorProto.FLOAT, float_2_4)])
    nodes = [helper.make_node("Loop", ["trips", "", "x"], ["last", "all"], body=body)]
    state, states = torch.tensor(x), []
    for _ in range(3):
        state = torch.tanh(state @ torch.tensor(w) + torch.tensor(x))
        states.append(state)
    graph_model("loop_trips", nodes, [("x", float_2_4)], [("last", float_2_4), ("all", [3, 2, 4])],
                {"w": w, "trips": np.int64(3)}, {"x": x}, {"last": state.numpy(), "all": torch.stack(states).numpy()})


@written
def scan_backwards():
    """Running sums from the last row to the first."""
    x = np.random.randn(5, 3).astype(np.float32)
    body = helper.make_graph(
        [helper.make_node("Add", ["sum", "row"], ["next"]), helper.make_node("Identity", ["next"], ["seen"])], "body",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, [3]) for n in ("sum", "row")],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, [3]) for n in ("next", "seen")])
    nodes = [helper.make_node("Scan", ["zero", "x"], ["last", "all"], body=body, num_scan_inputs=1,
                              scan_input_directions=[1], scan_output_directions=[1])]
    sums = np.cumsum(x[::-1].astype(np.float64), 0)[::-1].astype(np.float32)
    graph_model("scan_backwards", nodes, [("x", [5, 3])], [("last", [3]), ("all", [5, 3])],
                {"zero": np.zeros(3, np.float32)}, {"x": x}, {"last": sums[0], "all": sums})


@written
def bias_per_row():
    """gemm with a bias column, and as many rows as columns."""
    a, b, c = (np.random.randn(*s).astype(np.float32) for s in ((4, 3), (3, 4), (4, 1)))
    graph_model("bias_per_row", [helper.make_node("Gemm", ["a", "b", "c"], ["y"], beta=0.5)], [("a", [4, 3])],
                [("y", [4, 4])], {"b": b, "c": c}, {"a": a}, {"y": (a.astype(np.float64) @ b + 0.5 * c).astype(np.float32)})


@written
def normalise_zero_rows():
    """A row of zeros stays zeros, as ONNX Runtime has it."""
    x = np.array([[3, 4, 0], [0, 0, 0], [-1, 2, 2]], np.float32)
    for p, y in ((1, x / np.array([[7], [1], [5]], np.float32)), (2, x / np.array([[5], [1], [3]], np.float32))):
        graph_model(f"normalise_zero_rows_l{p}", [helper.make_node("LpNormalization", ["x"], ["y"], axis=-1, p=p)],
                    [("x", [3, 3])], [("y", [3, 3])], {}, {"x": x}, {"y": y})


@written
def batch_in_other_words():
    """The result's first dimension has another name than the input's."""
    x = np.random.randn(3, 4).astype(np.float32)
    graph_model("batch_in_other_words", [helper.make_node("Relu", ["x"], ["y"])], [("x", ["n", 4])], [("y", ["Reluy_dim_0", 4])],
                {}, {"x": x}, {"y": np.maximum(x, 0)})


@written
def batch_with_dim():
    """The number of samples is given: what mixes them is compiled for so many."""
    x = np.random.randn(3, 4).astype(np.float32)
    nodes = [helper.make_node("Reshape", ["x", "flat"], ["f"]),
             helper.make_node("ReduceSum", ["f", "one"], ["s"], keepdims=1), helper.make_node("Add", ["x", "s"], ["y"])]
    graph_model("batch_with_dim", nodes, [("x", ["N", 4])], [("y", ["N", 4])],
                {"flat": np.array([1, -1], np.int64), "one": np.array([1], np.int64)}, {"x": x},
                {"y": x + np.float32(x.astype(np.float64).sum())}, args="--dim N=3")


@written
def batch_sum():
    """Over the whole batch: the sum of everything, through a view whose extent follows the number of samples."""
    x = np.random.randn(3, 4).astype(np.float32)
    nodes = [helper.make_node("Reshape", ["x", "flat"], ["f"]),
             helper.make_node("ReduceSum", ["f", "one"], ["s"], keepdims=1), helper.make_node("Relu", ["x"], ["r"]),
             helper.make_node("Add", ["r", "s"], ["y"])]
    graph_model("batch_sum", nodes, [("x", ["N", 4])], [("y", ["N", 4])],
                {"flat": np.array([1, -1], np.int64), "one": np.array([1], np.int64)}, {"x": x},
                {"y": np.maximum(x, 0) + np.float32(x.astype(np.float64).sum())})


@written
def batch_softmax():
    """Over the whole batch: every sample gets its row back, and a kernel goes on with it; the other output counts all."""
    x = np.random.randn(5, 6).astype(np.float32)
    nodes = [helper.make_node("Tanh", ["x"], ["t"]), helper.make_node("Softmax", ["t"], ["p"], axis=0),
             helper.make_node("Mul", ["p", "x"], ["y"]), helper.make_node("ReduceMax", ["p"], ["m"], axes=[0, 1], keepdims=0),
             helper.make_node("Reshape", ["t", "flat"], ["z"])]
    t = np.tanh(x.astype(np.float64))
    e = np.exp(t - t.max(axis=0))
    q = e / e.sum(axis=0)
    graph_model("batch_softmax", nodes, [("x", ["N", 6])], [("y", ["N", 6]), ("m", []), ("z", [1, "M"])],
                {"flat": np.array([1, -1], np.int64)}, {"x": x},
                {"y": (q * x).astype(np.float32), "m": np.float32(q.max()), "z": t.astype(np.float32).reshape(1, -1)})


@written
def batch_as_number():
    """The number of samples as a factor."""
    x = np.random.randn(3, 4).astype(np.float32)
    nodes = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Cast", ["s"], ["f"], to=TensorProto.FLOAT),
             helper.make_node("Gather", ["f", "zero"], ["n"]), helper.make_node("Mul", ["x", "n"], ["y"])]
    graph_model("batch_as_number", nodes, [("x", ["N", 4])], [("y", ["N", 4])], {"zero": np.int64(0)}, {"x": x},
                {"y": x * 3})


@written
def batch_pairs():
    """Halves of the batch side by side: a result of all samples, which the host hands back column by column."""
    x = np.random.randn(4, 4).astype(np.float32)
    graph_model("batch_pairs", [helper.make_node("Reshape", ["x", "pairs"], ["t"]), helper.make_node("Relu", ["t"], ["y"])],
                [("x", ["N", 4])], [("y", [2, "M"])], {"pairs": np.array([2, -1], np.int64)}, {"x": x},
                {"y": np.maximum(x.reshape(2, -1), 0)})


@written
def batch_and_one():
    """A row more than there are samples: no sample has a part of it, but every sample takes its largest column."""
    x, c = np.random.randn(3, 4).astype(np.float32), np.random.randn(1, 4).astype(np.float32)
    nodes = [helper.make_node("Concat", ["x", "c"], ["t"], axis=0), helper.make_node("ReduceMax", ["t"], ["m"], axes=[0], keepdims=1),
             helper.make_node("Sub", ["x", "m"], ["y"]), helper.make_node("Neg", ["t"], ["z"])]
    t = np.concatenate([x, c])
    graph_model("batch_and_one", nodes, [("x", ["N", 4])], [("y", ["N", 4]), ("z", ["M", 4])], {"c": c}, {"x": x},
                {"y": x - t.max(axis=0, keepdims=True), "z": -t})


@written
def where_known():
    """A choice that is known: the kernel of the other side has nobody to send to."""
    x = np.random.randn(4, 8).astype(np.float32)
    nodes = [helper.make_node("LeakyRelu", ["x"], ["a"], alpha=0.25), helper.make_node("ReduceMean", ["x"], ["m"], axes=[1], keepdims=1),
             helper.make_node("Where", ["yes", "a", "m"], ["y"])]
    graph_model("where_known", nodes, [("x", [4, 8])], [("y", [4, 8])], {"yes": np.array(True)}, {"x": x},
                {"y": np.where(x >= 0, x, x * np.float32(0.25))})


@written
def number_as_bias():
    """A product with one column and a bias without dimensions."""
    x, w = np.random.randn(2, 5).astype(np.float32), np.random.randn(1, 5).astype(np.float32)
    nodes = [helper.make_node("Gemm", ["x", "w", "c"], ["y"], transB=1, beta=2.0)]
    graph_model("number_as_bias", nodes, [("x", [2, 5])], [("y", [2, 1])], {"w": w, "c": np.float32(1.5)}, {"x": x},
                {"y": x @ w.T + 3})


@written
def gather_out_of_range():
    graph_model("gather_out_of_range", [helper.make_node("Gather", ["x", "i"], ["y"], axis=1)], [("x", [2, 4])],
                [("y", [2, 3])], {"i": np.array([0, 7, 1], np.int64)}, {}, {},
                refused="index 7 (element 1 of 'indices') is out of range: axis 1 of f32[2, 4] has extent 4")


@written
def affine_of_numbers():
    """y = a x + b with two numbers: one instruction from stream to stream."""
    x = np.random.randn(4, 8).astype(np.float32)
    nodes = [helper.make_node("Mul", ["x", "a"], ["t"]), helper.make_node("Add", ["t", "b"], ["y"])]
    graph_model("affine_of_numbers", nodes, [("x", [4, 8])], [("y", [4, 8])], {"a": np.float32(0.2), "b": np.float32(-3)},
                {"x": x}, {"y": (x * np.float64(np.float32(0.2)) - 3).astype(np.float32)})


@written
def sum_of_everything():
    """A number that is made of the whole tensor and added to it."""
    x = np.random.randn(3, 4).astype(np.float32)
    nodes = [helper.make_node("Reshape", ["x", "flat"], ["f"]),
             helper.make_node("ReduceSum", ["f", "one"], ["s"], keepdims=1), helper.make_node("Add", ["x", "s"], ["y"])]
    graph_model("sum_of_everything", nodes, [("x", [3, 4])], [("y", [3, 4])],
                {"flat": np.array([1, -1], np.int64), "one": np.array([1], np.int64)}, {"x": x},
                {"y": x + np.float32(x.astype(np.float64).sum())})


@written
def view_listed_first():
    """A view and what it is a view of are both results."""
    x = np.random.randn(1, 2, 10, 1).astype(np.float32)
    nodes = [helper.make_node("Atan", ["x"], ["t"]), helper.make_node("Flatten", ["t"], ["f"], axis=2)]
    y = np.arctan(x.astype(np.float64)).astype(np.float32)
    graph_model("view_listed_first", nodes, [("x", [1, 2, 10, 1])], [("f", [2, 10]), ("t", [1, 2, 10, 1])], {}, {"x": x},
                {"f": y.reshape(2, 10), "t": y})


@written
def quantise_values():
    """Bytes in and out, per tensor and per channel; halves are rounded to the even neighbour."""
    x = np.array([[-1.0, 0.25, 0.75, 300], [0.5, 1.5, 2.5, -300]], np.float32)
    scale, zero = np.array([0.5, 1], np.float32), np.array([3, 0], np.int8)
    nodes = [helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"], axis=0),
             helper.make_node("Cast", ["q"], ["i"], to=TensorProto.FLOAT), helper.make_node("Add", ["i", "one"], ["y"])]
    q = np.array([[1, 3, 5, 127], [0, 2, 2, -128]], np.float32)  # by hand: -2+3, 0.5->0, 1.5->2, held
    graph_model("quantise_values", nodes, [("x", [2, 4])], [("y", [2, 4])],
                {"scale": scale, "zero": zero, "one": np.float32(1)}, {"x": x}, {"y": q + 1})


def windows(x, side):
    """[samples, channels, rows, columns, side, side] of a picture that is padded already."""
    return np.lib.stride_tricks.sliding_window_view(x, (side, side), (2, 3))


@written
def qlinear_conv():
    """Bytes in and out, weights with a scale for each output channel, a bias on the grid of the products."""
    x = np.random.randint(0, 256, (1, 3, 6, 6)).astype(np.uint8)
    w = np.random.randint(-128, 128, (4, 3, 3, 3)).astype(np.int8)
    scales, bias = np.array([0.01, 0.02, 0.005, 0.0125], np.float32), np.array([100, -2000, 0, 345], np.int32)
    nodes = [helper.make_node("QLinearConv", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"], ["y"], pads=[1, 1, 1, 1])]
    padded = np.pad(x.astype(np.int64) - 120, ((0, 0), (0, 0), (1, 1), (1, 1)))
    sums = np.einsum("nchwij,mcij->nmhw", windows(padded, 3), w.astype(np.int64)) + bias[None, :, None, None]
    y = np.clip(np.rint(sums * (0.05 * scales.astype(np.float64))[None, :, None, None] / 4.0) + 128, 0, 255).astype(np.uint8)
    graph_model("qlinear_conv", nodes, [("x", [1, 3, 6, 6], TensorProto.UINT8)], [("y", [1, 4, 6, 6], TensorProto.UINT8)],
                {"xs": np.float32(0.05), "xz": np.uint8(120), "w": w, "ws": scales, "wz": np.zeros(4, np.int8),
                 "ys": np.float32(4.0), "yz": np.uint8(128), "b": bias}, {"x": x}, {"y": y})


@written
def half_taken():
    """A choice whose condition is known takes one part of a split; the other part has nobody to go to."""
    x, t = np.random.randn(1, 4, 3).astype(np.float32), np.random.randn(1, 8, 6).astype(np.float32)
    nodes = [helper.make_node("Split", ["x"], ["a", "b"], axis=1),
             helper.make_node("Where", ["yes", "b", "a"], ["c"]), helper.make_node("Tile", ["c", "times"], ["d"]),
             helper.make_node("Add", ["d", "t"], ["y"])]
    graph_model("half_taken", nodes, [("x", [1, 4, 3]), ("t", [1, 8, 6])], [("y", [1, 8, 6])],
                {"yes": np.array([[[True]]]), "times": np.array([1, 4, 2])}, {"x": x, "t": t},
                {"y": np.tile(x[:, 2:], (1, 4, 2)) + t})


if __name__ == "__main__":
    for name in sys.argv[1:] or MODELS:
        torch.manual_seed(len(name))
        np.random.seed(len(name))
        MODELS[name]()
        print(name)
