"""Rows of products, and of what goes along an axis: reductions, searches, scans (see rows.py)."""
import numpy as np

from rows import ROWS, axis_of, floats, inside, is_float, row


# ---- products

@row("Gemm", weight=3, since=11)
def gemm(b):
    x = b.pick(floats(2, 2))
    if x is None:
        return None
    v = b.values[x]
    trans_a = not v.batch and b.chance(0.15)
    k, n = v.shape[0 if trans_a else 1], b.integer(1, 40)
    m = v.shape[1 if trans_a else 0]
    trans_b = b.chance(0.5)
    w = b.weights((n, k) if trans_b else (k, n), 1 / np.sqrt(k))
    bias = [b.constant(b.rng.standard_normal(s))
            for s in [b.choice([(n,), (1, n), (1,), ()] + ([] if v.batch else [(m, 1), (m, n)]))] if b.chance(0.8)]
    a = {"transA": int(trans_a), "transB": int(trans_b)}
    if b.chance(0.2):
        a.update(alpha=0.5, beta=b.choice([1.0, 2.0]))
    return b.node("Gemm", [x, w] + bias, a)


@row("MatMul", weight=3)
def matmul(b):
    x = b.pick(floats(2))
    if x is None:
        return None
    v = b.values[x]
    if b.chance(0.45):
        other = b.pick(lambda o: o.kind == v.kind and o.rank >= 2 and o.shape[-2] == v.shape[-1], fresh=0.5)
        if other:
            return b.node("MatMul", [x, other])
        if b.chance(0.6):  # x times its transpose
            perm = list(range(v.rank - 2)) + [v.rank - 1, v.rank - 2]
            y = b.node("Transpose", [x], {"perm": perm})
            y = y and b.node("MatMul", [x, y[0]])
            return y and b.node("Mul", [y[0], b.constant(np.float64(1 / v.shape[-1]))])
    k, n = v.shape[-1], b.integer(1, 32)
    shape = b.choice([(k, n), (k, n), (k,)] + ([v.shape[-3:-2] + (k, n)] if v.rank > 2 else []))
    w = b.weights(shape, 1 / np.sqrt(k))
    y = b.node("MatMul", [x, w])
    return b.node("Add", [y[0], b.weights((n,))]) if y and len(shape) > 1 and b.chance(0.5) else y


@row("Einsum", weight=0.6, since=12)
def einsum(b):
    x = b.pick(floats(2, 4))
    if x is None:
        return None
    v = b.values[x]
    k, n = v.shape[-1], b.integer(1, 12)
    head = "abc"[: v.rank - 1]
    form = b.integer(0, 3)
    if form == 0:
        return b.node("Einsum", [x, b.weights((k, n), 1 / np.sqrt(k))], {"equation": f"{head}k,kn->{head}n"})
    if form == 1:
        y = b.node("Einsum", [x, x], {"equation": f"{head[:-1]}ik,{head[:-1]}jk->{head[:-1]}ij"})
        return y and b.node("Mul", [y[0], b.constant(np.float64(1 / k))])
    if form == 2:
        return b.node("Einsum", [x], {"equation": f"{head}k->{head[:-1]}k{head[-1]}"})
    return b.node("Einsum", [x, b.weights((n, k), 1 / np.sqrt(k))], {"equation": f"...k,nk->...n"})


@row("Det", weight=0.15, since=11)
def det(b):
    return b.node("Det", [b.pick(lambda v: is_float(v) and v.rank >= 2 and v.shape[-1] == v.shape[-2] and v.shape[-1] <= 6)])


# ---- along an axis

def along(op, since, attributes=lambda b: {}, weight=1.0, accept=floats(1)):
    def make(b):
        x = b.pick(accept)
        axis = axis_of(b, b.values[x]) if x else None
        return None if axis is None else b.node(op, [x], {"axis": axis, **attributes(b)})
    ROWS[op] = (weight, since, make)


along("Softmax", 13, weight=2)
along("LogSoftmax", 13)
along("Hardmax", 13, weight=0.3)
along("LpNormalization", 1, lambda b: {"p": b.integer(1, 2)}, weight=0.4)


def reduction(op, since):
    def make(b):
        accept = floats(1)
        if op == "ReduceProd":
            accept = lambda v: is_float(v) and 1 <= v.rank and max(v.shape) <= 8
        if op == "ReduceLogSum":
            accept = inside(1e-3, 1e9)
        x = b.pick(accept)
        if x is None:
            return None
        v = b.values[x]
        first = 1 if v.batch else 0
        if v.rank <= first:
            return None
        axes = sorted(set(b.integer(first, v.rank - 1) for _ in range(b.integer(1, 2))))
        if b.chance(0.3):
            axes = [a - v.rank for a in axes]
        a = {"keepdims": b.integer(0, 1)}
        inputs = [x]
        everything = not v.batch and b.chance(0.15)
        if not everything:
            if b.graph.opset >= since:
                inputs.append(b.ints(axes))
            else:
                a["axes"] = axes
        y = b.node(op, inputs, a)
        if y is None and op in ("ReduceSum", "ReduceL1", "ReduceSumSquare"):
            y = b.node("Mul", [x, b.constant(np.float64(0.05))])
            y = y and b.node(op, y + inputs[1:], a)
        return y
    return make


for _op in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare",
            "ReduceLogSum", "ReduceLogSumExp"):
    ROWS[_op] = ({"ReduceSum": 1.5, "ReduceMean": 2, "ReduceMax": 1.2}.get(_op, 0.5), 13,
                 reduction(_op, 13 if _op == "ReduceSum" else 18))


@row("ArgMax", "ArgMin", weight=0)
def arg(b, op="ArgMax"):
    x = b.pick(floats(1))
    axis = axis_of(b, b.values[x]) if x else None
    return None if axis is None else b.node(op, [x], {"axis": axis, "keepdims": b.integer(0, 1)}, allow_flat=True)


ROWS["ArgMax"] = (0.6, 13, arg)
ROWS["ArgMin"] = (0.4, 13, lambda b: arg(b, "ArgMin"))


@row("TopK", weight=0.6, since=11)
def top_k(b):
    x = b.pick(floats(1))
    axis = axis_of(b, b.values[x]) if x else None
    if axis is None:
        return None
    k = b.integer(1, min(8, b.values[x].shape[axis]))
    return b.node("TopK", [x, b.ints([k])], {"axis": axis, "largest": b.integer(0, 1)}, results=2)


@row("CumSum", weight=0.8, since=11)
def cum_sum(b):
    x = b.pick(floats(1))
    axis = axis_of(b, b.values[x]) if x else None
    if axis is None:
        return None
    return b.node("CumSum", [x, b.ints(axis, ())], {"exclusive": b.integer(0, 1), "reverse": b.integer(0, 1)})
