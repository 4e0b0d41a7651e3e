// The queue of a host program's commands: checked when they are given, run in order, each with the host time it takes.
#include "runtime/host/session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/support/yaml.h"

namespace cs {
namespace {

using Kind = HostCommand::Kind;

// Which tile program a PE runs, null if none.
const TileProgram* tile_at(const Program& p, Coord pe) {
  for (const TileRect& r : p.rects)
    if (r.rect.contains(pe)) return &p.tiles[r.tile];
  return nullptr;
}

std::string rect_text(Rect r) { return fmt::format("({}, {}) {}x{}", r.x, r.y, r.w, r.h); }

// What can be launched instead.
std::string function_help(const Program& p, const std::string& wrong) {
  std::vector<std::string> names;
  for (const ExportedName& e : p.exports)
    if (e.is_function) names.push_back(e.name);
  if (names.empty()) return "@export_symbol in the PE's program and @export_name in the layout make it visible";
  const std::string near = nearest(wrong, names);
  return (near.empty() ? "" : "did you mean '" + near + "'? ") + fmt::format("it exports {}", fmt::join(names, ", "));
}

// The PEs of the host array: those that take part; one column of them if every row shares its data, one row if every
// column does.
Rect array_rect(const HostCommand& c) {
  Rect r = c.pes;
  r.w = (r.w - 1) / c.step_x + 1;
  r.h = (r.h - 1) / c.step_y + 1;
  if (c.kind == Kind::copy_to_rows) r.w = 1;
  if (c.kind == Kind::copy_to_columns) r.h = 1;
  return r;
}

size_t words_of(const HostCommand& c) { return size_t(array_rect(c).area()) * c.elements_per_pe; }

// Place of element (y, x, k) of A[h][w][n] in the host array.
size_t host_index(const HostCommand& c, size_t x, size_t y, size_t k) {
  const Rect r = array_rect(c);
  const size_t w = size_t(r.w), h = size_t(r.h);
  if (w == 1) x = 0;
  if (h == 1) y = 0;
  return c.order == HostOrder::row_major ? (y * w + x) * c.elements_per_pe + k : (k * w + x) * h + y;
}

// Every PE that takes part, row by row: f(coordinates on the fabric, and its place among them).
template <class F>
void for_pes(const HostCommand& c, Rect user, F&& f) {
  for (int y = 0; y < c.pes.h; y += c.step_y)
    for (int x = 0; x < c.pes.w; x += c.step_x)
      f(Coord{user.x + c.pes.x + x, user.y + c.pes.y + y}, size_t(x / c.step_x), size_t(y / c.step_y));
}

Rect on_fabric(Rect pes, Rect user) { return {user.x + pes.x, user.y + pes.y, pes.w, pes.h}; }

bool is_stream(Kind k) { return k == Kind::stream_to || k == Kind::stream_from; }
bool brings_data(Kind k) { return k == Kind::stream_from || k == Kind::copy_from; }

std::string subject(const HostCommand& c) {
  return is_stream(c.kind) ? fmt::format("stream on color {}", c.color) : c.name;
}

}  // namespace

// ---- checks

bool Session::check_rect(Rect pes, const std::string& what, Diag& diag) const {
  const Rect user = device_.program().user;
  if (pes.w > 0 && pes.h > 0 && pes.x >= 0 && pes.y >= 0 && pes.x <= user.w - pes.w && pes.y <= user.h - pes.h)
    return true;
  diag.error_at(what, fmt::format("rectangle {} does not lie in the program's {}x{} PEs", rect_text(pes),
                                  user.w, user.h));
  return false;
}

// Programs of the vendor's do copy a little more out than a symbol has; what lies behind it is what they get.
bool Session::may_read_beyond(const HostCommand& c, const Symbol& s) const {
  const uint64_t bytes = uint64_t(c.elements_per_pe) * uint64_t(data_type_bytes(s.type));
  return brings_data(c.kind) && s.address + bytes <= uint64_t(device_.machine().core.memory_bytes);
}

const Symbol* Session::symbol_at(const HostCommand& c, Coord fabric, Diag& diag) const {
  const std::string& name = c.name;
  const uint32_t elements = c.elements_per_pe;
  const TileProgram* tile = tile_at(device_.program(), fabric);
  const Symbol* s = tile != nullptr ? tile->symbol(name) : nullptr;
  if (s == nullptr) {
    diag.error_at(name, fmt::format("PE ({}, {}) exports no such symbol", fabric.x, fabric.y),
                  "@export_symbol in the PE's program and @export_name in the layout make it visible");
    return nullptr;
  }
  // A pointer that was exported without its array has an unknown length (0 elements).
  if (s->elements != 0 && elements > s->elements && !may_read_beyond(c, *s)) {
    diag.error_at(name, fmt::format("{} elements per PE asked for, the symbol has {} on PE ({}, {})", elements,
                                    s->elements, fabric.x, fabric.y));
    return nullptr;
  }
  return s;
}

bool Session::check_symbol(const HostCommand& c, Diag& diag) const {
  const Symbol* s = nullptr;
  bool good = true;
  for_pes(c, device_.program().user, [&](Coord pe, size_t, size_t) {
    if (good) good = (s = symbol_at(c, pe, diag)) != nullptr;
  });
  if (good && s != nullptr && s->elements != 0 && c.elements_per_pe > s->elements)
    diag.warning({}, fmt::format("'{}': {} elements per PE asked for, the symbol has {}; the others are what lies "
                                 "behind it",
                                 c.name, c.elements_per_pe, s->elements));
  return good;
}

bool Session::check_stream(const HostCommand& c, Diag& diag) const {
  const Program& p = device_.program();
  const bool input = c.kind == Kind::stream_to;
  std::string known;
  for (const HostStream& s : p.streams) {
    if (s.color == c.color && s.input == input) return true;
    known += fmt::format("{}{} ({} the host)", known.empty() ? "" : ", ", s.color, s.input ? "from" : "to");
  }
  diag.error_at(subject(c), fmt::format("the program streams nothing {} the host on this color", input ? "from" : "to"),
                known.empty() ? "name the color in <memcpy/get_params>, as MEMCPYH2D_1 or MEMCPYD2H_1"
                              : "colors that it streams on: " + known);
  return false;
}

bool Session::check(const HostCommand& c, Diag& diag) const {
  if (c.kind == Kind::launch) {
    for (const ExportedName& e : device_.program().exports)
      if (e.is_function && e.name == c.name) return true;
    if (device_.program().exports.empty()) return true;  // the device reports it by its own table
    diag.error_at(c.name, "the program exports no function of this name", function_help(device_.program(), c.name));
    return false;
  }
  if (!check_rect(c.pes, subject(c), diag)) return false;
  if (c.step_x < 1 || c.step_y < 1) {
    diag.error_at(subject(c), fmt::format("strides {} and {} must be positive", c.step_x, c.step_y));
    return false;
  }
  if (!brings_data(c.kind) && c.data.size() != words_of(c)) {
    diag.error_at(subject(c), fmt::format("{} words given, {} PEs with {} elements need {}", c.data.size(),
                                          array_rect(c).area(), c.elements_per_pe, words_of(c)));
    return false;
  }
  return is_stream(c.kind) ? check_stream(c, diag) : check_symbol(c, diag);
}

// ---- time

// Idle and deadlocked fabrics are fine while the host is still doing something; faults and limits are not.
bool Session::judge(const RunStatus& status) {
  status_ = status;
  if (status.reason == StopReason::idle || status.reason == StopReason::deadlock) return true;
  failed_ = status.reason != StopReason::condition || status.now >= max_cycles_;
  return !failed_;
}

bool Session::run_for(double seconds) {
  const auto cycles = Cycle(std::ceil(seconds * device_.machine().clock_mhz * 1e6));
  return judge(device_.run({.cycle = std::min(max_cycles_, device_.now() + cycles)}));
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
  if (!run_until({.commands_done = true}, "the launched function has not ended")) return false;
  for (LaunchSpan& span : under_way_) {
    span.end = device_.now();
    launches_.push_back(std::move(span));
  }
  under_way_.clear();
  return true;
}

int64_t Session::pes_with(const std::string& function) const {
  const Program& p = device_.program();
  int64_t pes = 0;
  for (const TileRect& r : p.rects)
    if (p.tiles[r.tile].function(function) != nullptr) pes += r.rect.area();
  return pes;
}

double Session::transfer_seconds(const HostCommand& c) const {
  const Machine::Host& h = device_.machine().host;
  return h.host_call_us * 1e-6 + double(words_of(c)) * 4 / (h.link_gb_per_s * 1e9);
}

// ---- commands

// Copies words between the host array and the symbol on every PE.
void Session::move_copy(HostCommand& c, std::vector<uint32_t>& words, bool to) {
  std::vector<MemoryPiece> pieces;
  std::vector<size_t> widths;  // bytes of an element, by piece
  size_t total = 0;
  for_pes(c, device_.program().user, [&](Coord pe, size_t, size_t) {
    const Symbol* s = tile_at(device_.program(), pe)->symbol(c.name);
    widths.push_back(size_t(data_type_bytes(s->type)));
    pieces.push_back({pe, s->address, uint32_t(c.elements_per_pe * widths.back())});
    total += pieces.back().bytes;
  });
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
}

bool Session::start_launch(const HostCommand& c, Diag& diag) {
  const Machine& m = device_.machine();
  host_free_ = std::max(host_free_, device_.now()) + Cycle(std::ceil(m.host.host_call_us * m.clock_mhz));
  if (device_.launch(c.name, c.data, device_.program().user, host_free_, diag)) {
    launched_ = true;
    under_way_.push_back({c.name, host_free_, 0, pes_with(c.name)});
  }
  return diag.ok();
}

bool Session::run_stream_to(const HostCommand& c, Diag& diag) {
  std::vector<uint32_t> words(c.data.size());
  for_pes(c, {}, [&](Coord, size_t x, size_t y) {
    for (size_t k = 0; k < c.elements_per_pe; ++k)
      words[(y * size_t(c.pes.w) + x) * c.elements_per_pe + k] = c.data[host_index(c, x, y, k)];
  });
  return run_for(device_.machine().host.host_call_us * 1e-6) &&
         device_.stream_to(c.color, on_fabric(c.pes, device_.program().user), words, device_.now(), diag) &&
         run_until({.streams_done = true}, "the PEs have not taken all of the stream");
}

bool Session::run_stream_from(Entry& e, Diag& diag) {
  const HostCommand& c = e.command;
  const Rect user = device_.program().user;
  if (!run_for(device_.machine().host.host_call_us * 1e-6) ||
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
  // Launches queue up at every PE by themselves; anything else waits until they are over.
  if (c.kind == Kind::launch) return start_launch(c, diag);
  if (!settle()) return false;
  switch (c.kind) {
    case Kind::copy_to:
    case Kind::copy_to_rows:
    case Kind::copy_to_columns:
      move_copy(c, c.data, true);
      return run_for(transfer_seconds(c));
    case Kind::copy_from:
      if (!run_for(transfer_seconds(c))) return false;
      e.result.assign(words_of(c), 0);
      move_copy(c, e.result, false);
      return true;
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
