"""Makes a failing graph small: while it still fails in the same way, outputs and nodes go, extents get smaller.

Expected values come from the numpy evaluation, so a cut graph is judged like the whole one.
"""
import shutil
import tempfile

import numpy as np

import graph as graphs
import run


class Shrinker:
    def __init__(self, tools, job, seconds, most_runs=150):
        self.tools, self.job, self.seconds, self.left = tools, job, seconds, most_runs
        self.kind = None

    def fails(self, graph):
        """Whether the graph fails as the first one did."""
        if self.left <= 0 or not graph.nodes or not graph.outputs:
            return False
        self.left -= 1
        folder = tempfile.mkdtemp(prefix="shrink-")
        try:
            graphs.write(graph, folder, "small")
            outcome = run.run_job(self.tools, run.Job(folder, self.job.machine, self.job.policy, self.job.flags), self.seconds)
        except (ValueError, IndexError, KeyError, TypeError, NotImplementedError, StopIteration, np.linalg.LinAlgError):
            return False
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        if self.kind is None:
            self.kind = self.key(outcome)
            return outcome.kind != "ok"
        return self.key(outcome) == self.kind

    @staticmethod
    def key(outcome):
        """Refusals and internal errors keep their cause; a deadlock may become a leftover."""
        if outcome.kind in ("deadlock", "leftover"):
            return "stuck"
        return outcome.cause if outcome.kind in ("refused", "internal", "fault") else outcome.kind

    def attempt(self, graph, change):
        smaller = graph.copy()
        if change(smaller) is False:
            return None
        graphs.prune(smaller)
        used = {i for n in smaller.nodes for i in n.inputs} | set(smaller.outputs)
        smaller.inputs = {k: v for k, v in smaller.inputs.items() if k in used}
        smaller.batch = {k: v for k, v in smaller.batch.items() if k in used}
        if not smaller.batch:
            smaller.options = []
        return smaller if smaller.inputs and self.fails(smaller) else None

    def shrink(self, graph):
        graph = self.first(graph)
        if graph is None:
            return None
        before = None
        while before != size(graph) and self.left > 0:
            before = size(graph)
            for step in (self.outputs, self.tails, self.heads, self.bypasses, self.symbols, self.extents):
                graph = step(graph)
        return graph

    def first(self, graph):
        graph = graphs.prune(graph.copy())
        return graph if self.fails(graph) else None

    def outputs(self, graph):
        for name in list(graph.outputs):
            if len(graph.outputs) > 1 and name in graph.outputs:
                rest = [o for o in graph.outputs if o != name]
                graph = self.attempt(graph, lambda g, r=rest: setattr(g, "outputs", r)) or graph
        return graph

    def tails(self, graph):
        """The last node goes; what it read becomes an output."""
        for node in reversed(list(graph.nodes)):
            if node not in graph.nodes or not any(o in graph.outputs for o in node.outputs):
                continue
            made = {o for n in graph.nodes for o in n.outputs if o}
            heirs = [i for i in node.inputs if i in made and i not in graph.outputs]
            rest = [o for o in graph.outputs if o not in node.outputs] + heirs
            graph = self.attempt(graph, lambda g, r=rest: setattr(g, "outputs", r)) or graph
        return graph

    def heads(self, graph):
        """What the first nodes compute becomes an input."""
        for node in list(graph.nodes):
            if node in graph.nodes:
                graph = self.attempt(graph, lambda g, n=node: self.cut(g, n)) or graph
        return graph

    @staticmethod
    def cut(graph, node):
        values, types = graphs.evaluate(graph)
        graph.nodes = [n for n in graph.nodes if n.outputs != node.outputs]
        for o in node.outputs:
            if not o or o in graph.outputs:
                return False
            graph.inputs[o] = values[o].astype(types[o])
            if graph.batch:
                count = next(graph.inputs[i].shape[0] for i in graph.batch)
                if values[o].ndim and values[o].shape[0] == count:
                    graph.batch[o] = next(iter(graph.batch.values()))
        return None

    def bypasses(self, graph):
        """A node's result is replaced by one of its operands of the same shape and type."""
        for node in list(graph.nodes):
            if node not in graph.nodes:
                continue
            values, types = graphs.evaluate(graph)
            for operand in node.inputs:
                result = node.outputs[0]
                if operand and result and result not in graph.outputs and types[operand] == types[result] and \
                        values[operand].shape == values[result].shape:
                    smaller = self.attempt(graph, lambda g, n=node, o=operand: self.replace(g, n, o))
                    if smaller:
                        graph = smaller
                        break
        return graph

    @staticmethod
    def replace(graph, node, operand):
        for n in graph.nodes:
            n.inputs = [operand if i == node.outputs[0] else i for i in n.inputs]

    def symbols(self, graph):
        """Without the symbolic batch."""
        return self.attempt(graph, fixed) or graph if graph.batch else graph

    def extents(self, graph):
        """Each extent of the inputs made smaller everywhere."""
        kept = {graph.inputs[i].shape[0] for i in graph.batch}
        found = sorted({e for v in graph.inputs.values() for e in v.shape if e > 1 and e not in kept}, reverse=True)
        for extent in found:
            for smaller in sorted({1, 2, 3, extent // 4, extent // 2, extent - 1}):
                if 0 < smaller < extent:
                    result = self.attempt(graph, lambda g, e=extent, s=smaller: resize(g, e, s))
                    if result:
                        graph = result
                        break
        return graph


def fixed(graph):
    graph.batch, graph.options = {}, []


def resize(graph, extent, smaller):
    """Cuts every dimension of this extent, of inputs and constants, and the number where a shape or index says it."""
    def cut(array):
        array = array[tuple(slice(0, smaller) if e == extent else slice(None) for e in array.shape)]
        return np.where(array == extent, smaller, array).astype(array.dtype) if array.dtype == np.int64 else array

    graph.inputs = {k: cut(v) for k, v in graph.inputs.items()}
    graph.initializers = {k: cut(v) for k, v in graph.initializers.items()}
    for n in graph.nodes:
        n.attributes = {k: cut(v) if isinstance(v, np.ndarray) else v for k, v in n.attributes.items()}


def size(graph):
    return (len(graph.nodes), len(graph.outputs), sum(v.size for v in graph.inputs.values()),
            sum(v.size for v in graph.initializers.values()), len(graph.batch))
