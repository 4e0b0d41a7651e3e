// Tensors as wavelets: one 32-bit wavelet per element. Types of 16 bits and less fill the low bits; 64-bit
// integers travel as 32 bits, which is what PEs compute them in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/ops/tensor.h"
#include "runtime/support/diag.h"

namespace cs {

// False, with an error that names the tensor and the element, if an integer does not fit 32 bits.
bool to_wavelets(const std::string& name, const ops::Tensor&, std::vector<uint32_t>& out, Diag&);
// Element i from its wavelet.
void from_wavelet(uint32_t word, ops::Tensor&, size_t i);

}  // namespace cs
