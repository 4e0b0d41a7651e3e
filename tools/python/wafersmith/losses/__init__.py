"""Losses with the names and arguments of torch.nn, and `use_autogen`; a class of one's own by @autogen_loss."""
from wafersmith.losses.classes import *  # noqa: F401,F403
from wafersmith.losses.classes import __all__ as _classes
from wafersmith.losses.custom import autogen_loss

__all__ = [*_classes, "autogen_loss"]
