// Recursive descent over the text of a formula: comparison < sum < product < unary minus < power < primary.
// Depth and number of nodes are bounded, so that no text exhausts the stack or the memory.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <map>
#include <numbers>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/ops/formula.h"
#include "runtime/ops/formula_functions.h"
#include "runtime/support/yaml.h"

namespace cs::ops {

namespace {

using Node = FormulaNode;

bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool in_name(char c) { return starts_name(c) || std::isdigit(static_cast<unsigned char>(c)) != 0; }

class Parser {
 public:
  Parser(std::string_view text, std::span<const std::string_view> operands,
         std::span<const std::string_view> attrs, std::string& error)
      : text_(text), operands_(operands), attrs_(attrs), error_(error) {}

  std::optional<Formula> run() {
    bool bare = false;
    std::string last;
    skip_lines();
    while (ok() && at_ < text_.size()) {
      if (bare) fail("an expression without a name must be the last line");
      bare = !line(last);
      skip();
      if (ok() && at_ < text_.size() && text_[at_] != '\n')
        fail(fmt::format("'{}' where an operator or the end of the line was expected", text_[at_]));
      skip_lines();
    }
    if (ok() && formula_.root < 0) fail("an expression was expected");
    if (ok() && !bare && last != "y")
      fail(fmt::format("the last line defines '{}'; it must define 'y'", last));
    if (!ok()) return std::nullopt;
    return std::move(formula_);
  }

 private:
  static constexpr int kMaxNesting = 100, kMaxDepth = 400;
  static constexpr size_t kMaxNodes = 2000;

  bool ok() const { return error_.empty(); }
  int fail(const std::string& what) { return fail_at(at_, what); }
  int fail_at(size_t at, const std::string& what) {
    const auto [line, column] = place(at);
    if (ok()) error_ = fmt::format("line {}, column {}: {}", line, column, what);
    at_ = text_.size();
    return 0;
  }
  std::pair<int, int> place(size_t at) const {
    const std::string_view before = text_.substr(0, at);
    const size_t start = before.rfind('\n') == before.npos ? 0 : before.rfind('\n') + 1;
    return {int(std::count(before.begin(), before.end(), '\n')) + 1, int(at - start) + 1};
  }

  // Blanks and comments; within brackets lines may end too.
  void skip() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (std::isspace(static_cast<unsigned char>(c)) != 0 && (c != '\n' || brackets_ > 0)) {
        ++at_;
      } else {
        break;
      }
    }
  }
  void skip_lines() {
    skip();
    while (ok() && at_ < text_.size() && text_[at_] == '\n') {
      ++at_;
      skip();
    }
  }
  bool eat(std::string_view symbol) {
    skip();
    if (text_.substr(at_, symbol.size()) != symbol) return false;
    at_ += symbol.size();
    return true;
  }
  std::string_view word() {
    const size_t start = at_;
    while (at_ < text_.size() && in_name(text_[at_])) ++at_;
    return text_.substr(start, at_ - start);
  }
  // A name and '=', which is not '=='. Nothing is read otherwise.
  std::optional<std::string> named() {
    skip();
    const size_t start = at_;
    if (at_ < text_.size() && starts_name(text_[at_])) {
      std::string name(word());
      if (eat("=") && (at_ >= text_.size() || text_[at_] != '=')) return name;
    }
    at_ = start;
    return std::nullopt;
  }

  // One line; whether it has a name.
  bool line(std::string& name_of_line) {
    const size_t start = at_;
    const std::optional<std::string> name = named();
    const int node = comparison();
    if (!ok()) return true;
    formula_.root = node;
    if (!name) return false;
    if (known(*name)) fail_at(start, fmt::format("'{}' is defined already", *name));
    lines_[*name] = node;
    name_of_line = *name;
    return true;
  }
  bool known(std::string_view name) const {
    return std::find(operands_.begin(), operands_.end(), name) != operands_.end() ||
           std::find(attrs_.begin(), attrs_.end(), name) != attrs_.end() ||
           lines_.contains(std::string(name)) || name == "pi" || name == "inf";
  }

  int add(Node node, size_t at) {
    int depth = 1;
    for (const int a : node.args) depth = std::max(depth, depths_[size_t(a)] + 1);
    for (const auto& [attr, a] : node.named) depth = std::max(depth, depths_[size_t(a)] + 1);
    if (depth > kMaxDepth) return fail_at(at, "nested too deeply, also by way of earlier lines");
    if (formula_.nodes.size() >= kMaxNodes)
      return fail_at(at, fmt::format("a formula has at most {} parts", kMaxNodes));
    std::tie(node.line, node.column) = place(at);
    formula_.nodes.push_back(std::move(node));
    depths_.push_back(depth);
    return int(formula_.nodes.size()) - 1;
  }
  int call(std::string_view function, std::vector<int> args, size_t at) {
    if (!ok()) return 0;
    Node n;
    n.kind = Node::Kind::call;
    n.word = function;
    n.args = std::move(args);
    return add(std::move(n), at);
  }

  using Operators = std::span<const std::pair<const char*, const char*>>;
  // The row of the operator that stands here.
  const char* operator_of(Operators ops, size_t& at) {
    skip();
    at = at_;
    for (const auto& [symbol, row] : ops)
      if (ok() && eat(symbol)) return row;
    return nullptr;
  }

  int comparison() {
    static constexpr std::pair<const char*, const char*> kOps[] = {
        {"<=", "less_or_equal"}, {">=", "greater_or_equal"},
        {"==", "equal"},         {"!=", "not_equal"},
        {"<", "less"},           {">", "greater"}};
    size_t at = 0;
    const int a = sum();
    const char* row = operator_of(kOps, at);
    if (row == nullptr) return a;
    const int b = sum();
    if (std::string_view(row) == "not_equal") return call("not", {call("equal", {a, b}, at)}, at);
    return call(row, {a, b}, at);
  }
  int sum() {
    static constexpr std::pair<const char*, const char*> kOps[] = {{"+", "add"}, {"-", "sub"}};
    return left_to_right(kOps, [&] { return product(); });
  }
  int product() {
    static constexpr std::pair<const char*, const char*> kOps[] = {{"*", "mul"}, {"/", "div"}};
    return left_to_right(kOps, [&] { return unary(); });
  }
  template <class Ops, class Operand>
  int left_to_right(const Ops& ops, Operand operand) {
    size_t at = 0;
    int a = operand();
    while (const char* row = operator_of(ops, at)) {
      const int b = operand();
      a = call(row, {a, b}, at);
    }
    return a;
  }
  int unary() {
    if (++nesting_ > kMaxNesting) return fail("nested too deeply");
    skip();
    const size_t at = at_;
    const int r = eat("-") ? call("neg", {unary()}, at) : power();
    --nesting_;
    return r;
  }
  int power() {
    const int a = primary();
    skip();
    const size_t at = at_;
    if (!ok() || !eat("^")) return a;
    const int b = unary();
    return call("power", {a, b}, at);
  }
  int primary() {
    skip();
    const size_t at = at_;
    if (at_ >= text_.size() || text_[at_] == '\n') return fail("an operand was expected");
    const char c = text_[at_];
    if (c == '(') {
      ++at_, ++brackets_;
      const int a = comparison();
      if (ok() && !eat(")")) return fail("')' was expected");
      --brackets_;
      return a;
    }
    if (c == '"') return quoted(at);
    if (std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.') return number(at);
    if (starts_name(c)) return name(at);
    return fail(fmt::format("'{}' where an operand was expected", c));
  }
  int quoted(size_t at) {
    const size_t end = text_.find_first_of("\"\n", at + 1);
    if (end == text_.npos || text_[end] != '"') return fail_at(at, "a text without its closing '\"'");
    Node n;
    n.kind = Node::Kind::text;
    n.word = text_.substr(at + 1, end - at - 1);
    at_ = end + 1;
    return add(std::move(n), at);
  }
  int number(size_t at) {
    Node n;
    const auto [end, problem] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), n.value);
    if (problem != std::errc()) return fail("not a number that fits");
    at_ = size_t(end - text_.data());
    if (at_ < text_.size() && in_name(text_[at_])) return fail("a name directly behind a number");
    return add(std::move(n), at);
  }
  int name(size_t at) {
    const std::string found(word());
    if (eat("(")) return function(found, at);
    Node n;
    const auto operand = std::find(operands_.begin(), operands_.end(), found);
    if (operand != operands_.end()) {
      n.kind = Node::Kind::operand;
      n.index = int(operand - operands_.begin());
    } else if (std::find(attrs_.begin(), attrs_.end(), found) != attrs_.end()) {
      n.kind = Node::Kind::attr;
      n.word = found;
    } else if (const auto line = lines_.find(found); line != lines_.end()) {
      return line->second;
    } else if (found == "pi") {
      n.value = std::numbers::pi;
    } else if (found == "inf") {
      n.value = std::numeric_limits<double>::infinity();
    } else {
      return fail_at(at, fmt::format("there is no '{}'{}", found, suggestion(found, values())));
    }
    return add(std::move(n), at);
  }
  std::vector<std::string> values() const {
    std::vector<std::string> all(operands_.begin(), operands_.end());
    all.insert(all.end(), attrs_.begin(), attrs_.end());
    for (const auto& [line, node] : lines_) all.push_back(line);
    return all;
  }
  static std::string suggestion(const std::string& word, const std::vector<std::string>& among) {
    const std::string near = nearest(word, among);
    return near.empty() ? "" : fmt::format("; did you mean '{}'?", near);
  }

  int function(const std::string& called, size_t at) {
    ++brackets_;
    Node n;
    n.kind = Node::Kind::call;
    n.word = called;
    bool more = !eat(")");
    while (ok() && more) {
      skip();
      const size_t start = at_;
      if (const std::optional<std::string> attr = named()) {
        if (*attr == "axis") {
          axis(n, start);
        } else {
          const int value = comparison();
          if (std::any_of(n.named.begin(), n.named.end(), [&](const auto& a) { return a.first == *attr; }))
            fail_at(start, fmt::format("'{}' is given twice", *attr));
          n.named.emplace_back(*attr, value);
        }
      } else {
        const int value = comparison();
        if (ok() && (!n.named.empty() || !n.axis.empty())) fail_at(start, "operands come before NAME=VALUE");
        n.args.push_back(value);
      }
      more = ok() && eat(",");
      if (ok() && !more && !eat(")")) fail("',' or ')' was expected");
    }
    --brackets_;
    if (!ok() || !check_call(n, at)) return 0;
    return add(std::move(n), at);
  }
  void axis(Node& n, size_t start) {
    if (!n.axis.empty()) fail_at(start, "'axis' is given twice");
    skip();
    const size_t from = at_;
    if (at_ < text_.size() && text_[at_] == '-') ++at_;
    n.axis = text_.substr(from, at_ - from);
    n.axis += word();
    int64_t number = 0;
    const auto [end, problem] = std::from_chars(n.axis.data(), n.axis.data() + n.axis.size(), number);
    const bool whole =
        problem == std::errc() && end == n.axis.data() + n.axis.size() && std::abs(number) < 100;
    static constexpr std::string_view kAxes[] = {"class", "last", "batch", "all"};
    if (ok() && !whole && std::find(std::begin(kAxes), std::end(kAxes), n.axis) == std::end(kAxes))
      fail_at(from, fmt::format("an axis is class, last, batch, all or an integer, not '{}'", n.axis));
  }
  bool check_call(Node& n, size_t at) {
    const std::optional<FormulaFunction> f = formula_function(n.word, n.args.size());
    if (!f) {
      fail_at(at, fmt::format("there is no function '{}'{}", n.word,
                              suggestion(n.word, formula_function_names())));
      return false;
    }
    if (n.args.size() < f->least || n.args.size() > f->most) {
      fail_at(at, fmt::format("'{}' has {} operand{}, {} given", n.word, f->most, f->most == 1 ? "" : "s",
                              n.args.size()));
    } else if (!n.axis.empty() && !f->takes_axis) {
      fail_at(at, fmt::format("'{}' has no axis", n.word));
    }
    for (const auto& [attr, value] : n.named) {
      if (std::find(f->named.begin(), f->named.end(), attr) == f->named.end())
        fail_at(at, fmt::format("'{}' has no '{}'{}", n.word, attr, suggestion(attr, f->named)));
    }
    if (ok() && n.word == "given" && formula_.nodes[size_t(n.args[0])].kind != Node::Kind::operand)
      fail_at(at, "given() asks for an operand");
    return ok();
  }

  std::string_view text_;
  std::span<const std::string_view> operands_, attrs_;
  std::string& error_;
  Formula formula_;
  std::map<std::string, int> lines_;
  std::vector<int> depths_;  // of every node, through the lines that it names
  size_t at_ = 0;
  int nesting_ = 0, brackets_ = 0;
};

}  // namespace

std::optional<Formula> parse_formula(std::string_view text, std::span<const std::string_view> operands,
                                     std::span<const std::string_view> attrs, std::string& error) {
  error.clear();
  return Parser(text, operands, attrs, error).run();
}

}  // namespace cs::ops
