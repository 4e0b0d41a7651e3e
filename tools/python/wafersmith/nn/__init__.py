"""Modules: layers with parameters, in the manner of torch.nn."""
from wafersmith.losses import *  # noqa: F401,F403
from wafersmith.nn import functional, utils  # noqa: F401
from wafersmith.nn.activations import *  # noqa: F401,F403
from wafersmith.nn.containers import ModuleDict, ModuleList, Sequential  # noqa: F401
from wafersmith.nn.layers import *  # noqa: F401,F403
from wafersmith.modules import Module  # noqa: F401
from wafersmith.tensors import Parameter  # noqa: F401
