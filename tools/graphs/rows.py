"""How a random node of each ONNX operator is made: operands picked among the values so far, attributes and constants drawn.

A row is a function of the builder that returns names of results, or None where nothing fits. ROWS maps the ONNX name
to (weight, first operator set, function); the ONNX names are those of `cs-compile --list-ops`.
"""
import numpy as np

import reference

ROWS = {}
CODE = {v: k for k, v in reference.ONNX_TYPES.items()}


def row(*names, weight=1.0, since=1):
    def register(f):
        for n in names:
            ROWS[n] = (weight, since, f)
        return f
    return register


def is_float(v):
    return v.kind in reference.FLOATS


def is_int(v):
    return v.kind in ("int32", "int64")


def floats(low=0, high=5):
    return lambda v: is_float(v) and low <= v.rank <= high


def inside(low, high):
    return lambda v: is_float(v) and np.min(v.array) > low and np.max(v.array) < high


def axis_of(b, value, negative=True):
    """An axis, not the sample dimension of a batch, sometimes counted from the end; None if there is none."""
    first = 1 if value.batch else 0
    if value.rank <= first:
        return None
    axis = b.integer(first, value.rank - 1)
    return axis - value.rank if negative and b.chance(0.4) else axis


# ---- elementwise, one operand

# Where the argument has to lie.
DOMAINS = {
    "Sqrt": inside(1e-3, 1e9), "Log": inside(1e-2, 1e9), "Reciprocal": lambda v: is_float(v) and np.min(np.abs(v.array)) > 0.05,
    "Tan": inside(-1.3, 1.3), "Sinh": inside(-4, 4), "Cosh": inside(-4, 4), "Acosh": inside(1.01, 1e9),
    "Atanh": inside(-0.95, 0.95), "Asin": inside(-0.97, 0.97), "Acos": inside(-0.97, 0.97), "Exp": inside(-20, 4),
}
FREQUENT = {"Relu": 3, "Sigmoid": 2, "Tanh": 2, "Exp": 2, "Abs": 1.5, "Neg": 1.5, "Sqrt": 1.5}
PLAIN = ["Abs", "Neg", "Sign", "Sqrt", "Reciprocal", "Floor", "Ceil", "Round", "Exp", "Log", "Erf", "Sin", "Cos", "Tan", "Sinh",
         "Cosh", "Asinh", "Acosh", "Atanh", "Tanh", "Atan", "Asin", "Acos", "Relu", "Sigmoid", "Softplus", "Softsign", "HardSwish",
         "Identity"]


def positive(b, x):
    """Something positive made of x, for roots and logarithms."""
    y = b.node(b.choice(["Abs", "Sigmoid", "Softplus", "Exp"]), [x])
    return y and b.node("Add", [y[0], b.constant(np.float64(b.choice([0.1, 0.5, 1.0])))])


def plain(op):
    def make(b):
        accept = DOMAINS.get(op, is_float)
        x = b.pick(accept)
        if x is None and op in ("Sqrt", "Log", "Reciprocal", "Acosh"):
            x = b.pick(is_float)
            y = x and positive(b, x)
            x = y[0] if y and accept(b.values[y[0]]) else None
        elif x is None and op in DOMAINS:
            x = b.pick(is_float)
            y = x and b.node("Tanh", [x])
            x = y[0] if y and accept(b.values[y[0]]) else None
        return b.node(op, [x])
    return make


for _op in PLAIN:
    ROWS[_op] = (FREQUENT.get(_op, 0.5), 1, plain(_op))
ROWS["Mish"] = (0.7, 18, plain("Mish"))

PARAMETRIC = {
    "LeakyRelu": (1, lambda b: {"alpha": b.choice([0.01, 0.2])}), "ThresholdedRelu": (10, lambda b: {"alpha": b.choice([0.1, 0.5])}),
    "Elu": (6, lambda b: {"alpha": b.choice([0.5, 1.0])}), "Selu": (6, lambda b: {}), "Celu": (12, lambda b: {"alpha": b.choice([0.7, 2.0])}),
    "HardSigmoid": (6, lambda b: {"alpha": 0.3, "beta": b.choice([0.4, 0.5])}), "Swish": (24, lambda b: {"alpha": b.choice([0.5, 1.0])}),
    "Gelu": (20, lambda b: {"approximate": b.choice(["none", "tanh"])}),
    "Shrink": (9, lambda b: {"lambd": b.choice([0.2, 0.5]), "bias": b.choice([0.0, 0.1])}),
}
for _op, (_since, _draw) in PARAMETRIC.items():
    ROWS[_op] = (0.8, _since, lambda b, op=_op, draw=_draw: b.node(op, [b.pick(is_float)], {k: v for k, v in draw(b).items() if b.chance(0.8)}))


@row("Clip")
def clip(b):
    x = b.pick(is_float)
    low, high = b.constant(b.choice([-1.0, 0.0, -0.3])), b.constant(b.choice([0.5, 1.0, 6.0]))
    return b.node("Clip", [x] + b.choice([[low, high], [low], ["", high]]))


@row("PRelu")
def prelu(b):
    x = b.pick(floats(1))
    if x is None:
        return None
    shape = b.values[x].shape
    slope = b.choice([(1,), shape[-1:], (shape[1],) + (1,) * (len(shape) - 2) if len(shape) > 2 else shape[-1:]])
    return b.node("PRelu", [x, b.constant(b.rng.uniform(0.05, 0.9, slope))])


@row("Dropout", weight=0.3, since=13)
def dropout(b):
    return b.node("Dropout", [b.pick(is_float), b.constant(np.float64(0.3), "float32")][: b.integer(1, 2)])


# ---- elementwise, several operands

def partner_shape(b, shape):
    """The shape of a constant that broadcasts against `shape`."""
    kind = b.integer(0, 5)
    if kind == 0 or not shape:
        return ()
    if kind == 1:
        return tuple(shape)
    if kind == 2:
        return tuple(shape[-1:])
    if kind == 3 and len(shape) >= 3:
        return (shape[1],) + (1,) * (len(shape) - 2)
    if kind == 4:
        return tuple(e if b.chance(0.5) else 1 for e in shape)
    return tuple(shape[b.integer(0, len(shape) - 1):])


def mates(b, x, same_kind=True):
    """Other values that broadcast with x."""
    v = b.values[x]

    def fits(other):
        if same_kind and other.kind != v.kind or other is v:
            return False
        try:
            return np.prod(np.broadcast_shapes(v.shape, other.shape)) <= b.limit
        except ValueError:
            return False
    return fits


def constant_for(b, x, op):
    v = b.values[x]
    shape = partner_shape(b, v.shape[1:] if v.batch else v.shape)
    if is_float(v):
        c = b.rng.uniform(0.5, 2.0, shape) * (b.rng.choice([-1.0, 1.0], size=shape) if op not in ("Pow", "Div") else 1)
        return b.constant(c, v.kind)
    low = 1 if op in ("Div", "Mod", "Mul") else -5
    return b.constant(b.rng.randint(low, 6, size=shape), v.kind)


def binary(b, op, accept):
    x = b.pick(accept)
    if x is None:
        return None
    other = None
    if b.chance(0.55):
        other = b.pick(mates(b, x), fresh=0.6)
    elif op in ("Add", "Mul", "Sub") and b.chance(0.1):
        other = x
    if other is None:
        other = constant_for(b, x, op)
    pair = [x, other] if b.chance(0.7) or op in ("Div", "Pow", "Mod") else [other, x]
    return b.node(op, pair)


for _op, _weight in (("Add", 5), ("Sub", 2.5), ("Mul", 4)):
    ROWS[_op] = (_weight, 7, lambda b, op=_op: binary(b, op, lambda v: is_float(v) or is_int(v) and b.chance(0.3)))


@row("Div", weight=1.5, since=7)
def div(b):
    x = b.pick(is_float)
    if x is None:
        return None
    fits = mates(b, x)
    y = b.pick(lambda v: fits(v) and np.min(np.abs(v.array)) > 0.1) if b.chance(0.5) else None
    return b.node("Div", [x, y or constant_for(b, x, "Div")])


@row("Pow", since=7)
def pow_(b):
    x = b.pick(is_float)
    exponent = b.choice([2.0, 3.0, 0.5, -1.0, 1.7])
    if exponent not in (2.0, 3.0) and x:
        x = b.pick(inside(0.05, 1e3))
    return x and b.node("Pow", [x, b.constant(np.float64(exponent))])


@row("Mod", weight=0.4, since=10)
def mod(b):
    x = b.pick(is_int)
    if x is not None and b.chance(0.6):
        return b.node("Mod", [x, constant_for(b, x, "Mod")], {"fmod": b.integer(0, 1)})
    x = b.pick(is_float)
    return x and b.node("Mod", [x, b.constant(np.float64(0.75))], {"fmod": 1})


@row("BitShift", weight=0.4, since=11)
def bit_shift(b):
    x = b.pick(lambda v: v.kind == "uint32")
    if x is None:
        y = b.pick(is_int)
        y = y and b.node("Abs", [y])
        x = y and (b.node("Cast", y, {"to": CODE["uint32"]}) or [None])[0]
    return x and b.node("BitShift", [x, b.constant(np.asarray(b.integer(0, 3)), "uint32")], {"direction": b.choice(["LEFT", "RIGHT"])})


@row("Sum", "Max", "Min", weight=0)
def nothing(b):
    return None


def variadic(b, op):
    x = b.pick(lambda v: is_float(v))
    if x is None:
        return None
    operands = [x]
    for _ in range(b.integer(1, 3)):
        other = b.pick(mates(b, x), fresh=0.5)
        operands.append(other if other and b.chance(0.7) else constant_for(b, x, op))
    return b.node(op, operands)


for _op in ("Sum", "Max", "Min"):
    ROWS[_op] = (1.2, 8, lambda b, op=_op: variadic(b, op))
ROWS["Mean"] = (0.5, 8, lambda b: variadic(b, "Mean"))


# ---- comparisons, booleans, integers

def compare(b, op):
    x = b.pick(lambda v: is_float(v) or is_int(v))
    if x is None:
        return None
    other = b.pick(mates(b, x), fresh=0.3) if b.chance(0.4) else None
    return b.node(op, [x, other or constant_for(b, x, op)])


for _op in ("Equal", "Greater", "Less"):
    ROWS[_op] = (0.5, 11, lambda b, op=_op: compare(b, op))
for _op in ("GreaterOrEqual", "LessOrEqual"):
    ROWS[_op] = (0.4, 12, lambda b, op=_op: compare(b, op))


def boolean(b):
    x = b.pick(lambda v: v.kind == "bool")
    if x is None:
        y = compare(b, b.choice(["Greater", "Less"]))
        x = y and y[0]
    return x


def logic(b, op):
    x = boolean(b)
    other = x and b.pick(mates(b, x), fresh=0.5)
    if not other:
        y = compare(b, "Greater")
        other = y and x and mates(b, x)(b.values[y[0]]) and y[0]
    return b.node(op, [x, other]) if x and other else None


for _op in ("And", "Or", "Xor"):
    ROWS[_op] = (0.35, 7, lambda b, op=_op: logic(b, op))
ROWS["Not"] = (0.3, 1, lambda b: b.node("Not", [boolean(b)]))
ROWS["IsNaN"] = (0.15, 13, lambda b: b.node("IsNaN", [b.pick(is_float)]))
ROWS["IsInf"] = (0.15, 10, lambda b: b.node("IsInf", [b.pick(lambda v: v.kind == "float32")], {"detect_negative": b.integer(0, 1)}))


@row("Where", weight=1.2, since=9)
def where(b):
    x = b.pick(is_float)
    if x is None:
        return None
    v = b.values[x]
    mask = b.pick(lambda m: m.kind == "bool" and mates(b, x, False)(m), fresh=0.5)
    if mask is None:
        if b.chance(0.5):
            y = b.node(b.choice(["Greater", "Less"]), [x, constant_for(b, x, "Greater")])
            mask = y and y[0]
        else:
            mask = b.constant(b.rng.randint(0, 2, size=partner_shape(b, v.shape[1:] if v.batch else v.shape)), "bool")
    other = b.pick(mates(b, x)) or constant_for(b, x, "Where")
    return b.node("Where", [mask] + ([x, other] if b.chance(0.5) else [other, x]))


@row("Cast", weight=1.0, since=9)
def cast(b):
    v = b.pick(lambda v: True, fresh=0.9)
    if v is None:
        return None
    kind = b.values[v].kind
    if kind in reference.FLOATS:
        to = b.choice(["int32", "int64", "bool", "float16" if kind == "float32" else "float32"])
    else:
        to = b.float_kind
    return b.node("Cast", [v], {"to": CODE[to]})


@row("CastLike", weight=0.2, since=15)
def cast_like(b):
    x = b.pick(lambda v: v.kind in ("bool", "int32", "int64"))
    return b.node("CastLike", [x, b.constant(np.zeros(1))]) if x else None


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


# ---- constants that nodes compute

@row("ConstantOfShape", "EyeLike", "Range", "Size", "NonZero", "Unique", "Constant", "Shape", weight=0)
def sources(b):
    """A constant from one of the operators that make them, added to a value."""
    x = b.pick(lambda v: is_float(v) and v.rank >= 1 and not v.batch)
    if x is None:
        return None
    v = b.values[x]
    last = v.shape[-1]
    n = [b.name("s") for _ in range(4)]
    one, zero = b.ints(1, ()), b.ints(0, ())
    to_float = lambda name, out: ("Cast", [name], [out], {"to": CODE[v.kind]})
    forms = {
        "ConstantOfShape": [("ConstantOfShape", [b.ints(v.shape[-1:])], [n[1]], {"value": np.array([0.5], v.kind)})],
        "Range": [("Range", [zero, b.ints(last, ()), one], [n[0]], {}), to_float(n[0], n[1])],
        "Size": [("Size", [x], [n[0]], {}), to_float(n[0], n[1])],
        "Shape": [("Shape", [x], [n[0]], {}), ("Gather", [n[0], b.ints(-1, ())], [n[2]], {}), to_float(n[2], n[1])],
        "NonZero": [("NonZero", [b.constant(np.ones(last))], [n[0]], {}), ("Squeeze", [n[0], b.ints([0])], [n[2]], {}), to_float(n[2], n[1])],
        "Unique": [("Unique", [b.constant(np.arange(last)[::-1] % 7)], [n[0], "", n[2]], {}), to_float(n[2], n[1])],
        "EyeLike": [("EyeLike", [b.constant(np.zeros((last, last)))], [n[1]], {"k": b.integer(-1, 1)})],
    }
    form = b.choice(forms)
    if form == "EyeLike" and last > 24:
        return None
    scaled = b.name("s")
    nodes = forms[form] + [("Mul", [n[1], b.constant(np.float64(0.1))], [scaled], {}),
                           ("MatMul" if form == "EyeLike" else "Add", [x, scaled], [n[3]], {})]
    return b.take(nodes, [n[3]])


for _op in ("ConstantOfShape", "EyeLike", "Range", "Size", "NonZero", "Unique", "Shape"):
    ROWS[_op] = (0.12, 13, sources)
ROWS["Constant"] = (0.1, 13, lambda b: binary(b, "Add", is_float))
