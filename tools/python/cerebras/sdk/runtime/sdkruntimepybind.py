"""Loads and runs compiled programs, and builds layouts."""
# pylint: disable=unused-import
from wafersmith.layout.artifacts import SdkCompileArtifacts
from wafersmith.layout.platform import (FP16TYPE, SdkExecutionPlatform, SdkTarget, SimfabConfig, get_platform,
                                        get_simulator, get_system)
from wafersmith.layout.region import CodeRegion
from wafersmith.layout.routing import Color, Edge, EdgeRouteInfo, Route, RoutingPosition, get_edge_routing
from wafersmith.layout.sdk_layout import SdkLayout
from wafersmith.runtime import MemcpyDataType, MemcpyOrder, SdkRuntime, Task
from wafersmith.layout.region import CodeRegion, PortHandle
from wafersmith.layout.routing import (Color, Edge, EdgeRouteInfo, Route, RoutingPosition, get_edge_routing)
from wafersmith.layout.sdk_layout import SdkLayout
