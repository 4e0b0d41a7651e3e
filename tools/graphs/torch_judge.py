"""A graph's outputs as PyTorch computes them, where it can: a judge that shares no code and no author with us.

Needs python3-torch. `outputs(graph)` gives None if an operator or an option has no counterpart here.
"""
import numpy as np
import torch
import torch.nn.functional as F

import reference

TYPES = {"float32": torch.float64, "float16": torch.float64, "int64": torch.int64, "int32": torch.int32, "bool": torch.bool,
         "uint8": torch.uint8, "int8": torch.int8}


class Unknown(Exception):
    """No counterpart in PyTorch."""


def need(condition):
    if not condition:
        raise Unknown()


def ints(x):
    return [int(v) for v in x.reshape(-1)]


def same_pads(a, rank):
    """Symmetric pads of a window, which is all that PyTorch's own layers know."""
    need(a.get("auto_pad", "NOTSET") in ("NOTSET", "VALID") and not a.get("ceil_mode", 0))
    pads = a.get("pads", [0] * 2 * rank) if a.get("auto_pad", "NOTSET") == "NOTSET" else [0] * 2 * rank
    need(pads[:rank] == pads[rank:])
    return pads[:rank]


def conv(x, a):
    rank = x[0].dim() - 2
    f = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}[rank]
    return f(x[0], x[1], x[2] if len(x) > 2 else None, a.get("strides", [1] * rank), same_pads(a, rank),
             a.get("dilations", [1] * rank), a.get("group", 1))


def conv_transpose(x, a):
    rank = x[0].dim() - 2
    f = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}[rank]
    return f(x[0], x[1], x[2] if len(x) > 2 else None, a.get("strides", [1] * rank), same_pads(a, rank),
             a.get("output_padding", [0] * rank), a.get("group", 1), a.get("dilations", [1] * rank))


def max_pool(x, a):
    rank = x[0].dim() - 2
    pads = same_pads(a, rank)
    need(all(2 * p <= k for p, k in zip(pads, a["kernel_shape"])))
    f = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}[rank]
    return f(x[0], a["kernel_shape"], a.get("strides", [1] * rank), pads, a.get("dilations", [1] * rank))


def average_pool(x, a):
    rank = x[0].dim() - 2
    pads = same_pads(a, rank)
    need(all(2 * p <= k for p, k in zip(pads, a["kernel_shape"])))
    f = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}[rank]
    return f(x[0], a["kernel_shape"], a.get("strides", [1] * rank), pads, False, bool(a.get("count_include_pad", 0)))


def gemm(x, a):
    p = x[0].T if a.get("transA", 0) else x[0]
    q = x[1].T if a.get("transB", 0) else x[1]
    y = a.get("alpha", 1.0) * (p @ q)
    return y if len(x) < 3 else torch.add(y, x[2], alpha=a.get("beta", 1.0))


def reshape(x, a):
    return torch.reshape(x[0], [x[0].shape[i] if d == 0 else d for i, d in enumerate(ints(x[1]))])


def unsqueeze(x, a):
    y = x[0]
    rank = y.dim() + x[1].numel()
    for axis in sorted(d % rank for d in ints(x[1])):
        y = torch.unsqueeze(y, axis)
    return y


def squeeze(x, a):
    y = x[0]
    for axis in sorted((d % y.dim() for d in ints(x[1])), reverse=True):
        y = torch.squeeze(y, axis)
    return y


def slice_(x, a):
    y = x[0]
    for i, (start, end) in enumerate(zip(ints(x[1]), ints(x[2]))):
        axis = ints(x[3])[i] if len(x) > 3 else i
        step = ints(x[4])[i] if len(x) > 4 else 1
        if step < 0:
            need(step == -1 and start == -1 and end < -y.shape[axis])
            y = torch.flip(y, [axis])
        else:
            index = [slice(None)] * y.dim()
            index[axis] = slice(start, end, step)
            y = y[tuple(index)]
    return y


def split(x, a, results):
    axis = a.get("axis", 0)
    if len(x) > 1:
        return list(torch.split(x[0], ints(x[1]), axis))
    return list(torch.split(x[0], -(-x[0].shape[axis] // results), axis))


def pad(x, a):
    need(len(x) < 4 and a.get("mode", "constant") == "constant")
    amounts, rank = ints(x[1]), x[0].dim()
    flat = [v for axis in reversed(range(rank)) for v in (amounts[axis], amounts[axis + rank])]
    return F.pad(x[0], flat, value=float(x[2]) if len(x) > 2 else 0.0)


def gather(x, a):
    axis, index = a.get("axis", 0) % x[0].dim(), x[1]
    index = torch.where(index < 0, index + x[0].shape[axis], index)
    y = torch.index_select(x[0], axis, index.reshape(-1).long())
    return y.reshape(x[0].shape[:axis] + index.shape + x[0].shape[axis + 1:])


def reduce(f):
    def of(x, a):
        axes = a.get("axes", ints(x[1]) if len(x) > 1 else list(range(x[0].dim())))
        return f(x[0], axes, bool(a.get("keepdims", 1)))
    return of


def top_k(x, a):
    return list(torch.topk(x[0], ints(x[1])[0], a.get("axis", -1), bool(a.get("largest", 1))))


def arg(f):
    return lambda x, a: f(x[0], a.get("axis", 0), bool(a.get("keepdims", 1)))


def cum_sum(x, a):
    need(not a.get("exclusive", 0))
    axis = ints(x[1])[0]
    return torch.flip(torch.cumsum(torch.flip(x[0], [axis]), axis), [axis]) if a.get("reverse", 0) else torch.cumsum(x[0], axis)


def batch_norm(x, a):
    return F.batch_norm(x[0], x[3], x[4], x[1], x[2], False, 0.0, a.get("epsilon", 1e-5))


def layer_norm(x, a):
    axis = a.get("axis", -1) % x[0].dim()
    return F.layer_norm(x[0], x[0].shape[axis:], x[1], x[2] if len(x) > 2 else None, a.get("epsilon", 1e-5))


def group_norm(x, a):
    need(x[1].numel() == x[0].shape[1])
    return F.group_norm(x[0], a["num_groups"], x[1], x[2], a.get("epsilon", 1e-5))


def resize(x, a):
    need(x[0].dim() == 4)
    kind, how = a.get("mode", "nearest"), a.get("coordinate_transformation_mode", "half_pixel")
    size = ints(x[3])[2:] if len(x) > 3 and x[3] is not None else [int(e * s) for e, s in zip(x[0].shape[2:], x[2][2:])]
    if kind == "nearest":
        need(how == "asymmetric" and a.get("nearest_mode") == "floor")
        return F.interpolate(x[0], size=size, mode="nearest")
    need(how in ("half_pixel", "align_corners") and min(size) > 1)
    return F.interpolate(x[0], size=size, mode="bilinear", align_corners=how == "align_corners")


def recurrent(x, a, op):
    """One layer of PyTorch's own, with the gates in its order."""
    need("activations" not in a and a.get("direction", "forward") != "reverse" and (op != "GRU" or a.get("linear_before_reset", 0)))
    order = {"LSTM": [0, 2, 3, 1], "GRU": [1, 0, 2], "RNN": [0]}[op]
    n, both = a["hidden_size"], a.get("direction", "forward") == "bidirectional"
    layer = {"LSTM": torch.nn.LSTM, "GRU": torch.nn.GRU, "RNN": torch.nn.RNN}[op](x[1].shape[2], n, bidirectional=both).double()
    sort = lambda w: torch.cat([torch.split(w, n)[g] for g in order])
    with torch.no_grad():
        for d in range(2 if both else 1):
            end = "_l0" + ("_reverse" if d else "")
            bias = x[3][d] if len(x) > 3 and x[3] is not None else torch.zeros(2 * len(order) * n, dtype=torch.float64)
            wb, rb = torch.split(bias, len(order) * n)
            for name, value in (("weight_ih", x[1][d]), ("weight_hh", x[2][d]), ("bias_ih", wb), ("bias_hh", rb)):
                getattr(layer, name + end).copy_(sort(value))
        state = [s for s in x[5:7] if s is not None]
        state = (tuple(state) if op == "LSTM" else state[0]) if state else None
        y, last = layer(x[0], state)
    y = y.reshape(y.shape[:2] + (2 if both else 1, n)).transpose(1, 2)
    return [y] + (list(last) if op == "LSTM" else [last])


def clip(x, a):
    low, high = (x[i] if len(x) > i else None for i in (1, 2))
    return torch.clamp(x[0], None if low is None else float(low), None if high is None else float(high))


def gelu(x, a):
    return F.gelu(x[0], approximate=a.get("approximate", "none"))


def fold(f):
    def of(x, a):
        y = x[0]
        for other in x[1:]:
            y = f(y, other)
        return y
    return of


def plain(f):
    return lambda x, a: f(x[0])


ONE = {name: plain(getattr(torch, name.lower())) for name in (
    "Abs", "Neg", "Sign", "Sqrt", "Reciprocal", "Floor", "Ceil", "Round", "Exp", "Log", "Erf", "Sin", "Cos", "Tan", "Sinh", "Cosh",
    "Asinh", "Acosh", "Atanh", "Tanh", "Atan", "Asin", "Acos", "Relu", "Sigmoid", "Det")}
ONE.update({
    "Softplus": plain(F.softplus), "Softsign": plain(F.softsign), "Mish": plain(F.mish), "HardSwish": plain(F.hardswish),
    "Identity": plain(lambda v: v), "Dropout": plain(lambda v: v), "Not": plain(torch.logical_not), "IsNaN": plain(torch.isnan),
    "LeakyRelu": lambda x, a: F.leaky_relu(x[0], a.get("alpha", 0.01)), "Elu": lambda x, a: F.elu(x[0], a.get("alpha", 1.0)),
    "Celu": lambda x, a: F.celu(x[0], a.get("alpha", 1.0)), "Selu": plain(F.selu), "Gelu": gelu, "Clip": clip,
    "ThresholdedRelu": lambda x, a: F.threshold(x[0], a.get("alpha", 1.0), 0.0),
    "Sub": lambda x, a: x[0] - x[1], "Pow": lambda x, a: torch.pow(x[0], x[1]), "PRelu": lambda x, a: torch.where(x[0] >= 0, x[0], x[0] * x[1]),
    "Add": fold(torch.add), "Sum": fold(torch.add), "Mul": fold(torch.mul), "Max": fold(torch.maximum), "Min": fold(torch.minimum),
    "Equal": fold(torch.eq), "Greater": fold(torch.gt), "Less": fold(torch.lt), "GreaterOrEqual": fold(torch.ge),
    "LessOrEqual": fold(torch.le), "And": fold(torch.logical_and), "Or": fold(torch.logical_or), "Xor": fold(torch.logical_xor),
    "Where": lambda x, a: torch.where(x[0], x[1], x[2]), "MatMul": lambda x, a: torch.matmul(x[0], x[1]), "Gemm": gemm,
    "Einsum": lambda x, a: torch.einsum(a["equation"], *x), "Softmax": lambda x, a: torch.softmax(x[0], a.get("axis", -1)),
    "LogSoftmax": lambda x, a: torch.log_softmax(x[0], a.get("axis", -1)), "Reshape": reshape, "Unsqueeze": unsqueeze,
    "Squeeze": squeeze, "Flatten": lambda x, a: x[0].reshape(int(np.prod(x[0].shape[:a.get("axis", 1)])), -1),
    "Transpose": lambda x, a: x[0].permute(a["perm"]), "Concat": lambda x, a: torch.cat(x, a["axis"]), "Slice": slice_, "Pad": pad,
    "Tile": lambda x, a: x[0].repeat(ints(x[1])), "Gather": gather, "CumSum": cum_sum,
    "Expand": lambda x, a: x[0].expand(torch.broadcast_shapes(x[0].shape, tuple(ints(x[1])))),
    "Trilu": lambda x, a: (torch.triu if a.get("upper", 1) else torch.tril)(x[0], ints(x[1])[0] if len(x) > 1 else 0),
    "GatherElements": lambda x, a: torch.gather(x[0], a.get("axis", 0), x[1]), "ArgMax": arg(torch.argmax), "ArgMin": arg(torch.argmin),
    "DepthToSpace": lambda x, a: F.pixel_shuffle(x[0], a["blocksize"]) if a.get("mode") == "CRD" else need(False),
    "ReduceSum": reduce(torch.sum), "ReduceMean": reduce(torch.mean), "ReduceMax": reduce(torch.amax), "ReduceMin": reduce(torch.amin),
    "ReduceLogSumExp": reduce(torch.logsumexp), "ReduceL1": reduce(lambda v, d, k: torch.linalg.vector_norm(v, 1, d, k)),
    "ReduceL2": reduce(lambda v, d, k: torch.linalg.vector_norm(v, 2, d, k)),
    "Conv": conv, "ConvTranspose": conv_transpose, "MaxPool": max_pool, "AveragePool": average_pool,
    "GlobalAveragePool": lambda x, a: torch.mean(x[0], list(range(2, x[0].dim())), True),
    "GlobalMaxPool": lambda x, a: torch.amax(x[0], list(range(2, x[0].dim())), True),
    "BatchNormalization": batch_norm, "LayerNormalization": layer_norm, "GroupNormalization": group_norm,
    # Without the check of nn.functional, which refuses a single element per channel: its result is the bias.
    "InstanceNormalization": lambda x, a: torch.instance_norm(x[0], x[1], x[2], None, None, True, 0.1, a.get("epsilon", 1e-5), False),
    "LpNormalization": lambda x, a: F.normalize(x[0], a.get("p", 2), a.get("axis", -1), 0.0),
    "LRN": lambda x, a: F.local_response_norm(x[0], a["size"], a.get("alpha", 1e-4), a.get("beta", 0.75), a.get("bias", 1.0)) if a["size"] % 2 else need(False),
    "Resize": resize, "Shape": lambda x, a: torch.tensor(list(x[0].shape)) if not a else need(False),
    "Size": lambda x, a: torch.tensor(x[0].numel()), "Constant": lambda x, a: tensor(a["value"]),
})


def tensor(array):
    array = np.asarray(array)
    need(array.dtype.name in TYPES)
    return torch.from_numpy(np.array(array)).to(TYPES[array.dtype.name])


def compute(n, x):
    while x and x[-1] is None:
        x.pop()
    a = dict(n.attributes)
    if n.op in ("TopK",):
        return top_k(x, a)
    if n.op == "Split":
        return split(x, a, len(n.outputs))
    if n.op in ("LSTM", "GRU", "RNN"):
        return recurrent(x, a, n.op)
    if n.op == "Div":
        return [x[0] / x[1] if x[0].dtype.is_floating_point else torch.div(x[0], x[1], rounding_mode="trunc")]
    if n.op == "Cast":
        return [x[0].to(TYPES[reference.ONNX_TYPES[a["to"]]])]
    need(n.op in ONE and len(n.outputs) == 1)
    return [ONE[n.op](x, a)]


def outputs(graph):
    """name -> array in the types of the model, or None."""
    if any(v.dtype == np.float16 for v in list(graph.inputs.values()) + list(graph.initializers.values())):
        return None  # PyTorch's processor kernels of 16 bits are too few
    try:
        values = {k: tensor(v) for k, v in list(graph.inputs.items()) + list(graph.initializers.items())}
        kinds = {k: v.dtype.name for k, v in list(graph.inputs.items()) + list(graph.initializers.items())}
        with torch.no_grad():
            for n in graph.nodes:
                if n.op == "Cast" and reference.ONNX_TYPES[n.attributes["to"]] == "float16":
                    return None
                results = compute(n, [values[i] if i else None for i in n.inputs])
                types = reference.result_types(n.op, [kinds[i] if i else None for i in n.inputs], n.attributes, len(n.outputs))
                for name, result, kind in zip(n.outputs, results, types):
                    if name:
                        values[name], kinds[name] = result, kind
        return {k: values[k].numpy().astype(kinds[k]) for k in graph.outputs}
    except (Unknown, RuntimeError, KeyError):
        return None
