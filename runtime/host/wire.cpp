// Frames and what is in them.
#include "runtime/host/wire.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

namespace cs::wire {

static_assert(std::endian::native == std::endian::little, "frames hold little-endian values");

void Writer::text(std::string_view s) {
  put(uint32_t(s.size()));
  bytes_.append(s);
}

void Writer::words(std::span<const uint32_t> list) {
  put(uint32_t(list.size()));
  bytes_.append(reinterpret_cast<const char*>(list.data()), list.size_bytes());
}

void Writer::rect(const Rect& r) {
  for (int v : {r.x, r.y, r.w, r.h}) put(int32_t(v));
}

const char* Reader::take(size_t n) {
  if (!ok_ || n > rest_.size()) {
    ok_ = false;
    return nullptr;
  }
  const char* at = rest_.data();
  rest_.remove_prefix(n);
  return at;
}

std::string Reader::text() {
  const auto n = get<uint32_t>();
  const char* at = take(n);
  return at != nullptr ? std::string(at, n) : std::string();
}

std::vector<uint32_t> Reader::words() {
  const size_t n = get<uint32_t>();
  const char* at = take(n * 4);
  std::vector<uint32_t> list(at != nullptr ? n : 0);
  if (!list.empty()) std::memcpy(list.data(), at, n * 4);
  return list;
}

std::span<const uint8_t> Reader::raw(size_t n) {
  const char* at = take(n);
  return {reinterpret_cast<const uint8_t*>(at), at != nullptr ? n : 0};
}

Rect Reader::rect() {
  Rect r;
  for (int* v : {&r.x, &r.y, &r.w, &r.h}) *v = get<int32_t>();
  return r;
}

std::string pack(const Diag& diag) {
  Writer w;
  w.put(uint32_t(diag.all().size()));
  for (const Diagnostic& d : diag.all()) {
    const std::string where =
        d.loc.valid() ? fmt::format("{}:{}:{}", diag.sources.path(d.loc.file), d.loc.line, d.loc.column)
                      : d.where;
    w.put(d.severity);
    w.text(where);
    w.text(d.message);
    w.text(d.help.text());
  }
  return w.take();
}

void unpack(std::string_view payload, Diag& diag) {
  Reader r(payload);
  const auto count = r.get<uint32_t>();
  for (uint32_t i = 0; i < count && r.ok(); ++i) {
    const auto severity = r.get<Severity>();
    const std::string where = r.text(), message = r.text(), help = r.text();
    if (!r.ok()) break;
    if (severity == Severity::error)
      diag.error_at(where, message, help);
    else
      diag.warning({}, where.empty() ? message : where + ": " + message, help);
  }
  if (!r.done()) diag.error_at("simulator", "its error report cannot be read");
}

void pack(Writer& w, const RunStatus& s) {
  w.put(s.reason);
  w.put(s.now);
  w.text(s.fault);
  w.text(s.message);
}

RunStatus unpack_status(Reader& r) {
  RunStatus s;
  s.reason = StopReason(std::min(r.get<uint8_t>(), uint8_t(StopReason::interrupted)));
  s.now = r.get<Cycle>();
  s.fault = r.text();
  s.message = r.text();
  return s;
}

void pack(Writer& w, const RunUntil& u) {
  w.put(u.cycle);
  w.put(uint8_t(u.commands_done));
  w.put(uint8_t(u.streams_done));
  w.put(int32_t(u.received_port));
  w.put(uint64_t(u.received_count));
  w.put(uint8_t(u.any_watch));
  w.put(uint8_t(u.while_active));
  w.put(uint8_t(u.list_leftovers));
}

RunUntil unpack_until(Reader& r) {
  RunUntil u;
  u.cycle = r.get<Cycle>();
  u.commands_done = r.get<uint8_t>() != 0;
  u.streams_done = r.get<uint8_t>() != 0;
  u.received_port = r.get<int32_t>();
  u.received_count = size_t(r.get<uint64_t>());
  u.any_watch = r.get<uint8_t>() != 0;
  u.while_active = r.get<uint8_t>() != 0;
  u.list_leftovers = r.get<uint8_t>() != 0;
  return u;
}

void pack(Writer& w, const LaunchSpan& s) {
  w.text(s.function);
  for (const Cycle c : {s.issued, s.begin, s.last_begin, s.first_end, s.end}) w.put(c);
  w.put(int32_t(s.last_pe.x));
  w.put(int32_t(s.last_pe.y));
  w.put(s.pes);
  w.put(s.ended);
  w.put(s.pe_cycles);
}

LaunchSpan unpack_launch(Reader& r) {
  LaunchSpan s;
  s.function = r.text();
  for (Cycle* c : {&s.issued, &s.begin, &s.last_begin, &s.first_end, &s.end}) *c = r.get<Cycle>();
  s.last_pe.x = r.get<int32_t>();
  s.last_pe.y = r.get<int32_t>();
  s.pes = r.get<int64_t>();
  s.ended = r.get<int64_t>();
  s.pe_cycles = r.get<uint64_t>();
  return s;
}

namespace {

bool write_all(int fd, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t n = ::write(fd, data, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    data += n;
    size -= size_t(n);
  }
  return true;
}

// How many bytes came before the end.
size_t read_all(int fd, char* data, size_t size) {
  size_t got = 0;
  while (got < size) {
    const ssize_t n = ::read(fd, data + got, size - got);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    got += size_t(n);
  }
  return got;
}

}  // namespace

bool write_frame(int fd, Op op, std::string_view payload) {
  std::array<char, 5> head;
  const auto size = uint32_t(payload.size());
  std::memcpy(head.data(), &size, 4);
  head[4] = char(op);
  return payload.size() <= kMaxPayload && write_all(fd, head.data(), head.size()) &&
         write_all(fd, payload.data(), payload.size());
}

Received read_frame(int fd, Frame& frame, std::string& why) {
  std::array<char, 5> head;
  const size_t got = read_all(fd, head.data(), head.size());
  if (got == 0) return Received::end;
  uint32_t size = 0;
  std::memcpy(&size, head.data(), 4);
  if (got < head.size())
    why = fmt::format("a frame ends after {} of {} bytes of its head", got, head.size());
  else if (uint8_t(head[4]) >= kOps)
    why =
        fmt::format("a frame is of unknown kind {}; this is protocol version {}", uint8_t(head[4]), kVersion);
  else if (size > kMaxPayload)
    why = fmt::format("a frame claims {} bytes, at most {} are possible", size, kMaxPayload);
  if (!why.empty()) return Received::broken;
  frame.op = Op(head[4]);
  frame.payload.clear();
  // Room is made as bytes arrive: a wrong length does not cost the memory that it names.
  while (frame.payload.size() < size) {
    const size_t at = frame.payload.size(), part = std::min<size_t>(size - at, kChunk);
    frame.payload.resize(at + part);
    const size_t n = read_all(fd, frame.payload.data() + at, part);
    if (n == part) continue;
    why = fmt::format("a frame ends after {} of {} bytes", at + n, size);
    return Received::broken;
  }
  return Received::frame;
}

}  // namespace cs::wire
