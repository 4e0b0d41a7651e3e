// The resident form of reductions (reduction.cpp).
#pragma once

#include "compiler/kernels/choice.h"

namespace cs::kernels {

// Every PE reduces its rows or pieces of rows; pieces meet along a line of PEs (reduce.csl).
ResidentText resident_reduction(const Choice&, const Setting&, ResidentText alone);

}  // namespace cs::kernels
