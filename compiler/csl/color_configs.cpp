// Configurations by number, and by what was read before.
#include "compiler/csl/color_configs.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "compiler/csl/builtins.h"

namespace cs::csl {
namespace {

// ---- what was read before

void collect(const ast::Expr& e, KnownConfigs::Parts& out) {
  using enum ast::ExprKind;
  switch (e.kind) {
    case integer:
    case boolean:
      return;
    case identifier: {
      const std::string_view name = static_cast<const ast::Identifier&>(e).name;
      if (std::ranges::find(out.names, name) == out.names.end()) out.names.push_back(name);
      return;
    }
    case unary:
      return collect(*static_cast<const ast::Unary&>(e).operand, out);
    case binary:
      collect(*static_cast<const ast::Binary&>(e).left, out);
      return collect(*static_cast<const ast::Binary&>(e).right, out);
    case init: {
      const auto& n = static_cast<const ast::Init&>(e);
      out.plain = out.plain && n.type == nullptr;
      for (const ast::InitElement& element : n.elements) collect(*element.value, out);
      return;
    }
    default:
      out.plain = false;
  }
}

const KnownConfigs::Parts& parts_of(KnownConfigs& known, const ast::Expr* e) {
  const auto [it, fresh] = known.parts.try_emplace(e);
  if (fresh) collect(*e, it->second);
  return it->second;
}

bool names(const KnownConfigs::Parts& parts, std::string_view name) {
  return std::ranges::find(parts.names, name) != parts.names.end();
}

// What a name that is no local stands for never changes: a constant, a parameter, a direction, a type.
bool is_constant(const ModuleInstance& module, std::string_view name) {
  const auto it = module.entries.find(name);
  if (it == module.entries.end()) return true;
  const ast::Decl* d = it->second.decl;
  return d->kind == ast::DeclKind::variable &&
         static_cast<const ast::Variable*>(d)->variable_kind != ast::VariableKind::variable;
}

KnownConfigs::Local local_of(Evaluator& e, const KnownConfigs::Parts& parts) {
  KnownConfigs::Local out{parts.plain, {}};
  for (const std::string_view name : parts.names) {
    if (!out.at_most_one) break;
    if (e.find_local(name) == nullptr) {
      out.at_most_one = is_constant(*e.frame().module, name);
    } else {
      out.at_most_one = out.name.empty();
      out.name = name;
    }
  }
  return out;
}

// Under which its number may be known; nothing if it depends on more.
std::optional<KnownConfigs::Use> use_of(Evaluator& e, const ast::Expr* expr) {
  KnownConfigs& known = e.layout()->known;
  KnownConfigs::Use use{expr, e.frame().module, nullptr, 0};
  const auto [it, fresh] = known.locals.try_emplace(use);
  if (fresh) it->second = local_of(e, parts_of(known, expr));
  const KnownConfigs::Local& local = it->second;
  if (!local.at_most_one) return std::nullopt;
  if (local.name.empty()) return use;
  Local* found = e.find_local(local.name);
  if (found == nullptr || !found->cell().is(ValueKind::integer)) return std::nullopt;
  use.type = found->cell().type;
  use.value = int64_t(found->cell().i);
  return use.value == found->cell().i ? std::optional(use) : std::nullopt;
}

std::string config_key(const RouteConfig& c) {
  std::string key;
  for (const SwitchPosition& p : c.positions) key += {char(p.valid), char(p.rx), char(p.tx)};
  key += {char(c.current),  char(c.ring_mode), char(c.pop_mode),
          char(c.teardown), char(c.swap_x),    char(c.swap_y)};
  const FilterConfig& f = c.filter;
  key += {char(f.kind), char(f.count_data), char(f.count_control), char(f.filter_control)};
  for (uint16_t v : {f.init_counter, f.max_counter, f.limit1, f.limit2, f.min_index, f.max_index})
    key += {char(v & 0xFF), char(v >> 8)};
  return key;
}

// The number of a configuration; structures equal to an earlier one are not read again.
bool config_number(Evaluator& e, const Value& config, SourceLoc where, uint32_t& out) {
  LayoutState& s = *e.layout();
  const size_t key = hash(config);
  if (auto it = s.known_configs.find(key); it != s.known_configs.end() && equal(it->second.first, config)) {
    out = it->second.second;
    return true;
  }
  RouteConfig route;
  if (!read_route(e, config, where, route)) return false;
  const auto [it, inserted] = s.config_index.try_emplace(config_key(route), uint32_t(s.configs.size()));
  if (inserted) {
    s.configs.push_back(route);
    s.config_locs.push_back(where);
  }
  out = it->second;
  s.known_configs.insert_or_assign(key, std::pair(config, out));
  return true;
}

// A configuration by what it names, then by its value.
struct Config {
  std::optional<KnownConfigs::Use> use;
  std::optional<uint32_t> number;
  Value value;  // if it has no number yet
  bool ok() const { return number || value.ok(); }
};

Config config_of(Evaluator& e, const ast::Expr* expr) {
  Config out{use_of(e, expr), std::nullopt, {}};
  if (out.use) {
    const auto& numbers = e.layout()->known.numbers;
    if (const auto it = numbers.find(*out.use); it != numbers.end()) out.number = it->second;
  }
  if (!out.number) out.value = e.eval_comptime(expr, nullptr, "the configuration");
  return out;
}

bool number_of(Evaluator& e, const Config& c, SourceLoc where, uint32_t& out) {
  if (c.number) {
    out = *c.number;
    return true;
  }
  if (!config_number(e, c.value, where, out)) return false;
  if (c.use) e.layout()->known.numbers.try_emplace(*c.use, out);
  return true;
}

std::vector<uint32_t>& configs_of_color(LayoutState& s, int64_t color) {
  if (s.config_of_pe.size() <= size_t(color)) s.config_of_pe.resize(size_t(color) + 1);
  std::vector<uint32_t>& of_pe = s.config_of_pe[size_t(color)];
  if (of_pe.empty()) of_pe.assign(size_t(s.width) * size_t(s.height), ~0u);
  return of_pe;
}

// ---- loops

// The call, if the loop does nothing else.
const ast::Builtin* only_call(const ast::For& n) {
  const ast::Stmt* body = n.body;
  if (body->kind == ast::StmtKind::block) {
    const auto& block = static_cast<const ast::Block&>(*body);
    if (block.body.size() != 1 || !block.label.empty() || block.is_comptime) return nullptr;
    body = block.body.front();
  }
  if (body->kind != ast::StmtKind::expr) return nullptr;
  const ast::Expr* e = static_cast<const ast::ExprStmt&>(*body).expr;
  if (e->kind != ast::ExprKind::builtin) return nullptr;
  const auto* call = static_cast<const ast::Builtin*>(e);
  return call->name == "set_color_config" && call->args.size() == 4 ? call : nullptr;
}

bool is_name(const ast::Expr* e, std::string_view name) {
  return e->kind == ast::ExprKind::identifier && static_cast<const ast::Identifier*>(e)->name == name;
}

// A coordinate: the counter alone, a sum of it and what does not change, or what does not change.
bool goes_evenly(KnownConfigs& known, const ast::Expr* e, std::string_view counter, bool& moves) {
  const KnownConfigs::Parts& parts = parts_of(known, e);
  moves = names(parts, counter);
  if (!parts.plain || !moves || is_name(e, counter)) return parts.plain;
  if (e->kind != ast::ExprKind::binary) return false;
  const auto& sum = static_cast<const ast::Binary&>(*e);
  if (sum.op != ast::BinaryOp::add) return false;
  return is_name(sum.left, counter)
             ? !names(parts_of(known, sum.right), counter)
             : is_name(sum.right, counter) && !names(parts_of(known, sum.left), counter);
}

// A name, a number or @get_color of one.
bool is_plain_color(const ast::Expr* e, std::string_view counter) {
  if (e->kind == ast::ExprKind::builtin) {
    const auto* call = static_cast<const ast::Builtin*>(e);
    return call->name == "get_color" && call->args.size() == 1 &&
           call->args.front()->kind == ast::ExprKind::integer;
  }
  return e->kind == ast::ExprKind::identifier && !is_name(e, counter);
}

}  // namespace

size_t KnownConfigs::UseHash::operator()(const Use& u) const {
  constexpr uint64_t kOdd = 0x9E3779B97F4A7C15;
  uint64_t h = reinterpret_cast<uintptr_t>(u.expr);
  for (const uint64_t part : {uint64_t(reinterpret_cast<uintptr_t>(u.module)),
                              uint64_t(reinterpret_cast<uintptr_t>(u.type)), uint64_t(u.value)})
    h = (h ^ (h >> 29)) * kOdd + part;
  return size_t(h ^ (h >> 32));
}

bool coordinates(Evaluator& e, const ast::Builtin& n, int64_t& x, int64_t& y) {
  LayoutState& s = *e.layout();
  if (!s.has_rectangle) {
    e.fail(n.loc, fmt::format("@{} comes before @set_rectangle", n.name),
           "call @set_rectangle(width, height) first");
    return false;
  }
  const bool good = e.eval_int(n.args[0], 0, s.width - 1, "the column", x);
  return e.eval_int(n.args[1], 0, s.height - 1, "the row", y) && good;
}

Value set_color_config(Evaluator& e, const ast::Builtin& n, const Type*) {
  LayoutState& s = *e.layout();
  int64_t x = 0, y = 0;
  if (!coordinates(e, n, x, y)) return {};
  const Value color = e.eval_comptime(n.args[2], nullptr, "the color");
  const Config config = config_of(e, n.args[3]);
  if (!color.ok() || !config.ok()) return {};
  if (color.type->kind != TypeKind::color)
    return e.fail(n.args[2]->loc, fmt::format("a color is needed here, this is '{}'", color.type->name),
                  "get one with @get_color(id)");
  if (color.i >= e.machine().router.colors)
    return e.fail(n.args[2]->loc, fmt::format("color {} is not routable: the routers have {}",
                                              print_int(color.i), e.machine().router.colors));
  uint32_t number = 0;
  if (!number_of(e, config, n.args[3]->loc, number)) return {};
  uint32_t& slot = configs_of_color(s, int64_t(color.i))[size_t(y) * size_t(s.width) + size_t(x)];
  if (slot != ~0u)
    return e.fail(n.loc, fmt::format("color {} of PE ({}, {}) is configured twice", print_int(color.i), x, y),
                  "each PE and color gets one @set_color_config");
  slot = number;
  return e.void_value();
}

// After the first iteration, which found nothing wrong: so many more are done here. Only what the counter
// changes is computed anew. What is wrong with a place is left to the next iteration of the loop itself.
uint64_t Evaluator::repeat_color_config(const ast::For& n, const RangeValue& r, uint64_t count) {
  const ast::Builtin* call = only_call(n);
  if (call == nullptr || !n.index.empty() || !is_plain_color(call->args[2], n.value)) return 0;
  LayoutState& s = *layout_;
  bool x_moves = false, y_moves = false;
  if (!goes_evenly(s.known, call->args[0], n.value, x_moves) ||
      !goes_evenly(s.known, call->args[1], n.value, y_moves))
    return 0;
  const KnownConfigs::Parts& config = parts_of(s.known, call->args[3]);
  if (!config.plain || (r.element->is_int() && r.element->bits < 16)) return 0;
  const size_t locals = locals_.size();
  const auto at = [&](uint64_t k) { return Value::integer(r.element, r.start.i + r.step.i * __int128(k)); };
  declare(n.value, at(0), true);
  int64_t x = 0, y = 0;
  coordinates(*this, *call, x, y);
  std::vector<uint32_t>& of_pe =
      configs_of_color(s, int64_t(eval_comptime(call->args[2], nullptr, "the color").i));
  const int64_t step_x = x_moves ? int64_t(r.step.i) : 0, step_y = y_moves ? int64_t(r.step.i) : 0;
  const bool varies = names(config, n.value);
  uint32_t number = of_pe[size_t(y) * size_t(s.width) + size_t(x)];
  uint64_t done = 0;
  while (done + 1 < count && step(n.loc)) {
    x += step_x, y += step_y;
    if (x < 0 || y < 0 || x >= s.width || y >= s.height) break;
    uint32_t& slot = of_pe[size_t(y) * size_t(s.width) + size_t(x)];
    if (slot != ~0u) break;
    ++done;
    if (varies) {
      locals_.back().value = at(done);
      const Config c = config_of(*this, call->args[3]);
      if (!c.ok() || !number_of(*this, c, call->args[3]->loc, number)) continue;  // it has been reported
    }
    slot = number;
  }
  locals_.resize(locals);
  return done;
}

}  // namespace cs::csl
