"""Functions of tensors, each an operator of the compiler's table or a few of them; names and arguments are torch's."""
from wafersmith.functions import elementwise, movement, products, reductions, unary
from wafersmith.functions.elementwise import *  # noqa: F401,F403
from wafersmith.functions.movement import *  # noqa: F401,F403
from wafersmith.functions.products import *  # noqa: F401,F403
from wafersmith.functions.reductions import *  # noqa: F401,F403
from wafersmith.functions.unary import *  # noqa: F401,F403

__all__ = sorted({*unary.__all__, *elementwise.__all__, *movement.__all__, *products.__all__, *reductions.__all__})

from wafersmith.functions import methods  # noqa: E402,F401  pylint: disable=wrong-import-position  (of Tensor)
