// Which numbers there are, and in which order.
#include "compiler/autogen/region_own.h"

#include <utility>

#include <fmt/format.h>

namespace cs::autogen {

namespace {

template <typename Statements, typename Do>
void each_counter(Statements& list, const Do& act) {
  for (auto& s : list)
    for (auto& a : s.loads)
      if (a.buffer == ops::kCounter) act(a.offset, a.own);
}

template <typename Do>
void each_number(RegionShare& share, const Do& act) {
  for (ops::LoopBlock& block : share.program.blocks) each_counter(block.statements, act);
  each_counter(share.once, act);
  for (Send& s : share.out) act(s.first, s.own);
}

}  // namespace

std::vector<int64_t> take_own_numbers(RegionShare& local) {
  std::vector<int64_t> numbers;
  each_number(local, [&](int64_t& number, int&) { numbers.push_back(std::exchange(number, 0)); });
  return numbers;
}

void use_own_numbers(RegionShare& share, const std::vector<bool>& own) {
  size_t k = 0;
  share.own = 0;
  each_number(share, [&](int64_t&, int& word) { word = own[k++] ? share.own++ : -1; });
}

std::string own_number(int number) { return fmt::format("own{}", number); }

std::string own_numbers(const std::vector<ops::LoopStatement>& list, size_t first_word) {
  std::string text;
  each_counter(list, [&](int64_t, int word) {
    if (word >= 0)
      text += fmt::format("  const {}: i32 = pe[{}];\n", own_number(word), first_word + size_t(word));
  });
  return text;
}

}  // namespace cs::autogen
