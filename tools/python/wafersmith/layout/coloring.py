"""Physical colors: classes that meet at a PE get different ones."""


def choose_colors(network, machine):
  """A color for every class: the lowest that no class beside it has. Returns {class: color}."""
  classes, wires = network.classes, network.wires
  beside = {root: set() for root in classes.roots()}
  for at in wires.used.values():
    if len(at) > 1:
      for root in at:
        beside[root] |= at
  for root, others in beside.items():
    others.discard(root)
  order = {root: i for i, root in enumerate(beside)}
  chosen = {}
  for root in beside:
    if classes.fixed(root) is not None:
      chosen[root] = _fixed(root, classes, machine, beside, chosen)
  for root in sorted(beside, key=lambda r: (not _switches(wires, r), order[r])):
    if root not in chosen:
      chosen[root] = _lowest(root, network, machine, beside, chosen)
  return chosen


def _switches(wires, root):
  return any(len(route) > 1 for route in wires.routes.get(root, {}).values())


def _fixed(root, classes, machine, beside, chosen):
  value = classes.fixed(root)
  if not 0 <= value < machine.colors:
    raise ValueError(f"color {classes.label(root)} has the value {value}, routable colors are 0 to "
                     f"{machine.colors - 1}")
  for other in beside[root]:
    if chosen.get(other) == value:
      raise ValueError(f"colors {classes.label(root)} and {classes.label(other)} both have the value {value} and "
                       "meet at a PE")
  return value


def _lowest(root, network, machine, beside, chosen):
  switches = _switches(network.wires, root)
  allowed = machine.switchable_colors if switches else range(machine.colors)
  taken = {chosen[other] for other in beside[root] if other in chosen}
  for value in allowed:
    if value not in taken:
      return value
  at = max((p for p, roots in network.wires.used.items() if root in roots),
           key=lambda p: (len(network.wires.used[p]), p))
  raise RuntimeError(f"no color is left for {network.classes.label(root)}: {len(beside[root])} other colors meet it "
                     f"({len(network.wires.used[at])} at PE ({at[0]}, {at[1]})), {machine.name} has {len(allowed)}"
                     f"{' that can switch' if switches else ''}. Place the regions further apart, or use fewer colors")
