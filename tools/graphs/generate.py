"""Draws whole graphs: inputs, rows and joins until the number of nodes is reached, then the outputs.

Everything is drawn from one generator seeded by (seed, number of the graph): the same arguments give the same bytes,
and graph 17 of a run does not depend on how many are written.
"""
import numpy as np

import graph as graphs
import merge
import rows
import rows_axis  # noqa: F401  (with those below it fills rows.ROWS)
import rows_move
import rows_nn  # noqa: F401
from builder import Builder

LIMIT = 4096  # elements of a value


def shapes(b, batch):
    """Shape of an input; the first dimension is the batch if there is one."""
    largest = b.choice([16, 128, 1024, 3000])
    form = b.choice(["vector", "matrix", "matrix", "sequence", "sequence", "image", "image", "image", "signal", "volume"])
    lead = batch or b.choice([1, 1, 1, 2])
    side = lambda low, high: b.integer(low, max(low, min(high, largest)))
    if form == "vector":
        shape = (batch, side(2, largest)) if batch else (side(1, largest),)
    elif form == "matrix":
        shape = (lead if batch or b.chance(0.5) else side(2, 40), side(2, 64))
    elif form == "sequence":
        shape = (lead, side(2, 16), side(2, 48))
    elif form == "signal":
        shape = (lead, side(1, 8), side(4, 96))
    elif form == "volume":
        shape = (lead, side(1, 3), side(2, 5), side(2, 5), side(2, 5))
    else:
        shape = (lead, side(1, 12), side(4, 20), side(4, 20))
    while np.prod(shape) > max(largest, 8) * lead:
        shape = tuple(e if i == 0 and batch else max(1, e * 2 // 3) for i, e in enumerate(shape))
    return shape


def add_inputs(b, symbol):
    batch = b.samples or (2 if symbol else None)
    first = shapes(b, batch)
    count = b.choice([1, 1, 1, 2, 2, 3])
    for i in range(count):
        shape = first if i == 0 or b.chance(0.4) else shapes(b, batch)
        b.add_input(b.rng.standard_normal(shape).astype(b.float_kind), symbol)
    if not symbol and b.chance(0.1):
        b.add_input(b.rng.randint(0, 8, size=b.choice([(4,), (1, 6), (2, 3)])).astype(b.choice(["int64", "int32"])))


def skip(b):
    """A join of something new with something old: concatenated, added or multiplied."""
    if b.chance(0.6):
        return rows_move.concat(b, parts=1, fresh=0.1)
    x = b.pick(rows.floats(1))
    old = x and b.pick(rows.mates(b, x), fresh=0.0)
    return b.node(b.choice(["Add", "Add", "Mul", "Sub", "Max"]), [x, old]) if old else None


def residual(b):
    """x + f(x), f of two or three nodes that keep the shape."""
    x = b.pick(rows.floats(2))
    if x is None:
        return None
    y = x
    for _ in range(b.integer(1, 3)):
        v = b.values[y]
        if v.rank == 4 and b.chance(0.6):
            w = b.weights((v.shape[1], v.shape[1], 3, 3), 1 / np.sqrt(9 * v.shape[1]))
            z = b.node("Conv", [y, w, b.weights((v.shape[1],))], {"pads": [1, 1, 1, 1]})
        elif b.chance(0.5):
            z = b.node("MatMul", [y, b.weights((v.shape[-1], v.shape[-1]), 1 / np.sqrt(v.shape[-1]))])
        else:
            z = b.node(b.choice(["Relu", "Tanh", "Sigmoid"]), [y])
        if z is None:
            return None
        y = z[0]
    return b.node("Add", [x, y] if b.chance(0.5) else [y, x]) if y != x else None


def choose_outputs(b, most):
    """The values that nothing uses, and now and then one that is used too."""
    graph = b.graph
    loose = merge.loose_values(b)
    if len(loose) > most:
        loose = [loose[i] for i in sorted(b.rng.permutation(len(loose))[:most])]
    inner = [n for n in b.pickable if b.values[n].uses > 0 and n not in graph.inputs]
    if inner and b.chance(0.25):
        loose.append(b.choice(inner))
    return [loose[i] for i in b.rng.permutation(len(loose))] if b.chance(0.3) else loose


def draw(seed, number, skips, ops, only=None, symbolic=0.2, half=0.1):
    """One graph, or None if it got no node."""
    rng = np.random.RandomState((seed * 1000003 + number * 7919 + 12345) % 2**32)
    opset = int(rng.choice([13, 14, 17, 17, 17, 18, 21, 24]))
    float_kind = "float16" if rng.random_sample() < half else "float32"
    symbol = "N" if rng.random_sample() < symbolic else None
    streamed = symbol is not None and rng.random_sample() < 0.7
    b = Builder(rng, opset, LIMIT * (2 if symbol else 1), float_kind, samples=2 if streamed else None)
    if symbol and not streamed:
        b.graph.options = ["--dim", f"{symbol}=2"]
    add_inputs(b, symbol)
    table = [(w, f) for n, (w, since, f) in sorted(rows.ROWS.items()) if since <= opset and (not only or n in only) and w > 0]
    weights = np.array([w for w, _ in table]) / sum(w for w, _ in table)
    target, attempts = b.integer(*ops), 0
    while len(graphs.prune(with_all(b)).nodes) < target and attempts < 12 * target + 20:
        attempts += 1
        if b.chance(skips):
            skip(b)
        elif not only and b.chance(0.04):
            residual(b)
        else:
            table[int(rng.choice(len(table), p=weights))][1](b)
    most = b.choice([1, 1, 2, 3, 5])
    merge.join_loose(b, most, target)
    b.graph.outputs = choose_outputs(b, most)
    graph = graphs.prune(b.graph)
    used = {i for n in graph.nodes for i in n.inputs} | set(graph.outputs)
    graph.inputs = {k: v for k, v in graph.inputs.items() if k in used}
    graph.batch = {k: v for k, v in graph.batch.items() if k in used}
    if not graph.batch:
        graph.options = []
    return graph if graph.nodes and graph.inputs else None


def with_all(b):
    """The graph so far with every value as an output: what counts towards the number of nodes."""
    copy = b.graph.copy()
    copy.outputs = list(b.pickable)
    return copy
