"""The appliance: here this machine."""
import logging

logger = logging.getLogger("cerebras.appliance")
