// The registers of a core and its router that LDCFG16 and STCFG16 address: one space of 16-bit words. The
// numbering is ours; what the hardware maps into memory has the same contents.
//
//   0 ...            named registers (ConfigReg)
//   kFilter          8 words per filter (FilterReg)
//   kTaskPriority    one word per task id: 0 low, 1 high
//   kColorConfig     8 words per color (ColorReg); may be written while the color is in teardown
//   kInputColor      color of an input queue; kOutputColor: of an output queue
//   kInputFlush      writing 1: task 29 is activated when the queue is empty; read: that has happened; writing 0
//                    ends it. kOutputFlush: the same for output queues
//   kControlTable    of an input queue: where its control wavelets' entry points begin among the control tasks
//   kDsrLength       extent of a DSR: destination file, source 0, source 1
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/machine/field_widths.h"

namespace cs::isa {

enum class ConfigReg : uint16_t {
  tsc_low, tsc_mid, tsc_high,   // 48-bit cycle counter; reading tsc_low latches the other two, writing it clears all
  tsc_enable,                   // 1 counts, 0 stops
  coord_x, coord_y,             // position of the PE in the user rectangle
  command_stream_ready,         // writing 1: the host's next command may run (unblock_cmd_stream)
  random,                       // 16 random bits of the active PRNG
  test,                         // read: 1 if the last FIFO operation of the main thread did all its elements
  index,                        // write: index of the next vector operation (wavelet_index_offset)
  main_priority,                // 0 medium low, 1 medium, 2 medium high, 3 high
  transform_mask,               // control_transform: six bits that are xor-ed into the upper bits of the index
  exceptions,                   // mask of exceptions that stop the core, a bit each: 1 does not stop
  input_empty, input_full, output_empty, output_full,  // a bit per queue
  teardown_low, teardown_high,  // read: colors that went into teardown since the last read, a bit each
  prng,                         // number of the active PRNG, 0 to 3; each has a state of its own
  seed_low, seed_high,          // write: seed of the active PRNG
  perf_low, perf_mid, perf_high,  // performance counter that perf_select names, as tsc_*
  perf_select,
  // The simulator's log: writing adds to the PE's line, a newline ends it.
  print_text,                   // one or two bytes of text, the low one first
  print_high,                   // upper half of the next 32-bit number
  print_dec32,                  // lower half of an unsigned number, and print it
  print_hex16, print_hex32, print_bin16, print_bin32, print_f16, print_f32,
  count
};
std::string_view config_reg_name(ConfigReg);
std::optional<ConfigReg> config_reg_from_name(std::string_view);

inline constexpr uint16_t kFilter = 0x80;        // + 8 * filter
inline constexpr uint16_t kTaskPriority = 0xC0;  // + task id
inline constexpr uint16_t kColorConfig = 0x100;  // + 8 * color
inline constexpr uint16_t kInputColor = 0x200, kOutputColor = 0x210;   // + queue
inline constexpr uint16_t kInputFlush = 0x220, kOutputFlush = 0x230;   // + queue
inline constexpr uint16_t kControlTable = 0x240;  // + queue
inline constexpr uint16_t kQueueEnd = 0x250;
inline constexpr uint16_t kDsrLength = 0x260;    // + widths::kDsrs * file + index: dsr_length()
inline constexpr uint16_t kConfigEnd = kDsrLength + 3 * widths::kDsrs;
static_assert(kColorConfig + 8 * widths::kColors <= kInputColor && kInputColor + widths::kQueues <= kOutputColor &&
              kTaskPriority + widths::kTaskIds <= kColorConfig);

enum class FilterReg : uint16_t { limit, max_counter, counter, state, pass_count, drop_count };

// Words of a color. routes: bits 0-4 outputs, 5-9 inputs, in the order of Port. pos1 to pos3: the same, bit 10:
// the outputs count, bit 11: the inputs count, bit 15: valid. mode: bits 0-1 current position, bit 2 ring mode,
// bits 3-4 pop mode. teardown: 1 while it lasts, writing 0 ends it.
// messages: writing 1 opens all inputs and outputs and routes every message by its header (MessageHeader).
enum class ColorReg : uint16_t { routes, pos1, pos2, pos3, mode, teardown, messages };
inline constexpr uint16_t kPositionTx = 1 << 10, kPositionRx = 1 << 11, kPositionValid = 1 << 15;

// The first wavelet of a message: how many follow (bits 0-5), column (bits 10-20) and row (bits 21-31) of the PE of the
// user rectangle that it is for.
struct MessageHeader {
  int length = 0, column = 0, row = 0;
  static constexpr MessageHeader of(uint32_t word) {
    return {int(word & 63), int(word >> 10 & 0x7FF), int(word >> 21)};
  }
};

// The task that a color in teardown and an empty queue that was flushed activate.
inline constexpr int kTeardownTask = 29;

constexpr bool is_color_config(uint32_t address) { return address >= kColorConfig && address < kInputColor; }
constexpr uint16_t color_config(int color, ColorReg reg) {
  return uint16_t(kColorConfig + 8 * color + int(reg));
}
// Files: 0 destination, 1 source 0, 2 source 1.
constexpr uint16_t dsr_length(int file, int index) { return uint16_t(kDsrLength + widths::kDsrs * file + index); }
constexpr bool is_dsr_length(uint32_t address) { return address >= kDsrLength && address < kConfigEnd; }
constexpr bool is_config_address(int32_t a) {
  return (a >= 0 && a < int32_t(ConfigReg::count)) || (a >= kFilter && a < kQueueEnd) ||
         (a >= kDsrLength && a < kConfigEnd);
}

}  // namespace cs::isa
