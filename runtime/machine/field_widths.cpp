// The reasons behind the upper ends of ranges, by machine key.
#include "runtime/machine/field_widths.h"

#include <utility>

namespace cs::widths {
namespace {

constexpr std::string_view kColor = "a descriptor names a color in 5 bits, so there are at most 32";
constexpr std::string_view kQueue =
    "a descriptor names a queue in 4 bits, so there are at most 16 of each kind";
constexpr std::string_view kTask = "a control wavelet names a task in 6 bits, so ids are 0 to 63";
constexpr std::string_view kLocal =
    "a DSR load names the local task to activate, or none, in 6 bits, so ids are 0 to 62";

constexpr std::pair<std::string_view, std::string_view> kReasons[] = {
    {"router.colors", kColor},
    {"router.switchable_colors", kColor},
    {"memcpy.colors", kColor},
    {"router.switch_positions",
     "a color's register names its switch position in 2 bits, so there are at most 4"},
    {"queues.input_words", kQueue},
    {"queues.output_words", kQueue},
    {"memcpy.input_queues", kQueue},
    {"memcpy.output_queues", kQueue},
    {"core.memory_bytes", "an address has 16 bits and counts bytes, so a PE has at most 65536"},
    {"core.microthreads", "a descriptor names a microthread in 4 bits, so there are at most 16"},
    {"core.dsrs_per_file", "an instruction names a DSR in 5 bits, so a file has at most 32"},
    {"core.registers", "an instruction names a register in 5 bits, so there are at most 32"},
    {"task_ids.local_first", kLocal},
    {"task_ids.local_last", kLocal},
    {"task_ids.control_first", kTask},
    {"task_ids.control_last", kTask},
    {"memcpy.local_task_ids", kLocal},
    {"memcpy.control_task_ids", kTask},
};

}  // namespace

std::string_view reason(std::string_view key) {
  for (const auto& [name, why] : kReasons)
    if (name == key) return why;
  return {};
}

}  // namespace cs::widths
