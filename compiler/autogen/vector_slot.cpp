// Text of declarations: see vector_slot.h.
#include "compiler/autogen/vector_slot.h"

#include <fmt/format.h>

namespace cs::autogen {

void declare_slot(const VectorSlot& slot, const std::string& name, const std::vector<int>& lengths,
                  std::vector<std::string>& declarations) {
  const int words = lengths[0] + slot.phase;
  declarations.push_back(fmt::format("var {0}: [{1}]f32 align(8) = @zeros([{1}]f32);", name, words));
  if (slot.halves)
    declarations.push_back(fmt::format("const {0}_halves = @ptrcast(*[{1}]i16, &{0});", name, 2 * words));
  const auto dsd = [&](const std::string& suffix, int n, const std::string& element) {
    declarations.push_back(
        fmt::format("const {}{} = @get_dsd(mem1d_dsd, .{{ .tensor_access = |i|{{{}}} -> {} }});", name,
                    suffix, n, element));
  };
  for (size_t l = 0; l < lengths.size(); ++l) {
    const std::string end = l > 0 ? "_rest" : "_dsd";
    dsd(end, lengths[l], fmt::format("{}[i{}]", name, slot.phase == 0 ? "" : " + 1"));
    if (!slot.halves) continue;
    dsd("_low" + end, lengths[l], fmt::format("{}_halves.*[2 * i + {}]", name, 2 * slot.phase));
    dsd("_high" + end, lengths[l], fmt::format("{}_halves.*[2 * i + {}]", name, 2 * slot.phase + 1));
    if (slot.words)
      dsd("_words" + end, 2 * lengths[l], fmt::format("{}_halves.*[i + {}]", name, 2 * slot.phase));
  }
}

void declare_numbers(const std::string& name, const std::vector<std::string>& values,
                     const std::vector<int>& lengths, std::vector<std::string>& declarations) {
  declarations.push_back(
      fmt::format("var {}_numbers = [{}]f32{{ {} }};", name, values.size(), fmt::join(values, ", ")));
  for (size_t k = 0; k < values.size(); ++k) {
    for (size_t l = 0; l < lengths.size(); ++l)
      declarations.push_back(
          fmt::format("const {0}_number{1}{2} = @get_dsd(mem1d_dsd, .{{ .tensor_access = |i|{{{3}}} -> "
                      "{0}_numbers[{1}] }});",
                      name, k, l > 0 ? "_rest" : "", lengths[l]));
  }
}

}  // namespace cs::autogen
