"""Functions under the name by which torch's users look for them: ws.nn.functional."""
from wafersmith.functions import *  # noqa: F401,F403
from wafersmith.losses.functional import *  # noqa: F401,F403
