// Random CSL programs. Every expression has a type that is known here, indices are masked, loops count.
#include "random_program.h"

#include <fmt/format.h>

#include <random>
#include <vector>

namespace cs::csl::test {
namespace {

constexpr int kElements = 8;
const std::vector<std::string> kTypes{"i16", "u16", "i32", "u32", "f32", "f16", "i64", "u64"};
const std::vector<std::string> kVectorTypes{"i16", "u16", "i32", "u32", "f32", "f16"};  // that instructions walk

bool is_float(const std::string& t) { return t[0] == 'f'; }
bool is_wide(const std::string& t) { return t.ends_with("32"); }
bool is_int64(const std::string& t) { return t.ends_with("64"); }

struct Variable {
  std::string name, type;
  bool assignable = true;
};

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  std::string run() {
    globals();
    const int functions = 1 + pick(3);
    for (int i = 0; i < functions; ++i) function(i);
    tasks();
    finish();
    return std::move(out_);
  }

 private:
  int pick(int n) { return int(random_() % uint64_t(n)); }
  bool chance(int percent) { return pick(100) < percent; }
  template <typename T>
  const T& one_of(const std::vector<T>& list) {
    return list[size_t(pick(int(list.size())))];
  }
  void line(const std::string& text) { out_ += std::string(size_t(indent_) * 2, ' ') + text + "\n"; }

  std::string literal(const std::string& t) {
    if (is_float(t)) return fmt::format("@as({}, {}.{})", t, pick(9) - 4, pick(2) * 5);
    const int v = chance(50) ? pick(5) : pick(2000) - (t[0] == 'i' ? 1000 : 0);
    return fmt::format("@as({}, {})", t, v);
  }

  // ---- declarations
  void globals() {
    for (const std::string& t : kTypes) {
      arrays_.push_back({"a_" + t, t});
      arrays_.push_back({"b_" + t, t});
      for (const char* base : {"a", "b"})
        line(fmt::format("var {}_{} = @zeros([{}]{});", base, t, kElements, t));
      const int n = 1 + pick(2);
      for (int i = 0; i < n; ++i) {
        globals_.push_back({fmt::format("g{}_{}", i, t), t});
        line(fmt::format("var {}: {} = {};", globals_.back().name, t, literal(t)));
      }
      if (is_int64(t)) continue;
      for (const char* base : {"a", "b"})
        line(fmt::format(
            "var d{}_{} = @get_dsd(mem1d_dsd, .{{ .tensor_access = |i|{{{}}} -> {}_{}[i + {}] }});", base, t,
            2 + pick(kElements - 3), base, t, pick(2)));
    }
    line("const Pair = struct { x: i16, y: f32, z: u16 };");
    line("var pair: Pair = .{ .x = 3, .y = 1.5, .z = 7 };");
    globals_.push_back({"pair.x", "i16"});
    globals_.push_back({"pair.y", "f32"});
    globals_.push_back({"pair.z", "u16"});
    for (const char* t : {"f32", "f16", "i16"}) {
      const std::string body = std::string(t) == "i16"
                                   ? "g0_i16 += x; return x ^ g0_i16;"
                                   : fmt::format("g0_{0} = g0_{0} * 0.5 + x; return x - g0_{0};", t);
      line(fmt::format("fn step_{0}(x: {0}) {0} {{ {1} }}", t, body));
      line(fmt::format("fn take_{0}(x: {0}) void {{ g0_{0} = {1}; }}", t,
                       std::string(t) == "i16" ? "(g0_i16 << 1) + x" : fmt::format("x - g0_{} * 0.25", t)));
    }
  }

  void function(int i) {
    const std::string result = one_of(kTypes), first = one_of(kTypes), second = one_of(kTypes);
    line(fmt::format("fn f{}(p0: {}, p1: {}) {} {{", i, first, second, result));
    locals_ = {{"p0", first, false}, {"p1", second, false}};
    ++indent_;
    depth_ = 0;
    budget_ = 4 + pick(6);
    statements();
    if (chance(30)) {
      line(fmt::format("if ({}) {{ return {}; }}", condition(), expression(result, 2)));
    }
    line(fmt::format("return {};", expression(result, 2)));
    --indent_;
    line("}");
    functions_.push_back({result, first, second});
  }

  void tasks() {
    line("task second() void {");
    body();
    line("  finish();");
    line("}");
    line("fn main() void {");
    for (const std::string& t : kTypes) {
      line(fmt::format("  for (@range(i16, {})) |k| {{", kElements));
      line(fmt::format("    a_{0}[k] = {1} + {2};", t, from_k(t), literal(t)));
      line(fmt::format("    b_{0}[k] = {1} - {2};", t, literal(t), from_k(t)));
      line("  }");
    }
    body();
    line("  @activate(@get_local_task_id(10));");
    line("}");
    line("comptime { @bind_local_task(second, @get_local_task_id(10)); }");
  }

  static std::string from_k(const std::string& t) {
    if (t == "i16") return "k";
    if (t == "u16") return "@bitcast(u16, k)";
    return fmt::format("@as({}, k)", t);
  }

  void body() {
    locals_.clear();
    ++indent_;
    budget_ = 8 + pick(14);
    statements();
    --indent_;
  }

  void finish() {
    int at16 = 0, at32 = 0;
    std::string text;
    const auto leave = [&](const Variable& v, const std::string& value) {
      if (is_int64(v.type)) {
        text += fmt::format("  out32[{}] = @as(u32, @bitcast(u64, {}));\n", at32++, value);
        text += fmt::format("  out32[{}] = @as(u32, @bitcast(u64, {}) >> 32);\n", at32++, value);
      } else if (is_wide(v.type))
        text += fmt::format("  out32[{}] = @bitcast(u32, {});\n", at32++, value);
      else
        text += fmt::format("  out16[{}] = @bitcast(u16, {});\n", at16++, value);
    };
    for (const Variable& g : globals_) leave(g, g.name);
    for (const Variable& a : arrays_)
      for (int i = 0; i < kElements; ++i) leave(a, fmt::format("{}[{}]", a.name, i));
    std::string head =
        fmt::format("var out16 = @zeros([{}]u16);\nvar out32 = @zeros([{}]u32);\n", at16, at32);
    head += "var ptr16: [*]u16 = &out16;\nvar ptr32: [*]u32 = &out32;\n";
    head +=
        "comptime {\n  @export_symbol(ptr16, \"out16\");\n  @export_symbol(ptr32, \"out32\");\n  "
        "@export_symbol(main);\n}\n";
    out_ = head + "fn finish() void {\n" + text + "  sys.unblock_cmd_stream();\n}\n" + out_;
  }

  // ---- statements
  void statements() {
    const size_t locals = locals_.size();
    const int n = 1 + pick(5);
    for (int i = 0; i < n && budget_ > 0; ++i) statement();
    locals_.resize(locals);
  }

  void block(const std::string& head) {
    line(head + " {");
    ++indent_;
    ++depth_;
    statements();
    --depth_;
    --indent_;
  }

  void statement() {
    --budget_;
    const int kind = pick(depth_ < 3 ? 100 : 55);
    if (kind < 22) return assign();
    if (kind < 32) return declare();
    if (kind < 45) return vector();
    if (kind < 50) return descriptor();
    if (kind < 55) return map();
    if (kind < 75) {
      block(fmt::format("if ({})", condition()));
      if (chance(50)) {
        --indent_, ++indent_;
        block("} else");
      }
      return line("}");
    }
    if (kind < 90) {
      const std::string k = fmt::format("k{}", names_++);
      block(fmt::format("for (@range(i16, {})) |{}|",
                        depth_ > 0 || chance(80) ? 1 + pick(depth_ > 1 ? 4 : 9) : 40, k)
                .insert(0, ""));
      loop_end(k);
      return;
    }
    const std::string n = fmt::format("n{}", names_++);
    line(fmt::format("var {}: i16 = {};", n, chance(50) ? fmt::format("{}", pick(7)) : "g0_i16 & 7"));
    block(fmt::format("while ({} > 0) : ({} -= 1)", n, n));
    loop_end(n);
  }

  void loop_end(const std::string& counter) {
    ++indent_;
    if (chance(60)) line(fmt::format("a_i16[@bitcast(u16, {}) & 7] += {};", counter, counter));
    if (chance(15)) line(fmt::format("if ({}) {{ break; }}", condition()));
    if (chance(15)) line(fmt::format("if ({}) {{ continue; }}", condition()));
    if (chance(40)) line(fmt::format("g0_i16 += {} * {};", counter, counter));
    --indent_;
    line("}");
  }

  std::string target(std::string& type) {
    std::vector<Variable> places = globals_;
    for (const Variable& l : locals_)
      if (l.assignable) places.push_back(l);
    if (chance(40)) {
      const Variable& a = one_of(arrays_);
      type = a.type;
      return fmt::format("{}[{}]", a.name, index());
    }
    const Variable& v = one_of(places);
    type = v.type;
    return v.name;
  }

  void assign() {
    std::string type;
    const std::string to = target(type);
    static const std::vector<std::string> kOps{"=", "=", "=", "+=", "-=", "*="};
    line(fmt::format("{} {} {};", to, one_of(kOps), expression(type, 3)));
  }

  void declare() {
    const std::string t = one_of(kTypes), name = fmt::format("v{}", names_++);
    const bool var = chance(60);
    line(fmt::format("{} {}: {} = {};", var ? "var" : "const", name, t, expression(t, 3)));
    locals_.push_back({name, t, var});
  }

  void vector() {
    const std::string t = one_of(kVectorTypes);
    const std::string d = "da_" + t, a = chance(50) ? "da_" + t : "db_" + t, b = "db_" + t;
    if (t == "f32" || t == "f16") {
      const std::string s = t == "f32" ? "s" : "h";
      switch (pick(4)) {
        case 0:
          return line(fmt::format("@fadd{}({}, {}, {});", s, d, a, b));
        case 1:
          return line(fmt::format("@fmac{}({}, {}, {}, {});", s, d, d, b, expression(t, 1)));
        case 2:
          return line(fmt::format("@fmul{}({}, {}, {});", s, d, a, b));
        default:
          return line(fmt::format("@fmov{}({}, {});", s, d, b));
      }
    }
    if (is_wide(t)) return line(fmt::format("@mov32({}, {});", d, b));
    if (chance(50)) return line(fmt::format("@add16({}, {}, {});", d, a, b));
    line(fmt::format("@mov16({}, {});", d, chance(50) ? b : expression(t, 1)));
  }

  void descriptor() {
    const std::string t = one_of(kVectorTypes), d = (chance(50) ? "da_" : "db_") + t;
    const std::string array = (chance(50) ? "a_" : "b_") + t;
    switch (pick(3)) {
      case 0:
        return line(fmt::format("{0} = @set_dsd_base_addr({0}, &{1});", d, array));
      case 1:
        return line(fmt::format("{0} = @set_dsd_length({0}, {1});", d, 1 + pick(kElements - 2)));
      default:
        return line(fmt::format("{0} = @set_dsd_stride({0}, 1);", d));
    }
  }

  void map() {
    static const std::vector<std::string> kMapped{"f32", "f16", "i16"};
    const std::string& t = one_of(kMapped);
    if (chance(50)) return line(fmt::format("@map(step_{0}, db_{0}, da_{0});", t));
    line(fmt::format("@map(take_{0}, db_{0});", t));
  }

  // ---- expressions
  std::string index() {
    if (chance(40)) return fmt::format("{}", pick(kElements));
    return fmt::format("({}) & 7", expression("u16", 1));
  }

  std::string condition() {
    const std::string t = one_of(kTypes);
    static const std::vector<std::string> kOps{"<", ">", "<=", ">=", "==", "!="};
    const std::string first = fmt::format("{} {} {}", expression(t, 1), one_of(kOps), expression(t, 1));
    if (!chance(30)) return first;
    return fmt::format("({}) {} ({} {} {})", first, chance(50) ? "and" : "or", expression("i16", 1),
                       one_of(kOps), expression("i16", 1));
  }

  std::string leaf(const std::string& t) {
    std::vector<std::string> known;
    for (const Variable& g : globals_)
      if (g.type == t) known.push_back(g.name);
    for (const Variable& l : locals_)
      if (l.type == t) known.push_back(l.name), known.push_back(l.name);
    if (chance(25)) return literal(t);
    if (chance(35))
      return fmt::format("{}_{}[{}]", chance(50) ? "a" : "b", t,
                         chance(70) ? std::to_string(pick(kElements)) : "g0_u16 & 7");
    return one_of(known);
  }

  std::string expression(const std::string& t, int depth) {
    if (depth == 0 || chance(25)) return leaf(t);
    const std::string a = expression(t, depth - 1), b = expression(t, depth - 1);
    if (chance(10)) return conversion(t, depth);
    if (chance(8))
      for (size_t i = 0; i < functions_.size(); ++i)
        if (functions_[i].result == t && depth_ < 2)
          return fmt::format("f{}({}, {})", i, expression(functions_[i].first, depth - 1),
                             expression(functions_[i].second, depth - 1));
    if (is_float(t)) {
      static const std::vector<std::string> kOps{"+", "-", "*"};
      return fmt::format("({} {} {})", a, one_of(kOps), b);
    }
    const int places = is_int64(t) ? 50 : is_wide(t) ? 20 : 12;
    if (chance(15)) return fmt::format("({} {} {})", a, chance(50) ? "<<" : ">>", pick(places));
    if (chance(10)) return fmt::format("({} {} {})", a, chance(50) ? "/" : "%", 1 + pick(9));
    static const std::vector<std::string> kOps{"+", "-", "*", "&", "|", "^"};
    return fmt::format("({} {} {})", a, one_of(kOps), b);
  }

  std::string conversion(const std::string& t, int depth) {
    if (t == "i16") return fmt::format("@bitcast(i16, {})", expression("u16", depth - 1));
    if (t == "u16")
      return fmt::format("@bitcast(u16, {})", expression(chance(70) ? "i16" : "f16", depth - 1));
    if (t == "i32") return fmt::format("@as(i32, {})", expression("i16", depth - 1));
    if (t == "u32") return fmt::format("@as(u32, {})", expression("u16", depth - 1));
    if (t == "i64") return fmt::format("@as(i64, {})", expression(chance(50) ? "i32" : "f32", depth - 1));
    if (t == "u64") return fmt::format("@bitcast(u64, {})", expression("i64", depth - 1));
    return fmt::format("@as({}, {})", t, expression(chance(80) ? "i16" : "i64", depth - 1));
  }

  struct Signature {
    std::string result, first, second;
  };

  std::mt19937_64 random_;
  std::string out_;
  std::vector<Variable> arrays_, globals_, locals_;
  std::vector<Signature> functions_;
  int indent_ = 0, depth_ = 0, budget_ = 0, names_ = 0;
};

}  // namespace

std::string random_program(uint64_t seed) { return Generator(seed).run(); }

}  // namespace cs::csl::test
