"""Loads and runs compiled programs, and builds layouts."""
# pylint: disable=unused-import
from wafersmith.layout.artifacts import SdkCompileArtifacts
from wafersmith.kinds import FP16TYPE, MemcpyDataType, MemcpyOrder, SdkTarget
from wafersmith.layout.platform import SdkExecutionPlatform, SimfabConfig, get_platform, get_simulator, get_system
from wafersmith.layout.region import CodeRegion
from wafersmith.layout.routing import Color, Edge, EdgeRouteInfo, Route, RoutingPosition, get_edge_routing
from wafersmith.layout.sdk_layout import SdkLayout
from wafersmith.runtime import SdkRuntime, Task
from wafersmith.layout.region import CodeRegion, PortHandle
from wafersmith.layout.routing import (Color, Edge, EdgeRouteInfo, Route, RoutingPosition, get_edge_routing)
from wafersmith.layout.sdk_layout import SdkLayout
