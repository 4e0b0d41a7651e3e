"""Arrays as the memcpy calls want them, and cycle counts from time stamps."""
# pylint: disable=unused-import
from wafersmith.arrays import calculate_cycles, cast_uint32, input_array_to_u32, memcpy_view
