// A period has limit1 + 1 wavelets, of which max_counter + 1 pass.
#include "simulator/systemc/structural/filter.h"

#include "simulator/exec/filter_registers.h"

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
  return read_filter_register(config_, counter_, reg);
}

void Filter::write(isa::FilterReg reg, uint16_t value) { write_filter_register(config_, counter_, reg, value); }

}  // namespace cs::sim::structural
