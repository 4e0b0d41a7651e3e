// DeviceServer: answers the frames of wire.h with a Device. It knows no pipes: cs-sim --serve reads and
// writes them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/host/wire.h"

namespace cs {

class DeviceServer {
 public:
  // The device has loaded its program.
  explicit DeviceServer(Device& device);

  // The first frame, before any request.
  wire::Frame hello() const;
  // The reply to a request; none to Op::write. A request that makes no sense gets Op::error, and broken() is
  // true.
  std::optional<wire::Frame> handle(const wire::Frame& request);
  // The other side does not speak this protocol: no use to go on.
  bool broken() const { return broken_; }

 private:
  wire::Frame refuse(const std::string& why);
  bool good_piece(const MemoryPiece&) const;
  bool good_rect(const Rect&) const;
  bool read_pieces(wire::Reader&, std::vector<MemoryPiece>&, size_t& bytes) const;
  wire::Frame read(wire::Reader&);
  std::optional<wire::Frame> write(wire::Reader&);
  wire::Frame launch(wire::Reader&);
  wire::Frame launches(wire::Reader&);
  wire::Frame send(wire::Reader&);
  wire::Frame stream(wire::Op, wire::Reader&);
  wire::Frame take_streamed(wire::Reader&);
  wire::Frame watch(wire::Reader&);
  wire::Frame run(wire::Reader&);

  Device& device_;
  std::vector<size_t> told_;  // per port: events the user has been told of
  bool broken_ = false;
};

}  // namespace cs
