// The protocol between a Device in another process and its user: frames over two pipes.
//
// A frame is the number of payload bytes (u32), its kind (u8) and the payload: little-endian values, strings and lists
// with their count (u32) in front. First the device sends Op::hello (magic, version, clock, machine description,
// program) or Op::error. Then a request and its reply take turns, except that Op::write has no reply; a reply is of the
// request's kind or Op::error (diagnostics). The conversation ends when the requests' pipe is closed.
//
// Nothing is believed: a frame that is too long, too short or of unknown kind ends it with an error.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/host/device.h"

namespace cs::wire {

inline constexpr uint32_t kMagic = 0x56454457;  // "WDEV"
inline constexpr uint32_t kVersion = 4;
inline constexpr uint32_t kMaxPayload = 1u << 30;
// Users split larger transfers; far below the limit, so that neither side holds much twice.
inline constexpr uint32_t kChunk = 64u << 20;

enum class Op : uint8_t {
  error,
  hello,
  read,
  write,
  launch,
  send,
  watch,
  run,
  stream_to,
  stream_from,
  take_streamed,
  launches
};
inline constexpr int kOps = int(Op::launches) + 1;

struct Frame {
  Op op = Op::error;
  std::string payload;
};

class Writer {
 public:
  template <typename T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void put(T value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void text(std::string_view s);
  void words(std::span<const uint32_t> list);
  void raw(std::span<const uint8_t> b) { bytes_.append(reinterpret_cast<const char*>(b.data()), b.size()); }
  void rect(const Rect&);
  size_t size() const { return bytes_.size(); }
  std::string take() { return std::move(bytes_); }
  std::string& bytes() { return bytes_; }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Reads past the end give zeros and make ok() false for good.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  template <typename T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T> T get() {
    T value{};
    if (const char* at = take(sizeof value))
      std::copy(at, at + sizeof value, reinterpret_cast<char*>(&value));
    return value;
  }
  std::string text();
  std::vector<uint32_t> words();
  std::span<const uint8_t> raw(size_t n);
  Rect rect();
  size_t left() const { return rest_.size(); }
  bool ok() const { return ok_; }
  bool done() const { return ok_ && rest_.empty(); }

 private:
  const char* take(size_t n);
  std::string_view rest_;
  bool ok_ = true;
};

// Diagnostics travel without their positions: they are in no source text.
std::string pack(const Diag&);
void unpack(std::string_view payload, Diag&);
void pack(Writer&, const RunStatus&);
RunStatus unpack_status(Reader&);
void pack(Writer&, const RunUntil&);
RunUntil unpack_until(Reader&);
void pack(Writer&, const LaunchSpan&);
LaunchSpan unpack_launch(Reader&);

// False if the other side is gone.
bool write_frame(int fd, Op, std::string_view payload);
enum class Received : uint8_t { frame, end, broken };
// `why` says what is wrong with a broken frame.
Received read_frame(int fd, Frame&, std::string& why);

}  // namespace cs::wire
