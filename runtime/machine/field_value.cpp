// Walks the field list until the key comes.
#include "runtime/machine/field_value.h"

#include <string>
#include <vector>

#include "runtime/machine/fields.h"

namespace cs {
namespace {

class Finder {
 public:
  explicit Finder(std::string_view key) : key_(key) {}

  template <typename T, typename... Rest>
  void operator()(const char* key, const T& field, Rest&&...) {
    if (prefix_ + key == key_) found = number(field);
  }
  template <typename Visit>
  void section(const char* key, Visit visit) {
    prefix_ = std::string(key) + ".";
    visit();
    prefix_.clear();
  }
  std::optional<double> found;

 private:
  template <typename T>
  static double number(const T& v) {
    return double(v);
  }
  template <typename T>
  static double number(const std::vector<T>& v) {
    return double(v.size());
  }
  std::string_view key_;
  std::string prefix_;
};

}  // namespace

std::optional<double> field_value(const Machine& machine, std::string_view key) {
  constexpr std::string_view kWidths = "simd_width.";
  if (key.starts_with(kWidths)) return machine.simd(std::string(key.substr(kWidths.size())));
  Finder finder(key);
  machine_fields::all(machine, finder);
  return finder.found;
}

}  // namespace cs
