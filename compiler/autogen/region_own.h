// Numbers by which programs of PEs differ although their code is alike, given to each PE as words of its own.
//
// The address of a counter is global: an element's place in its row, or in the whole tensor, as dropout and
// comparisons with indices take it. And where every PE stores a result whole and sends its part, the part
// lies elsewhere in each. As literals such numbers give every PE another program, and programs are compiled
// one by one; as words of the PE (behind the others of pe_words) they cost an addition where they are used.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/autogen/region.h"

namespace cs::autogen {

// These numbers of a local share: offsets of counters in the order of the program, then from where results
// are sent. They are 0 behind it, so that same_program() says whether the rest is alike.
std::vector<int64_t> take_own_numbers(RegionShare&);
// Number k, in the same order, is a word of the PE where own[k] says so.
void use_own_numbers(RegionShare&, const std::vector<bool>& own);
// What a function that runs statements begins with, and the names of what it declares: `const own0: i32 =
// pe[7];`.
std::string own_numbers(const std::vector<ops::LoopStatement>&, size_t first_word);
std::string own_number(int number);

}  // namespace cs::autogen
