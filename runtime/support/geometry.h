// Coordinates and rectangles on the fabric. x grows east, y grows south; (0, 0) is the north-west corner.
#pragma once

#include <cstdint>

namespace cs {

struct Coord {
  int x = 0, y = 0;
  bool operator==(const Coord&) const = default;
};

struct Rect {
  int x = 0, y = 0, w = 0, h = 0;
  // 64 bits: a damaged artefact may hold any numbers until verify() has seen them.
  int64_t right() const { return int64_t(x) + w; }
  int64_t bottom() const { return int64_t(y) + h; }
  bool contains(Coord c) const { return c.x >= x && c.y >= y && c.x < right() && c.y < bottom(); }
  bool intersects(const Rect& o) const {
    return x < o.right() && o.x < right() && y < o.bottom() && o.y < bottom();
  }
  int64_t area() const { return int64_t(w) * h; }
  bool operator==(const Rect&) const = default;
};

// The five ports of a router. The order is fixed: it is used as an index and in the artefact.
enum class Port : uint8_t { east, west, south, north, ramp };
inline constexpr int kPorts = 5;

// The port of the neighbour that a link out of `p` arrives at; ramp has none and maps to itself.
constexpr Port opposite(Port p) {
  switch (p) {
    case Port::east: return Port::west;
    case Port::west: return Port::east;
    case Port::south: return Port::north;
    case Port::north: return Port::south;
    case Port::ramp: return Port::ramp;
  }
  return Port::ramp;
}

constexpr Coord neighbour(Coord c, Port p) {
  switch (p) {
    case Port::east: return {c.x + 1, c.y};
    case Port::west: return {c.x - 1, c.y};
    case Port::south: return {c.x, c.y + 1};
    case Port::north: return {c.x, c.y - 1};
    case Port::ramp: return c;
  }
  return c;
}

// A set of ports as bits (bit = int(Port)).
using PortSet = uint8_t;
constexpr PortSet port_bit(Port p) { return PortSet(1u << int(p)); }

}  // namespace cs
