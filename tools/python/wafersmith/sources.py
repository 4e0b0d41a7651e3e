"""The line of the user's program that makes a node: the nearest caller that is neither this package nor torch."""
import os
import sys
import warnings
from typing import NamedTuple

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_FOREIGN = (f"{os.sep}torch{os.sep}",)


class Where(NamedTuple):
  file: str
  line: int
  function: str

  def __str__(self):
    name = "" if self.function == "<module>" else f" in {self.function}"
    return f"{os.path.basename(self.file)}:{self.line}{name}"


def here():
  frame = sys._getframe(1)
  while frame is not None:
    name = frame.f_code.co_filename
    if not name.startswith(_HERE) and not any(part in name for part in _FOREIGN):
      return Where(name, frame.f_lineno, frame.f_code.co_name)
    frame = frame.f_back
  return None


def warn(message, category):
  """A warning at the line of the user's program."""
  where = here() or Where("wafersmith", 0, "")
  warnings.warn_explicit(message, category, where.file, where.line)
