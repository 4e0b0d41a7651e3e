"""Which colors are one: a connection makes the colors of its two ports one class, which gets one physical color."""


class ColorClasses:
  """Union-find over the global names of colors, with the value a class is bound to, if any."""

  def __init__(self):
    self._parent = {}
    self._value = {}   # representative: (value, name of the color that has it)
    self._members = {}

  def add(self, color):
    name = color.get_global_name()
    if name not in self._parent:
      self._parent[name] = name
      self._members[name] = [name]
    self._bind(self.find(name), color.get_value(), name)
    return self.find(name)

  def find(self, name):
    while self._parent[name] != name:
      self._parent[name] = self._parent[self._parent[name]]
      name = self._parent[name]
    return name

  def join(self, a, b):
    first, second = self.add(a), self.add(b)
    if first == second:
      return
    bound = self._value.pop(second, None)
    self._parent[second] = first
    self._members[first] += self._members.pop(second)
    if bound:
      self._bind(first, *bound)

  def _bind(self, root, value, name):
    if value is None:
      return
    have = self._value.setdefault(root, (value, name))
    if have[0] != value:
      raise ValueError(f"colors '{have[1]}' and '{name}' are one, by name or by a connection, but have the values "
                       f"{have[0]} and {value}")

  def roots(self):
    """Representatives, in the order of their first color."""
    return list(self._members)

  def members(self, root):
    return self._members[root]

  def fixed(self, root):
    return self._value[root][0] if root in self._value else None

  def label(self, root):
    return " = ".join(f"'{m}'" for m in self._members[root])
