// Inside of verify(): the checks of one tile program and of the host part, and what they share.
#pragma once

#include <string>
#include <vector>

#include "runtime/program/program.h"

namespace cs {

// Reports problems of one Program under its name; counts them so that a broken file does not print for ever.
struct Verifier {
  const Program& program;
  const Machine& machine;
  Diag& diag;
  size_t errors_before;

  void error(const std::string& where, const std::string& message, const std::string& help = {}) const {
    if (!diag.full()) diag.error_at(program.name.empty() ? where : program.name + ": " + where, message, help);
  }
  bool ok() const { return diag.errors() == errors_before; }
};

void verify_tile(const Verifier&, const TileProgram&, size_t index);
void verify_host(const Verifier&);
// Places of pieces; that they are sent and received verify_host() sees.
void verify_pieces(const Verifier&);
void verify_promises(const Verifier&);

// A set of PEs, to find overlaps of rectangles inside the fabric.
class PeSet {
 public:
  PeSet(int width, int height) : width_(width), taken_(size_t(width) * size_t(height)) {}
  // Adds the rectangle (inside the fabric). False, and the PE in `where`, if a PE of it is in the set already.
  bool add(const Rect& r, Coord& where) {
    for (int y = r.y; y < r.y + r.h; ++y) {
      for (int x = r.x; x < r.x + r.w; ++x) {
        auto bit = taken_[size_t(y) * size_t(width_) + size_t(x)];
        if (bit) {
          where = {x, y};
          return false;
        }
        bit = true;
      }
    }
    return true;
  }
  bool contains(Coord c) const { return taken_[size_t(c.y) * size_t(width_) + size_t(c.x)]; }

 private:
  int width_;
  std::vector<bool> taken_;
};

inline bool inside(const Rect& r, int width, int height) {
  return r.x >= 0 && r.y >= 0 && r.w >= 1 && r.h >= 1 && r.x <= width && r.y <= height && r.w <= width - r.x &&
         r.h <= height - r.y;
}

}  // namespace cs
