"""The choices that the vendor's interface has names for."""
from enum import Enum, IntEnum


class MemcpyDataType(IntEnum):
  MEMCPY_16BIT = 0
  MEMCPY_32BIT = 1


class MemcpyOrder(IntEnum):
  ROW_MAJOR = 0
  COL_MAJOR = 1


class SdkTarget(Enum):
  WSE2 = 2
  WSE3 = 3


class FP16TYPE(Enum):
  F16 = 0
  BF16 = 1
  CB16 = 2
