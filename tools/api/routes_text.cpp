// --out-routes: what every router does with every color, rectangle by rectangle.
#include <fmt/format.h>

#include "tools/api/api.h"

namespace cs::api {

std::string routes_text(const Program& p) {
  static constexpr const char* kPortNames[] = {"EAST", "WEST", "SOUTH", "NORTH", "RAMP"};
  std::string out;
  for (const RouteRun& run : p.routes) {
    out +=
        fmt::format("{}x{} at ({}, {}) color {}:", run.rect.w, run.rect.h, run.rect.x, run.rect.y, run.color);
    for (const SwitchPosition& position : run.config.positions) {
      if (!position.valid) continue;
      std::string rx, tx;
      for (int i = 0; i < kPorts; ++i) {
        if (position.rx >> i & 1) rx += std::string(rx.empty() ? "" : ",") + kPortNames[i];
        if (position.tx >> i & 1) tx += std::string(tx.empty() ? "" : ",") + kPortNames[i];
      }
      out += fmt::format(" {{rx {} tx {}}}", rx, tx);
    }
    out += "\n";
  }
  return out;
}

}  // namespace cs::api
