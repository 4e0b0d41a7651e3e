"""What the text of a graph computes (cs-compile --emit graph), in numpy: an independent reference for networks too large
for the test suites. Operators are those of GPT, BERT and residual networks; floats are carried as f32, whatever their type.
"""
import math
import pathlib

import numpy
import yaml


def gelu(x):
    # erf by Abramowitz and Stegun 7.1.26 has an error of 1.5e-7.
    z = numpy.abs(x) / math.sqrt(2)
    t = 1 / (1 + 0.3275911 * z)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    erf = numpy.sign(x) * (1 - series * numpy.exp(-z * z))
    return 0.5 * x * (1 + erf)


def softmax(x, axis):
    e = numpy.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def layer_norm(x, scale, bias, a):
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return (x - mean) / numpy.sqrt(variance + float(a.get('epsilon', 1e-5))) * scale + bias


def sliced(x, a):
    at = [slice(None)] * x.ndim
    for axis, start, end in zip(a['axes'], a['starts'], a['ends']):
        at[axis] = slice(start, end)
    return x[tuple(at)]


def gather_nd(x, index, a):
    if a.get('batch_dims', 0) == 0:
        return x[tuple(numpy.moveaxis(index, -1, 0))]
    return numpy.stack([gather_nd(p, i, {'batch_dims': a['batch_dims'] - 1}) for p, i in zip(x, index)])


def windows(x, kernel, strides, pads, fill):
    """[N, C, H, W] -> [N, C, H', W', kh, kw]."""
    x = numpy.pad(x, [(0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])], constant_values=fill)
    view = numpy.lib.stride_tricks.sliding_window_view(x, kernel, axis=(2, 3))
    return view[:, :, ::strides[0], ::strides[1]]


def conv(x, w, bias, a):
    view = windows(x, w.shape[2:], a.get('strides', [1, 1]), a.get('pads', [0] * 4), 0)
    n, _, height, width = view.shape[:4]
    rows = view.transpose(0, 2, 3, 1, 4, 5).reshape(n * height * width, -1)
    y = (rows @ w.reshape(w.shape[0], -1).T).reshape(n, height, width, -1).transpose(0, 3, 1, 2)
    return y if bias is None else y + bias.reshape(1, -1, 1, 1)


def batch_norm(x, scale, bias, mean, variance, a):
    def by_channel(v):
        return v.reshape(1, -1, 1, 1)
    return (x - by_channel(mean)) / numpy.sqrt(by_channel(variance) + float(a['epsilon'])) * by_channel(scale) + by_channel(bias)


def gemm(x, w, bias, a):
    w = w.T if a.get('trans_b') else w
    y = a.get('alpha', 1) * (x @ w)
    return y if bias is None else y + a.get('beta', 1) * bias


def given(values, n):
    return [*values, *[None] * (n - len(values))]


OPS = {
    'add': lambda v, a: v[0] + v[1],
    'mul': lambda v, a: v[0] * v[1],
    'matmul': lambda v, a: numpy.matmul(v[0], v[1]),
    'gemm': lambda v, a: gemm(*given(v, 3), a),
    'gelu': lambda v, a: gelu(v[0]),
    'relu': lambda v, a: numpy.maximum(v[0], 0),
    'tanh': lambda v, a: numpy.tanh(v[0]),
    'softmax': lambda v, a: softmax(v[0], a['axis']),
    'layer_norm': lambda v, a: layer_norm(*v, a),
    'batch_norm': lambda v, a: batch_norm(*v, a),
    'reshape': lambda v, a: v[0].reshape(a['shape']),
    'transpose': lambda v, a: v[0].transpose(a['perm']),
    'gather': lambda v, a: numpy.take(v[0], v[1], axis=a['axis']),
    'gather_nd': lambda v, a: gather_nd(*v, a),
    'slice': lambda v, a: sliced(v[0], a),
    'conv': lambda v, a: conv(*given(v, 3), a),
    'max_pool': lambda v, a: windows(v[0], a['kernel_shape'], a['strides'], a['pads'], -numpy.inf).max(axis=(4, 5)),
    'reduce_mean': lambda v, a: v[0].mean(axis=tuple(a['axes']), keepdims=bool(a.get('keepdims', 1))),
}


def constant(entry, weights):
    kind, _, extents = entry['type'].partition('[')
    shape = [int(n) for n in extents.rstrip(']').split(',') if n.strip()]
    dtype = {'f32': '<f4', 'f16': '<f2', 'i32': '<i4', 'i64': '<i8'}[kind]
    if 'value' in entry:
        return numpy.asarray(entry['value'], dtype).reshape(shape)
    count = math.prod(shape)
    return numpy.frombuffer(weights, dtype, count, entry['offset']).reshape(shape)


def outputs(file, inputs):
    """Outputs by name, of one sample."""
    file = pathlib.Path(file)
    g = yaml.safe_load(file.read_text())
    weights = numpy.memmap(file.parent / g['weights'], mode='r')
    values = {c['name']: constant(c, weights) for c in g['constants']}
    values = {name: v.astype('f4') if v.dtype.kind == 'f' else v for name, v in values.items()}
    values.update(inputs)
    for node in g['nodes']:
        operands = [values[name] for name in node['inputs'] if name != '~']
        values[node['outputs'][0]] = OPS[node['op']](operands, node.get('attrs', {}))
    return {o['name']: values[o['name']] for o in g['outputs']}
