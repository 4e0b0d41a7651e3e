#!/usr/bin/env python3
"""Writes the graph of a known network (YAML, with weights.bin beside it) with seeded weights.

    networks.py NAME FOLDER [--size N] [--width F] [--depth F]

--size: side of the picture; --width and --depth scale channels and blocks, for copies that simulate in seconds.
Normalizations behind convolutions are in their weights already, as exporters leave them.
"""
import argparse
import array
import os
import random


class Writer:
    def __init__(self, name, folder):
        self.name, self.folder, self.count = name, folder, 0
        self.constants, self.nodes, self.offset = [], [], 0
        os.makedirs(folder, exist_ok=True)
        self.weights = open(os.path.join(folder, 'weights.bin'), 'wb')
        rng = random.Random(1)
        self.noise = array.array('f', (rng.uniform(-1, 1) for _ in range(1 << 16)))

    def constant(self, shape, scale, offset=0.0):
        """Numbers about `offset`, at most `scale` away."""
        self.count += 1
        name, words = f'w{self.count}', 1
        for n in shape:
            words *= n
        start = (self.count * 7919) % 1024
        block = array.array('f', (offset + scale * v for v in self.noise[start:] + self.noise[:start]))
        whole, rest = divmod(words, len(block))
        for _ in range(whole):
            block.tofile(self.weights)
        block[:rest].tofile(self.weights)
        self.constants.append(f'  - {{name: {name}, type: "f32{list(shape)}", offset: {self.offset}}}')
        self.offset += 4 * words
        return name

    def node(self, op, inputs, **attrs):
        self.count += 1
        name = f'{op}_{self.count}'
        text = f', attrs: {{{", ".join(f"{k}: {v}" for k, v in attrs.items())}}}' if attrs else ''
        self.nodes.append(f'  - {{name: {name}, op: {op}, inputs: [{", ".join(inputs)}]{text}}}')
        return name

    def finish(self, input_shape, output):
        self.weights.close()
        with open(os.path.join(self.folder, 'model.yaml'), 'w') as f:
            f.write(f'graph: {self.name}\nweights: weights.bin\ninputs:\n  - {{name: x, type: "f32{list(input_shape)}"}}\n')
            f.write('constants:\n' + '\n'.join(self.constants) + '\nnodes:\n' + '\n'.join(self.nodes))
            f.write(f'\noutputs: [{{name: {output}}}]\n')

    # ---- layers; a picture is (value, channels)

    def conv(self, x, channels, kernel, stride=1, groups=1, act=None):
        value, before = x
        fan = before // groups * kernel * kernel
        w = self.constant((channels, before // groups, kernel, kernel), (3.0 / fan) ** 0.5)
        b = self.constant((channels,), 0.1)
        y = self.node('conv', [value, w, b], kernel_shape=[kernel, kernel], strides=[stride, stride],
                      pads=[kernel // 2] * 4, group=groups)
        return self.act((y, channels), act)

    def act(self, x, act):
        if act is None:
            return x
        if act == 'silu':
            return self.node('mul', [x[0], self.node('sigmoid', [x[0]])]), x[1]
        if act == 'relu6':
            return self.node('clip', [x[0]], min=0, max=6), x[1]
        return self.node(act, [x[0]]), x[1]

    def linear(self, value, n, m):
        w = self.constant((n, m), (3.0 / n) ** 0.5)
        return self.node('add', [self.node('matmul', [value, w]), self.constant((m,), 0.1)])

    def head(self, x, classes):
        pooled = self.node('reduce_mean', [x[0]], axes=[2, 3], keepdims=0)
        return self.linear(pooled, x[1], classes)

    def norm(self, value, n):
        return self.node('layer_norm', [value, self.constant((n,), 0.1, 1.0), self.constant((n,), 0.1)], axis=-1,
                         epsilon=1e-6)


def resnet(w, size, width, depth, blocks, bottleneck):
    c = lambda n: max(8, int(n * width))
    x = w.conv(('x', 3), c(64), 7, 2, act='relu')
    x = w.node('max_pool', [x[0]], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]), x[1]
    for stage, count in enumerate(blocks):
        for k in range(max(1, round(count * depth))):
            stride, inner = 2 if stage > 0 and k == 0 else 1, c(64 << stage)
            outer = 4 * inner if bottleneck else inner
            if bottleneck:
                y = w.conv(x, inner, 1, act='relu')
                y = w.conv(y, inner, 3, stride, act='relu')
                y = w.conv(y, outer, 1)
            else:
                y = w.conv(x, inner, 3, stride, act='relu')
                y = w.conv(y, inner, 3)
            short = x if stride == 1 and x[1] == outer else w.conv(x, outer, 1, stride)
            x = w.act((w.node('add', [y[0], short[0]]), outer), 'relu')
    return w.head(x, c(1000))


def squeeze(w, x, inner, act, gate):
    pooled = w.node('reduce_mean', [x[0]], axes=[2, 3], keepdims=1), x[1]
    y = w.act(w.conv(w.conv(pooled, inner, 1, act=act), x[1], 1), gate)
    return w.node('mul', [x[0], y[0]]), x[1]


def inverted(w, x, expand, channels, kernel, stride, act, squeezed=False):
    inner = x[1] * expand
    y = w.conv(x, inner, 1, act=act) if expand > 1 else x
    y = w.conv(y, inner, kernel, stride, groups=inner, act=act)
    if squeezed:
        y = squeeze(w, y, max(1, x[1] // 4), act, 'sigmoid')
    y = w.conv(y, channels, 1)
    return (w.node('add', [y[0], x[0]]), channels) if stride == 1 and x[1] == channels else y


def mobilenet_v2(w, size, width, depth):
    c = lambda n: max(8, int(n * width))
    x = w.conv(('x', 3), c(32), 3, 2, act='relu6')
    for expand, channels, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                            (6, 160, 3, 2), (6, 320, 1, 1)):
        for k in range(max(1, round(count * depth))):
            x = inverted(w, x, expand, c(channels), 3, stride if k == 0 else 1, 'relu6')
    return w.head(w.conv(x, c(1280), 1, act='relu6'), c(1000))


def efficientnet_b0(w, size, width, depth):
    c = lambda n: max(8, int(n * width))
    x = w.conv(('x', 3), c(32), 3, 2, act='silu')
    for expand, channels, count, stride, kernel in ((1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3),
                                                    (6, 112, 3, 1, 5), (6, 192, 4, 2, 5), (6, 320, 1, 1, 3)):
        for k in range(max(1, round(count * depth))):
            x = inverted(w, x, expand, c(channels), kernel, stride if k == 0 else 1, 'silu', True)
    return w.head(w.conv(x, c(1280), 1, act='silu'), c(1000))


def convnext_t(w, size, width, depth):
    c = lambda n: max(8, int(n * width))

    def patches(x, channels, side):
        fan = x[1] * side * side
        y = w.node('conv', [x[0], w.constant((channels, x[1], side, side), (3.0 / fan) ** 0.5), w.constant((channels,), 0.1)],
                   kernel_shape=[side, side], strides=[side, side])
        return y, channels

    def last(value):
        return w.node('transpose', [value], perm=[0, 2, 3, 1])

    def first(value):
        return w.node('transpose', [value], perm=[0, 3, 1, 2])

    x = patches(('x', 3), c(96), 4)
    x = first(w.norm(last(x[0]), x[1])), x[1]
    for stage, count in enumerate((3, 3, 9, 3)):
        if stage > 0:
            x = patches((first(w.norm(last(x[0]), x[1])), x[1]), c(96 << stage), 2)
        for _ in range(max(1, round(count * depth))):
            y = last(w.conv(x, x[1], 7, groups=x[1])[0])
            y = w.linear(w.norm(y, x[1]), x[1], 4 * x[1])
            y = w.linear(w.node('gelu', [y]), 4 * x[1], x[1])
            y = w.node('mul', [y, w.constant((x[1],), 0.1, 0.2)])
            x = w.node('add', [first(y), x[0]]), x[1]
    pooled = w.node('reduce_mean', [x[0]], axes=[2, 3], keepdims=0)
    return w.linear(w.norm(pooled, x[1]), x[1], c(1000))


def vit_b_16(w, size, width, depth):
    hidden, heads, side = max(16, int(768 * width)), max(2, int(12 * width)), size // 16
    hidden -= hidden % heads
    steps, each = side * side + 1, hidden // heads
    fan = 3 * 16 * 16
    y = w.node('conv', ['x', w.constant((hidden, 3, 16, 16), (3.0 / fan) ** 0.5), w.constant((hidden,), 0.1)],
               kernel_shape=[16, 16], strides=[16, 16])
    y = w.node('reshape', [y], shape=[1, hidden, side * side])
    y = w.node('transpose', [y], perm=[0, 2, 1])
    x = w.node('concat', [w.constant((1, 1, hidden), 0.5), y], axis=1)
    x = w.node('add', [x, w.constant((1, steps, hidden), 0.1)])
    for _ in range(max(1, round(12 * depth))):
        y = w.norm(x, hidden)
        parts = []
        for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]):
            p = w.node('reshape', [w.linear(y, hidden, hidden)], shape=[1, steps, heads, each])
            parts.append(w.node('transpose', [p], perm=perm))
        scores = w.node('mul', [w.node('matmul', parts[:2]), w.constant((1,), 0.0, each ** -0.5)])
        y = w.node('matmul', [w.node('softmax', [scores], axis=-1), parts[2]])
        y = w.node('reshape', [w.node('transpose', [y], perm=[0, 2, 1, 3])], shape=[1, steps, hidden])
        x = w.node('add', [x, w.linear(y, hidden, hidden)])
        y = w.linear(w.norm(x, hidden), hidden, 4 * hidden)
        x = w.node('add', [x, w.linear(w.node('gelu', [y]), 4 * hidden, hidden)])
    x = w.node('slice', [w.norm(x, hidden)], starts=[0], ends=[1], axes=[1])
    return w.linear(w.node('reshape', [x], shape=[1, hidden]), hidden, max(8, int(1000 * width)))


NETWORKS = {
    'resnet18': lambda w, *a: resnet(w, *a, (2, 2, 2, 2), False),
    'resnet50': lambda w, *a: resnet(w, *a, (3, 4, 6, 3), True),
    'mobilenet_v2': mobilenet_v2,
    'efficientnet_b0': efficientnet_b0,
    'convnext_t': convnext_t,
    'vit_b_16': vit_b_16,
}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('name', choices=NETWORKS)
    p.add_argument('folder')
    p.add_argument('--size', type=int, default=224)
    p.add_argument('--width', type=float, default=1.0)
    p.add_argument('--depth', type=float, default=1.0)
    a = p.parse_args()
    w = Writer(a.name, a.folder)
    w.finish((1, 3, a.size, a.size), NETWORKS[a.name](w, a.size, a.width, a.depth))


if __name__ == '__main__':
    main()
