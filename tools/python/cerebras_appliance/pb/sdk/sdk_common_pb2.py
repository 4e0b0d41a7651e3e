"""Kinds and orders of copies."""
# pylint: disable=unused-import
from wafersmith.kinds import MemcpyDataType, MemcpyOrder
