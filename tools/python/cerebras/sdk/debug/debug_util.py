"""Symbols and traces of a run."""
# pylint: disable=unused-import
from wafersmith.debug import debug_util
