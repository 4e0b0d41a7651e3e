"""Tests of tools/random_graphs: test_random_graphs.py CS_COMPILE"""
import filecmp
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TOOL = os.path.join(ROOT, "tools", "random_graphs")
sys.path.insert(0, os.path.join(ROOT, "tools", "graphs"))
import generate  # noqa: E402
import graph as graphs  # noqa: E402
import reference  # noqa: E402
import rows  # noqa: E402
import run  # noqa: E402
import shrink  # noqa: E402

CS_COMPILE = "cs-compile"


def compute(op, inputs, attributes=None, results=1, opset=17):
    arrays = [None if i is None else np.asarray(i) for i in inputs]
    kinds = [None if a is None else "float32" if a.dtype.kind == "f" else a.dtype.name for a in arrays]
    return reference.evaluate(op, arrays, kinds, attributes or {}, results, opset)[0]


class Generator(unittest.TestCase):
    def write(self, folder, *more):
        subprocess.run([TOOL, "--seed", "7", "--count", "12", "--skips", "0.4", "--write", folder, *more], check=True,
                       stderr=subprocess.DEVNULL)

    def test_same_seed_same_bytes(self):
        with tempfile.TemporaryDirectory() as work:
            first, second = os.path.join(work, "a"), os.path.join(work, "b")
            self.write(first)
            self.write(second)
            names = sorted(os.path.relpath(os.path.join(at, f), first) for at, _, files in os.walk(first) for f in files)
            self.assertGreaterEqual(len(names), 3 * 11)
            self.assertEqual(filecmp.cmpfiles(first, second, names, shallow=False)[1:], ([], []))

    def test_a_graph_does_not_depend_on_those_before_it(self):
        with tempfile.TemporaryDirectory() as work:
            self.write(work)
            self.write(os.path.join(work, "one"), "--first", "5", "--count", "1")
            name = "s7_g00005/model.onnx"
            self.assertTrue(filecmp.cmp(os.path.join(work, name), os.path.join(work, "one", name), shallow=False))

    def test_operators_stay_in_their_range(self):
        for number in range(30):
            graph = generate.draw(3, number, 0.3, (5, 9))
            self.assertLessEqual(len([n for n in graph.nodes if n.op != "Constant"]), 9 + 6)  # a step may add several

    def test_skips_make_joins(self):
        def joins(skips):
            ops = [n.op for i in range(40) for n in generate.draw(2, i, skips, (8, 12)).nodes]
            return ops.count("Concat") / len(ops)
        self.assertGreater(joins(0.7), 2 * joins(0.0))

    def test_every_operator_of_the_compiler_has_a_row(self):
        lines = subprocess.run([CS_COMPILE, "--list-ops"], check=True, capture_output=True, text=True).stdout.splitlines()
        begin, end = lines[0].index("ONNX"), lines[0].index("attributes")
        names = {n for s in lines[1:] for n in s[begin:end].replace(",", " ").split()}
        self.assertGreater(len(names), 100)
        # Scatter and Upsample are old names of ScatterElements and Resize; ONNX's own tests cover them, the products
        # of quantised operands and the losses.
        quantised = {"DynamicQuantizeLinear", "MatMulInteger", "ConvInteger", "QLinearMatMul", "QLinearConv"}
        losses = {"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"}
        self.assertEqual(names - set(rows.ROWS) - {"Scatter", "Upsample"} - {"If", "Loop"} - quantised - losses, set())

    def test_symbolic_batches_keep_samples_apart(self):
        drawn = [generate.draw(4, i, 0.2, (2, 8), symbolic=1.0) for i in range(40)]
        streamed = [g for g in drawn if g and g.batch and not g.options]
        self.assertGreater(len(streamed), 10)
        for graph in streamed:
            whole, _ = graphs.evaluate(graph)
            for sample in range(2):
                one = graph.copy()
                one.inputs = {k: v[sample:sample + 1] if k in graph.batch else v for k, v in graph.inputs.items()}
                part, _ = graphs.evaluate(one)
                for name in graph.outputs:
                    if part[name].shape != whole[name].shape:
                        np.testing.assert_allclose(part[name], whole[name][sample:sample + 1], rtol=1e-6, atol=1e-9)


class Reference(unittest.TestCase):
    """Values by hand."""

    def test_conv(self):  # 1*1 + 2*10 = 21, 2*1 + 3*10 = 32, and the border 3*1
        y = compute("Conv", [[[[1.0, 2.0, 3.0]]], [[[1.0, 10.0]]]], {"pads": [0, 1]})[0]
        np.testing.assert_array_equal(y, [[[21, 32, 3]]])

    def test_average_pool_without_padding_in_the_count(self):
        y = compute("AveragePool", [[[[2.0, 4.0]]]], {"kernel_shape": [2], "pads": [1, 0]})[0]
        np.testing.assert_array_equal(y, [[[2, 3]]])

    def test_resize_linear_half_pixel(self):  # positions -0.25, 0.25, 0.75, 1.25 between 0 and 4
        y = compute("Resize", [[[[0.0, 4.0]]], None, [1.0, 1.0, 2.0]], {"mode": "linear"})[0]
        np.testing.assert_array_equal(y, [[[0, 1, 3, 4]]])

    def test_cum_sum_reverse_exclusive(self):
        y = compute("CumSum", [[1.0, 2.0, 3.0], np.int64(0)], {"exclusive": 1, "reverse": 1})[0]
        np.testing.assert_array_equal(y, [5, 3, 0])

    def test_gru_gate_keeps_the_state(self):  # update gate open (z = 1): the state stays
        w, r, bias = np.zeros((1, 3, 1)), np.zeros((1, 3, 1)), np.array([[50.0, 0, 0, 0, 0, 0]])
        y, last = compute("GRU", [np.ones((2, 1, 1)), w, r, bias, None, [[[0.25]]]], {"hidden_size": 1}, 2)
        np.testing.assert_allclose(last, [[[0.25]]])
        np.testing.assert_allclose(y.reshape(-1), [0.25, 0.25])

    def test_lstm_gates_in_the_order_of_onnx(self):  # i = o = 1, f = 0, c~ = tanh(1): c = tanh(1), h = tanh(c)
        bias = np.array([[50.0, 50.0, -50.0, 1.0, 0, 0, 0, 0]])
        _, h, c = compute("LSTM", [np.zeros((1, 1, 1)), np.zeros((1, 4, 1)), np.zeros((1, 4, 1)), bias], {"hidden_size": 1}, 3)
        np.testing.assert_allclose([c.item(), h.item()], [np.tanh(1), np.tanh(np.tanh(1))])

    def test_depth_to_space(self):
        x = np.arange(4.0).reshape(1, 4, 1, 1)
        np.testing.assert_array_equal(compute("DepthToSpace", [x], {"blocksize": 2})[0], [[[[0, 1], [2, 3]]]])

    def test_top_k(self):
        values, index = compute("TopK", [[3.0, 1.0, 2.0], np.array([2])], {"largest": 0}, 2)
        np.testing.assert_array_equal(values, [1, 2])
        np.testing.assert_array_equal(index, [1, 2])


class Runner(unittest.TestCase):
    def test_kinds(self):
        self.assertEqual(run.judge_compile(1, "model.onnx: node A: error: too large").kind, "refused")
        self.assertEqual(run.judge_compile(1, "a_kernel.csl:21:17: error: 't' is not declared").kind, "internal")
        self.assertEqual(run.judge_compile(70, "cs-compile: internal error: map::at").kind, "internal")
        self.assertEqual(run.judge_simulation(3, "cs-sim: deadlock at cycle 400").kind, "deadlock")
        self.assertEqual(run.judge_simulation(4, "cs-sim: results differ: output 'y'").kind, "wrong")
        self.assertEqual(run.judge_simulation(-11, "").kind, "internal")

    def test_causes_do_not_depend_on_names_and_numbers(self):
        first = run.Outcome("refused", "t14_reduce_max: reduce_max to f32[40, 1]: error: no rectangle")
        second = run.Outcome("refused", "t2_reduce_max: reduce_max to f32[3, 11]: error: no rectangle")
        self.assertEqual(first.cause.split("error")[1], second.cause.split("error")[1])

    def test_policies_meet_two_machines_each(self):
        jobs = run.jobs_of(["a", "b"], 2)
        self.assertEqual(len({(j.folder, j.machine, j.policy) for j in jobs}), 12)


STUB = """#!/bin/sh
# Refuses every model with an Erf in it.
grep -q Erf "$1" && { echo "model.onnx: error: no Erf today"; exit 1; }
exit 0
"""


class Shrink(unittest.TestCase):
    def test_what_fails_alone_is_left(self):
        with tempfile.TemporaryDirectory() as work:
            for name, text in (("cs-compile", STUB), ("cs-sim", "#!/bin/sh\nexit 0\n")):
                with open(os.path.join(work, name), "w", encoding="ascii") as f:
                    f.write(text)
                os.chmod(os.path.join(work, name), 0o755)
            number = next(i for i in range(1000) if "Erf" in [n.op for n in generate.draw(1, i, 0.3, (6, 12)).nodes])
            graph = generate.draw(1, number, 0.3, (6, 12))
            small = shrink.Shrinker(work, run.Job("", "wse2", "medium"), 10).shrink(graph)
            self.assertEqual([n.op for n in small.nodes], ["Erf"])
            self.assertEqual(len(small.outputs), 1)
            self.assertLessEqual(sum(v.size for v in small.inputs.values()), sum(v.size for v in graph.inputs.values()))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        CS_COMPILE = sys.argv.pop(1)
    unittest.main()
