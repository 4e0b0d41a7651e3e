"""Compiles and runs programs on the appliance: here on this machine (the name up to SDK 1.2)."""
# pylint: disable=unused-import
from cerebras.sdk import sdk_utils
from wafersmith.appliance import SdkCompiler, SdkLauncher, SdkRuntime
