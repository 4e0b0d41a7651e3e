"""What ONNX's operators compute, in numpy and double precision: the judge of random graphs.

Written from the text of the ONNX standard and independent of runtime/ops, so that an error of ours shows.
`evaluate(node, inputs, types, opset)` gives the results of one node and their types. Values of floating point types are
carried as float64; those of type float16 are rounded to it after every node. Types are names of numpy types.
"""
import math

import numpy as np

import reference_nn as nn

FLOATS = ("float32", "float16")
ONNX_TYPES = {1: "float32", 2: "uint8", 3: "int8", 5: "int16", 6: "int32", 7: "int64", 9: "bool", 10: "float16", 12: "uint32"}

_erf = np.vectorize(math.erf, otypes=[np.float64])


def sigmoid(x):
    return 0.5 * (1 + np.tanh(0.5 * x))


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def gelu(x, a):
    if a.get("approximate", "none") == "tanh":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * (1 + _erf(x / math.sqrt(2)))


def celu(x, a):
    alpha = a.get("alpha", 1.0)
    return np.maximum(x, 0) + np.minimum(0, alpha * (np.exp(np.minimum(x, 0) / alpha) - 1))


def selu(x, a):
    alpha, gamma = a.get("alpha", 1.67326319217681884765625), a.get("gamma", 1.05070102214813232421875)
    return gamma * np.where(x > 0, x, alpha * (np.exp(np.minimum(x, 0)) - 1))


def shrink(x, a):
    lambd, bias = a.get("lambd", 0.5), a.get("bias", 0.0)
    return np.where(x < -lambd, x + bias, np.where(x > lambd, x - bias, 0))


UNARY = {
    "Abs": np.abs, "Neg": np.negative, "Sign": np.sign, "Sqrt": np.sqrt, "Reciprocal": lambda x: 1 / x, "Floor": np.floor,
    "Ceil": np.ceil, "Round": np.round, "Exp": np.exp, "Log": np.log, "Erf": _erf, "Sin": np.sin, "Cos": np.cos, "Tan": np.tan,
    "Sinh": np.sinh, "Cosh": np.cosh, "Asinh": np.arcsinh, "Acosh": np.arccosh, "Atanh": np.arctanh, "Tanh": np.tanh,
    "Atan": np.arctan, "Asin": np.arcsin, "Acos": np.arccos, "Relu": lambda x: np.maximum(x, 0), "Sigmoid": sigmoid,
    "Softplus": softplus, "Softsign": lambda x: x / (1 + np.abs(x)), "Mish": lambda x: x * np.tanh(softplus(x)),
    "HardSwish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1), "Identity": lambda x: x, "Not": np.logical_not, "IsNaN": np.isnan,
}

# One operand and attributes.
UNARY_WITH = {
    "LeakyRelu": lambda x, a: np.where(x >= 0, x, a.get("alpha", 0.01) * x),
    "ThresholdedRelu": lambda x, a: np.where(x > a.get("alpha", 1.0), x, 0),
    "Elu": lambda x, a: np.where(x >= 0, x, a.get("alpha", 1.0) * (np.exp(np.minimum(x, 0)) - 1)),
    "HardSigmoid": lambda x, a: np.clip(a.get("alpha", 0.2) * x + a.get("beta", 0.5), 0, 1),
    "Swish": lambda x, a: x * sigmoid(a.get("alpha", 1.0) * x),
    "IsInf": lambda x, a: np.isinf(x) & (((x > 0) & bool(a.get("detect_positive", 1))) | ((x < 0) & bool(a.get("detect_negative", 1)))),
    "Selu": selu, "Celu": celu, "Shrink": shrink, "Gelu": gelu,
}


def divide(a, b):
    if np.issubdtype(a.dtype, np.integer):  # towards zero
        return (np.sign(a) * np.sign(b)) * (np.abs(a) // np.abs(b))
    return a / b


def power(a, b):
    return np.power(a, b.astype(np.float64)) if np.issubdtype(a.dtype, np.floating) else np.power(a, b)


BINARY = {
    "Sub": np.subtract, "Div": divide, "Pow": power, "Equal": np.equal, "Greater": np.greater, "Less": np.less,
    "GreaterOrEqual": np.greater_equal, "LessOrEqual": np.less_equal, "And": np.logical_and, "Or": np.logical_or,
    "Xor": np.logical_xor, "PRelu": lambda x, s: np.where(x >= 0, x, s * x),
}
VARIADIC = {
    "Add": np.add, "Mul": np.multiply, "Sum": np.add, "Max": np.maximum, "Min": np.minimum,
}
BOOLEAN = {"Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual", "And", "Or", "Xor", "Not", "IsNaN", "IsInf"}

REDUCE = {
    "ReduceSum": np.sum, "ReduceMax": np.max, "ReduceMin": np.min, "ReduceMean": np.mean, "ReduceProd": np.prod,
    "ReduceL1": lambda x, **k: np.sum(np.abs(x), **k), "ReduceL2": lambda x, **k: np.sqrt(np.sum(x * x, **k)),
    "ReduceSumSquare": lambda x, **k: np.sum(x * x, **k), "ReduceLogSum": lambda x, **k: np.log(np.sum(x, **k)),
    "ReduceLogSumExp": lambda x, **k: np.log(np.sum(np.exp(x), **k)),
}


def ints(x):
    return [int(v) for v in np.asarray(x).reshape(-1)]


def reduce(op, x, a):
    axes = a["axes"] if a.get("axes") is not None else (ints(x[1]) if len(x) > 1 and x[1] is not None else [])
    if not axes and a.get("noop_with_empty_axes", 0):
        return x[0]
    return REDUCE[op](x[0], axis=tuple(axes) if axes else None, keepdims=bool(a.get("keepdims", 1)))


def softmax(x, axis):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def modulo(x, a):
    return np.fmod(x[0], x[1]) if a.get("fmod", 0) else np.mod(x[0], x[1])


def clip(x, a):
    low = a.get("min", x[1] if len(x) > 1 else None)
    high = a.get("max", x[2] if len(x) > 2 else None)
    y = x[0] if low is None else np.maximum(x[0], low)
    return y if high is None else np.minimum(y, high)


def gemm(x, a):
    p = x[0].T if a.get("transA", 0) else x[0]
    q = x[1].T if a.get("transB", 0) else x[1]
    y = a.get("alpha", 1.0) * (p @ q)
    return y if len(x) < 3 or x[2] is None else y + a.get("beta", 1.0) * x[2]


def reshape(x, a):
    shape = ints(x[1])
    if not a.get("allowzero", 0):
        shape = [x[0].shape[i] if d == 0 else d for i, d in enumerate(shape)]
    return x[0].reshape(shape)


def squeeze(x, a):
    axes = a.get("axes", ints(x[1]) if len(x) > 1 and x[1] is not None else None)
    return np.squeeze(x[0], axis=None if axes is None else tuple(axes))


def unsqueeze(x, a):
    axes = a.get("axes", ints(x[1]) if len(x) > 1 else None)
    rank = x[0].ndim + len(axes)
    axes = {d % rank for d in axes}
    extents = iter(x[0].shape)
    return x[0].reshape([1 if d in axes else next(extents) for d in range(rank)])


def flatten(x, a):
    axis = a.get("axis", 1)
    axis += x[0].ndim if axis < 0 else 0
    return x[0].reshape(int(np.prod(x[0].shape[:axis])), -1)


def slice_(x, a):
    starts, ends = ints(x[1]), ints(x[2])
    axes = ints(x[3]) if len(x) > 3 and x[3] is not None else list(range(len(starts)))
    steps = ints(x[4]) if len(x) > 4 and x[4] is not None else [1] * len(starts)
    index = [slice(None)] * x[0].ndim
    for start, end, axis, step in zip(starts, ends, axes, steps):
        extent = x[0].shape[axis]
        start, end = (v + extent if v < 0 else v for v in (start, end))
        if step > 0:
            index[axis] = slice(min(max(start, 0), extent), min(max(end, 0), extent), step)
        else:
            end = min(max(end, -1), extent - 1)
            index[axis] = slice(min(max(start, 0), extent - 1), None if end < 0 else end, step)
    return x[0][tuple(index)]


def split(x, a, results):
    axis = a.get("axis", 0)
    extent = x[0].shape[axis]
    sizes = ints(x[1]) if len(x) > 1 and x[1] is not None else a.get("split")
    if sizes is None:
        part = -(-extent // results)
        sizes = [min(part, extent - i * part) for i in range(results)]
    if sum(sizes) != extent:
        raise ValueError("split")
    return np.split(x[0], np.cumsum(sizes)[:-1], axis=axis)


def pad(x, a):
    rank = x[0].ndim
    amounts, value = ints(x[1]), 0 if len(x) < 3 or x[2] is None else np.asarray(x[2]).reshape(-1)[0]
    axes = ints(x[3]) if len(x) > 3 and x[3] is not None else list(range(rank))
    widths = [(0, 0)] * rank
    for i, axis in enumerate(axes):
        widths[axis % rank] = (amounts[i], amounts[i + len(axes)])
    mode = a.get("mode", "constant")
    if mode == "constant":
        return np.pad(x[0], widths, constant_values=value)
    return np.pad(x[0], widths, mode=mode)


def depth_to_space(x, a):
    n, c, h, w = x.shape
    b = a["blocksize"]
    if a.get("mode", "DCR") == "DCR":
        return x.reshape(n, b, b, c // (b * b), h, w).transpose(0, 3, 4, 1, 5, 2).reshape(n, c // (b * b), h * b, w * b)
    return x.reshape(n, c // (b * b), b, b, h, w).transpose(0, 1, 4, 2, 5, 3).reshape(n, c // (b * b), h * b, w * b)


def space_to_depth(x, a):
    n, c, h, w = x.shape
    b = a["blocksize"]
    return x.reshape(n, c, h // b, b, w // b, b).transpose(0, 3, 5, 1, 2, 4).reshape(n, c * b * b, h // b, w // b)


def checked(index, extent):
    if np.any(index < -extent) or np.any(index >= extent):
        raise ValueError("index out of range")
    return np.where(index < 0, index + extent, index).astype(np.int64)


def gather(x, a):
    axis = a.get("axis", 0)
    return np.take(x[0], checked(x[1], x[0].shape[axis]), axis=axis)


def gather_elements(x, a):
    axis = a.get("axis", 0)
    return np.take_along_axis(x[0], checked(x[1], x[0].shape[axis]), axis=axis)


def gather_nd(x, a):
    data, index, batch = x[0], x[1], a.get("batch_dims", 0)
    depth = index.shape[-1]
    lead = index.shape[:-1]
    out = np.zeros(lead + data.shape[batch + depth:], data.dtype)
    for at in np.ndindex(*lead):
        out[at] = data[at[:batch] + tuple(int(v) for v in index[at])]
    return out


COMBINE = {"none": lambda a, b: b, "add": lambda a, b: a + b, "mul": lambda a, b: a * b, "max": max, "min": min}


def scatter_elements(x, a):
    y, axis, combine = x[0].copy(), a.get("axis", 0), COMBINE[a.get("reduction", "none")]
    index = checked(x[1], y.shape[axis])
    for at in np.ndindex(*index.shape):
        to = list(at)
        to[axis] = index[at]
        y[tuple(to)] = combine(y[tuple(to)], x[2][at])
    return y


def scatter_nd(x, a):
    y, combine = x[0].copy(), a.get("reduction", "none")
    for at in np.ndindex(*x[1].shape[:-1]):
        to = tuple(int(v) for v in x[1][at])
        if combine == "none":
            y[to] = x[2][at]
        else:
            y[to] = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}[combine](y[to], x[2][at])
    return y


def arg(x, a, pick):
    axis = a.get("axis", 0)
    if a.get("select_last_index", 0):
        y = x.shape[axis] - 1 - pick(np.flip(x, axis), axis=axis)
    else:
        y = pick(x, axis=axis)
    return np.expand_dims(y, axis) if a.get("keepdims", 1) else y


def hardmax(x, axis):
    y = np.zeros_like(x)
    np.put_along_axis(y, np.expand_dims(np.argmax(x, axis=axis), axis), 1, axis=axis)
    return y


def top_k(x, a):
    axis, k = a.get("axis", -1), ints(x[1])[0]
    key = -x[0] if a.get("largest", 1) else x[0]
    order = np.take(np.argsort(key, axis=axis, kind="stable"), range(k), axis=axis)
    return [np.take_along_axis(x[0], order, axis=axis), order]


def one_hot(x, a):
    depth, axis = ints(x[1])[0], a.get("axis", -1)
    index = np.mod(x[0].astype(np.int64), depth)
    inside = (x[0] >= -depth) & (x[0] < depth)
    rank = x[0].ndim + 1
    axis %= rank
    shape = [1] * rank
    shape[axis] = depth
    hot = (np.expand_dims(index, axis) == np.arange(depth).reshape(shape)) & np.expand_dims(inside, axis)
    return np.where(hot, x[2][1], x[2][0])


def cum_sum(x, a):
    axis = ints(x[1])[0]
    y = np.flip(x[0], axis) if a.get("reverse", 0) else x[0]
    total = np.cumsum(y, axis=axis)
    if a.get("exclusive", 0):
        total = total - y
    return np.flip(total, axis) if a.get("reverse", 0) else total


def reverse_sequence(x, a):
    time, batch = a.get("time_axis", 0), a.get("batch_axis", 1)
    y = np.moveaxis(x[0], (batch, time), (0, 1)).copy()
    for i, n in enumerate(ints(x[1])):
        y[i, :n] = y[i, :n][::-1]
    return np.moveaxis(y, (0, 1), (batch, time))


def compress(x, a):
    y = x[0] if "axis" in a else x[0].reshape(-1)
    axis = a.get("axis", 0)
    keep = np.flatnonzero(x[1][: y.shape[axis]])
    return np.take(y, keep, axis=axis)


def unique(x, a):
    if not a.get("sorted", 1):
        raise ValueError("unsorted")
    return list(np.unique(x[0], return_index=True, return_inverse=True, return_counts=True, axis=a.get("axis")))


def trilu(x, a):
    k = ints(x[1])[0] if len(x) > 1 and x[1] is not None else 0
    return np.triu(x[0], k) if a.get("upper", 1) else np.tril(x[0], k)


def shape(x, a):
    return np.array(x[0].shape[slice(a.get("start", 0), a.get("end"))], np.int64)


def quantize(x, a):
    zero = x[2] if len(x) > 2 and x[2] is not None else np.zeros((), np.uint8)
    scale, offset = (nn.along(v, a.get("axis", 1), x[0].ndim) for v in (x[1], zero))
    limits = np.iinfo(zero.dtype)
    return np.clip(np.round(x[0] / scale) + offset.astype(np.float64), limits.min, limits.max)


def dequantize(x, a):
    zero = x[2] if len(x) > 2 and x[2] is not None else np.zeros((), np.float64)
    scale, offset = (nn.along(v, a.get("axis", 1), x[0].ndim) for v in (x[1], zero))
    return (x[0].astype(np.float64) - offset.astype(np.float64)) * scale


def transpose(x, a):
    return np.transpose(x[0], a.get("perm"))


def expand(x, a):
    return np.broadcast_to(x[0], np.broadcast_shapes(x[0].shape, tuple(ints(x[1]))))


def constant(x, a):
    for key in ("value", "value_float", "value_int", "value_floats", "value_ints"):
        if key in a:
            return np.asarray(a[key])
    raise NotImplementedError("Constant")


def shift(x, a):
    return np.left_shift(*x) if a["direction"] == "LEFT" else np.right_shift(*x)


# Operators with one result: (inputs, attributes) -> array.
ONE = {
    "Gemm": gemm, "MatMul": lambda x, a: np.matmul(x[0], x[1]), "Mod": modulo, "BitShift": shift, "Clip": clip,
    "Where": lambda x, a: np.where(x[0], x[1], x[2]), "Cast": lambda x, a: x[0], "CastLike": lambda x, a: x[0],
    "Softmax": lambda x, a: softmax(x[0], a.get("axis", -1)), "LogSoftmax": lambda x, a: np.log(softmax(x[0], a.get("axis", -1))),
    "Reshape": reshape, "Flatten": flatten, "Squeeze": squeeze, "Unsqueeze": unsqueeze, "Transpose": transpose,
    "Concat": lambda x, a: np.concatenate(x, axis=a["axis"]), "Slice": slice_, "Tile": lambda x, a: np.tile(x[0], ints(x[1])),
    "Expand": expand, "Trilu": trilu, "Pad": pad, "DepthToSpace": lambda x, a: depth_to_space(x[0], a),
    "SpaceToDepth": lambda x, a: space_to_depth(x[0], a), "ReverseSequence": reverse_sequence, "Gather": gather,
    "GatherElements": gather_elements, "GatherND": gather_nd, "ScatterElements": scatter_elements, "Scatter": scatter_elements,
    "ScatterND": scatter_nd, "ArgMax": lambda x, a: arg(x[0], a, np.argmax), "ArgMin": lambda x, a: arg(x[0], a, np.argmin),
    "Hardmax": lambda x, a: hardmax(x[0], a.get("axis", -1)), "OneHot": one_hot, "CumSum": cum_sum, "Compress": compress,
    "Shape": shape, "Size": lambda x, a: np.array(x[0].size, np.int64), "Range": lambda x, a: np.arange(x[0], x[1], x[2]),
    "ConstantOfShape": lambda x, a: np.full(ints(x[0]), np.asarray(a.get("value", 0.0)).reshape(-1)[0]),
    "EyeLike": lambda x, a: np.eye(*x[0].shape, k=a.get("k", 0)), "NonZero": lambda x, a: np.array(np.nonzero(x[0]), np.int64),
    "Einsum": lambda x, a: np.einsum(a["equation"], *x), "Det": lambda x, a: np.linalg.det(x[0]), "Constant": constant,
    "QuantizeLinear": quantize, "DequantizeLinear": dequantize, "Mean": lambda x, a: sum(x) / len(x),
    "Conv": nn.conv, "ConvTranspose": nn.conv_transpose, "AveragePool": nn.average_pool, "LpPool": nn.lp_pool,
    "GlobalAveragePool": nn.global_average_pool, "GlobalMaxPool": nn.global_max_pool, "GlobalLpPool": nn.global_lp_pool,
    "MaxUnpool": nn.max_unpool, "BatchNormalization": nn.batch_norm, "InstanceNormalization": nn.instance_norm,
    "GroupNormalization": nn.group_norm, "RMSNormalization": nn.rms_norm,
    "MeanVarianceNormalization": nn.mean_variance_norm, "LpNormalization": nn.lp_norm, "LRN": nn.lrn, "Resize": nn.resize,
    "Upsample": nn.upsample, "LayerNormalization": nn.layer_norm, "Dropout": lambda x, a: x[0],
}
# Operators with several: -> list of arrays.
SEVERAL = {"TopK": top_k, "MaxPool": nn.max_pool, "LSTM": nn.lstm, "GRU": nn.gru, "RNN": nn.rnn, "Unique": unique}


def compute(op, x, a, results):
    if op in UNARY:
        return [UNARY[op](x[0])]
    if op in UNARY_WITH:
        return [UNARY_WITH[op](x[0], a)]
    if op in BINARY:
        return [BINARY[op](x[0], x[1])]
    if op in VARIADIC:
        y = x[0]
        for other in x[1:]:
            y = VARIADIC[op](y, other)
        return [y]
    if op in REDUCE:
        return [reduce(op, x, a)]
    if op in ONE:
        return [ONE[op](x, a)]
    if op in SEVERAL:
        return SEVERAL[op](x, a)
    if op == "Split":
        return split(x, a, results)
    raise NotImplementedError(op)


def result_types(op, types, a, results):
    if op in BOOLEAN:
        return ["bool"] * results
    if op in ("Shape", "Size", "ArgMax", "ArgMin", "NonZero"):
        return ["int64"] * results
    if op in ("TopK", "MaxPool", "Unique"):
        return [types[0]] + ["int64"] * (results - 1)
    if op == "Cast":
        return [ONNX_TYPES[a["to"]]]
    if op == "EyeLike" and "dtype" in a:
        return [ONNX_TYPES[a["dtype"]]]
    if op in ("Constant", "ConstantOfShape"):
        value = a.get("value", np.float32(0)) if op == "ConstantOfShape" else constant([], a)
        kind = np.asarray(value).dtype
        return ["float32" if kind == np.float64 else kind.name]
    if op in ("CastLike", "Where", "DequantizeLinear"):
        return [types[1]]
    if op == "QuantizeLinear":
        return [types[2] if len(types) > 2 and types[2] else "uint8"]
    return [types[2] if op == "OneHot" else types[0]] * results


def settle(array, kind):
    """An array as a value of this type: floats as float64, rounded if they are of 16 bits."""
    array = np.asarray(array)
    if kind == "float16":
        return array.astype(np.float16).astype(np.float64)
    if kind == "float32":
        return array.astype(np.float64)
    return array.astype(kind)


def evaluate(op, inputs, types, attributes, results, opset):
    """Results of one node and their types."""
    a = dict(attributes)
    if opset < 13 and op in ("Softmax", "LogSoftmax", "Hardmax"):
        raise NotImplementedError("two-dimensional " + op)
    with np.errstate(all="ignore"):
        out = compute(op, inputs, a, results)[:results]
    kinds = result_types(op, types, a, results)
    return [settle(y, k) for y, k in zip(out, kinds)], kinds
