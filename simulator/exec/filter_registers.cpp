// A register is a limit, the counter, or what follows from both.
#include "simulator/exec/filter_registers.h"

#include <algorithm>

namespace cs::sim {

std::optional<uint16_t> read_filter_register(const FilterConfig& c, uint16_t counter, isa::FilterReg reg) {
  switch (reg) {
    case isa::FilterReg::limit:
      return c.limit1;
    case isa::FilterReg::max_counter:
      return c.max_counter;
    case isa::FilterReg::counter:
      return counter;
    case isa::FilterReg::state:
      return counter > c.max_counter;
    case isa::FilterReg::pass_count:
      return uint16_t(c.max_counter + 1);
    case isa::FilterReg::drop_count:
      return uint16_t(std::max(0, c.limit1 - c.max_counter));
  }
  return std::nullopt;
}

void write_filter_register(FilterConfig& c, uint16_t& counter, isa::FilterReg reg, uint16_t value) {
  switch (reg) {
    case isa::FilterReg::limit:
      c.limit1 = value;
      break;
    case isa::FilterReg::max_counter:
      c.max_counter = value;
      break;
    case isa::FilterReg::counter:
      counter = value;
      break;
    case isa::FilterReg::state:
      counter = value ? uint16_t(c.max_counter + 1) : uint16_t(0);
      break;
    case isa::FilterReg::pass_count:  // the period stays that of pass and drop count
      c.limit1 = uint16_t(c.limit1 + value - (c.max_counter + 1));
      c.max_counter = uint16_t(value - 1);
      break;
    case isa::FilterReg::drop_count:
      c.limit1 = uint16_t(c.max_counter + value);
      break;
  }
}

}  // namespace cs::sim
