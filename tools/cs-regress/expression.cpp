// Recursive descent: sum := product (+|- product)*, product := factor (*|/ factor)*, factor := number | name
// | name(args) | (sum) | -factor. Depth is bounded.
#include "tools/cs-regress/expression.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <numeric>

namespace cs {
namespace {

using Array = std::vector<double>;

struct Elementwise {
  const char* name;
  double (*apply)(double);
};
constexpr Elementwise kElementwise[] = {
    {"abs", [](double x) { return std::abs(x); }},   {"floor", [](double x) { return std::floor(x); }},
    {"ceil", [](double x) { return std::ceil(x); }}, {"sqrt", [](double x) { return std::sqrt(x); }},
    {"log2", [](double x) { return std::log2(x); }},
};

class Parser {
 public:
  Parser(const std::string& text, const Lookup& lookup) : text_(text), lookup_(lookup) {}

  std::optional<double> run(std::string& error) {
    const Array v = sum(0);
    skip();
    if (error_.empty() && at_ < text_.size()) fail("unexpected '" + text_.substr(at_, 1) + "'");
    if (error_.empty() && v.size() != 1) fail("the result is an array; use max, min, sum or mean");
    error = error_;
    return error_.empty() ? std::optional(v[0]) : std::nullopt;
  }

 private:
  void fail(const std::string& what) {
    if (error_.empty()) error_ = "column " + std::to_string(at_ + 1) + ": " + what;
  }
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool accept(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  template <typename F>
  Array combine(const Array& a, const Array& b, F f) {
    if (a.size() != b.size() && a.size() != 1 && b.size() != 1) {
      fail("arrays of " + std::to_string(a.size()) + " and " + std::to_string(b.size()) + " elements");
      return {0};
    }
    Array out(std::max(a.size(), b.size()));
    for (size_t i = 0; i < out.size(); ++i) out[i] = f(a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]);
    return out;
  }

  Array sum(int depth) {
    Array v = product(depth);
    while (error_.empty()) {
      if (accept('+')) {
        v = combine(v, product(depth), std::plus<>());
      } else if (accept('-')) {
        v = combine(v, product(depth), std::minus<>());
      } else {
        break;
      }
    }
    return v;
  }

  Array product(int depth) {
    Array v = factor(depth);
    while (error_.empty()) {
      if (accept('*')) {
        v = combine(v, factor(depth), std::multiplies<>());
      } else if (accept('/')) {
        v = combine(v, factor(depth), std::divides<>());
      } else {
        break;
      }
    }
    return v;
  }

  Array factor(int depth) {
    if (depth > 50) {
      fail("nested too deeply");
      return {0};
    }
    if (accept('-')) return combine({0}, factor(depth + 1), std::minus<>());
    if (accept('(')) {
      Array v = sum(depth + 1);
      if (!accept(')')) fail("')' expected");
      return v;
    }
    skip();
    double number = 0;
    const char* begin = text_.data() + at_;
    const auto [end, ec] = std::from_chars(begin, text_.data() + text_.size(), number);
    if (ec == std::errc() && end != begin) {
      at_ += size_t(end - begin);
      return {number};
    }
    return name_or_call(depth);
  }

  Array name_or_call(int depth) {
    const size_t start = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_' || text_[at_] == '.'))
      ++at_;
    const std::string name = text_.substr(start, at_ - start);
    if (name.empty()) {
      fail("a number, a name or '(' expected");
      return {0};
    }
    if (!accept('(')) {
      auto value = lookup_(name);
      if (!value) fail("unknown name '" + name + "'");
      return value && !value->empty() ? *value : Array{0};
    }
    std::vector<Array> args{sum(depth + 1)};
    while (error_.empty() && accept(',')) args.push_back(sum(depth + 1));
    if (!accept(')')) fail("')' expected");
    return error_.empty() ? call(name, args) : Array{0};
  }

  Array call(const std::string& name, const std::vector<Array>& args) {
    const Array& a = args[0];
    const bool one = args.size() == 1;
    if (one && name == "max") return {*std::max_element(a.begin(), a.end())};
    if (one && name == "min") return {*std::min_element(a.begin(), a.end())};
    if (one && name == "sum") return {std::accumulate(a.begin(), a.end(), 0.0)};
    if (one && name == "mean") return {std::accumulate(a.begin(), a.end(), 0.0) / double(a.size())};
    if (one)
      for (const Elementwise& f : kElementwise)
        if (name == f.name) {
          Array out = a;
          for (double& x : out) x = f.apply(x);
          return out;
        }
    if (!one && (name == "max" || name == "min")) {
      Array out = a;
      for (size_t i = 1; i < args.size() && error_.empty(); ++i)
        out = combine(out, args[i],
                      [&](double x, double y) { return name == "max" ? std::max(x, y) : std::min(x, y); });
      return out;
    }
    if (one && name == "index") {
      Array out(a.size());
      std::iota(out.begin(), out.end(), 0.0);
      return out;
    }
    if (one && name == "tsc" && a.size() % 3 == 0) {
      Array out;
      for (size_t i = 0; i < a.size(); i += 3)
        out.push_back(a[i] + 65536.0 * (a[i + 1] + 65536.0 * a[i + 2]));
      return out;
    }
    if (args.size() == 2 && name == "at" && args[1].size() == 1) {
      const double i = args[1][0];
      if (i >= 0 && i < double(a.size())) return {a[size_t(i)]};
      fail("index " + std::to_string(int64_t(i)) + " of an array of " + std::to_string(a.size()));
      return {0};
    }
    if (args.size() == 3 && name == "every" && args[1].size() + args[2].size() == 2)
      return every(a, args[1][0], args[2][0]);
    if (args.size() == 4 && name == "columns" && args[1].size() + args[2].size() + args[3].size() == 3)
      return columns(a, args[1][0], args[2][0], args[3][0]);
    fail("no function '" + name + "' of " + std::to_string(args.size()) +
         " such arguments; there are max, min, sum, mean, abs, floor, ceil, sqrt, log2, tsc, at, every, "
         "columns");
    return {0};
  }

  // Elements first, first + step, …
  Array every(const Array& a, double step, double first) {
    if (step < 1 || first < 0) fail("every(a, step, first) needs step > 0 and first >= 0");
    Array out;
    for (double i = first; error_.empty() && i < double(a.size()); i += step) out.push_back(a[size_t(i)]);
    return out;
  }

  // `count` columns from `first` on, of rows of `width`.
  Array columns(const Array& a, double width, double first, double count) {
    if (width < 1 || first < 0 || count < 0 || first + count > width ||
        std::fmod(double(a.size()), width) != 0) {
      fail("columns(a, width, first, count): these columns do not exist");
      return {0};
    }
    Array out;
    for (size_t row = 0; row < a.size(); row += size_t(width))
      for (size_t i = 0; i < size_t(count); ++i) out.push_back(a[row + size_t(first) + i]);
    return out;
  }

  const std::string& text_;
  const Lookup& lookup_;
  size_t at_ = 0;
  std::string error_;
};

}  // namespace

std::optional<double> evaluate_expression(const std::string& text, const Lookup& lookup, std::string& error) {
  return Parser(text, lookup).run(error);
}

}  // namespace cs
