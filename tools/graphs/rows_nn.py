"""Rows of convolutions, poolings, norms, resizing and recurrent layers (see rows.py)."""
import numpy as np

from rows import CODE, ROWS, floats, is_float, row


def image(ranks=(3, 4)):
    return lambda v: is_float(v) and v.rank in ranks


def window(b, extents, largest=5):
    """Kernel, and the attributes strides, dilations, pads or auto_pad of a window over these extents."""
    kernel = [b.integer(1, min(largest, e)) if b.chance(0.4) else min(3, e) for e in extents]
    n = len(extents)
    a = {}
    if b.chance(0.5):
        a["pads"] = [k // 2 for k in kernel] * 2
    elif b.chance(0.2):
        a["auto_pad"] = b.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
    if b.chance(0.3):
        a["strides"] = [b.integer(1, 2) for _ in range(n)] if b.chance(0.3) else [2] * n
    if b.chance(0.15):
        a["dilations"] = [2] * n
    return kernel, a


@row("Conv", weight=5)
def conv(b):
    x = b.pick(image((3, 4, 4, 5)))
    if x is None:
        return None
    v = b.values[x]
    channels = v.shape[1]
    kernel, a = window(b, v.shape[2:])
    if "auto_pad" in a:
        a.pop("dilations", None)
    groups = b.choice([d for d in range(1, channels + 1) if channels % d == 0]) if b.chance(0.25) else 1
    groups = channels if b.chance(0.1) else groups
    outs = groups * b.integer(1, max(1, 16 // groups))
    w = b.weights([outs, channels // groups] + kernel, 1 / np.sqrt(channels // groups * np.prod(kernel)))
    bias = [b.weights((outs,))] if b.chance(0.7) else []
    if b.chance(0.5):
        a["kernel_shape"] = kernel
    if groups > 1:
        a["group"] = groups
    y = b.node("Conv", [x, w] + bias, a)
    return b.node("Relu", y) if y and b.chance(0.3) else y


@row("ConvTranspose", weight=0.8)
def conv_transpose(b):
    x = b.pick(image())
    if x is None:
        return None
    v = b.values[x]
    n = v.rank - 2
    kernel, stride = [b.integer(2, 3)] * n, b.integer(1, 2)
    channels, outs = v.shape[1], b.integer(1, 8)
    w = b.weights([channels, outs] + kernel, 1 / np.sqrt(channels))
    a = {"strides": [stride] * n}
    if b.chance(0.4):
        a["pads"] = [kernel[0] // 2] * 2 * n
    if stride == 2 and b.chance(0.3):
        a["output_padding"] = [1] * n
    return b.node("ConvTranspose", [x, w] + ([b.weights((outs,))] if b.chance(0.6) else []), a)


@row("MaxPool", weight=1.5, since=10)
def max_pool(b):
    x = b.pick(image())
    if x is None:
        return None
    kernel, a = window(b, b.values[x].shape[2:], 3)
    if b.chance(0.15):
        a.pop("auto_pad", None)
        a["ceil_mode"] = 1
    return b.node("MaxPool", [x], {"kernel_shape": kernel, **a})


@row("MaxUnpool", weight=0.2, since=11)
def max_unpool(b):
    x = b.pick(lambda v: is_float(v) and v.rank == 4 and not v.batch and v.shape[2] % 2 == 0 and v.shape[3] % 2 == 0)
    a = {"kernel_shape": [2, 2], "strides": [2, 2]}
    y = x and b.node("MaxPool", [x], a, results=2)
    return y and b.node("MaxUnpool", y, a)


@row("AveragePool", weight=1.0, since=10)
def average_pool(b):
    x = b.pick(image())
    if x is None:
        return None
    kernel, a = window(b, b.values[x].shape[2:], 3)
    a.pop("dilations", None)
    if b.chance(0.4):
        a["count_include_pad"] = 1
    return b.node("AveragePool", [x], {"kernel_shape": kernel, **a})


@row("LpPool", weight=0.3, since=11)
def lp_pool(b):
    x = b.pick(image())
    if x is None:
        return None
    kernel, a = window(b, b.values[x].shape[2:], 3)
    a.pop("dilations", None)
    a.pop("auto_pad", None)
    return b.node("LpPool", [x], {"kernel_shape": kernel, "p": b.integer(1, 2), **a})


for _op in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"):
    ROWS[_op] = ({"GlobalAveragePool": 1.0}.get(_op, 0.3), 2, lambda b, op=_op: b.node(op, [b.pick(image())]))


def per_channel(b, v, low, high):
    return b.constant(b.rng.uniform(low, high, v.shape[1]), v.kind)


@row("BatchNormalization", weight=2, since=9)
def batch_norm(b):
    x = b.pick(floats(2))
    if x is None:
        return None
    v = b.values[x]
    return b.node("BatchNormalization", [x, per_channel(b, v, 0.5, 1.5), per_channel(b, v, -0.5, 0.5), per_channel(b, v, -0.5, 0.5),
                                         per_channel(b, v, 0.5, 1.5)])


@row("InstanceNormalization", weight=0.7, since=6)
def instance_norm(b):
    x = b.pick(image())
    return x and b.node("InstanceNormalization", [x, per_channel(b, b.values[x], 0.5, 1.5), per_channel(b, b.values[x], -0.5, 0.5)])


@row("GroupNormalization", weight=0.7, since=18)
def group_norm(b):
    x = b.pick(lambda v: image()(v) and v.shape[1] > 1)
    if x is None:
        return None
    v = b.values[x]
    groups = b.choice([d for d in range(1, v.shape[1] + 1) if v.shape[1] % d == 0])
    size = v.shape[1] if b.graph.opset >= 21 else groups
    scale, bias = (b.constant(b.rng.uniform(l, h, size), v.kind) for l, h in ((0.5, 1.5), (-0.5, 0.5)))
    return b.node("GroupNormalization", [x, scale, bias], {"num_groups": groups})


@row("LayerNormalization", weight=1.5, since=17)
def layer_norm(b, op="LayerNormalization"):
    x = b.pick(lambda v: is_float(v) and v.rank >= 1 and v.shape[-1] > 2)
    if x is None:
        return None
    v = b.values[x]
    axis = -1 if b.chance(0.7) or v.rank < 3 else v.rank - 2
    shape = v.shape[axis:]
    operands = [x, b.constant(b.rng.uniform(0.5, 1.5, shape), v.kind)]
    if op == "LayerNormalization" and b.chance(0.8):
        operands.append(b.constant(b.rng.uniform(-0.5, 0.5, shape), v.kind))
    return b.node(op, operands, {"axis": axis})


ROWS["RMSNormalization"] = (0.6, 23, lambda b: layer_norm(b, "RMSNormalization"))


@row("MeanVarianceNormalization", weight=0.3, since=13)
def mean_variance(b):
    x = b.pick(lambda v: is_float(v) and v.rank >= 2)
    if x is None:
        return None
    v = b.values[x]
    return b.node("MeanVarianceNormalization", [x], {"axes": list(range(1, v.rank)) if v.batch or b.chance(0.5) else [0, v.rank - 1]})


@row("LRN", weight=0.4)
def lrn(b):
    x = b.pick(image((4,)))
    return x and b.node("LRN", [x], {"size": b.choice([1, 3, 5]), "alpha": b.choice([1e-4, 0.2]), "bias": b.choice([1.0, 2.0])})


@row("Resize", weight=1.0, since=13)
def resize(b):
    x = b.pick(image())
    if x is None:
        return None
    v = b.values[x]
    mode = b.choice(["nearest", "nearest", "linear"])
    if mode == "nearest":
        a = b.choice([{"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
                      {"coordinate_transformation_mode": "half_pixel"}])
    else:
        a = {"coordinate_transformation_mode": b.choice(["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"])}
    scale = b.choice([2.0, 2.0, 3.0, 0.5])
    scales = [1.0, 1.0] + [scale] * (v.rank - 2)
    if v.batch or b.chance(0.6):
        return b.node("Resize", [x, "", b.constant(scales, "float32")], {"mode": mode, **a})
    return b.node("Resize", [x, "", "", b.ints([int(e * s) for e, s in zip(v.shape, scales)])], {"mode": mode, **a})


@row("Upsample", weight=0)
def upsample(b):
    return None  # only in operator sets before 10; the standing tests of ONNX cover it


def recurrent(op, gates):
    def make(b):
        x = b.pick(lambda v: is_float(v) and v.rank == 3 and not v.batch and v.shape[0] <= 12 and v.shape[1] <= 4 and v.shape[2] <= 24)
        if x is None:
            return None
        v = b.values[x]
        hidden, direction = b.integer(1, 12), b.choice(["forward", "forward", "reverse", "bidirectional"])
        d = 2 if direction == "bidirectional" else 1
        inputs = [x, b.weights((d, gates * hidden, v.shape[2]), 1 / np.sqrt(v.shape[2])),
                  b.weights((d, gates * hidden, hidden), 1 / np.sqrt(hidden))]
        if b.chance(0.8):
            inputs.append(b.weights((d, 2 * gates * hidden), 0.5))
            if b.chance(0.4):
                states = [b.weights((d, v.shape[1], hidden)) for _ in range(2 if op == "LSTM" else 1)]
                inputs += [""] + states
        a = {"hidden_size": hidden}
        if direction != "forward" or b.chance(0.3):
            a["direction"] = direction
        if op == "GRU":
            a["linear_before_reset"] = b.integer(0, 1)
        return b.node(op, inputs, a, results=b.integer(1, 3 if op == "LSTM" else 2))
    ROWS[op] = (0.5, 14, make)


for _op, _gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
    recurrent(_op, _gates)


@row("DequantizeLinear", weight=0.15, since=13)
def quantized(b):
    """Quantized to 8 bits and back, as exporters write quantised networks."""
    x = b.pick(lambda v: v.kind == "float32" and v.rank >= 1)
    if x is None:
        return None
    zero = b.choice([("int8", 0), ("uint8", 128), ("int8", 5)])
    scale, point = b.constant(np.float64(0.03125), "float32"), b.constant(np.asarray(zero[1]), zero[0])
    n = [b.name("t") for _ in range(2)]
    return b.take([("QuantizeLinear", [x, scale, point], [n[0]], {}), ("DequantizeLinear", [n[0], scale, point], [n[1]], {})], [n[1]])


ROWS["QuantizeLinear"] = ROWS["DequantizeLinear"]
