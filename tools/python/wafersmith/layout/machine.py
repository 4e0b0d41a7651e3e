"""What a layout has to know of a machine: asked of the compiler, which knows its descriptions."""
import re
from dataclasses import dataclass

from wafersmith import tools


@dataclass(frozen=True)
class Machine:
  name: str
  width: int
  height: int
  colors: int
  switchable_colors: tuple
  host_ports: int


_known = {}


def read_machine(name):
  if name not in _known:
    text = tools.run(["cs-compile", "-m", name, "--list-machine"])
    _known[name] = Machine(name, *_numbers(text, "width", 1), *_numbers(text, "height", 1),
                           *_numbers(text, "colors", 1), _numbers(text, "switchable_colors"), *_numbers(text, "host_ports", 1))
  return _known[name]


def _numbers(text, key, count=None):
  """The numbers of the first line `key: ...`."""
  found = re.search(rf"^\s*{key}:([^#\n]*)", text, re.M)
  numbers = tuple(int(n) for n in re.findall(r"\d+", found.group(1))) if found else ()
  if not numbers or count not in (None, len(numbers)):
    raise RuntimeError(f"the machine's description has no usable '{key}'")
  return numbers
