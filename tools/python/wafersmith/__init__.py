"""Models and CSL programs from Python, static graphs traced from it, and what lies below the vendor-named host modules: layouts, tools, artefacts.

    import wafersmith as ws

Names are loaded when they are asked for: a program that only builds a layout imports nothing of networks.
"""
import importlib
import importlib.util

_HOMES = {
    "tensors": ("Tensor", "Parameter", "tensor", "to_numpy", "hyper", "manual_seed"),
    "tracing": ("trace", "with_backend"),
    "backends": ("backend", "Backend"),
    "sections": ("section", "current_backend"),
    "compilation": ("compile", "CompiledModel"),
    "evaluation": ("evaluate", "Evaluation"),
    "losses": ("autogen_loss",),
    "library": ("compile_model", "compile_layout", "Program", "Result", "Report", "Session"),
    "errors": ("WafersmithError", "StaticGraphError", "GraphChanged", "CompileError", "OperatorError", "ReloadError",
               "BackendError", "SimulationError", "TraceWarning"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_MODULES = ("nn", "losses", "optim", "schedules", "functions")


def __getattr__(name):
  if name in _MODULES:
    return importlib.import_module(f"wafersmith.{name}")
  if name.startswith("_") or (name not in _HOME_OF and importlib.util.find_spec(f"wafersmith.{name}") is not None):
    raise AttributeError(f"module 'wafersmith' has no attribute '{name}'")   # an import of a module goes on from here
  functions = importlib.import_module("wafersmith.functions")   # the operators of tensors too
  if name in _HOME_OF:
    value = getattr(importlib.import_module(f"wafersmith.{_HOME_OF[name]}"), name)
  elif name in functions.__all__:
    value = getattr(functions, name)
  else:
    raise AttributeError(f"module 'wafersmith' has no attribute '{name}'")
  globals()[name] = value
  return value


def __dir__():
  functions = importlib.import_module("wafersmith.functions").__all__
  return sorted({*globals(), *_HOME_OF, *_MODULES, *functions})
