// Recursive descent over the expression text: comparison < sum < product < unary < primary.
// Depth is bounded, so that a hostile text cannot exhaust the stack.
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numbers>

#include <fmt/format.h>

#include "runtime/ops/expr.h"

namespace cs::ops {

namespace {

class Parser {
 public:
  Parser(std::string_view text, std::span<const std::string_view> operands,
         std::span<const std::string_view> attrs, std::string& error)
      : text_(text), operands_(operands), attrs_(attrs), error_(error) {}

  std::optional<Expr> run() {
    int root = comparison();
    skip();
    if (error_.empty() && at_ != text_.size()) fail(fmt::format("unexpected '{}'", text_[at_]));
    if (!error_.empty()) return std::nullopt;
    expr_.root = root;
    // Substituting into a bare operand renumbers and drops what folding left over.
    return bind_attrs(expr_, {});
  }

 private:
  static constexpr int kMaxDepth = 100;

  int fail(const std::string& what) {
    if (error_.empty()) error_ = fmt::format("column {}: {}", at_ + 1, what);
    at_ = text_.size();
    return 0;
  }
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool eat(std::string_view symbol) {
    skip();
    if (text_.substr(at_, symbol.size()) != symbol) return false;
    at_ += symbol.size();
    return true;
  }
  int make(ExprKind kind, int a, int b = -1, int c = -1) {
    return error_.empty() ? expr_.make(kind, a, b, c) : 0;
  }

  int comparison() {
    int a = sum();
    static constexpr std::pair<const char*, ExprKind> kOps[] = {{"<=", ExprKind::le}, {">=", ExprKind::ge},
                                                                {"==", ExprKind::eq}, {"!=", ExprKind::ne},
                                                                {"<", ExprKind::lt},  {">", ExprKind::gt}};
    for (const auto& [symbol, kind] : kOps) {
      if (eat(symbol)) {
        int b = sum();
        return make(kind, a, b);
      }
    }
    return a;
  }
  int sum() {
    int a = product();
    while (error_.empty()) {
      if (eat("+")) {
        int b = product();
        a = make(ExprKind::add, a, b);
      } else if (eat("-")) {
        int b = product();
        a = make(ExprKind::sub, a, b);
      } else {
        break;
      }
    }
    return a;
  }
  int product() {
    int a = unary();
    while (error_.empty()) {
      if (eat("*")) {
        int b = unary();
        a = make(ExprKind::mul, a, b);
      } else if (eat("/")) {
        int b = unary();
        a = make(ExprKind::div, a, b);
      } else {
        break;
      }
    }
    return a;
  }
  int unary() {
    if (++depth_ > kMaxDepth) return fail("nested too deeply");
    int r = 0;
    if (eat("-")) {
      int a = unary();
      r = make(ExprKind::neg, a);
    } else {
      r = primary();
    }
    --depth_;
    return r;
  }
  int primary() {
    skip();
    if (at_ >= text_.size()) return fail("an operand is missing");
    char c = text_[at_];
    if (eat("(")) {
      int a = comparison();
      if (error_.empty() && !eat(")")) return fail("')' is missing");
      return a;
    }
    if (std::isdigit(static_cast<unsigned char>(c)) || c == '.') return number();
    if (std::isalpha(static_cast<unsigned char>(c)) || c == '_') return name();
    return fail(fmt::format("unexpected '{}'", c));
  }
  int number() {
    std::string copy(text_.substr(at_, 64));
    char* end = nullptr;
    double v = std::strtod(copy.c_str(), &end);
    if (end == copy.c_str()) return fail("not a number");
    at_ += size_t(end - copy.c_str());
    return expr_.constant(v);
  }
  int name() {
    size_t start = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      ++at_;
    std::string_view word = text_.substr(start, at_ - start);
    if (eat("(")) return call(word);
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (operands_[i] == word) return expr_.input(int(i));
    }
    for (std::string_view attr : attrs_) {
      if (attr == word) return expr_.attr(std::string(word));
    }
    if (word == "pi") return expr_.constant(std::numbers::pi);
    if (word == "inf") return expr_.constant(std::numeric_limits<double>::infinity());
    if (word == "nan") return expr_.constant(std::numeric_limits<double>::quiet_NaN());
    return fail(fmt::format("'{}' is neither an operand nor an attribute", word));
  }
  int call(std::string_view word) {
    std::optional<ExprKind> kind;
    for (int k = int(ExprKind::add); k <= int(ExprKind::select); ++k) {
      if (expr_kind_name(ExprKind(k)) == word) kind = ExprKind(k);
    }
    if (!kind) return fail(fmt::format("unknown function '{}'", word));
    int args[3] = {-1, -1, -1};
    int arity = expr_arity(*kind);
    for (int i = 0; i < arity; ++i) {
      if (i > 0 && error_.empty() && !eat(","))
        return fail(fmt::format("'{}' needs {} operands", word, arity));
      args[i] = comparison();
    }
    if (error_.empty() && !eat(")"))
      return fail(fmt::format("')' is missing; '{}' has {} operands", word, arity));
    return make(*kind, args[0], args[1], args[2]);
  }

  std::string_view text_;
  std::span<const std::string_view> operands_, attrs_;
  std::string& error_;
  Expr expr_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::optional<Expr> parse_expr(std::string_view text, std::span<const std::string_view> operands,
                               std::span<const std::string_view> attrs, std::string& error) {
  error.clear();
  return Parser(text, operands, attrs, error).run();
}

}  // namespace cs::ops
