"""debug_util: symbols and <debug> traces of the last run of a program in this process."""
import struct

import numpy as np

from wafersmith.runtime import last_run


class debug_util:  # pylint: disable=invalid-name
  """Coordinates are those of the fabric, so the program's rectangle begins at its fabric offsets."""

  def __init__(self, bindir, cmaddr=None):
    if cmaddr:
      raise RuntimeError("debug_util looks into the simulator; leave cmaddr out")
    self._runtime = last_run(bindir)
    if self._runtime is None:
      raise RuntimeError(f"no SdkRuntime of this process has run '{bindir}'")

  def get_symbol(self, col, row, symbol, dtype):
    return self._runtime.read_fabric_symbol(col, row, symbol, dtype)

  def get_symbol_rect(self, rectangle, symbol, dtype):
    """((column, row), (width, height)) to an array [width, height, elements]."""
    (col, row), (width, height) = rectangle
    return np.array([[self.get_symbol(x, y, symbol, dtype) for y in range(row, row + height)]
                     for x in range(col, col + width)])

  def read_trace(self, col, row, key):
    """The values that a <debug> module imported with this key has recorded, in order."""
    words = int(self.get_symbol(col, row, f"{key}.buffer_index", np.uint16)[0])
    return decode(self.get_symbol(col, row, f"{key}.buffer", np.uint8)[:2 * words].tobytes())


def decode(data):
  """Records of a 16-bit tag (its low byte a letter of the struct module, 't' a time stamp of 48 bits, 's' a text) and
  the value in whole 16-bit words; one-byte values are in the tag's high byte."""
  values = []
  at = 0
  while at + 2 <= len(data):
    tag, high = chr(data[at]), data[at + 1]
    at += 2
    if tag in "?bB":
      values.append(struct.unpack("<" + tag, bytes([high]))[0])
      continue
    size = 6 if tag == "t" else high if tag == "s" else struct.calcsize("<" + tag)
    field = data[at:at + size]
    at += size
    if tag == "t":
      values.append(int.from_bytes(field, "little"))
    elif tag == "s":
      values.append(field.split(b"\0")[0].decode("utf-8"))
    else:
      values.append(struct.unpack("<" + tag, field)[0])
  return values
