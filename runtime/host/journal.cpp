// An entry is the kind of a call (u8), the hash of its arguments (u64) and its answer. A run's answer is its status
// and, for every port that has received something since, its number and how many wavelets it has now.
#include "runtime/host/journal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "runtime/support/files.h"

namespace cs {
namespace {

using wire::Op;

const char* call_name(Op op) {
  static constexpr std::array<const char*, wire::kOps> kNames{
      "?",  "?",           "a copy from PEs", "a copy to PEs", "a launch",        "a send", "?", "a wait",
      "a stream to PEs", "a stream from PEs", "taking a stream", "asking for launches"};
  return kNames[size_t(op)];
}

void pack_pieces(wire::Writer& w, std::span<const MemoryPiece> pieces) {
  for (const MemoryPiece& p : pieces) {
    w.put(int32_t(p.pe.x));
    w.put(int32_t(p.pe.y));
    w.put(p.address);
    w.put(p.bytes);
  }
}

template <class... T>
std::string packed(const T&... values) {
  wire::Writer w;
  (w.put(values), ...);
  return w.take();
}

constexpr uint32_t kJournal = 0x4C4E524A;  // "JRNL"

}  // namespace

std::string JournalDevice::bytes() const {
  wire::Writer w;
  w.put(kJournal);
  w.put(running_);
  w.put(calls_);
  w.put(uint64_t(device_.program().ports.size()));
  return w.take() + journal_.bytes();
}

bool JournalDevice::replay(std::string bytes) {
  replayed_ = std::move(bytes);
  wire_reader_ = wire::Reader(replayed_);
  const uint32_t magic = wire_reader_.get<uint32_t>();
  expected_run_ = wire_reader_.get<uint64_t>();
  wire_reader_.get<uint64_t>();
  const uint64_t ports = wire_reader_.get<uint64_t>();
  if (!wire_reader_.ok() || magic != kJournal || ports != device_.program().ports.size()) return false;
  shown_.assign(device_.program().ports.size(), {});
  replaying_ = true;
  return true;
}

void JournalDevice::differs(const std::string& what) {
  if (problem_.empty()) problem_ = fmt::format("{}, at call {} of the host", what, calls_);
  replayed_.clear();
  wire_reader_ = wire::Reader("");
}

RunStatus JournalDevice::broken() const { return {StopReason::fault, now(), "restore", problem_}; }

bool JournalDevice::answered(Op op, std::string_view arguments) {
  if (!problem_.empty()) return true;
  const uint64_t hash = hash_bytes(arguments);
  if (replaying_) {
    if (wire_reader_.left() == 0) {
      differs(fmt::format("{} comes where the host waited", call_name(op)));
      return true;
    }
    const uint8_t kind = wire_reader_.get<uint8_t>();
    const uint64_t its = wire_reader_.get<uint64_t>();
    ++calls_;
    if (!wire_reader_.ok() || kind >= wire::kOps)
      differs("the journal is damaged");
    else if (Op(kind) != op)
      differs(fmt::format("{} comes where there was {}", call_name(op), call_name(Op(kind))));
    else if (its != hash)
      differs(fmt::format("{} has other arguments or data", call_name(op)));
  } else if (!closed_) {
    ++calls_;
  }
  if (problem_.empty() && !closed_) {
    journal_.put(op);
    journal_.put(hash);
  }
  return replaying_;
}

// ---- memory

void JournalDevice::read(Coord pe, uint16_t address, std::span<uint8_t> out) {
  const MemoryPiece piece{pe, address, uint32_t(out.size())};
  read_many({&piece, 1}, out);
}

void JournalDevice::write(Coord pe, uint16_t address, std::span<const uint8_t> in) {
  const MemoryPiece piece{pe, address, uint32_t(in.size())};
  write_many({&piece, 1}, in);
}

void JournalDevice::read_many(std::span<const MemoryPiece> pieces, std::span<uint8_t> bytes) {
  wire::Writer w;
  pack_pieces(w, pieces);
  if (answered(Op::read, w.bytes())) {
    const std::span<const uint8_t> old = wire_reader_.raw(bytes.size());
    if (old.size() == bytes.size())
      std::copy(old.begin(), old.end(), bytes.begin());
    else
      std::fill(bytes.begin(), bytes.end(), uint8_t(0)), differs("the journal is damaged");
  } else {
    device_.read_many(pieces, bytes);
  }
  if (!closed_) journal_.raw(bytes);
}

void JournalDevice::write_many(std::span<const MemoryPiece> pieces, std::span<const uint8_t> bytes) {
  wire::Writer w;
  pack_pieces(w, pieces);
  w.raw(bytes);
  if (!answered(Op::write, w.bytes())) device_.write_many(pieces, bytes);
}

// ---- launches and streams

bool JournalDevice::launch(const std::string& function, std::span<const uint32_t> args, Rect pes, Cycle not_before,
                           Diag& diag) {
  wire::Writer w;
  w.text(function);
  w.words(args);
  w.rect(pes);
  w.put(not_before);
  return answered(Op::launch, w.bytes()) || device_.launch(function, args, pes, not_before, diag);
}

std::vector<LaunchSpan> JournalDevice::launches() {
  std::vector<LaunchSpan> spans;
  if (!answered(Op::launches, "")) {
    spans = device_.launches();
  } else {
    const uint32_t n = wire_reader_.get<uint32_t>();
    for (uint32_t i = 0; i < n && wire_reader_.ok(); ++i) spans.push_back(wire::unpack_launch(wire_reader_));
  }
  if (closed_) return spans;
  journal_.put(uint32_t(spans.size()));
  for (const LaunchSpan& span : spans) wire::pack(journal_, span);
  return spans;
}

void JournalDevice::send(int port, std::span<const uint32_t> data, Cycle not_before) {
  wire::Writer w;
  w.put(int32_t(port));
  w.words(data);
  w.put(not_before);
  if (!answered(Op::send, w.bytes())) device_.send(port, data, not_before);
}

bool JournalDevice::stream_to(uint8_t color, Rect pes, std::span<const uint32_t> data, Cycle not_before, Diag& diag) {
  wire::Writer w;
  w.put(color);
  w.rect(pes);
  w.words(data);
  w.put(not_before);
  return answered(Op::stream_to, w.bytes()) || device_.stream_to(color, pes, data, not_before, diag);
}

bool JournalDevice::stream_from(uint8_t color, Rect pes, uint32_t per_pe, Cycle not_before, Diag& diag) {
  wire::Writer w;
  w.put(color);
  w.rect(pes);
  w.put(per_pe);
  w.put(not_before);
  return answered(Op::stream_from, w.bytes()) || device_.stream_from(color, pes, per_pe, not_before, diag);
}

std::vector<std::vector<uint32_t>> JournalDevice::take_streamed(uint8_t color, Rect pes) {
  wire::Writer w;
  w.put(color);
  w.rect(pes);
  std::vector<std::vector<uint32_t>> words;
  if (!answered(Op::take_streamed, w.bytes())) {
    words = device_.take_streamed(color, pes);
  } else {
    for (int64_t i = 0; i < pes.area(); ++i) words.push_back(wire_reader_.words());
  }
  if (closed_) return words;
  for (const std::vector<uint32_t>& of_pe : words) journal_.words(of_pe);
  return words;
}

// ---- time

const std::vector<PortEvent>& JournalDevice::received(int port) const {
  return replaying_ ? shown_.at(size_t(port)) : device_.received(port);
}

Cycle JournalDevice::entered(int port, size_t i) const {
  const Cycle at = device_.entered(port, i);
  return replaying_ && at >= now_ ? kNever : at;
}

RunStatus JournalDevice::run_again() {
  const RunStatus status = wire::unpack_status(wire_reader_);
  for (uint32_t n = wire_reader_.get<uint32_t>(); n > 0 && wire_reader_.ok(); --n) {
    const uint32_t port = wire_reader_.get<uint32_t>();
    const uint64_t count = wire_reader_.get<uint64_t>();
    if (!wire_reader_.ok() || port >= shown_.size() || count > device_.received(int(port)).size()) {
      differs("the journal is damaged");
      return broken();
    }
    const std::vector<PortEvent>& all = device_.received(int(port));
    std::vector<PortEvent>& shown = shown_[port];
    for (size_t i = shown.size(); i < count; ++i) shown.push_back(all[i]);
  }
  if (!wire_reader_.ok()) {
    differs("the journal is damaged");
    return broken();
  }
  now_ = status.now;
  return status;
}

void JournalDevice::keep_run(const RunStatus& status) {
  if (closed_) return;
  wire::pack(journal_, status);
  told_.resize(device_.program().ports.size(), 0);
  std::vector<uint32_t> news;
  for (size_t port = 0; port < told_.size(); ++port)
    if (!device_.program().ports[port].input && received(int(port)).size() != told_[port])
      news.push_back(uint32_t(port));
  journal_.put(uint32_t(news.size()));
  for (const uint32_t port : news) {
    told_[port] = received(int(port)).size();
    journal_.put(port);
    journal_.put(uint64_t(told_[port]));
  }
}

RunStatus JournalDevice::run(const RunUntil& until) {
  if (!problem_.empty()) return broken();
  RunUntil asked = until;
  asked.cycle = 0;  // limits of the whole run may be others
  wire::Writer w;
  wire::pack(w, asked);
  if (replaying_ && wire_reader_.left() == 0) {
    if (hash_bytes(w.bytes()) != expected_run_) {
      differs("a wait is for something else");
      return broken();
    }
    replaying_ = false;
    replayed_.clear();
    shown_.clear();
  }
  if (replaying_) {
    if (!answered(Op::run, w.bytes()) || !problem_.empty()) return broken();
    const RunStatus status = run_again();
    if (problem_.empty()) keep_run(status);
    return status;
  }
  running_ = hash_bytes(w.bytes());
  const RunStatus status = device_.run(until);
  const bool early = status.reason == StopReason::interrupted || status.reason == StopReason::max_cycles ||
                     (status.now >= limit_ && status.reason == StopReason::condition);
  if (early && !closed_) {
    if (stopped_) stopped_();
    closed_ = true;
  }
  answered(Op::run, w.bytes());
  keep_run(status);
  return status;
}

}  // namespace cs
