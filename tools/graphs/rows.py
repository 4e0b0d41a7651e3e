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
        "EyeLike": [("EyeLike", [b.constant(np.zeros((last, last)), v.kind)], [n[1]], {"k": b.integer(-1, 1)})],
    }
    form = b.choice(forms)
    if form == "EyeLike" and last > 24:
        return None
    scaled = b.name("s")
    nodes = forms[form] + [("Mul", [n[1], b.constant(np.float64(0.1), v.kind)], [scaled], {}),
                           ("MatMul" if form == "EyeLike" else "Add", [x, scaled], [n[3]], {})]
    return b.take(nodes, [n[3]])


for _op in ("ConstantOfShape", "EyeLike", "Range", "Size", "NonZero", "Unique", "Shape"):
    ROWS[_op] = (0.12, 13, sources)
ROWS["Constant"] = (0.1, 13, lambda b: binary(b, "Add", is_float))
