// How fast each host port of a Program is: its own rate, and its part of the network that all of them share.
#pragma once

#include <vector>

#include "runtime/machine/machine.h"
#include "runtime/program/program.h"

namespace cs {

// Cycles per wavelet, by port. The ports of one direction together carry no more than system_gb_per_s; each
// gets a part in proportion to the wavelets that one sample brings over it (without a host part all get the
// same), and none more than host_wavelets_per_cycle.
std::vector<double> port_periods(const Program&, const Machine&);
// Wavelets per cycle that the network carries in one direction.
double system_wavelets_per_cycle(const Machine&);

}  // namespace cs
