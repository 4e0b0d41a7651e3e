"""Rows of views, movements and indices: elements stay what they are (see rows.py)."""
import numpy as np

from rows import axis_of, floats, is_float, is_int, row
from rows_axis import arg


# ---- views and movements

def factors(b, size, parts):
    out = []
    for _ in range(parts - 1):
        f = b.choice([d for d in range(1, size + 1) if size % d == 0][:12])
        out.append(f)
        size //= f
    return out + [size]


@row("Reshape", weight=2.5, since=5)
def reshape(b):
    x = b.pick(lambda v: v.rank >= 1)
    if x is None:
        return None
    v = b.values[x]
    rest = v.shape[1:] if v.batch else v.shape
    shape = factors(b, int(np.prod(rest)), b.integer(1, 4))
    if v.batch:
        if b.chance(0.25):
            return export_reshape(b, x, shape)
        shape = [b.choice([0, -1])] + shape
    if -1 not in shape and b.chance(0.4):
        shape[b.integer(1 if v.batch else 0, len(shape) - 1)] = -1
    return b.node("Reshape", [x, b.ints(shape)])


def export_reshape(b, x, shape):
    """Reshape to [Shape(x)[0], ...] as exporters write it."""
    n = [b.name("s") for _ in range(5)]
    zero, axes = b.ints(0, ()), b.ints([0])
    nodes = [("Shape", [x], [n[0]], {}), ("Gather", [n[0], zero], [n[1]], {}), ("Unsqueeze", [n[1], axes], [n[2]], {}),
             ("Concat", [n[2], b.ints(shape)], [n[3]], {"axis": 0}), ("Reshape", [x, n[3]], [n[4]], {})]
    return b.take(nodes, [n[4]]) if b.graph.opset >= 13 else None


@row("Flatten", since=9)
def flatten(b):
    x = b.pick(lambda v: v.rank >= 1)
    return x and b.node("Flatten", [x], {"axis": 1 if b.values[x].batch else b.integer(0, b.values[x].rank)})


@row("Squeeze", since=13)
def squeeze(b):
    x = b.pick(lambda v: any(e == 1 for e in v.shape))
    if x is None:
        return None
    v = b.values[x]
    axes = [i for i, e in enumerate(v.shape) if e == 1]
    return b.node("Squeeze", [x, b.ints([b.choice(axes)])])


@row("Unsqueeze", since=13)
def unsqueeze(b):
    x = b.pick(lambda v: v.rank <= 3)
    return x and b.node("Unsqueeze", [x, b.ints([b.integer(1 if b.values[x].batch else 0, b.values[x].rank)])])


@row("Transpose", weight=2)
def transpose(b):
    x = b.pick(lambda v: v.rank >= 2)
    if x is None:
        return None
    v = b.values[x]
    fixed = [0] if v.batch else []
    return b.node("Transpose", [x], {"perm": fixed + [int(p) + len(fixed) for p in b.rng.permutation(v.rank - len(fixed))]})


@row("Concat", weight=2.5)
def concat(b, parts=None, fresh=0.4):
    x = b.pick(floats(1))
    axis = axis_of(b, b.values[x], False) if x else None
    if axis is None:
        return None
    v = b.values[x]
    fits = lambda o: o.kind == v.kind and o.rank == v.rank and all(o.shape[i] == v.shape[i] for i in range(v.rank) if i != axis)
    operands = [x]
    for _ in range(parts or b.integer(1, 3)):
        other = b.pick(lambda o: fits(o) and o is not v, fresh=fresh)
        if other is None or b.chance(0.1):
            if v.batch:
                continue
            other = b.constant(b.rng.standard_normal(v.shape[:axis] + (b.integer(1, 4),) + v.shape[axis + 1:]), v.kind)
        operands.append(other)
    operands = [operands[i] for i in b.rng.permutation(len(operands))]
    return b.node("Concat", operands, {"axis": axis - v.rank if b.chance(0.2) else axis}) if len(operands) > 1 else None


@row("Slice", weight=1.5, since=10)
def slice_(b):
    x = b.pick(floats(1))
    axis = axis_of(b, b.values[x]) if x else None
    if axis is None:
        return None
    extent = b.values[x].shape[axis]
    if b.chance(0.15):
        return b.node("Slice", [x, b.ints([-1]), b.ints([-(2**31)]), b.ints([axis]), b.ints([-1])])
    start = b.integer(0, extent - 1)
    end = b.choice([b.integer(start + 1, extent), 2**31 - 1])
    return b.node("Slice", [x, b.ints([start]), b.ints([end]), b.ints([axis]), b.ints([b.choice([1, 1, 2])])])


@row("Split", weight=1.5, since=13)
def split(b):
    x = b.pick(floats(1))
    axis = axis_of(b, b.values[x]) if x else None
    if axis is None or b.values[x].shape[axis] < 2:
        return None
    extent = b.values[x].shape[axis]
    parts = b.integer(2, min(4, extent))
    if extent % parts == 0 and b.chance(0.5):
        return b.node("Split", [x], {"axis": axis, **({"num_outputs": parts} if b.graph.opset >= 18 else {})}, results=parts)
    cuts = sorted(b.rng.choice(np.arange(1, extent), parts - 1, replace=False))
    return b.node("Split", [x, b.ints(np.diff([0] + list(cuts) + [extent]))], {"axis": axis}, results=parts)


@row("Tile", weight=0.5, since=6)
def tile(b):
    x = b.pick(floats(1, 4))
    if x is None:
        return None
    v = b.values[x]
    return b.node("Tile", [x, b.ints([1 if v.batch and i == 0 else b.choice([1, 1, 2, 3]) for i in range(v.rank)])])


@row("Expand", weight=0.7, since=8)
def expand(b):
    x = b.pick(lambda v: is_float(v) and any(e == 1 for e in v.shape))
    if x is None:
        return None
    v = b.values[x]
    return b.node("Expand", [x, b.ints([b.integer(2, 6) if e == 1 and b.chance(0.7) and not (v.batch and i == 0) else 1
                                       for i, e in enumerate(v.shape)])])


@row("Trilu", weight=0.5, since=14)
def trilu(b):
    x = b.pick(floats(2))
    return x and b.node("Trilu", [x] + ([b.ints(b.integer(-1, 2), ())] if b.chance(0.6) else []), {"upper": b.integer(0, 1)})


@row("DepthToSpace", weight=0.5, since=11)
def depth_to_space(b):
    x = b.pick(lambda v: is_float(v) and v.rank == 4 and v.shape[1] % 4 == 0)
    return x and b.node("DepthToSpace", [x], {"blocksize": 2, "mode": b.choice(["DCR", "CRD"])})


@row("SpaceToDepth", weight=0.5)
def space_to_depth(b):
    x = b.pick(lambda v: is_float(v) and v.rank == 4 and v.shape[2] % 2 == 0 and v.shape[3] % 2 == 0)
    return x and b.node("SpaceToDepth", [x], {"blocksize": 2})


@row("Pad", weight=0.8, since=13)
def pad(b):
    x = b.pick(floats(1))
    if x is None:
        return None
    v = b.values[x]
    mode = b.choice(["constant", "constant", "edge", "reflect"])
    amounts = [b.integer(0, 2) if not (v.batch and i == 0) and (mode != "reflect" or e > 2) else 0 for i, e in enumerate(v.shape)] + \
              [b.integer(0, 2) if not (v.batch and i == 0) and (mode != "reflect" or e > 2) else 0 for i, e in enumerate(v.shape)]
    value = [b.constant(np.float64(0.5), v.kind)] if mode == "constant" and b.chance(0.4) else []
    return b.node("Pad", [x, b.ints(amounts)] + value, {"mode": mode})


@row("ReverseSequence", weight=0.3, since=10)
def reverse_sequence(b):
    x = b.pick(lambda v: is_float(v) and v.rank >= 2 and not v.batch and max(v.shape[:2]) <= 16)
    if x is None:
        return None
    time = b.integer(0, 1)
    shape = b.values[x].shape
    lens = b.ints([b.integer(1, shape[time]) for _ in range(shape[1 - time])])
    return b.node("ReverseSequence", [x, lens], {"time_axis": time, "batch_axis": 1 - time})


# ---- indices

@row("Gather", weight=1.5, since=11)
def gather(b):
    x = b.pick(floats(1, 4))
    axis = axis_of(b, b.values[x]) if x else None
    if axis is None:
        return None
    v = b.values[x]
    extent = v.shape[axis]
    if b.chance(0.25):  # a constant table and indices that are computed
        index = b.pick(lambda i: is_int(i) and np.min(i.array) >= 0 and np.max(i.array) < 64, fresh=0.9)
        if index:
            table = b.weights((int(np.max(b.values[index].array)) + b.integer(1, 4), b.integer(1, 8)))
            return b.node("Gather", [table, index])
    shape = b.choice([(), (b.integer(1, 5),), (2, 2)])
    return b.node("Gather", [x, b.ints(b.rng.randint(-extent if b.chance(0.3) else 0, extent, size=shape), shape)], {"axis": axis})


@row("GatherElements", weight=0.4, since=11)
def gather_elements(b):
    x = b.pick(lambda v: is_float(v) and 1 <= v.rank and not v.batch and v.array.size <= 512)
    if x is None:
        return None
    v = b.values[x]
    axis = b.integer(0, v.rank - 1)
    shape = tuple(b.integer(1, 6) if i == axis else e for i, e in enumerate(v.shape))
    return b.node("GatherElements", [x, b.ints(b.rng.randint(0, v.shape[axis], size=shape), shape)], {"axis": axis})


@row("GatherND", weight=0.4, since=12)
def gather_nd(b):
    x = b.pick(lambda v: is_float(v) and v.rank >= 1 and not v.batch)
    if x is None:
        return None
    v = b.values[x]
    depth = b.integer(1, v.rank)
    rows = b.integer(1, 6)
    return b.node("GatherND", [x, b.ints(np.stack([b.rng.randint(0, v.shape[i], size=rows) for i in range(depth)], -1), (rows, depth))])


@row("ScatterElements", weight=0.4, since=13)
def scatter_elements(b):
    x = b.pick(lambda v: is_float(v) and v.rank >= 1 and not v.batch and v.array.size <= 512)
    if x is None:
        return None
    v = b.values[x]
    axis = b.integer(0, v.rank - 1)
    k = b.integer(1, v.shape[axis])
    shape = tuple(k if i == axis else e for i, e in enumerate(v.shape))
    index = np.stack([b.rng.permutation(v.shape[axis])[:k] for _ in range(int(np.prod(shape)) // k)], -1)
    lead = [e for i, e in enumerate(shape) if i != axis]
    index = np.moveaxis(index.reshape([k] + lead), 0, axis)
    updates = b.pick(lambda u: u.kind == v.kind and u.shape == shape) or b.constant(b.rng.standard_normal(shape), v.kind)
    a = {"axis": axis, **({"reduction": b.choice(["none", "add"])} if b.graph.opset >= 16 else {})}
    return b.node("ScatterElements", [x, b.ints(index, shape), updates], a)


@row("ScatterND", weight=0.4, since=13)
def scatter_nd(b):
    x = b.pick(lambda v: is_float(v) and v.rank >= 1 and not v.batch)
    if x is None:
        return None
    v = b.values[x]
    rows = b.integer(1, min(4, v.shape[0]))
    index = b.ints(b.rng.permutation(v.shape[0])[:rows], (rows, 1))
    updates = b.constant(b.rng.standard_normal((rows,) + v.shape[1:]), v.kind)
    return b.node("ScatterND", [x, index, updates], {"reduction": b.choice(["none", "add"])} if b.graph.opset >= 16 else {})


@row("Compress", weight=0.3, since=11)
def compress(b):
    x = b.pick(floats(1))
    axis = axis_of(b, b.values[x]) if x else None
    if axis is None:
        return None
    mask = b.rng.randint(0, 2, size=b.values[x].shape[axis])
    mask[b.integer(0, mask.size - 1)] = 1
    return b.node("Compress", [x, b.constant(mask, "bool")], {"axis": axis})


@row("OneHot", weight=0.4, since=11)
def one_hot(b):
    x = b.pick(lambda v: is_int(v) and v.array.size <= 128, fresh=0.9)
    if x is None:
        y = arg(b)
        x = y and y[0]
    depth = b.integer(2, 12)
    return x and b.node("OneHot", [x, b.ints(depth, ()), b.constant([0.0, 1.0])], {"axis": b.choice([-1, 1 if b.values[x].rank else -1])})
