"""ws.evaluate: a module on a backend once, with gradients and with the kernels that computed it."""
import inspect
from typing import NamedTuple

from wafersmith import dtypes, sections, sources, trees
from wafersmith.errors import StaticGraphError
from wafersmith.modules import Module
from wafersmith.program import Program
from wafersmith.tensors import Tensor, host_array
from wafersmith.torch_modules import native
from wafersmith.tracer import Tracer, depends_on


class Kernel(NamedTuple):
  name: str
  op: str
  origin: str      # handwritten, autogen, host
  kernel: str
  cycles: object   # simulated, None where it was not measured
  where: str       # line of the program


class Evaluation:
  """`value` in the form in which the module returned it; `gradients` by the names of arguments and parameters."""

  def __init__(self, value, gradients, kernels, statistics):
    self.value, self.gradients, self.kernels, self.statistics = value, gradients, kernels, statistics


def evaluate(module, args, backend=None, gradients=False):
  """module(*args) on the backend. `gradients=True`: those of a value with one element, with respect to every argument
  and parameter in floating point; a list of names: to these. Nothing of it belongs to the backend's session."""
  backend, module = backend or sections.running_backend(), native(module)
  named = _named(module, args if isinstance(args, (tuple, list)) else (args,))
  tracer = Tracer(getattr(module, "__name__", type(module).__name__))
  leaves, rebuild = trees.flatten(named)
  arrays = {name: host_array(leaf) for name, leaf in leaves}
  with tracer:
    inputs = {name: tracer.input(name, a) for name, a in arrays.items()}
    found, make = trees.flatten_tensors(module(*rebuild(inputs).values()))
    values = [tracer.result(t) for t in found]
  if gradients:
    _want(tracer, values, None if gradients is True else list(gradients))
  program = Program(tracer.graph, backend, tracer.hypers)
  results = program.run({name: a[None] for name, a in arrays.items()}, 1)
  value = make([Tensor(results[v.name][0], results[v.name].dtype) for v in values])
  return Evaluation(value, {v.name: results[f"gradient.{v.name}"][0] for v in tracer.graph.training.gradients},
                    _kernels(program, backend), backend.statistics)


def _named(module, args):
  signature = module.signature() if isinstance(module, Module) else inspect.signature(module)
  names = [p.name for p in signature.parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
  return {names[k] if k < len(names) else f"x{k}": a for k, a in enumerate(args)}


def _want(tracer, values, wanted):
  if len(values) != 1 or values[0].type.elements != 1:
    types = ", ".join(str(v.type) for v in values)
    raise StaticGraphError(f"gradients are of one value with one element; the module returns {types}", sources.here())
  training = tracer.graph.training
  training.loss = values[0]
  known = {v.name: v for v in [*tracer.graph.inputs, *tracer.graph.parameters()]}
  used = depends_on(values[0])
  if wanted is None:
    wanted = [name for name, v in known.items() if dtypes.is_float(v.type.dtype) and v in used]
  for name in wanted:
    if name not in known:
      raise KeyError(f"gradient of '{name}': there is no such argument or parameter; there are {', '.join(known)}")
  training.gradients = [known[name] for name in wanted]


def _kernels(program, backend):
  measured = {k["name"]: k for k in backend.statistics.raw.get("kernels", [])}
  lines = {op["name"]: op.get("where", "") for op in program.report["ops"]}
  return [Kernel(k["name"], k["op"], k["origin"], k["kernel"], measured.get(k["name"], {}).get("cycles"),
                 lines.get((k.get("nodes") or [""])[0], "")) for k in program.report["kernels"]]
