// Copies, launches and streams of a host program, each followed by the host time it takes.
#include "runtime/host/session.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

namespace cs {
namespace {

// Which tile program a PE runs, null if none.
const TileProgram* tile_at(const Program& p, Coord pe) {
  for (const TileRect& r : p.rects)
    if (r.rect.contains(pe)) return &p.tiles[r.tile];
  return nullptr;
}

// Place of element (y, x, k) of A[h][w][n] in the host array.
size_t host_index(HostOrder order, Rect r, size_t n, size_t x, size_t y, size_t k) {
  const size_t w = size_t(r.w), h = size_t(r.h);
  return order == HostOrder::row_major ? (y * w + x) * n + k : (k * w + x) * h + y;
}

std::string rect_text(Rect r) { return fmt::format("({}, {}) {}x{}", r.x, r.y, r.w, r.h); }

}  // namespace

bool Session::run_for(double seconds, Diag& diag) {
  const auto cycles = Cycle(std::ceil(seconds * device_.machine().clock_mhz * 1e6));
  return judge(device_.run({.cycle = std::min(max_cycles_, device_.now() + cycles)}), diag);
}

// Idle and deadlocked fabrics are fine while the host is still doing something; faults and limits are not.
bool Session::judge(const RunStatus& status, Diag&) {
  status_ = status;
  if (status.reason == StopReason::idle || status.reason == StopReason::deadlock) return true;
  return status.reason == StopReason::condition && status.now < max_cycles_;
}

bool Session::check_rect(Rect pes, const std::string& what, Diag& diag) const {
  const Rect user = device_.program().user;
  if (pes.w > 0 && pes.h > 0 && pes.x >= 0 && pes.y >= 0 && pes.x + pes.w <= user.w &&
      pes.y + pes.h <= user.h)
    return true;
  diag.error_at(what, fmt::format("rectangle {} does not lie in the program's {}x{} PEs", rect_text(pes),
                                  user.w, user.h));
  return false;
}

const Symbol* Session::symbol_at(const std::string& name, Coord fabric, uint32_t elements, Diag& diag) const {
  const TileProgram* tile = tile_at(device_.program(), fabric);
  const Symbol* s = tile != nullptr ? tile->symbol(name) : nullptr;
  if (s == nullptr) {
    diag.error_at(name, fmt::format("PE ({}, {}) exports no such symbol", fabric.x, fabric.y),
                  "@export_symbol in the PE's program and @export_name in the layout make it visible");
    return nullptr;
  }
  // A pointer that was exported without its array has an unknown length (0 elements).
  if (s->elements != 0 && elements > s->elements) {
    diag.error_at(name, fmt::format("{} elements per PE asked for, the symbol has {} on PE ({}, {})", elements,
                                    s->elements, fabric.x, fabric.y));
    return nullptr;
  }
  return s;
}

bool Session::copy_to(const std::string& symbol, Rect pes, uint32_t elements, std::span<const uint32_t> data,
                      HostOrder order, Diag& diag) {
  if (!check_rect(pes, symbol, diag)) return false;
  const size_t need = size_t(pes.area()) * elements;
  if (data.size() != need) {
    diag.error_at(symbol, fmt::format("{} words given, {} PEs with {} elements need {}", data.size(),
                                      pes.area(), elements, need));
    return false;
  }
  const Rect user = device_.program().user;
  std::vector<uint8_t> bytes;
  for (int y = 0; y < pes.h; ++y)
    for (int x = 0; x < pes.w; ++x) {
      const Coord pe{user.x + pes.x + x, user.y + pes.y + y};
      const Symbol* s = symbol_at(symbol, pe, elements, diag);
      if (s == nullptr) return false;
      const size_t width = size_t(data_type_bytes(s->type));
      bytes.resize(elements * width);
      for (size_t k = 0; k < elements; ++k)
        std::memcpy(&bytes[k * width], &data[host_index(order, pes, elements, size_t(x), size_t(y), k)], width);
      device_.write(pe, s->address, bytes);
    }
  const Machine& m = device_.machine();
  return run_for(m.host.host_call_us * 1e-6 + double(need) * 4 / (m.host.link_gb_per_s * 1e9), diag);
}

bool Session::copy_from(const std::string& symbol, Rect pes, uint32_t elements, std::vector<uint32_t>& data,
                        HostOrder order, Diag& diag) {
  if (!check_rect(pes, symbol, diag)) return false;
  const Machine& m = device_.machine();
  const size_t words = size_t(pes.area()) * elements;
  if (!run_for(m.host.host_call_us * 1e-6 + double(words) * 4 / (m.host.link_gb_per_s * 1e9), diag)) return false;
  data.assign(words, 0);
  const Rect user = device_.program().user;
  std::vector<uint8_t> bytes;
  for (int y = 0; y < pes.h; ++y)
    for (int x = 0; x < pes.w; ++x) {
      const Coord pe{user.x + pes.x + x, user.y + pes.y + y};
      const Symbol* s = symbol_at(symbol, pe, elements, diag);
      if (s == nullptr) return false;
      const size_t width = size_t(data_type_bytes(s->type));
      bytes.resize(elements * width);
      device_.read(pe, s->address, bytes);
      for (size_t k = 0; k < elements; ++k)
        std::memcpy(&data[host_index(order, pes, elements, size_t(x), size_t(y), k)], &bytes[k * width], width);
    }
  return true;
}

bool Session::launch(const std::string& function, std::span<const uint32_t> args, Diag& diag) {
  const Machine& m = device_.machine();
  const Cycle arrives = device_.now() + Cycle(std::ceil(m.host.host_call_us * m.clock_mhz));
  return device_.launch(function, args, device_.program().user, arrives, diag);
}

bool Session::wait(Diag& diag) {
  const RunStatus status = device_.run({.cycle = max_cycles_, .commands_done = true});
  status_ = status;
  if (status.reason == StopReason::condition && status.now >= max_cycles_ && status_.fault.empty()) {
    status_.reason = StopReason::max_cycles;
    status_.fault = "timeout";
    status_.message = fmt::format("the launched function has not ended after {} cycles", status.now);
    return false;
  }
  return judge(status, diag) && status.reason != StopReason::deadlock;
}

int Session::port_index(const std::string& port, bool input, Diag& diag) const {
  const auto& ports = device_.program().ports;
  for (size_t i = 0; i < ports.size(); ++i)
    if (ports[i].name == port && ports[i].input == input) return int(i);
  diag.error_at(port, input ? "the program has no input port of this name"
                            : "the program has no output port of this name");
  return -1;
}

bool Session::send(const std::string& port, std::span<const uint32_t> data, Diag& diag) {
  const int index = port_index(port, true, diag);
  if (index < 0) return false;
  device_.send(index, data, device_.now());
  return true;
}

bool Session::receive(const std::string& port, size_t count, std::vector<uint32_t>& data, Diag& diag) {
  const int index = port_index(port, false, diag);
  if (index < 0) return false;
  if (received_.empty()) received_.assign(device_.program().ports.size(), 0);
  size_t& taken = received_[size_t(index)];
  const RunStatus status =
      device_.run({.cycle = max_cycles_, .received_port = index, .received_count = taken + count});
  const auto& events = device_.received(index);
  if (events.size() < taken + count) {
    status_ = status;
    return false;
  }
  if (!judge(status, diag)) return false;
  data.clear();
  for (size_t i = 0; i < count; ++i) data.push_back(events[taken + i].data);
  taken += count;
  return true;
}

}  // namespace cs
