"""The rules of tracing: what happens once, what in every iteration, and what is refused."""
import gc
import unittest
import warnings

import numpy as np

import wafersmith as ws
from counting import X, CountingTest
from wafersmith.graphs import Node, Value

scale = 1.0
flag = True
seen = 0


class OnceTest(CountingTest):
  """Without retrace_every_iteration: traced in the first call alone."""

  def test_traced_once_and_run_each_time(self):
    self.wafer()
    calls = []

    @ws.trace
    def step(x):
      calls.append(1)   # a side effect
      return ws.relu(x)

    values = [float(step(X).numpy()[0, 0]) for _ in range(10)]
    self.assertEqual(len(calls), 1)
    self.assertEqual(step.step.traces, 1)
    self.assertEqual(values, list(range(10)))   # run ten times all the same

  def test_only_the_branch_of_the_first_iteration_is_in_the_graph(self):
    global flag
    self.wafer()

    @ws.trace
    def step(x):
      if flag:
        return ws.relu(x)
      return ws.tanh(x)

    flag = True
    step(X)
    flag = False
    with self.assertWarnsRegex(ws.TraceWarning, "'flag' was True when step.. was traced"):
      step(X)
    flag = True
    self.assertEqual(self.lines(step), ["relu(x)"])

  def test_loops_are_unrolled(self):
    self.wafer()
    trips = [3]

    @ws.trace
    def step(x):
      for _ in range(trips[0]):
        x = ws.relu(x)
      return x

    step(X)
    trips[0] = 5
    step(X)
    self.assertEqual(self.lines(step), ["relu(x)", "relu(relu)", "relu(relu_1)"])

  def test_what_lines_have_become_can_be_read(self):
    self.wafer()

    @ws.trace
    def step(x):
      for _ in range(3):
        x = ws.relu(x)
      return ws.tanh(x) * 2.0

    self.assertEqual(step.explain(), "step() has not been traced")
    step(X)
    first = step.step.function.__code__.co_firstlineno
    self.assertEqual(step.explain().splitlines(), [
        "step(): 5 nodes", f"  test_tracing.py:{first + 3} in step: 3 x relu",
        f"  test_tracing.py:{first + 4} in step: tanh, mul", "  constants of the program: 2.0"])

  def test_numbers_are_constants_and_a_warning_names_the_variable(self):
    global scale
    self.wafer()
    scale = 2.0

    @ws.trace
    def step(x):
      return x * scale

    step(X)
    scale = 3.0
    with self.assertWarnsRegex(ws.TraceWarning, "'scale' was 2.0 .* that it is 3.0 now changes nothing"):
      step(X)
    with warnings.catch_warnings():   # once is enough
      warnings.simplefilter("error")
      step(X)
    self.assertEqual([c.content() for c in step.step.tracer.graph.constants], ["2.0"])

  def test_a_variable_of_an_enclosing_function(self):
    self.wafer()
    factor = 2.0

    @ws.trace
    def step(x):
      return x * factor

    step(X)
    factor = 4.0
    with self.assertWarnsRegex(ws.TraceWarning, "'factor' was 2.0"):
      step(X)

  def test_an_argument_that_is_a_number(self):
    self.wafer()
    step = ws.trace(lambda x, factor, more=(): x * factor)
    step(X, 2.0, more=[1])
    with self.assertWarnsRegex(ws.TraceWarning, "'factor' was 2.0 when <lambda>.. was traced"):
      step(X, 3.0, more=[1])
    with self.assertWarnsRegex(ws.TraceWarning, "'more_0' was 1 when"):
      step(X, 2.0, more=[4])

  def test_a_function_that_changes_a_variable_is_warned_of(self):
    global seen
    self.wafer()
    seen = 0

    @ws.trace
    def step(x):
      global seen
      seen += 1
      return ws.relu(x)

    with self.assertWarnsRegex(ws.TraceWarning, "changes 'seen' while it is traced; that happens once"):
      for _ in range(10):
        step(X)
    self.assertEqual(seen, 1)

  def test_another_shape_or_type_is_an_error(self):
    self.wafer()

    @ws.trace
    def step(x):
      return ws.relu(x)

    step(X)
    with self.assertRaises(ws.GraphChanged) as caught:
      step(np.ones((2, 8), np.float32))
    self.assertEqual(caught.exception.iteration, 1)
    self.assertRegex(str(caught.exception), r"argument x: f32\[1, 8\] -> f32\[2, 8\]")
    self.assertRegex(str(caught.exception), r"relu, at test_tracing.py:\d+ in step")
    with self.assertRaisesRegex(ws.GraphChanged, r"f32\[1, 8\] -> f16\[1, 8\]"):
      step(np.ones((1, 8), np.float16))

  def test_a_declared_number_changes_without_changing_the_graph(self):
    self.wafer(retrace_every_iteration=True)
    rate = ws.hyper(0.5, "rate")

    @ws.trace
    def step(x):
      return x * rate

    step(X)
    rate.set(0.25)
    step(X)
    given = [i["rate"].tolist() for i in step.step.program.execution.inputs]
    self.assertEqual(given, [[0.5], [0.25]])


class EveryTimeTest(CountingTest):
  """With retrace_every_iteration."""

  def setUp(self):
    super().setUp()
    self.backend = self.wafer(retrace_every_iteration=True)

  def test_traced_and_side_effects_in_every_iteration(self):
    global scale
    calls = []

    @ws.trace
    def step(x):
      calls.append(1)
      return ws.relu(x)

    with warnings.catch_warnings():
      warnings.simplefilter("error")
      for k in range(10):
        scale = float(k)   # a variable of the module that the graph does not use
        step(X)
    self.assertEqual((len(calls), step.step.traces, self.backend.statistics.traces), (10, 10, 10))

  def test_a_thousand_iterations_keep_one_graph(self):
    layer = ws.nn.Linear(8, 2)
    step = ws.trace(lambda x: ws.relu(layer(x) * 2.0))
    counts = []
    for k in range(1000):
      step(X)
      if k in (9, 999):
        gc.collect()
        counts.append(sum(isinstance(o, (Node, Value)) for o in gc.get_objects()))
    self.assertEqual(counts[0], counts[1])

  def changed(self, function, *arguments):
    """The error of the iteration after three good ones."""
    step = ws.trace(function)
    self.state = {"now": False}
    for _ in range(3):
      step(X)
    self.state["now"] = True
    with self.assertRaises(ws.GraphChanged) as caught:
      step(*(arguments or [X]))
    self.assertEqual(caught.exception.iteration, 3)
    return caught.exception

  def test_a_flipped_branch(self):
    def step(x):
      if self.state["now"]:
        return ws.tanh(x)    # line of the second graph
      return ws.relu(x)      # line of the first graph
    error = self.changed(step)
    first = step.__code__.co_firstlineno
    self.assertEqual((error.node, error.before.line, error.after.line), (0, first + 3, first + 2))
    self.assertRegex(str(error), r"node 0, operator relu -> tanh")
    self.assertRegex(str(error), rf"iteration 3: tanh = tanh\(x\) -> f32\[1, 8\]   test_tracing.py:{first + 2} in step")

  def test_a_changed_trip_count(self):
    def step(x):
      for _ in range(4 if self.state["now"] else 2):
        x = ws.relu(x)
      return x
    error = self.changed(step)
    self.assertEqual(error.node, 2)
    self.assertRegex(str(error), r"iteration 0: ends before")
    self.assertRegex(str(error), r"nodes: 2 -> 4")

  def test_a_changed_shape(self):
    error = self.changed(lambda x: ws.relu(x), np.ones((2, 8), np.float32))
    self.assertRegex(str(error), r"argument x: f32\[1, 8\] -> f32\[2, 8\]")
    self.assertRegex(str(error), r"node 0, shape f32\[1, 8\] -> f32\[2, 8\]")

  def test_a_changed_constant(self):
    error = self.changed(lambda x: ws.relu(x) * (2.0 if self.state["now"] else 1.0))
    self.assertEqual(error.node, 1)
    self.assertRegex(str(error), r"node 1, constant 1.0 -> 2.0")

  def test_a_changed_array(self):
    table = np.arange(8, dtype=np.float32)
    error = self.changed(lambda x: x + (table[::-1].copy() if self.state["now"] else table))
    self.assertRegex(str(error), r"constant f32\[8\] \w+ -> f32\[8\] \w+")

  def test_a_changed_attribute(self):
    error = self.changed(lambda x: ws.leaky_relu(x, 0.2 if self.state["now"] else 0.1))
    self.assertRegex(str(error), r"attribute alpha 0.1 -> 0.2")

  def test_a_changed_result(self):
    error = self.changed(lambda x: (ws.relu(x), ws.tanh(x))[:1 if self.state["now"] else 2])
    self.assertRegex(str(error), r"only now: outputs")

  def test_another_parameter_of_the_same_shape(self):
    a, b = ws.nn.Parameter(X), ws.nn.Parameter(X)
    error = self.changed(lambda x: x + (b if self.state["now"] else a))
    self.assertRegex(str(error), "only now: parameter")

  def test_the_share_of_tracing_comes_with_a_hint(self):
    @ws.trace
    def step(x):
      return ws.relu(x)

    for _ in range(12):
      step(X)
    statistics = self.backend.statistics
    statistics.trace_seconds, statistics.execute_seconds = 3.0, 1.0   # as a small network takes it
    self.assertEqual(statistics.trace_share, 0.75)
    self.assertIn("hint: tracing takes 75 % of the time; without retrace_every_iteration", str(statistics))
    statistics.trace_seconds = 0.1
    self.assertEqual(statistics.hint, "")


class RefusedTest(CountingTest):
  def refused(self, function, pattern, error=ws.StaticGraphError):
    self.wafer()
    with self.assertRaisesRegex(error, pattern) as caught:
      ws.trace(function)(X)
    return caught.exception

  def test_the_value_of_a_traced_tensor(self):
    for use in (float, bool, int, lambda x: x.numpy(), lambda x: x.tolist(), np.asarray):
      error = self.refused(lambda x, use=use: use(ws.sum(x)), r"value of a traced f32\[\].*static graph")
      self.assertEqual(error.where.file, __file__)

  def test_a_branch_on_a_traced_value(self):
    def step(x):
      return x if x.sum() > 0 else -x
    error = self.refused(step, "branches and loops depend on host values only")
    self.assertEqual(error.where.line, step.__code__.co_firstlineno + 1)

  def test_a_shape_that_depends_on_values(self):
    self.refused(lambda x: ws.nonzero(x), r"nonzero\(\) of a traced tensor: .*no part of a static graph")

  def test_a_tensor_of_a_trace_that_is_over(self):
    self.wafer(reload=True)
    kept = []
    ws.trace(lambda x: kept.append(ws.relu(x)) or x)(X)
    with self.assertRaisesRegex(ws.StaticGraphError, "whose tracing is over"):
      ws.trace(lambda x: x + kept[0])(X)

  def test_training_that_is_not_whole(self):
    layer = ws.nn.Linear(8, 1)
    optimizer = ws.optim.SGD(layer.parameters(), lr=0.1)
    self.refused(lambda x: optimizer.step(), "without a backward")
    self.refused(lambda x: layer(x).backward() or optimizer.step(), "without zero_grad")
    self.refused(lambda x: ws.cat([layer(x)] * 2).backward(), r"loss of one element, this one is f32\[2, 1\]")
    with self.assertRaisesRegex(ws.StaticGraphError, "belongs into a training step"):
      optimizer.step()


class SessionTest(CountingTest):
  def test_a_second_compile_is_refused(self):
    backend = self.wafer()
    ws.compile(ws.nn.Linear(8, 8), backend)
    with self.assertRaisesRegex(ws.CompileError, "a second compile in one session: .* has Linear since test_tracing"):
      ws.compile(ws.nn.Linear(8, 8), backend)
    free = self.wafer(reload=True)
    ws.compile(ws.nn.Linear(8, 8), free)
    ws.compile(ws.nn.Linear(8, 8), free)

  def test_a_second_program_is_refused(self):
    self.wafer()
    ws.trace(lambda x: ws.relu(x))(X)
    with self.assertRaisesRegex(ws.ReloadError, "a wafer is programmed once, unless .*reload=True"):
      ws.trace(lambda x: ws.tanh(x))(X)

  def test_the_same_graph_is_the_same_program(self):
    self.wafer()
    first, second = ws.trace(lambda x: ws.relu(x)), ws.trace(lambda x: ws.relu(x))
    first(X)
    second(X)
    self.assertIs(first.step.program, second.step.program)

  def test_two_backends_in_one_step(self):
    a, b = (ws.compile(ws.nn.Linear(8, 8), self.wafer()) for _ in range(2))
    with self.assertRaisesRegex(ws.CompileError, "compiled for two backends"):
      ws.trace(lambda x: a(b(x)))(X)

  def test_a_step_for_another_backend_than_its_model(self):
    layer = ws.compile(ws.nn.Linear(8, 8), self.wafer())
    with self.assertRaisesRegex(ws.CompileError, "traced for backend.* compiled for"):
      ws.trace(lambda x: layer(x), backend=self.wafer())(X)

  def test_after_an_error_a_step_begins_anew(self):
    self.wafer()
    step = ws.trace(lambda x: ws.relu(x) if x.shape[0] == 1 else bool(x.sum() > 0))
    with self.assertRaises(ws.StaticGraphError):
      step(np.ones((2, 8), np.float32))
    self.assertEqual(step(X).shape, (1, 8))

  def test_results_have_the_form_in_which_they_were_returned(self):
    self.wafer()
    found = ws.trace(lambda x: {"a": ws.relu(x), "b": [x, 3]})(X)
    self.assertEqual(found["a"].shape, (1, 8))
    self.assertEqual((found["b"][0].shape, found["b"][1]), ((1, 8), 3))

  def test_arguments_may_be_nested(self):
    self.wafer()
    step = ws.trace(lambda pair, *, scale, **more: pair[0] + pair[1]["b"] * scale + more["c"])
    step((X, {"b": X}), scale=2.0, c=X)
    self.assertEqual([v.name for v in step.step.tracer.graph.inputs], ["pair_0", "pair_1_b", "more_c"])
    self.wafer()
    step = ws.trace(lambda x, x_0: x[0] + x_0)
    step([X], X)
    self.assertEqual([v.name for v in step.step.tracer.graph.inputs], ["x_0", "x_0_"])


if __name__ == "__main__":
  unittest.main()
