"""Layouts in Python without a compiler: paths, colors, rectangles, generated text, and what is refused.

The expected paths and colors are worked out by hand; pictures show the fabric where that helps.
"""
import os
import tempfile
import unittest

import numpy as np

from cerebras.geometry.geometry import IntRectangle, IntVector
from wafersmith.layout.coloring import choose_colors
from wafersmith.layout.csl_text import host_text, layout_text
from wafersmith.layout.machine import Machine
from wafersmith.layout.network import Network
from wafersmith.layout.placement import place_all
from wafersmith.layout.platform import SdkTarget, get_platform
from wafersmith.layout.rectangles import merge
from wafersmith.layout.routing import (EAST, NORTH, RAMP, SOUTH, WEST, Color, Edge, Route, RoutingPosition,
                                       get_edge_routing)
from wafersmith.layout.sdk_layout import SdkLayout

MACHINE = Machine("test", width=20, height=20, colors=4, switchable_colors=(1, 2), host_ports=2)
INTO = [RoutingPosition().set_output([Route.RAMP])]
FROM = [RoutingPosition().set_input([Route.RAMP])]


class LayoutTest(unittest.TestCase):
  def setUp(self):
    self.folder = tempfile.TemporaryDirectory()
    self.addCleanup(self.folder.cleanup)
    self.source = os.path.join(self.folder.name, "pe.csl")
    self.write("param rx: color; // param tx: color\nparam tx: u16;\nparam n;\n")
    self.layout = SdkLayout(SdkTarget.WSE3)

  def write(self, text):
    with open(self.source, "w", encoding="utf-8") as file:
      file.write(text)

  def region(self, name, x=None, y=None, w=1, h=1):
    region = self.layout.create_code_region(self.source, name, w, h)
    if x is not None:
      region.place(x, y)
    return region

  def output(self, region, edge=Edge.RIGHT, size=8, color="tx"):
    return region.create_output_port(region.color(color), edge, FROM, size)

  def input(self, region, edge=Edge.LEFT, size=8, color="rx"):
    return region.create_input_port(region.color(color), edge, INTO, size)

  def solve(self, machine=MACHINE):
    regions = list(self.layout.regions.values())
    place_all(regions, machine.width, machine.height)
    network = Network(regions, self.layout.lines, list(self.layout.streams.values()),
                      self.layout._classes(regions), machine)
    network.build()
    return network, choose_colors(network, machine)

  def refused(self, pattern, call, *args, **options):
    with self.assertRaisesRegex((RuntimeError, ValueError, TypeError, FileNotFoundError), pattern):
      call(*args, **options)


class Paths(LayoutTest):
  def test_a_straight_path_is_the_row_between(self):
    self.layout.connect(self.output(self.region("a", 1, 1)), self.input(self.region("b", 4, 1)))
    network, colors = self.solve()
    self.assertEqual(network.wires.routes, {"a.tx": {
        (1, 1): ((RAMP, EAST),), (2, 1): ((WEST, EAST),), (3, 1): ((WEST, EAST),), (4, 1): ((WEST, RAMP),)}})
    self.assertEqual(colors, {"a.tx": 0})

  def test_neighbours_need_no_pe_between(self):
    self.layout.connect(self.output(self.region("a", 1, 1)), self.input(self.region("b", 2, 1)))
    network, _ = self.solve()
    self.assertEqual(network.wires.routes["a.tx"], {(1, 1): ((RAMP, EAST),), (2, 1): ((WEST, RAMP),)})

  def test_a_path_goes_around_a_region(self):
    # Six free PEs around c and four turns (680) against two PEs of c and two free ones (1000):
    #   . 1 1 1 1 .
    #   a 1 c c 1 b
    self.layout.connect(self.output(self.region("a", 0, 1)), self.input(self.region("b", 5, 1)))
    self.region("c", 2, 1, 2, 1)
    network, _ = self.solve()
    self.assertEqual(sorted(network.wires.routes["a.tx"]),
                     [(0, 1), (1, 0), (1, 1), (2, 0), (3, 0), (4, 0), (4, 1), (5, 1)])

  def test_a_path_through_a_region_if_around_is_far(self):
    self.layout.connect(self.output(self.region("a", 0, 9)), self.input(self.region("b", 3, 9)))
    self.region("c", 2, 0, 1, 19)
    network, _ = self.solve()
    self.assertEqual(sorted(network.wires.routes["a.tx"]), [(0, 9), (1, 9), (2, 9), (3, 9)])

  def test_paths_of_one_color_do_not_cross(self):
    # b's two inputs have one color each; both lanes of a use one color and stay parallel.
    a, b = self.region("a", 0, 0, 1, 2), self.region("b", 4, 3, 1, 2)
    self.layout.connect(self.output(a), self.input(b))
    network, _ = self.solve()
    for (x, y), route in network.wires.routes["a.tx"].items():
      (rx, tx), = route
      self.assertEqual(bin(rx).count("1"), 1, f"PE ({x}, {y})")
      self.assertEqual(bin(tx).count("1"), 1, f"PE ({x}, {y})")
    self.assertEqual(network.wires.routes["a.tx"][4, 3][0][1], RAMP)
    self.assertEqual(network.wires.routes["a.tx"][4, 4][0][1], RAMP)

  def test_one_output_feeds_two_inputs(self):
    a, b, c = self.region("a", 0, 0), self.region("b", 3, 0), self.region("c", 3, 2)
    port = self.output(a)
    self.layout.connect(port, self.input(b))
    self.layout.connect(port, self.input(c))
    network, _ = self.solve()
    routes = network.wires.routes["a.tx"]
    branches = [at for at, route in routes.items() if bin(route[0][1]).count("1") == 2]
    self.assertEqual(len(branches), 1)
    self.assertEqual((routes[3, 0][0][1], routes[3, 2][0][1]), (RAMP, RAMP))

  def test_streams_enter_at_the_nearest_edge(self):
    # Row 3 of the west edge is taken by the input; the east edge (two free columns) is next.
    a = self.region("a", 1, 3)
    self.assertEqual(self.layout.create_input_stream(self.input(a)), "a_rx_port")
    self.assertEqual(self.layout.create_output_stream(self.output(a, Edge.LEFT)), "a_tx_port")
    network, colors = self.solve()
    self.assertEqual([p[:4] for p in network.host_ports],
                     [("a_rx_port", True, "west", 3), ("a_tx_port", False, "east", 3)])
    self.assertEqual(network.wires.routes["a.rx"], {(0, 3): ((WEST, EAST),), (1, 3): ((WEST, RAMP),)})
    self.assertEqual(len(set(colors.values())), 2)

  def test_a_stream_to_a_region_at_the_edge_needs_no_path(self):
    self.layout.create_input_stream(self.input(self.region("a", 0, 0)))
    network, _ = self.solve()
    self.assertEqual(network.wires.routes, {"a.rx": {(0, 0): ((WEST, RAMP),)}})

  def test_io_loc_chooses_the_place(self):
    self.layout.create_input_stream(self.input(self.region("a", 3, 0)), io_loc=IntVector(0, 2))
    network, _ = self.solve()
    self.assertEqual(network.host_ports[0][2:4], ("west", 2))

  def test_a_stream_from_a_place_joins_what_is_painted(self):
    a, c = self.region("a", 2, 1), Color("c")
    a.paint_all(c, [RoutingPosition().set_input([Route.WEST]).set_output([Route.RAMP])])
    d = Color("d")
    a.paint_all(d, [RoutingPosition().set_input([Route.RAMP]).set_output([Route.EAST])])
    self.assertEqual(self.layout.create_input_stream_from_loc(IntVector(2, 1), c), "c_2_1")
    self.layout.create_output_stream_from_loc(IntVector(2, 1), d, "out_")
    network, _ = self.solve()
    self.assertEqual([p[:4] for p in network.host_ports], [("c_2_1", True, "west", 1), ("out_d_2_1", False, "east", 1)])
    self.refused("no painted route", self._unpainted)

  def _unpainted(self):
    self.layout.create_input_stream_from_loc(IntVector(2, 1), Color("e"))
    self.solve()

  def test_switch_positions_of_a_port_all_get_the_direction(self):
    a, b = self.region("a", 0, 0), self.region("b", 3, 0)
    positions = [RoutingPosition().set_output([Route.RAMP]), RoutingPosition().set_output([Route.SOUTH])]
    self.layout.connect(self.output(a), b.create_input_port(b.color("rx"), Edge.LEFT, positions, 8))
    network, colors = self.solve()
    self.assertEqual(network.wires.routes["a.tx"][3, 0], ((WEST, RAMP), (WEST, SOUTH)))
    self.assertEqual(colors, {"a.tx": 1})   # the lowest color that can switch on the machine of this test


class Colors(LayoutTest):
  def test_colors_that_never_meet_may_be_equal(self):
    for i, y in enumerate((0, 4)):
      self.layout.connect(self.output(self.region(f"a{i}", 0, y)), self.input(self.region(f"b{i}", 2, y)))
    self.assertEqual(set(self.solve()[1].values()), {0})

  def test_equal_names_are_one_color_and_scoped_ones_are_not(self):
    a = self.region("a", 0, 0)
    for color in (Color("c"), Color("c"), a.color("c")):
      a.set_param_all(color.get_global_name().replace(".", "_"), color)
    self.assertEqual(self.solve()[1], {"c": 0, "a.c": 1})

  def test_values_are_kept_and_conflicts_found(self):
    a = self.region("a", 0, 0)
    a.set_param_all(Color("c", 3))
    a.set_param_all(Color("d"))
    self.assertEqual(self.solve()[1], {"c": 3, "d": 0})
    a.set_param_all(Color("e", 3))
    self.refused("'e' and 'c' both have the value 3|'c' and 'e' both have the value 3", self.solve)

  def test_a_value_beyond_the_machine(self):
    self.region("a", 0, 0).set_param_all(Color("c", 4))
    self.refused("has the value 4, routable colors are 0 to 3", self.solve)

  def test_no_color_left(self):
    a = self.region("a", 0, 0)
    for i in range(5):
      a.set_param_all(Color(f"c{i}"))
    self.refused(r"no color is left for 'c4': 4 other colors meet it \(5 at PE \(0, 0\)\), test has 4", self.solve)

  def test_ports_joined_twice_at_a_pe(self):
    tx, rx = Color("tx"), Color("rx")
    a, b = self.region("a", 0, 0), self.region("b", 3, 0)
    for r in (a, b):
      r.paint_all(rx, [RoutingPosition().set_input([Route.WEST]).set_output([Route.RAMP])])
    self.layout.connect(a.create_output_port(tx, Edge.RIGHT, FROM, 4), b.create_input_port(rx, Edge.LEFT, INTO, 4))
    self.refused("'tx' = 'rx' are one, but the PE has two different routes", self.solve)


class Text(LayoutTest):
  def test_merge(self):
    #  1 1 2
    #  1 1 3
    #  1 . 3
    table = {(0, 0): 1, (1, 0): 1, (2, 0): 2, (0, 1): 1, (1, 1): 1, (2, 1): 3, (0, 2): 1, (2, 2): 3}
    self.assertEqual(sorted(merge(table)), [(0, 0, 2, 2, 1), (0, 2, 1, 1, 1), (2, 0, 1, 1, 2), (2, 1, 1, 2, 3)])

  def test_parameters_by_their_types(self):
    a = self.region("a", 0, 0, 2, 1)
    a.set_param_all(Color("rx"))
    a.set_param_all(Color("tx"))
    a.set_param_all("n", np.int32(7))
    a.set_param(IntVector(1, 0), "n", 2.0)
    network, colors = self.solve()
    text = layout_text(network, colors, self.folder.name)
    self.assertIn('@set_tile_code(0, 0, "pe.csl", .{ .n = 7, .rx = @get_color(0), .tx = 1 });', text)
    self.assertIn('@set_tile_code(1, 0, "pe.csl", .{ .n = 2.0, .rx = @get_color(0), .tx = 1 });', text)

  def test_edges_differ_and_positions_say_what_changes(self):
    a, c = self.region("a", 0, 0, 4, 1), Color("c")
    first = RoutingPosition().set_input([Route.WEST]).set_output([Route.RAMP])
    second = RoutingPosition().set_input([Route.WEST]).set_output([Route.EAST])
    a.paint_all(c, [first, second], [get_edge_routing(Edge.RIGHT, [first])])
    network, colors = self.solve()
    text = layout_text(network, colors, self.folder.name)
    self.assertIn("""  for (@range(i16, 0, 3, 1)) |x| {
    @set_color_config(x, 0, @get_color(1), .{ .routes = .{ .rx = .{ WEST }, .tx = .{ RAMP } }, """
                  """.switches = .{ .pos1 = .{ .tx = EAST } } });
  }""", text)
    self.assertIn("@set_color_config(3, 0, @get_color(1), .{ .routes = .{ .rx = .{ WEST }, .tx = .{ RAMP } } });", text)

  def test_a_position_says_what_differs_from_the_one_before(self):
    a, c = self.region("a", 0, 0), Color("c")
    position = lambda rx, tx: RoutingPosition().set_input([rx]).set_output(tx)
    a.paint_all(c, [position(Route.WEST, [Route.RAMP, Route.EAST]), position(Route.WEST, [Route.EAST]),
                    position(Route.RAMP, [Route.EAST])])
    network, colors = self.solve()
    self.assertIn(".switches = .{ .pos1 = .{ .tx = EAST }, .pos2 = .{ .rx = RAMP } }",
                  layout_text(network, colors, self.folder.name))

  def test_symbols_are_cut_into_blocks(self):
    # 4 x 2 elements over 2 x 1 PEs: PE 0 gets columns 0 and 1 of both rows.
    a = self.region("a", 3, 5, 2, 1)
    a.set_symbol_all("m", np.arange(8, dtype=np.int16), 4, 2)
    network, colors = self.solve()
    text, data = host_text(network, colors)
    self.assertIn('{symbol: "m", rect: [3, 5, 2, 1], bytes_per_pe: 8, offset: 0}', text)
    self.assertEqual(np.frombuffer(data, np.int16).tolist(), [0, 1, 4, 5, 2, 3, 6, 7])


class Placement(LayoutTest):
  def test_unplaced_regions_find_room(self):
    a, b, c = self.region("a", None, None, 3, 2), self.region("b"), self.region("c", None, None, 18, 1)
    self.solve()
    self.assertEqual([(r.x, r.y) for r in (a, b, c)], [(0, 0), (5, 0), (0, 4)])

  def test_stacks(self):
    a, b = self.region("a", 4, 1, 3, 2), self.region("b")
    self.layout.hstack([a, b])
    self.assertEqual((b.x, b.y), (7, 1))
    self.layout.vstack([a, b], IntVector(1, 1))
    self.assertEqual((a.x, a.y, b.x, b.y), (1, 1, 1, 3))

  def test_overlap(self):
    self.region("a", 0, 0, 3, 3)
    self.region("b", 2, 2)
    self.refused(r"regions 'a' \(3 x 3 PEs at \(0, 0\)\) and 'b' \(1 x 1 at \(2, 2\)\) overlap", self.solve)

  def test_too_large(self):
    self.region("a", 19, 0, 2, 1)
    self.refused("does not fit the fabric of 20 x 20 PEs", self.solve)


class Refused(LayoutTest):
  def test_ports(self):
    a, b = self.region("a", 0, 0, 1, 2), self.region("b", 4, 0)
    self.refused("must not have output routes", a.create_output_port, Color("c"), Edge.RIGHT,
                 [RoutingPosition().set_input([Route.RAMP]).set_output([Route.EAST])], 8)
    self.refused("each position needs output routes", a.create_input_port, Color("c"), Edge.LEFT, [RoutingPosition()], 8)
    out = self.output(a)
    self.refused("exists already; give one of them a prefix", self.output, a)
    self.refused("the sizes 8 and 9 differ", self.layout.connect, out, self.input(b, size=9, color="r9"))
    self.refused("the ports have 2 and 1 PEs", self.layout.connect, out, self.input(b))
    self.refused("an output port and an input port are needed", self.layout.connect, out, self.output(b))
    self.refused("has 2 PEs; a stream goes through one", self.layout.create_output_stream, out)
    self.refused("is no input port", self.layout.create_input_stream, out)

  def test_one_source_for_an_input(self):
    target = self.input(self.region("b", 4, 0))
    self.layout.connect(self.output(self.region("a", 0, 0)), target)
    self.refused("has a source already", self.layout.create_input_stream, target)

  def test_open_port(self):
    self.output(self.region("a", 0, 0))
    self.refused("port 'a_tx_port' is not connected", self.layout._check_open, self.layout.regions.values())

  def test_regions(self):
    self.region("a", 0, 0, 2, 2)
    self.refused("there is a region 'a' already", self.region, "a")
    self.refused("at least 1 x 1", self.region, "z", None, None, 0, 1)
    self.refused("there is no file", self.layout.create_code_region, "none.csl", "n", 1, 1)
    a = self.layout.regions["a"]
    self.refused(r"set_param of PEs \(2, 0\) to \(2, 0\), the region has 2 x 2", a.set_param, IntVector(2, 0), "n", 1)
    self.refused("outside of the fabric", a.place, -1, 0)
    self.refused("5 switch positions|got 5", a.paint_all, Color("c"), INTO * 5)
    self.refused("needs inputs and outputs", a.paint_all, Color("c"), INTO)

  def test_symbols(self):
    a = self.region("a", 0, 0, 2, 1)
    self.refused("the array has 3", a.set_symbol_all, "m", np.zeros(3, np.float32), 2, 2)
    self.refused("no multiple of 2 x 1", a.set_symbol_all, "m", np.zeros(6, np.float32), 3, 2)
    self.refused("float64", a.set_symbol_all, "m", np.zeros(4), 2, 2)

  def test_no_path(self):
    # The output's only neighbours carry routes of the same color already.
    c = Color("c")
    walls = [RoutingPosition().set_input([Route.RAMP]).set_output([Route.RAMP])]
    for i, (x, y) in enumerate(((1, 0), (0, 1))):
      self.region(f"w{i}", x, y).paint_all(c, walls)
    out = self.region("a", 0, 0).create_output_port(c, Edge.RIGHT, FROM, 8)
    self.layout.connect(out, self.input(self.region("b", 5, 5)))
    self.refused("connection 'a_c_port' to 'b_rx_port': no path", self.solve)

  def test_platforms(self):
    self.refused("no wafer can be reached at '1.2.3.4'", get_platform, "1.2.3.4")
    self.assertTrue(get_platform("").is_simulation())
    self.assertEqual(get_platform(None, None, SdkTarget.WSE2).machine, "wse2")

  def test_rectangles_do_not_include_their_end(self):
    r = IntRectangle(IntVector(1, 2), IntVector(3, 3))
    self.assertEqual(r.points(), [(1, 2), (2, 2)])
    self.assertEqual((NORTH | SOUTH) & (EAST | WEST), 0)


if __name__ == "__main__":
  unittest.main()
