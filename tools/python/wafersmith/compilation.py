"""ws.compile: a model and the wafer it is for."""
from wafersmith import sections, sources, tracing
from wafersmith.backends import Backend
from wafersmith.errors import CompileError
from wafersmith.modules import Module
from wafersmith.torch_modules import native
from wafersmith.tracer import active


class CompiledModel(Module):
  """The model, to be called in traced functions, which then run on its backend; called outside of them it is a step of
  its own."""

  def __init__(self, model, backend):
    super().__init__()
    object.__setattr__(self, "model", model)
    self.backend = backend

    def call(*args, **kwargs):
      return self.forward(*args, **kwargs)

    call.__signature__ = model.signature()
    self._step = tracing.Step(call, type(model).__name__, backend)

  def __call__(self, *args, **kwargs):
    return self.forward(*args, **kwargs) if active() is not None else self._step(*args, **kwargs)

  def forward(self, *args, **kwargs):
    tracer = active()
    if tracer is not None:
      if tracer.backend not in (None, self.backend):
        raise CompileError("a step uses models that are compiled for two backends", sources.here())
      tracer.backend = self.backend
    return self.model(*args, **kwargs)

  def signature(self):
    return self.model.signature()

  def __getattr__(self, name):   # what it has not got itself
    return getattr(self.__dict__["model"], name)

  def __getitem__(self, key):
    return self.model[key]

  def named_modules(self, prefix=""):
    return self.model.named_modules(prefix)

  def named_parameters(self, prefix=""):
    return self.model.named_parameters(prefix)

  def train(self, mode=True):
    self.model.train(mode)
    return self

  def store(self):
    """Writes the newest parameters back into the torch.nn.Module that was compiled."""
    self.model.store()

  def __repr__(self):
    return f"compiled for {self.backend}: {self.model!r}"


def compile(model, backend=None):
  """A handle of the model (a Module or a torch.nn.Module) for a backend. A backend takes one model, as a wafer is
  programmed once; with reload=True any number."""
  backend = backend or sections.running_backend()
  if not isinstance(backend, Backend):
    raise TypeError(f"a backend is made by ws.backend(...), got {type(backend).__name__}")
  model = native(model)
  if not isinstance(model, Module):
    raise TypeError(f"a model is a ws.nn.Module or a torch.nn.Module, got {type(model).__name__}")
  if backend.compiled is not None and not (backend.reload or backend.is_host):
    first, where = backend.compiled
    raise CompileError(f"a second compile in one session: {backend} has {first} since {where}; a wafer is programmed "
                       f"once, unless backend('{backend.name}', reload=True) allows more", sources.here())
  backend.compiled = (type(model).__name__, sources.here())
  model.name_parameters()
  return CompiledModel(model, backend)
