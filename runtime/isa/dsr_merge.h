// What an operation is told by the DSR loads of its operands.
#pragma once

#include "runtime/isa/dsd.h"

namespace cs::isa {

// The destination's word wins over source 0 over source 1: `first` over `second`.
inline DsrConfig merge(DsrConfig first, const DsrConfig& second) {
  first.async |= second.async;
  first.save_address |= second.save_address;
  first.single_step |= second.single_step;
  if (first.activate < 0) first.activate = second.activate;
  if (first.unblock < 0) first.unblock = second.unblock;
  if (first.microthread < 0) first.microthread = second.microthread;
  if (first.priority == 0) first.priority = second.priority;
  if (first.on_control == DsrConfig::OnControl::none) {
    first.on_control = second.on_control;
    first.on_control_task = second.on_control_task;
  }
  return first;
}

}  // namespace cs::isa
