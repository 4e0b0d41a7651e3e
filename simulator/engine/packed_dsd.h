// A descriptor in few bytes: descriptor registers are most of what many cores hold. Only those of several dimensions
// and rings have more than one extent; what the others leave at its default is not kept.
#pragma once

#include <array>
#include <cstdint>

#include "runtime/isa/dsd.h"

namespace cs::sim {

class PackedDsd {
 public:
  uint16_t base = 0;
  uint16_t length = 0;  // extent[0]

  PackedDsd() = default;
  PackedDsd(const isa::Dsd& d)  // NOLINT(google-explicit-constructor): the same in fewer bytes
      : base(d.base),
        length(d.extent[0]),
        stride_(d.stride[0]),
        queue_(d.queue),
        color_(d.color),
        microthread_(d.microthread),
        kind_(uint8_t(d.kind)),
        simd_(uint8_t(d.simd)),
        priority_(d.priority),
        zero_(d.zero),
        indexed_(d.indexed),
        control_(d.control),
        advance_(d.advance_switch),
        transform_(d.control_transform) {
    if (d.kind == isa::DsdKind::mem4d)
      for (size_t i = 1; i < 4; ++i) more_[i - 1] = d.extent[i], more_[i + 2] = uint16_t(d.stride[i]);
    if (d.kind == isa::DsdKind::circbuf)
      more_ = {uint16_t(d.first), uint16_t(d.first >> 16), uint16_t(d.end), uint16_t(d.end >> 16)};
  }

  isa::DsdKind kind() const { return isa::DsdKind(kind_); }
  isa::Dsd unpacked() const {
    isa::Dsd d;
    d.kind = kind();
    d.base = base;
    d.extent[0] = length;
    d.stride[0] = stride_;
    if (d.kind == isa::DsdKind::mem4d)
      for (size_t i = 1; i < 4; ++i) d.extent[i] = more_[i - 1], d.stride[i] = int16_t(more_[i + 2]);
    if (d.kind == isa::DsdKind::circbuf) {
      d.first = more_[0] | uint32_t(more_[1]) << 16;
      d.end = more_[2] | uint32_t(more_[3]) << 16;
    }
    d.indexed = indexed_;
    d.queue = queue_;
    d.color = color_;
    d.control = control_;
    d.advance_switch = advance_;
    d.control_transform = transform_;
    d.simd = isa::SimdMode(simd_);
    d.priority = priority_;
    d.microthread = microthread_;
    d.zero = zero_;
    return d;
  }

 private:
  int16_t stride_ = 1;
  std::array<uint16_t, 6> more_{};  // several dimensions: extents and strides of the inner ones; ring: first and end
  uint8_t queue_ = 0, color_ = isa::kQueueColor;
  int8_t microthread_ = -1;
  uint8_t kind_ : 4 = 0, simd_ : 2 = 0, priority_ : 2 = 0;
  uint8_t zero_ : 2 = 0, indexed_ : 1 = 0, control_ : 1 = 0, advance_ : 1 = 0, transform_ : 1 = 0;
};
static_assert(sizeof(PackedDsd) == 24);

}  // namespace cs::sim
