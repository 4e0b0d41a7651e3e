// The table of steps. Lower halves may be overwritten where a value needs few bits of its mantissa.
#include "compiler/autogen/half_steps.h"

#include <fmt/format.h>

namespace cs::autogen {

namespace {

constexpr int kSignBit = 15;
constexpr int kExponentUnit = 128;     // of an upper half
constexpr int kExponentBits = 0x7f80;  // of an upper half
constexpr int kNoMantissa = 0xff80;    // an upper half without its mantissa
constexpr int kBelowTwo = 0x3fff;      // an upper half without its sign and the highest bit of its exponent
constexpr int kTwoToThe23 = 0x4b00;    // an upper half

class Steps {
 public:
  explicit Steps(HalfNames names) : n_(std::move(names)) {}

  // to = a op number
  void with(const char* mnemonic, const std::string& to, const std::string& a, int number) {
    const std::string text = number <= kSignBit ? std::to_string(number) : fmt::format("0x{:x}", number);
    steps_.push_back({mnemonic, fmt::format("{}, {}, {}", to, a, text), 1});
  }
  // to = number - a
  void from(int number, const std::string& to, const std::string& a) {
    steps_.push_back({"sub16", fmt::format("{}, 0x{:x}, {}", to, number, a), 1});
  }
  void two(const char* mnemonic, const std::string& to, const std::string& other) {
    steps_.push_back({mnemonic, fmt::format("{0}, {0}, {1}", to, other), 2});
  }
  void set(const std::string& to, const std::string& value) {
    steps_.push_back({"mov16", fmt::format("{}, {}", to, value), 1});
  }

  std::vector<HalfStep> of(const VectorNode& n, const std::string& scratch) {
    const std::string &low = n_.low, &high = n_.high;
    switch (n.kind) {
      case VectorKind::whole:
        with("and16", low, low, kNoMantissa);
        break;
      case VectorKind::inverse:
        from(VectorProgram::kInverse, high, high);
        break;
      case VectorKind::negative:
        with("sar16", high, high, kSignBit);
        set(low, high);
        break;
      case VectorKind::opposite:
        from(VectorProgram::kInfinity, high, high);
        break;
      case VectorKind::inverse_power:
        with("and16", high, high, kExponentBits);
        set(low, "0");
        from(VectorProgram::kInfinity, high, high);
        break;
      case VectorKind::finite:
        with("and16", high, high, kBelowTwo);
        if (n.index != 0)
          steps_.push_back({"add16", fmt::format("{0}, {0}, {1}", high, n.index * kExponentUnit), 1});
        break;
      case VectorKind::root:
        if (n.index == 1)
          with("sar16", low, high, kSignBit);
        else
          set(low, "0");
        with("slr16", high, high, 1);
        from(VectorProgram::kRoot, high, high);
        if (n.index == 1) two("or16", high, low);
        break;
      case VectorKind::exponent:
        with("add16", low, high, VectorProgram::kToNextPower);
        with("and16", low, low, kNoMantissa);
        if (n.index == 1) {
          with("sar16", high, high, kSignBit);
          with("or16", high, high, kTwoToThe23);
        } else {
          set(high, fmt::format("0x{:x}", kTwoToThe23));
        }
        break;
      case VectorKind::middle:
        from(VectorProgram::kHalved, scratch, high);
        with("and16", scratch, scratch, kExponentUnit);
        two("sub16", high, scratch);
        break;
      default:
        break;
    }
    return std::move(steps_);
  }

 private:
  HalfNames n_;
  std::vector<HalfStep> steps_;
};

}  // namespace

bool needs_scratch(VectorKind kind) { return kind == VectorKind::middle; }

std::vector<HalfStep> half_steps(const VectorNode& n, const HalfNames& names,
                                 const std::string& scratch_low) {
  return Steps(names).of(n, scratch_low);
}

}  // namespace cs::autogen
