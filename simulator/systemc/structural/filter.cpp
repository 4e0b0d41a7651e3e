// A period has limit1 + 1 wavelets, of which max_counter + 1 pass.
#include "simulator/systemc/structural/filter.h"

#include <algorithm>

namespace cs::sim::structural {

Filter::Filter(const FilterConfig& c)
    : config_(c), counter_(c.init_counter), passes_all_(c.kind == FilterKind::sparse_counter && c.limit1 == 0) {}

bool Filter::rejects(const Wavelet& w) const {
  const bool over = counter_ > config_.max_counter;
  switch (config_.kind) {
    case FilterKind::none:
      return false;
    case FilterKind::range: {
      const uint32_t index = w.data >> 16;
      return !w.control && (index < config_.min_index || index > config_.max_index);
    }
    case FilterKind::counter:
      return config_.filter_control ? !(w.control && counter_ == config_.max_counter) : over;
    case FilterKind::sparse_counter:
      return !passes_all_ && over;
  }
  return false;
}

void Filter::count(const Wavelet& w) {
  if (!(w.control ? config_.count_control : config_.count_data)) return;
  if (counter_ < config_.limit1) {
    ++counter_;
    return;
  }
  counter_ = 0;
  if (config_.kind != FilterKind::sparse_counter) return;
  passes_all_ |= config_.limit2 == 0;
  config_.limit1 = config_.limit2;
  config_.limit2 = 0;
}

std::optional<uint16_t> Filter::read(isa::FilterReg reg) const {
  switch (reg) {
    case isa::FilterReg::limit:
      return config_.limit1;
    case isa::FilterReg::max_counter:
      return config_.max_counter;
    case isa::FilterReg::counter:
      return counter_;
    case isa::FilterReg::state:
      return counter_ > config_.max_counter;
    case isa::FilterReg::pass_count:
      return uint16_t(config_.max_counter + 1);
    case isa::FilterReg::drop_count:
      return uint16_t(std::max(0, config_.limit1 - config_.max_counter));
  }
  return std::nullopt;
}

void Filter::write(isa::FilterReg reg, uint16_t value) {
  FilterConfig& c = config_;
  switch (reg) {
    case isa::FilterReg::limit:
      c.limit1 = value;
      break;
    case isa::FilterReg::max_counter:
      c.max_counter = value;
      break;
    case isa::FilterReg::counter:
      counter_ = value;
      break;
    case isa::FilterReg::state:
      counter_ = value ? uint16_t(c.max_counter + 1) : uint16_t(0);
      break;
    case isa::FilterReg::pass_count:  // those that are dropped stay as many
      c.limit1 = uint16_t(c.limit1 + value - (c.max_counter + 1));
      c.max_counter = uint16_t(value - 1);
      break;
    case isa::FilterReg::drop_count:
      c.limit1 = uint16_t(c.max_counter + value);
      break;
  }
}

}  // namespace cs::sim::structural
