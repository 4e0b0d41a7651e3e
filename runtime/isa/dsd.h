// Data structure descriptors (DSDs): their layout in PE memory, and the configuration word of a DSR load.
//
// A DSD in memory is an array of little-endian 16-bit words:
//   word 0   bits 0-3 kind; fabric: bits 4-7 queue id, bits 8-12 color, bit 13 control,
//            bit 14 advance_switch, bit 15 color given, else the queue's; memory: bit 4 indexed; fifo: bits
//            4-7 its index
//   mem1d    word 1 byte address, word 2 extent (elements), word 3 stride (elements, signed)       4 words
//   fabin,   word 1 bits 0-1 simd mode, bit 2 control_transform, bits 3-4 priority, bit 5 ut id given,
//   fabout   bits 6-8 and 12 ut id, bit 9 indexed, bits 10-11 source to clear; word 2 extent        4 words
//   fifo     word 2 extent, 0: no limit of its own (the rest of a FIFO is in FifoBinding)           4 words
//   circbuf  word 1 byte address, word 2 extent, word 3 stride, word 4 bytes of the ring            5 words
//   mem4d    word 1 byte address, words 2-5 extents (outermost first), words 6-9 strides: the signed
//            change of the element offset when that dimension steps (inner ones reset), innermost last  10 words
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cs::isa {

enum class DsdKind : uint8_t { none, mem1d, mem4d, fabin, fabout, fifo, circbuf };
enum class SimdMode : uint8_t { automatic, off, simd_32, simd_64 };

inline constexpr int kDsdBytes = 8;      // mem1d, fabin, fabout, fifo
inline constexpr int kDsdRingBytes = 10; // circbuf
inline constexpr int kDsd4dBytes = 20;   // mem4d
inline constexpr size_t kDsdWords = 10;  // of the longest
inline constexpr int kQueueColor = 0xFF;   // fabric DSD without a color: the one its queue is bound to

struct Dsd {
  DsdKind kind = DsdKind::none;
  // memory
  uint16_t base = 0;                     // byte address of element 0
  std::array<uint16_t, 4> extent{0, 1, 1, 1};   // mem1d: [0]; mem4d: outermost first
  std::array<int16_t, 4> stride{1, 0, 0, 0};    // mem1d: [0]; mem4d: see above
  bool indexed = false;                  // also fabout: the operation's index counts (wavelet_index_offset)
  uint32_t first = 0, end = 0;           // circbuf: addresses between which `base` goes round; it starts at `first`
  // fabric and fifo (extent[0] is used); fifo: `queue` is its index
  uint8_t queue = 0, color = kQueueColor;
  bool control = false, advance_switch = false, control_transform = false;
  SimdMode simd = SimdMode::automatic;
  uint8_t priority = 0;                  // 0 default, 1 low, 2 medium, 3 high
  int8_t microthread = -1;               // WSE-3 .ut_id, -1: none
  uint8_t zero = 0;                      // fabout: 1 first source, 2 second source is cleared as it is read;
                                         // fabin: 1: data are dropped, `extent` counts control wavelets (@dfilt)
  bool operator==(const Dsd&) const = default;

  bool is_fabric() const { return kind == DsdKind::fabin || kind == DsdKind::fabout; }
  bool in_memory() const {
    return kind == DsdKind::mem1d || kind == DsdKind::mem4d || kind == DsdKind::circbuf;
  }
  int bytes() const {
    return kind == DsdKind::mem4d ? kDsd4dBytes : kind == DsdKind::circbuf ? kDsdRingBytes : kDsdBytes;
  }
  uint32_t elements() const;             // product of the extents
};

// words.size() must be at least bytes() / 2; unused words are zero.
void encode(const Dsd&, std::span<uint16_t> words);
// Reads as many words as the kind needs (10 are available at most); a wrong kind gives kind none.
Dsd decode(std::span<const uint16_t> words);

// What a DSR load says about the operation that will use the DSR; the destination's wins over source 0 over 1.
struct DsrConfig {
  bool async = false;
  bool save_address = false, single_step = false;
  int8_t activate = -1;                  // local task id to activate at completion, -1: none
  int8_t unblock = -1;                   // task id to unblock at completion, -1: none
  int8_t microthread = -1;               // explicit ut_id
  uint8_t priority = 0;                  // as in Dsd
  enum class OnControl : uint8_t { none, terminate, activate, unblock } on_control = OnControl::none;
  int8_t on_control_task = -1;
  bool operator==(const DsrConfig&) const = default;
};
int32_t encode(const DsrConfig&);
DsrConfig decode_config(int32_t word);
// "async activate=8" for assembly and reports; empty for the default.
std::string print(const DsrConfig&);
// Reads what print wrote; empty if a word is unknown or a number is out of range.
std::optional<DsrConfig> parse_config(std::string_view text);

}  // namespace cs::isa
