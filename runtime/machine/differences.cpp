// Walks the field list once per machine; equal walks give equal keys, so that the lists can be compared in
// step. Vector widths are no fields: a mnemonic that is not listed has width 1.
#include "runtime/machine/differences.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>

#include "runtime/machine/fields.h"

namespace cs {
namespace {

constexpr size_t kShown = 12;

class Collector {
 public:
  template <typename T, typename... Rest>
  void operator()(const char* key, const T& field, Rest&&...) {
    values.emplace_back(prefix_ + key, fmt::format("{}", field));
  }
  template <typename Visit>
  void section(const char* key, Visit visit) {
    prefix_ = std::string(key) + ".";
    visit();
    prefix_.clear();
  }
  std::vector<std::pair<std::string, std::string>> values;

 private:
  std::string prefix_;
};

}  // namespace

std::vector<MachineDifference> machine_differences(const Machine& first, const Machine& second) {
  std::vector<MachineDifference> out;
  if (first.arch != second.arch)
    out.push_back({"arch", std::string(arch_name(first.arch)), std::string(arch_name(second.arch))});
  Collector a, b;
  machine_fields::all(first, a);
  machine_fields::all(second, b);
  for (size_t i = 0; i < a.values.size(); ++i)
    if (a.values[i].second != b.values[i].second)
      out.push_back({a.values[i].first, a.values[i].second, b.values[i].second});
  std::set<std::string> mnemonics;
  for (const Machine* m : {&first, &second})
    for (const auto& [mnemonic, width] : m->simd_width) mnemonics.insert(mnemonic);
  for (const std::string& mnemonic : mnemonics)
    if (first.simd(mnemonic) != second.simd(mnemonic))
      out.push_back({"simd_width." + mnemonic, std::to_string(first.simd(mnemonic)),
                     std::to_string(second.simd(mnemonic))});
  return out;
}

std::string differences_text(const std::vector<MachineDifference>& list, const std::string& first,
                             const std::string& second) {
  std::string text;
  for (size_t i = 0; i < list.size() && i < kShown; ++i)
    text += fmt::format("{}{} is {} {} and {} {}", i == 0 ? "" : "; ", list[i].key, list[i].first, first,
                        list[i].second, second);
  if (list.size() > kShown) text += fmt::format("; and {} more", list.size() - kShown);
  return text;
}

}  // namespace cs
