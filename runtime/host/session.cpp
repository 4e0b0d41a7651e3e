// The queue of a host program's commands: run in order, each with the time it takes.
#include "runtime/host/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runtime/host/copy_costs.h"
#include "runtime/host/session_rects.h"

namespace cs {
namespace {

using Kind = HostCommand::Kind;

// Place of element (y, x, k) of A[h][w][n] in the host array.
size_t host_index(const HostCommand& c, size_t x, size_t y, size_t k) {
  const Rect r = array_rect(c);
  const size_t w = size_t(r.w), h = size_t(r.h);
  if (w == 1) x = 0;
  if (h == 1) y = 0;
  return c.order == HostOrder::row_major ? (y * w + x) * c.elements_per_pe + k : (k * w + x) * h + y;
}

Rect on_fabric(Rect pes, Rect user) { return {user.x + pes.x, user.y + pes.y, pes.w, pes.h}; }

}  // namespace

// ---- time

// Idle and deadlocked fabrics are fine while the host is still doing something; faults and limits are not.
bool Session::judge(const RunStatus& status) {
  status_ = status;
  if (status.reason == StopReason::idle || status.reason == StopReason::deadlock) return true;
  failed_ = status.reason != StopReason::condition || status.now >= max_cycles_;
  return !failed_;
}

bool Session::run_for(Cycle cycles) {
  return judge(device_.run({.cycle = std::min(max_cycles_, device_.now() + cycles)}));
}

Cycle Session::cycles_of(double seconds) const { return whole_cycles(device_.machine(), seconds); }

// The host's own time is not the fabric's: what still runs there goes on meanwhile, and its clock stands
// still once nothing does. A command behind others that nobody has waited for was there before they were
// over.
bool Session::call() {
  host_seconds_ += device_.machine().host.host_call_us * 1e-6;
  if (!waited_) return true;
  waited_ = false;
  return rest(cycles_of(device_.machine().host.host_call_us * 1e-6));
}

bool Session::rest(Cycle at_most) {
  return judge(device_.run({.cycle = std::min(max_cycles_, device_.now() + at_most), .while_active = true}));
}

// Until something that the program must do has happened; that nothing can happen any more is a deadlock.
bool Session::run_until(RunUntil until, const char* what) {
  until.cycle = max_cycles_;
  const RunStatus status = device_.run(until);
  if (status.reason == StopReason::condition && status.now >= max_cycles_ && status.fault.empty()) {
    status_ = {StopReason::max_cycles, status.now, "timeout",
               fmt::format("{} after {} cycles", what, status.now)};
    failed_ = true;
    return false;
  }
  judge(status);
  failed_ |= status.reason == StopReason::deadlock || status.reason == StopReason::idle;
  return !failed_;
}

// The next command starts when every PE has given its command stream back.
bool Session::settle() {
  if (!launched_) return true;
  launched_ = false;
  return run_until({.commands_done = true}, "the launched function has not ended");
}

Cycle Session::transfer_cycles(const HostCommand& c) const {
  return copy_cycles(device_.machine(), words_of(c));
}

// ---- commands

// Pieces of symbols that are pointers, `pointers` of them, lie where those lead at this moment.
bool Session::follow_pointers(const std::string& name, std::span<const std::pair<size_t, uint16_t>> pointers,
                              std::vector<MemoryPiece>& pieces, Diag& diag) {
  std::vector<MemoryPiece> words;
  for (const auto& [piece, address] : pointers) words.push_back({pieces[piece].pe, address, 2});
  std::vector<uint8_t> bytes(2 * words.size());
  device_.read_many(words, bytes);
  const size_t memory = size_t(device_.machine().core.memory_bytes);
  for (size_t i = 0; i < words.size(); ++i) {
    MemoryPiece& p = pieces[pointers[i].first];
    p.address = uint16_t(bytes[2 * i] | bytes[2 * i + 1] << 8);
    if (p.address + size_t(p.bytes) <= memory) continue;
    diag.error_at(name, fmt::format("the pointer of PE ({}, {}) leads to address {}: {} bytes from there do not lie in "
                                    "the memory of {} bytes",
                                    p.pe.x, p.pe.y, p.address, p.bytes, memory));
    return false;
  }
  return true;
}

// Copies words between the host array and the symbol on every PE.
bool Session::move_copy(HostCommand& c, std::vector<uint32_t>& words, bool to, Diag& diag) {
  std::vector<MemoryPiece> pieces;
  std::vector<std::pair<size_t, uint16_t>> pointers;
  std::vector<size_t> widths;  // bytes of an element, by piece
  size_t total = 0;
  for_pes(c, device_.program().user, [&](Coord pe, size_t, size_t) {
    const Symbol* s = tile_at(device_.program(), pe)->symbol(c.name);
    widths.push_back(size_t(data_type_bytes(s->type)));
    if (s->pointer >= 0) pointers.emplace_back(pieces.size(), uint16_t(s->pointer));
    pieces.push_back({pe, s->address, uint32_t(c.elements_per_pe * widths.back())});
    total += pieces.back().bytes;
  });
  if (!pointers.empty() && !follow_pointers(c.name, pointers, pieces, diag)) return false;
  std::vector<uint8_t> bytes(total);
  if (!to) device_.read_many(pieces, bytes);
  size_t piece = 0;
  uint8_t* at = bytes.data();
  for_pes(c, {}, [&](Coord, size_t x, size_t y) {
    const size_t width = widths[piece++];
    for (size_t k = 0; k < c.elements_per_pe; ++k, at += width) {
      uint32_t& word = words[host_index(c, x, y, k)];
      to ? std::memcpy(at, &word, width) : std::memcpy(&word, at, width);
    }
  });
  if (to) device_.write_many(pieces, bytes);
  return true;
}

bool Session::start_launch(const HostCommand& c, Diag& diag) {
  launched_ |= device_.launch(c.name, c.data, device_.program().user, device_.now(), diag);
  return diag.ok();
}

bool Session::run_stream_to(const HostCommand& c, Diag& diag) {
  std::vector<uint32_t> words(c.data.size());
  for_pes(c, {}, [&](Coord, size_t x, size_t y) {
    for (size_t k = 0; k < c.elements_per_pe; ++k)
      words[(y * size_t(c.pes.w) + x) * c.elements_per_pe + k] = c.data[host_index(c, x, y, k)];
  });
  return run_for(Cycle(device_.machine().memcpy.command_cycles)) &&
         device_.stream_to(c.color, on_fabric(c.pes, device_.program().user), words, device_.now(), diag) &&
         run_until({.streams_done = true}, "the PEs have not taken all of the stream");
}

bool Session::run_stream_from(Entry& e, Diag& diag) {
  const HostCommand& c = e.command;
  const Rect user = device_.program().user;
  if (!run_for(Cycle(device_.machine().memcpy.command_cycles)) ||
      !device_.stream_from(c.color, on_fabric(c.pes, user), c.elements_per_pe, device_.now(), diag) ||
      !run_until({.streams_done = true}, "the PEs have not sent all of the stream"))
    return false;
  e.result.assign(words_of(c), 0);
  const auto streams = device_.take_streamed(c.color, on_fabric(c.pes, user));
  for_pes(c, user, [&](Coord, size_t x, size_t y) {
    const std::vector<uint32_t>& words = streams[y * size_t(c.pes.w) + x];
    for (size_t k = 0; k < std::min<size_t>(words.size(), c.elements_per_pe); ++k)
      e.result[host_index(c, x, y, k)] = words[k];
  });
  return true;
}

bool Session::execute(Entry& e, Diag& diag) {
  HostCommand& c = e.command;
  if (!call()) return false;
  // Launches queue up at every PE by themselves; anything else waits until they are over.
  if (c.kind == Kind::launch) return start_launch(c, diag);
  if (!settle()) return false;
  switch (c.kind) {
    case Kind::copy_to:
    case Kind::copy_to_rows:
    case Kind::copy_to_columns:
      return move_copy(c, c.data, true, diag) && run_for(transfer_cycles(c));
    case Kind::copy_from:
      if (!run_for(transfer_cycles(c))) return false;
      e.result.assign(words_of(c), 0);
      return move_copy(c, e.result, false, diag);
    case Kind::stream_to:
      return run_stream_to(c, diag);
    case Kind::stream_from:
      return run_stream_from(e, diag);
    case Kind::launch:
      break;
  }
  return false;
}

// ---- the queue

std::optional<Session::Ticket> Session::begin(HostCommand command, Diag& diag) {
  if (!check(command, diag)) return std::nullopt;
  entries_.push_back({std::move(command), {}});
  return Ticket(entries_.size() - 1);
}

bool Session::wait(Ticket t, Diag& diag) {
  const bool good = complete(t, diag);
  waited_ = true;
  return good;
}

bool Session::complete(Ticket t, Diag& diag) {
  CS_CHECK(t < entries_.size(), "no such ticket");
  while (completed_ <= t) {
    if (failed_) return false;
    Entry& e = entries_[completed_];
    const size_t errors = diag.errors();
    if (!execute(e, diag) || diag.errors() != errors) {
      failed_ = true;
      return false;
    }
    e.command.data = {};
    ++completed_;
  }
  return entries_[t].command.kind != Kind::launch || settle();
}

std::vector<uint32_t> Session::take(Ticket t) { return std::move(entries_.at(t).result); }

bool Session::wait(Diag& diag) {
  if (!entries_.empty() && !wait(Ticket(entries_.size() - 1), diag)) return false;
  waited_ = true;
  return settle();
}

// ---- plain calls

bool Session::copy_to(const std::string& symbol, Rect pes, uint32_t n, std::span<const uint32_t> data,
                      HostOrder order, Diag& diag) {
  return run({Kind::copy_to, symbol, 0, pes, n, order, {data.begin(), data.end()}}, nullptr, diag);
}

bool Session::copy_to_rows(const std::string& symbol, Rect pes, uint32_t n, std::span<const uint32_t> data,
                           HostOrder order, Diag& diag) {
  return run({Kind::copy_to_rows, symbol, 0, pes, n, order, {data.begin(), data.end()}}, nullptr, diag);
}

bool Session::copy_to_columns(const std::string& symbol, Rect pes, uint32_t n, std::span<const uint32_t> data,
                              HostOrder order, Diag& diag) {
  return run({Kind::copy_to_columns, symbol, 0, pes, n, order, {data.begin(), data.end()}}, nullptr, diag);
}

bool Session::copy_from(const std::string& symbol, Rect pes, uint32_t n, std::vector<uint32_t>& data,
                        HostOrder order, Diag& diag) {
  return run({Kind::copy_from, symbol, 0, pes, n, order, {}}, &data, diag);
}

bool Session::stream_to(uint8_t color, Rect pes, uint32_t n, std::span<const uint32_t> data, HostOrder order,
                        Diag& diag) {
  return begin({Kind::stream_to, {}, color, pes, n, order, {data.begin(), data.end()}}, diag).has_value();
}

bool Session::stream_from(uint8_t color, Rect pes, uint32_t n, std::vector<uint32_t>& data, HostOrder order,
                          Diag& diag) {
  return run({Kind::stream_from, {}, color, pes, n, order, {}}, &data, diag);
}

bool Session::run(HostCommand command, std::vector<uint32_t>* result, Diag& diag) {
  const auto ticket = begin(std::move(command), diag);
  if (!ticket || !wait(*ticket, diag)) return false;
  if (result != nullptr) *result = take(*ticket);
  return true;
}

bool Session::launch(const std::string& function, std::span<const uint32_t> args, Diag& diag) {
  const auto ticket = begin({Kind::launch, function, 0, {}, 0, {}, {args.begin(), args.end()}}, diag);
  if (!ticket) return false;
  while (completed_ < *ticket)
    if (!wait(completed_, diag)) return false;
  // The function runs on while the host does other things: only what stands before it is waited for.
  if (failed_ || !execute(entries_[*ticket], diag)) return false;
  ++completed_;
  return true;
}

}  // namespace cs
