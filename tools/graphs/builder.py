"""Grows a graph node by node and takes a node only if its values are sound.

Sound is: finite, of moderate size, not a constant, and *well conditioned*. Every value is computed twice, the second time
with a rounding error after every node; a node where both differ by more than a part of the tolerance is not taken.
So neither a rounding of ours nor of the judge decides a comparison, an index or a sign, and what differs is an error.
With a symbolic batch that is not fixed, a node must compute every sample for itself: its results for single samples
are its result for all of them.
"""
import numpy as np

import graph as graphs
import reference

NOISE = {"float32": 3e-6, "float16": 1.5e-3}
DRIFT = {"float32": 2.5e-5, "float16": 6e-3}  # of the largest value; the comparison allows 1e-4 and 2e-2
LARGEST = 200.0
# Operators whose results jump: a value so near to a jump that its rounding decides is no test.
JUMPS = {"Floor", "Ceil", "Round", "Sign", "Shrink", "ThresholdedRelu", "Mod", "Cast", "QuantizeLinear", "Equal", "Less", "Greater",
         "LessOrEqual", "GreaterOrEqual"}
# Operators whose floating-point operands may differ in type; of all others ONNX takes none that do.
MIXED = {"CastLike", "DequantizeLinear", "Dropout", "OneHot", "QuantizeLinear", "Resize"}


class Value:
    def __init__(self, kind, array, noisy, batch, constant):
        self.kind, self.array, self.noisy, self.batch, self.constant = kind, array, noisy, batch, constant
        self.uses = 0

    @property
    def shape(self):
        return self.array.shape

    @property
    def rank(self):
        return self.array.ndim


class Builder:
    def __init__(self, rng, opset, limit, float_kind, samples=None):
        self.rng, self.limit, self.float_kind, self.samples = rng, limit, float_kind, samples
        self.graph = graphs.Graph(opset)
        self.values = {}
        self.pickable = []
        self.count = 0

    # Random choices.
    def chance(self, p):
        return self.rng.random_sample() < p

    def integer(self, low, high):
        """low ... high, both included"""
        return int(self.rng.randint(low, high + 1))

    def choice(self, items):
        items = list(items)
        return items[self.integer(0, len(items) - 1)]

    def name(self, stem):
        self.count += 1
        return f"{stem}{self.count}"

    def noise(self, array, kind):
        if kind not in NOISE:
            return array
        return array * (1 + NOISE[kind] * self.rng.choice([-1.0, 1.0], size=array.shape))

    # Values.
    def add_input(self, array, symbol=None):
        name = self.name("x")
        self.graph.inputs[name] = array
        if symbol:
            self.graph.batch[name] = symbol
        kind = array.dtype.name
        exact = reference.settle(array, kind)
        self.values[name] = Value(kind, exact, exact, bool(symbol) and self.samples is not None, False)
        self.pickable.append(name)
        return name

    def constant(self, array, kind=None, stem="c"):
        """A constant operand: an initializer, or now and then a Constant node."""
        kind = kind or self.float_kind
        array = np.asarray(array).astype(kind)
        name = self.name(stem)
        if self.chance(0.12):
            self.graph.nodes.append(graphs.Node("Constant", [], [name], {"value": array}))
        else:
            self.graph.initializers[name] = array
        exact = reference.settle(array, kind)
        self.values[name] = Value(kind, exact, exact, False, True)
        return name

    def weights(self, shape, scale=1.0):
        return self.constant(self.rng.standard_normal(shape) * scale, stem="w")

    def ints(self, values, shape=None):
        array = np.asarray(values, np.int64)
        return self.constant(array if shape is None else array.reshape(shape), "int64", "i")

    def pick(self, accept=lambda v: True, fresh=0.8):
        """A value that `accept` takes; mostly one of those that nothing uses yet, or one of the latest."""
        fit = [n for n in self.pickable if accept(self.values[n])]
        if not fit:
            return None
        unused = [n for n in fit if self.values[n].uses == 0]
        if unused and self.chance(fresh):
            return self.choice(unused[-3:])
        return self.choice(fit[-6:] if self.chance(0.5) else fit)

    # Nodes.
    def run(self, nodes, key, shift=0.0):
        """Values of `nodes` from the exact or the noisy values; None if an operand does not fit. `shift`: by this part of
        the largest one the values of the first operand of an operator that jumps are off."""
        known = {}
        types = {}

        def operand(name):
            if not name:
                return None
            return known[name] if name in known else getattr(self.values[name], key)

        for n in nodes:
            kinds = [None if not i else types.get(i) or self.values[i].kind for i in n.inputs]
            operands = [operand(i) for i in n.inputs]
            if shift and n.op in JUMPS and kinds[0] in NOISE:  # a zero is one however it is rounded
                operands[0] = operands[0] + shift * np.max(np.abs(operands[0]), initial=0) * (operands[0] != 0)
            out, kinds = reference.evaluate(n.op, operands, kinds, n.attributes, len(n.outputs), self.graph.opset)
            for name, array, kind in zip(n.outputs, out, kinds):
                known[name], types[name] = (self.noise(array, kind) if key == "noisy" else array), kind
        return known, types

    def samples_run(self, nodes, samples):
        """As run(), of these samples."""
        held = {}
        for n in nodes:
            for i in n.inputs:
                if i and i in self.values and self.values[i].batch:
                    held[i] = self.values[i].array
        for i, array in held.items():
            self.values[i].array = array[samples]
        try:
            return self.run(nodes, "array")[0]
        finally:
            for i, array in held.items():
                self.values[i].array = array

    def sound(self, exact, noisy, kind, allow_flat):
        if exact.size == 0 or exact.size > self.limit or exact.ndim > 5:
            return False
        if kind not in NOISE:
            return exact.dtype.kind == "b" or (np.max(np.abs(exact.astype(np.int64))) < 2**20) and np.array_equal(exact, noisy)
        if not np.all(np.isfinite(exact)) or not np.all(np.isfinite(noisy)):
            return False
        largest = np.max(np.abs(exact))
        if not 1e-2 < largest < LARGEST:
            return False
        small = np.abs(exact[exact != 0])
        if small.size and np.min(small) < (1e-30 if kind == "float32" else 1e-5):
            return False  # near the smallest numbers of the format
        if not allow_flat and exact.size > 4 and np.ptp(exact) < 1e-3 * largest:
            return False
        return np.max(np.abs(exact - noisy)) <= DRIFT[kind] * largest

    def far_from_jumps(self, nodes, results, exact):
        for sign in (1, -1):
            shift = sign * DRIFT[self.float_kind]  # as far as values may be off (sound)
            shifted, types = self.run(nodes, "array", shift)
            for r in results:
                if r and np.max(np.abs(shifted[r].astype(np.float64) - exact[r]), initial=0) > \
                        DRIFT.get(types[r], 0) * np.max(np.abs(exact[r]), initial=0):
                    return False
        return True

    def batch_of(self, nodes, results, exact):
        """Per result whether it has a row per sample; None if samples are mixed."""
        flags = {}
        operands = [i for n in nodes for i in n.inputs if i and i in self.values]
        if self.samples is None or not any(self.values[i].batch for i in operands):
            return {r: False for r in results}
        singles = [self.samples_run(nodes, [s]) for s in range(self.samples)]
        # Another number of samples, lest an extent that happens to be theirs makes shapes fit.
        more = [*range(self.samples), 0]
        longer = self.samples_run(nodes, more)
        for r in results:
            parts = [s[r] for s in singles]
            if parts[0].ndim and parts[0].shape[0] == 1 and exact[r].shape == (self.samples,) + parts[0].shape[1:] and \
                    np.allclose(np.concatenate(parts), exact[r], rtol=1e-9, atol=1e-12) and \
                    longer[r].shape == (len(more),) + parts[0].shape[1:] and \
                    np.allclose(longer[r], exact[r][more], rtol=1e-9, atol=1e-12):
                flags[r] = True
            else:
                return None
        return flags

    def take(self, nodes, results, allow_flat=False, hidden=()):
        """Adds the nodes if the values of `results` are sound; their names, or None. `nodes` are tuples (op, inputs,
        outputs, attributes); results named in `hidden` are not offered to later nodes."""
        nodes = [graphs.Node(op, list(i), list(o), dict(a)) for op, i, o, a in nodes]
        try:
            exact, types = self.run(nodes, "array")
            noisy, _ = self.run(nodes, "noisy")
            if not all(self.sound(exact[r], noisy[r], types[r], allow_flat) for r in results if r):
                return None
            if any(n.op in JUMPS for n in nodes) and not self.far_from_jumps(nodes, results, exact):
                return None
            flags = self.batch_of(nodes, [r for r in results if r], exact)
        except (ValueError, IndexError, KeyError, NotImplementedError, ZeroDivisionError, np.linalg.LinAlgError):
            return None
        if flags is None:
            return None
        self.graph.nodes += nodes
        for n in nodes:
            for i in n.inputs:
                if i in self.values:
                    self.values[i].uses += 1
        for r in results:
            if r:
                self.values[r] = Value(types[r], exact[r], noisy[r], flags[r], False)
                if r not in hidden:
                    self.pickable.append(r)
        return list(results)

    def node(self, op, inputs, attributes=None, results=1, allow_flat=False, hidden=()):
        """One node; its results' names, or None if it is not sound."""
        if any(i is None for i in inputs):
            return None
        kinds = {self.values[i].kind for i in inputs if i} & set(reference.FLOATS)
        if len(kinds) > 1 and op not in MIXED:
            return None
        outs = [self.name("t") for _ in range(results)]
        return self.take([(op, inputs, outs, attributes or {})], outs, allow_flat, [outs[h] for h in hidden])
