// A buffer for values of a vector program, one after the other, and its descriptors.
#pragma once

#include <string>
#include <vector>

namespace cs::autogen {

struct VectorSlot {
  int phase = 0;        // which half of eight bytes it begins in
  int holds = -1;       // node whose value it has; -1: free
  bool halves = false;  // its words are read or written as halves
  bool words = false;   // all halves of its words are, one after the other
};

// Its memory and descriptors as CSL: NAME_dsd, and NAME_low_dsd, NAME_high_dsd and NAME_words_dsd where it
// has halves. `lengths`: elements of a part, and those of a shorter last part, whose descriptors end in
// _rest.
void declare_slot(const VectorSlot&, const std::string& name, const std::vector<int>& lengths,
                  std::vector<std::string>& declarations);

// NAME_numbers, and NAME_number<k>: one of them again and again.
void declare_numbers(const std::string& name, const std::vector<std::string>& values,
                     const std::vector<int>& lengths, std::vector<std::string>& declarations);

}  // namespace cs::autogen
