// @import_comptime_value: a JSON file as a comptime value of a given type.
//
// Fields of objects carry their type in the name: "rows:u16", "weights:[8]f32". The text is read with the
// type in hand, so that every value is checked where it stands.
#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "compiler/csl/builtins.h"

namespace cs::csl {
namespace {

class JsonReader {
 public:
  JsonReader(Evaluator& e, uint32_t source)
      : e_(e), text_(e.diag().sources.text(source)), loc_{source, 1, 1} {}

  Value run(const Type* t) {
    Value v = value(t, 0);
    space();
    if (v.ok() && at_ < text_.size()) return fail("something follows the value");
    return v;
  }

 private:
  Value fail(std::string message, std::string help = {}) {
    return e_.fail(loc_, std::move(message), std::move(help));
  }

  void step() {
    if (text_[at_++] == '\n') {
      ++loc_.line;
      loc_.column = 1;
    } else {
      ++loc_.column;
    }
  }
  void space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      step();
  }
  bool accept(char c) {
    space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    step();
    return true;
  }
  bool accept_word(std::string_view word) {
    space();
    if (text_.compare(at_, word.size(), word) != 0) return false;
    for (size_t i = 0; i < word.size(); ++i) step();
    return true;
  }

  Value value(const Type* t, int depth) {
    constexpr int kDeepest = 50;
    space();
    if (depth > kDeepest) return fail("the value is nested too deep");
    if (!e_.step(loc_)) return {};
    if (accept_word("null")) return fail("'null' is no value of CSL");
    if (t->kind == TypeKind::comptime_struct) return object(depth);
    if (t->kind == TypeKind::array) return array(t, depth);
    if (t->kind == TypeKind::boolean) {
      if (accept_word("true")) return bool_value(e_.types(), true);
      if (accept_word("false")) return bool_value(e_.types(), false);
      return fail("true or false is needed here");
    }
    if (t->kind == TypeKind::comptime_string) {
      std::string s;
      return string(s) ? text_value(e_.types(), std::move(s)) : Value();
    }
    if (t->is_number() || t->kind == TypeKind::color) return number(t);
    return fail(fmt::format("a file cannot hold a '{}'", t->name),
                "numbers, bool, color, strings, comptime_struct and arrays of them");
  }

  Value number(const Type* t) {
    const size_t begin = at_;
    const SourceLoc where = loc_;
    while (at_ < text_.size() &&
           (std::isalnum(uint8_t(text_[at_])) || text_[at_] == '-' || text_[at_] == '+' || text_[at_] == '.'))
      step();
    const char *first = text_.data() + begin, *last = text_.data() + at_;
    const Type *whole = e_.types().get(TypeKind::comptime_int),
               *real = e_.types().get(TypeKind::comptime_float);
    int64_t i = 0;
    double d = 0;
    Value v;
    if (const auto [end, error] = std::from_chars(first, last, i); error == std::errc{} && end == last)
      v = Value::integer(whole, i);
    else if (const auto [stop, wrong] = std::from_chars(first, last, d);
             wrong == std::errc{} && stop == last && std::isfinite(d))
      v = Value::floating(real, d);
    else
      return e_.fail(where, fmt::format("a number is needed here for '{}'", t->name));
    if (t->kind != TypeKind::color) return e_.coerce(v, t, where, "value");
    if (!v.is(ValueKind::integer) || i < 0 || i >= e_.machine().router.colors)
      return e_.fail(where, fmt::format("colors are 0 to {}", e_.machine().router.colors - 1));
    return Value::integer(t, i);
  }

  bool string(std::string& out) {
    if (!accept('"')) {
      fail("a string is needed here");
      return false;
    }
    while (at_ < text_.size() && text_[at_] != '"') {
      char c = text_[at_];
      step();
      if (c == '\\' && at_ < text_.size()) {
        constexpr std::string_view kFrom = "nrtbf\"\\/", kTo = "\n\r\t\b\f\"\\/";
        const size_t k = kFrom.find(text_[at_]);
        if (k == std::string_view::npos) {
          fail(fmt::format("'\\{}' is not supported in a string", text_[at_]));
          return false;
        }
        c = kTo[k];
        step();
      }
      out += c;
    }
    if (accept('"')) return true;
    fail("the string does not end");
    return false;
  }

  // One list of all elements, whatever the number of dimensions.
  Value array(const Type* t, int depth) {
    const SourceLoc where = loc_;
    if (!accept('[')) return fail(fmt::format("a list [...] is needed here for '{}'", t->name));
    Aggregate a;
    while (!accept(']')) {
      if (!a.items.empty() && !accept(',')) return fail("expected ',' or ']' in the list");
      a.items.push_back(value(t->element, depth + 1));
      if (!a.items.back().ok()) return {};
    }
    if (a.items.size() != t->elements())
      return e_.fail(where, fmt::format("'{}' needs {} values, the list has {}", t->name, t->elements(),
                                        a.items.size()));
    return Value::with(t, ValueKind::aggregate, std::move(a));
  }

  Value object(int depth) {
    if (!accept('{')) return fail("an object {...} is needed here for 'comptime_struct'");
    Aggregate a;
    Names names;
    while (!accept('}')) {
      if (!a.items.empty() && !accept(',')) return fail("expected ',' or '}' in the object");
      space();
      const SourceLoc where = loc_;
      std::string label;
      if (!string(label)) return {};
      const size_t colon = label.find(':');
      const Type* t = colon == std::string::npos ? nullptr : type(std::string_view(label).substr(colon + 1));
      if (!t)
        return e_.fail(where, fmt::format("the name '{}' does not end with a type", label),
                       "write \"name:u16\"");
      if (!accept(':')) return fail("expected ':' after the name");
      const std::string_view name = e_.session().keep_name(label.substr(0, colon));
      if (std::find(names.begin(), names.end(), name) != names.end())
        return e_.fail(where, fmt::format("field '{}' is given twice", name));
      names.push_back(name);
      a.items.push_back(value(t, depth + 1));
      if (!a.items.back().ok()) return {};
    }
    a.names = std::make_shared<Names>(std::move(names));
    return Value::with(e_.types().get(TypeKind::comptime_struct), ValueKind::aggregate, std::move(a));
  }

  // "u16", "[8]f32"
  const Type* type(std::string_view s) {
    if (s.empty() || s[0] != '[') return e_.types().by_name(s);
    uint32_t n = 0;
    const auto [end, error] = std::from_chars(s.data() + 1, s.data() + s.size(), n);
    if (error != std::errc{} || end == s.data() + s.size() || *end != ']' || n > (1u << 21)) return nullptr;
    const Type* element =
        e_.types().by_name(std::string_view(end + 1, size_t(s.data() + s.size() - end - 1)));
    return element ? e_.types().array(element, {n}) : nullptr;
  }

  Evaluator& e_;
  const std::string text_;  // a copy: sources may grow
  size_t at_ = 0;
  SourceLoc loc_;
};

}  // namespace

Value import_comptime_value(Evaluator& e, const ast::Builtin& n, const Type*) {
  const Type* t = e.eval_type(n.args[0]);
  const Value name = e.eval_comptime(n.args[1], nullptr, "the file name");
  if (!t || !name.ok()) return {};
  if (!name.is(ValueKind::text)) return e.fail(n.args[1]->loc, "the file name must be a string");
  const uint32_t source =
      e.session().loader.read(name.text(), e.frame().module->source, n.args[1]->loc, e.diag());
  return source ? JsonReader(e, source).run(t) : Value();
}

}  // namespace cs::csl
