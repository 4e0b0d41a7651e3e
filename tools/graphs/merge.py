"""Joins values that nothing uses until few are left: what no output needs is pruned, and a graph that was to have forty
operators would keep ten.

Two values meet flat, one row per sample: side by side in a Concat, or, where their rows or the limit of elements do not
allow that, the mean of one of them added to the other.
"""
import graph as graphs


def loose_values(b):
    """Values that nothing uses, inputs apart."""
    return [n for n in b.pickable if b.values[n].uses == 0 and n not in b.graph.inputs]


def nodes_kept(b, outputs):
    copy = b.graph.copy()
    copy.outputs = list(outputs)
    return len(graphs.prune(copy).nodes)


def as_float(b, name):
    if b.values[name].kind == b.float_kind:
        return name
    cast = b.node("Cast", [name], {"to": graphs.ONNX_TYPE[b.float_kind]}, allow_flat=True)
    return cast and cast[0]


def flat(b, name):
    """[samples, n], or [1, n] without samples."""
    made = b.node("Flatten", [name], {"axis": 1 if b.values[name].batch else 0}, allow_flat=True)
    return made and made[0]


def mean(b, name):
    if b.graph.opset >= 18:
        made = b.node("ReduceMean", [name, b.ints([1])], {"keepdims": 1}, allow_flat=True)
    else:
        made = b.node("ReduceMean", [name], {"axes": [1], "keepdims": 1}, allow_flat=True)
    return made and made[0]


def meet(b, x, y):
    """True if both are used by a new value now."""
    x, y = (v and flat(b, v) for v in (as_float(b, x), as_float(b, y)))
    if not x or not y:
        return False
    if b.values[y].batch and not b.values[x].batch:
        x, y = y, x
    if b.values[x].shape[0] == b.values[y].shape[0] and b.values[x].batch == b.values[y].batch and b.chance(0.7):
        if b.node("Concat", [x, y], {"axis": 1}):
            return True
    y = mean(b, y)
    return bool(y) and b.node(b.choice(["Add", "Mul", "Sub"]), [x, y]) is not None


def join_loose(b, most, wanted):
    """At most `most` loose values, or as many as the graph of `wanted` operators needs."""
    refused = 0
    while refused < 4:
        loose = loose_values(b)
        if len(loose) <= most or nodes_kept(b, loose[-most:]) >= wanted:
            return
        x, y = (loose[i] for i in sorted(b.rng.permutation(len(loose))[:2]))
        refused += not meet(b, x, y)
