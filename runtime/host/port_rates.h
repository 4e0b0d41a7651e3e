// How fast each host port of a Program is: its own rate, and its part of the network that all of them share.
// Streams that cross at the same place in the same direction, with colors of their own, share one port.
#pragma once

#include <vector>

#include "runtime/machine/machine.h"
#include "runtime/program/program.h"

namespace cs {

// Cycles per wavelet of the port of each stream (Program::ports). The ports of one direction together carry no more
// than system_gb_per_s; each gets a part in proportion to the wavelets that one sample brings over it (without a host
// part every stream counts the same), and none more than host_wavelets_per_cycle.
std::vector<double> port_periods(const Program&, const Machine&);

// When a link that was free at `free` and moves a wavelet in cycle `now` is free again. Wavelets move in whole cycles;
// the part of a cycle that the link was free before the cycle in which it moves one counts for the next one, so that a
// rate of 5 wavelets in 6 cycles is just that. Cycles in which nobody had one count for nothing.
inline double next_turn(double free, double now, double period) { return (free > now - 1 ? free : now) + period; }

}  // namespace cs
