// Two machines compared key by key, for messages: which values differ, and what each machine says.
#pragma once

#include <string>
#include <vector>

#include "runtime/machine/machine.h"

namespace cs {

struct MachineDifference {
  std::string key, first, second;  // "router.hop_cycles", values as in a machine file
};

// In file order. The name says nothing about how a machine behaves and is left out.
std::vector<MachineDifference> machine_differences(const Machine& first, const Machine& second);

// "router.hop_cycles is 4 FIRST and 1 SECOND; ..." of the first few, and how many more there are.
std::string differences_text(const std::vector<MachineDifference>&, const std::string& first,
                             const std::string& second);

}  // namespace cs
