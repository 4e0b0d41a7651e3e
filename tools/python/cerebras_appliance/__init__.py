"""The appliance under the name that it had up to SDK 1.2."""
# pylint: disable=unused-import
from cerebras.appliance import logger
