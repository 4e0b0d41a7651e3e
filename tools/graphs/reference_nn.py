"""Convolutions, poolings, norms, resizing and recurrent layers of ONNX in numpy (see reference.py)."""
import math

import numpy as np


def along(v, axis, rank):
    """A vector as an operand that varies along `axis` only."""
    v = np.asarray(v)
    if v.ndim == 0 or v.size == 1:
        return v.reshape(())
    shape = [1] * rank
    shape[axis % rank] = v.size
    return v.reshape(shape)


def geometry(a, extents, kernel):
    """Strides, dilations and pads (begin, end) per axis, with auto_pad resolved."""
    n = len(extents)
    strides, dilations = a.get("strides", [1] * n), a.get("dilations", [1] * n)
    auto = a.get("auto_pad", "NOTSET")
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        pads = []
        for e, k, s, d in zip(extents, kernel, strides, dilations):
            total = max((-(-e // s) - 1) * s + (k - 1) * d + 1 - e, 0)
            small = total // 2
            pads.append((small, total - small) if auto == "SAME_UPPER" else (total - small, small))
    else:
        flat = [0] * 2 * n if auto == "VALID" else a.get("pads", [0] * 2 * n)
        pads = [(flat[i], flat[i + n]) for i in range(n)]
    return strides, dilations, pads


def windows(x, kernel, a, fill):
    """(positions of the kernel, window of every result): yields offsets and strided views of the padded input."""
    extents = x.shape[2:]
    strides, dilations, pads = geometry(a, extents, kernel)
    outs, widths = [], [(0, 0), (0, 0)]
    for e, k, s, d, (begin, end) in zip(extents, kernel, strides, dilations, pads):
        room = e + begin + end - (k - 1) * d - 1
        if room < 0:
            raise ValueError("window larger than the input")
        n = room // s + 1
        if a.get("ceil_mode", 0):
            n = -(-room // s) + 1
            if (n - 1) * s >= e + begin:  # a window that begins in the padding at the end
                n -= 1
        reach = (n - 1) * s + (k - 1) * d + 1
        widths.append((begin, max(end, reach - e - begin)))
        outs.append(n)
    padded = np.pad(x, widths, constant_values=fill)
    views = []
    for at in np.ndindex(*kernel):
        index = [slice(None), slice(None)]
        for i, (p, n, s, d) in enumerate(zip(at, outs, strides, dilations)):
            index.append(slice(p * d, p * d + (n - 1) * s + 1, s))
        views.append((at, padded[tuple(index)]))
    return views


def conv(x, a):
    data, weight = x[0], x[1]
    groups = a.get("group", 1)
    n, out_channels, per = data.shape[0], weight.shape[0], weight.shape[1]
    y = None
    for at, view in windows(data, weight.shape[2:], a, 0.0):
        parts = view.reshape((n, groups, per) + view.shape[2:])
        w = weight[(slice(None), slice(None)) + at].reshape(groups, out_channels // groups, per)
        term = np.einsum("ngc...,goc->ngo...", parts, w)
        term = term.reshape((n, out_channels) + view.shape[2:])
        y = term if y is None else y + term
    return y if len(x) < 3 or x[2] is None else y + along(x[2], 1, y.ndim)


def conv_transpose(x, a):
    data, weight = x[0], x[1]
    groups, kernel = a.get("group", 1), weight.shape[2:]
    n, rank = data.shape[0], len(kernel)
    strides, dilations = a.get("strides", [1] * rank), a.get("dilations", [1] * rank)
    extra = a.get("output_padding", [0] * rank)
    pads = a.get("pads", [0] * 2 * rank)
    full = [(e - 1) * s + (k - 1) * d + 1 + o for e, s, k, d, o in zip(data.shape[2:], strides, kernel, dilations, extra)]
    if "output_shape" in a or a.get("auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
        raise NotImplementedError("ConvTranspose with output_shape or auto_pad")
    y = np.zeros([n, weight.shape[1] * groups] + full)
    parts = data.reshape((n, groups, data.shape[1] // groups) + data.shape[2:])
    for at in np.ndindex(*kernel):
        w = weight[(slice(None), slice(None)) + at].reshape(groups, -1, weight.shape[1])
        term = np.einsum("ngc...,gco->ngo...", parts, w).reshape((n, -1) + data.shape[2:])
        index = [slice(None), slice(None)]
        index += [slice(p * d, p * d + (e - 1) * s + 1, s) for p, d, e, s in zip(at, dilations, data.shape[2:], strides)]
        y[tuple(index)] += term
    y = y[(slice(None), slice(None)) + tuple(slice(pads[i], full[i] - pads[i + rank]) for i in range(rank))]
    return y if len(x) < 3 or x[2] is None else y + along(x[2], 1, y.ndim)


def max_pool(x, a):
    data, kernel = x[0], a["kernel_shape"]
    if a.get("storage_order", 0):
        raise NotImplementedError("column major indices")
    numbers = np.broadcast_to(np.arange(data.size).reshape(data.shape), data.shape).astype(np.float64)
    values = np.stack([v for _, v in windows(data, kernel, a, -np.inf)])
    places = np.stack([v for _, v in windows(numbers, kernel, a, -1.0)])
    best = np.argmax(values, axis=0)
    return [np.take_along_axis(values, best[None], 0)[0], np.take_along_axis(places, best[None], 0)[0].astype(np.int64)]


def average_pool(x, a):
    data, kernel = x[0], a["kernel_shape"]
    total = sum(v for _, v in windows(data, kernel, a, 0.0))
    if a.get("count_include_pad", 0) and not a.get("ceil_mode", 0):
        return total / np.prod(kernel)
    if a.get("count_include_pad", 0):
        raise NotImplementedError("count_include_pad with ceil_mode")
    return total / sum(v for _, v in windows(np.ones_like(data), kernel, a, 0.0))


def lp_pool(x, a):
    p = a.get("p", 2)
    return sum(np.abs(v) ** p for _, v in windows(x[0], a["kernel_shape"], a, 0.0)) ** (1.0 / p)


def spatial(x):
    return tuple(range(2, x.ndim))


def global_average_pool(x, a):
    return np.mean(x[0], axis=spatial(x[0]), keepdims=True)


def global_max_pool(x, a):
    return np.max(x[0], axis=spatial(x[0]), keepdims=True)


def global_lp_pool(x, a):
    p = a.get("p", 2)
    return np.sum(np.abs(x[0]) ** p, axis=spatial(x[0]), keepdims=True) ** (1.0 / p)


def max_unpool(x, a):
    kernel = a["kernel_shape"]
    strides, pads = a.get("strides", [1] * len(kernel)), a.get("pads", [0] * 2 * len(kernel))
    extents = [(e - 1) * s - pads[i] - pads[i + len(kernel)] + k
               for i, (e, s, k) in enumerate(zip(x[0].shape[2:], strides, kernel))]
    if len(x) > 2 and x[2] is not None:
        raise NotImplementedError("MaxUnpool with output_shape")
    y = np.zeros(list(x[0].shape[:2]) + extents)
    y.reshape(-1)[x[1].reshape(-1)] = x[0].reshape(-1)
    return y


def normalize(x, axes, epsilon):
    mean = np.mean(x, axis=axes, keepdims=True)
    return (x - mean) / np.sqrt(np.var(x, axis=axes, keepdims=True) + epsilon)


def batch_norm(x, a):
    scale, bias, mean, var = (along(v, 1, x[0].ndim) for v in x[1:5])
    return (x[0] - mean) / np.sqrt(var + a.get("epsilon", 1e-5)) * scale + bias


def instance_norm(x, a):
    y = normalize(x[0], spatial(x[0]), a.get("epsilon", 1e-5))
    return y * along(x[1], 1, y.ndim) + along(x[2], 1, y.ndim)


def group_norm(x, a):
    groups, shape = a["num_groups"], x[0].shape
    y = x[0].reshape(shape[0], groups, -1)
    y = normalize(y, (2,), a.get("epsilon", 1e-5)).reshape(shape)
    scale, bias = x[1], x[2]
    if scale.size == groups and groups != shape[1]:  # before opset 21: one per group
        scale, bias = (np.repeat(v, shape[1] // groups) for v in (scale, bias))
    return y * along(scale, 1, y.ndim) + along(bias, 1, y.ndim)


def tail(x, a):
    return tuple(range(a.get("axis", -1) % x.ndim, x.ndim))


def layer_norm(x, a):
    y = normalize(x[0], tail(x[0], a), a.get("epsilon", 1e-5)) * x[1]
    return y if len(x) < 3 or x[2] is None else y + x[2]


def rms_norm(x, a):
    mean = np.mean(x[0] ** 2, axis=tail(x[0], a), keepdims=True)
    return x[0] / np.sqrt(mean + a.get("epsilon", 1e-5)) * x[1]


def mean_variance_norm(x, a):
    axes = tuple(a.get("axes", [0, 2, 3]))
    mean = np.mean(x[0], axis=axes, keepdims=True)
    return (x[0] - mean) / (np.std(x[0], axis=axes, keepdims=True) + 1e-9)


def lp_norm(x, a):
    axis, p = a.get("axis", -1), a.get("p", 2)
    length = np.sum(np.abs(x[0]) ** p, axis=axis, keepdims=True) ** (1.0 / p)
    return x[0] / length


def lrn(x, a):
    size = a["size"]
    square, channels = x[0] ** 2, x[0].shape[1]
    total = np.zeros_like(square)
    for c in range(channels):
        low, high = max(0, c - (size - 1) // 2), min(channels - 1, c + math.ceil((size - 1) / 2))
        total[:, c] = np.sum(square[:, low:high + 1], axis=1)
    return x[0] / (a.get("bias", 1.0) + a.get("alpha", 1e-4) / size * total) ** a.get("beta", 0.75)


def source_positions(out, extent, scale, mode):
    at = np.arange(out, dtype=np.float64)
    if mode == "asymmetric":
        return at / scale
    if mode == "align_corners":
        return at * (extent - 1) / (out - 1) if out > 1 else at * 0
    if mode == "pytorch_half_pixel":
        return (at + 0.5) / scale - 0.5 if out > 1 else at * 0
    if mode == "half_pixel":
        return (at + 0.5) / scale - 0.5
    raise NotImplementedError(mode)


def nearest(at, rule):
    if rule == "floor":
        return np.floor(at)
    if rule == "ceil":
        return np.ceil(at)
    if rule == "round_prefer_ceil":
        return np.floor(at + 0.5)
    return np.ceil(at - 0.5)


def resize_axis(x, axis, out, scale, a):
    extent = x.shape[axis]
    at = source_positions(out, extent, scale, a.get("coordinate_transformation_mode", "half_pixel"))
    mode = a.get("mode", "nearest")
    if mode == "nearest":
        index = np.clip(nearest(at, a.get("nearest_mode", "round_prefer_floor")), 0, extent - 1).astype(int)
        return np.take(x, index, axis=axis)
    if mode != "linear" or a.get("antialias", 0):
        raise NotImplementedError("Resize " + mode)
    low = np.floor(at)
    part = along(at - low, axis, x.ndim)
    first, second = (np.clip(v, 0, extent - 1).astype(int) for v in (low, low + 1))
    return np.take(x, first, axis=axis) * (1 - part) + np.take(x, second, axis=axis) * part


def resize(x, a):
    data = x[0]
    scales = x[2] if len(x) > 2 and x[2] is not None and np.size(x[2]) else None
    sizes = [int(v) for v in x[3]] if len(x) > 3 and x[3] is not None else None
    if "axes" in a:
        raise NotImplementedError("Resize of axes")
    outs = sizes or [int(math.floor(e * s)) for e, s in zip(data.shape, scales)]
    for axis, out in enumerate(outs):
        scale = float(scales[axis]) if scales is not None else out / data.shape[axis]
        if out != data.shape[axis] or scale != 1:
            data = resize_axis(data, axis, out, scale, a)
    return data


def upsample(x, a):
    mode = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor", "mode": a.get("mode", "nearest")}
    return resize([x[0], None, x[1]], mode)


ACTIVATIONS = {"Sigmoid": lambda v: 0.5 * (1 + np.tanh(0.5 * v)), "Tanh": np.tanh, "Relu": lambda v: np.maximum(v, 0)}


def recurrent(x, a, gates, states, step):
    """Runs `step(direction, x_t, state, activations) -> state` over time. Y, Y_h, (Y_c)."""
    data, hidden = x[0], a["hidden_size"]
    if a.get("layout", 0) or (len(x) > 4 and x[4] is not None) or "clip" in a:
        raise NotImplementedError("layout, sequence_lens or clip")
    steps, batch = data.shape[:2]
    direction = a.get("direction", "forward")
    directions = 2 if direction == "bidirectional" else 1
    names = a.get("activations") or gates * directions
    y = np.zeros((steps, directions, batch, hidden))
    ends = [np.zeros((directions, batch, hidden)) for _ in range(states)]
    for d in range(directions):
        backward = direction == "reverse" or d == 1
        f = [ACTIVATIONS[n] for n in names[d * len(gates):(d + 1) * len(gates)]]
        state = [x[5 + s][d] if len(x) > 5 + s and x[5 + s] is not None else np.zeros((batch, hidden)) for s in range(states)]
        for t in (reversed(range(steps)) if backward else range(steps)):
            state = step(d, data[t], state, f)
            y[t, d] = state[0]
        for s in range(states):
            ends[s][d] = state[s]
    return [y] + ends


def bias_of(x, d, gates, hidden):
    if len(x) > 3 and x[3] is not None:
        return x[3][d][:gates * hidden], x[3][d][gates * hidden:]
    return np.zeros(gates * hidden), np.zeros(gates * hidden)


def lstm(x, a):
    n = a["hidden_size"]
    peep = x[7] if len(x) > 7 and x[7] is not None else np.zeros((2, 3 * n))

    def step(d, data, state, f):
        h, c = state
        wb, rb = bias_of(x, d, 4, n)
        i, o, g, k = np.split(data @ x[1][d].T + h @ x[2][d].T + wb + rb, 4, axis=1)
        pi, po, pf = np.split(peep[d], 3)
        i, g = f[0](i + pi * c), f[0](g + pf * c)
        c = g * c + i * f[1](k)
        return [f[0](o + po * c) * f[2](c), c]

    return recurrent(x, a, ["Sigmoid", "Tanh", "Tanh"], 2, step)


def gru(x, a):
    n = a["hidden_size"]

    def step(d, data, state, f):
        h = state[0]
        wb, rb = bias_of(x, d, 3, n)
        xz, xr, xh = np.split(data @ x[1][d].T + wb, 3, axis=1)
        wz, wr, wh = np.split(x[2][d], 3)
        bz, br, bh = np.split(rb, 3)
        z, r = f[0](xz + h @ wz.T + bz), f[0](xr + h @ wr.T + br)
        if a.get("linear_before_reset", 0):
            k = f[1](xh + r * (h @ wh.T + bh))
        else:
            k = f[1](xh + (r * h) @ wh.T + bh)
        return [(1 - z) * k + z * h]

    return recurrent(x, a, ["Sigmoid", "Tanh"], 1, step)


def rnn(x, a):
    n = a["hidden_size"]

    def step(d, data, state, f):
        wb, rb = bias_of(x, d, 1, n)
        return [f[0](data @ x[1][d].T + state[0] @ x[2][d].T + wb + rb)]

    return recurrent(x, a, ["Tanh"], 1, step)
