// One function per request. Every number is checked here, so that a Device may rely on its arguments.
#include "runtime/host/device_server.h"

#include <fmt/format.h>

namespace cs {

using wire::Frame;
using wire::Op;
using wire::Reader;
using wire::Writer;

DeviceServer::DeviceServer(Device& device) : device_(device), told_(device.program().ports.size(), 0) {}

Frame DeviceServer::hello() const {
  Writer w;
  w.put(wire::kMagic);
  w.put(wire::kVersion);
  w.put(device_.now());
  w.text(machine_to_yaml(device_.machine()));
  w.text(program_bytes(device_.program()));
  return {Op::hello, w.take()};
}

Frame DeviceServer::refuse(const std::string& why) {
  broken_ = true;
  Diag diag;
  diag.error_at("request", why, "both sides must be of the same version of the tools");
  return {Op::error, wire::pack(diag)};
}

std::optional<Frame> DeviceServer::handle(const Frame& request) {
  Reader r(request.payload);
  switch (request.op) {
    case Op::read:
      return read(r);
    case Op::write:
      return write(r);
    case Op::launch:
      return launch(r);
    case Op::launches:
      return launches(r);
    case Op::send:
      return send(r);
    case Op::watch:
      return watch(r);
    case Op::run:
      return run(r);
    case Op::stream_to:
    case Op::stream_from:
      return stream(request.op, r);
    case Op::take_streamed:
      return take_streamed(r);
    case Op::error:
    case Op::hello:
      break;
  }
  return refuse(fmt::format("a frame of kind {} is no request", int(request.op)));
}

bool DeviceServer::good_piece(const MemoryPiece& p) const {
  const Program& program = device_.program();
  return p.pe.x >= 0 && p.pe.y >= 0 && p.pe.x < program.fabric_width && p.pe.y < program.fabric_height &&
         uint64_t(p.address) + p.bytes <= uint64_t(device_.machine().core.memory_bytes);
}

bool DeviceServer::good_rect(const Rect& r) const {
  const Program& p = device_.program();
  return r.x >= 0 && r.y >= 0 && r.w >= 0 && r.h >= 0 && r.w <= p.fabric_width - r.x && r.h <= p.fabric_height - r.y;
}

bool DeviceServer::read_pieces(Reader& r, std::vector<MemoryPiece>& pieces, size_t& bytes) const {
  const size_t count = r.get<uint32_t>();
  if (count > r.left() / 14) return false;
  pieces.resize(count);
  bytes = 0;
  for (MemoryPiece& p : pieces) {
    p.pe.x = r.get<int32_t>();
    p.pe.y = r.get<int32_t>();
    p.address = r.get<uint16_t>();
    p.bytes = r.get<uint32_t>();
    bytes += p.bytes;
    if (!good_piece(p)) return false;
  }
  return r.ok() && bytes <= wire::kMaxPayload;
}

Frame DeviceServer::read(Reader& r) {
  std::vector<MemoryPiece> pieces;
  size_t bytes = 0;
  if (!read_pieces(r, pieces, bytes) || !r.done()) return refuse("a read names memory that does not exist");
  Frame reply{Op::read, std::string(bytes, '\0')};
  device_.read_many(pieces, {reinterpret_cast<uint8_t*>(reply.payload.data()), bytes});
  return reply;
}

std::optional<Frame> DeviceServer::write(Reader& r) {
  std::vector<MemoryPiece> pieces;
  size_t bytes = 0;
  if (!read_pieces(r, pieces, bytes) || r.left() != bytes)
    return refuse("a write names memory that does not exist");
  device_.write_many(pieces, r.raw(bytes));
  return std::nullopt;
}

Frame DeviceServer::launch(Reader& r) {
  const std::string function = r.text();
  const std::vector<uint32_t> args = r.words();
  const Rect pes = r.rect();
  const auto not_before = r.get<Cycle>();
  if (!r.done() || !good_rect(pes)) return refuse("a launch names PEs that do not exist");
  Diag diag;
  if (device_.launch(function, args, pes, not_before, diag)) return {Op::launch, {}};
  return {Op::error, wire::pack(diag)};
}

Frame DeviceServer::launches(Reader& r) {
  if (!r.done()) return refuse("the list of launches takes no arguments");
  Writer w;
  const std::vector<LaunchSpan> spans = device_.launches();
  w.put(uint32_t(spans.size()));
  for (const LaunchSpan& s : spans) wire::pack(w, s);
  return {Op::launches, w.take()};
}

Frame DeviceServer::send(Reader& r) {
  const auto port = r.get<uint32_t>();
  const auto not_before = r.get<Cycle>();
  const std::vector<uint32_t> data = r.words();
  const auto& ports = device_.program().ports;
  if (!r.done() || port >= ports.size() || !ports[port].input) return refuse("a send names no input port");
  device_.send(int(port), data, not_before);
  return {Op::send, {}};
}

Frame DeviceServer::stream(Op op, Reader& r) {
  const auto color = r.get<uint8_t>();
  const Rect pes = r.rect();
  const std::vector<uint32_t> data = op == Op::stream_to ? r.words() : std::vector<uint32_t>();
  const uint32_t per_pe = op == Op::stream_to ? 0 : r.get<uint32_t>();
  const auto not_before = r.get<Cycle>();
  if (!r.done() || !good_rect(pes) || pes.area() == 0 || data.size() % size_t(pes.area()) != 0)
    return refuse("a stream names PEs that do not exist");
  Diag diag;
  const bool good = op == Op::stream_to ? device_.stream_to(color, pes, data, not_before, diag)
                                        : device_.stream_from(color, pes, per_pe, not_before, diag);
  return good ? Frame{op, {}} : Frame{Op::error, wire::pack(diag)};
}

Frame DeviceServer::take_streamed(Reader& r) {
  const auto color = r.get<uint8_t>();
  const Rect pes = r.rect();
  if (!r.done() || !good_rect(pes)) return refuse("a stream names PEs that do not exist");
  Writer w;
  for (const std::vector<uint32_t>& words : device_.take_streamed(color, pes)) w.words(words);
  return {Op::take_streamed, w.take()};
}

Frame DeviceServer::watch(Reader& r) {
  const auto port = r.get<uint32_t>();
  const auto count = r.get<uint64_t>();
  const auto& ports = device_.program().ports;
  if (!r.done() || port >= ports.size() || ports[port].input) return refuse("a watch names no output port");
  device_.watch(int(port), size_t(count));
  return {Op::watch, {}};
}

// The reply tells of every wavelet that entered or left since the last one, so that nobody need ask for them.
Frame DeviceServer::run(Reader& r) {
  const RunUntil until = wire::unpack_until(r);
  const auto& ports = device_.program().ports;
  const bool known = until.received_port < 0 || (size_t(until.received_port) < ports.size() &&
                                                 !ports[size_t(until.received_port)].input);
  if (!r.done() || !known) return refuse("a run waits for a port that is no output");
  Writer w;
  wire::pack(w, device_.run(until));
  for (size_t port = 0; port < ports.size(); ++port) {
    size_t& told = told_[port];
    Writer news;
    uint32_t count = 0;
    if (ports[port].input) {
      for (Cycle c; (c = device_.entered(int(port), told)) != kNever; ++told, ++count) news.put(c);
    } else {
      const auto& events = device_.received(int(port));
      for (; told < events.size(); ++told, ++count) {
        news.put(events[told].data);
        news.put(events[told].cycle);
        news.put(uint8_t(events[told].control));
      }
    }
    w.put(count);
    w.bytes() += news.bytes();
  }
  return {Op::run, w.take()};
}

}  // namespace cs
