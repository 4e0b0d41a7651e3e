// One row per scheduler says which keys it has; reading checks them, at() computes.
#include "runtime/support/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cs {

namespace {

using Keys = std::map<std::string, YamlNode>;

std::string lower(std::string s) {
  for (char& c : s) c = char(std::tolower(static_cast<unsigned char>(c)));
  return s;
}

// The keys of one schedule, each asked for by name; finish() reports those that nobody asked for.
class Reader {
 public:
  Reader(const Keys& keys, std::string what, Diag& diag)
      : keys_(keys), what_(std::move(what)), diag_(diag), before_(diag.errors()) {}

  const YamlNode* find(const std::string& key) {
    known_.push_back(key);
    const auto it = keys_.find(key);
    return it == keys_.end() || it->second.is_null() ? nullptr : &it->second;
  }
  void error(const YamlNode* at, const std::string& message, const std::string& help = {}) {
    if (at == nullptr && !keys_.empty()) at = &keys_.begin()->second;
    const SourceLoc loc = at != nullptr ? at->loc() : SourceLoc{};
    diag_.error(loc, fmt::format("{}: {}", what_, message), help);
  }
  double rate(const std::string& key) {
    const YamlNode* n = required(key);
    return n != nullptr ? rate(*n, key) : 0;
  }
  double rate(const YamlNode& n, const std::string& key) {
    double v = 0;
    if (n.read(v, key, diag_) && !(v >= 0 && std::isfinite(v)))
      error(&n, fmt::format("{} is not a learning rate; it must not be negative", v));
    return v;
  }
  double positive(const std::string& key, std::optional<double> otherwise) {
    const YamlNode* n = otherwise ? find(key) : required(key);
    double v = otherwise.value_or(1);
    if (n != nullptr && n->read(v, key, diag_) && !(v > 0 && std::isfinite(v)))
      error(n, fmt::format("{} is {}, it must be above 0", key, v));
    return v;
  }
  // The first of these keys that is there; 0 if none is.
  int64_t steps(const std::vector<std::string>& names) {
    const YamlNode* found = nullptr;
    std::string used;
    int64_t v = 0;
    for (const std::string& name : names) {
      const YamlNode* n = find(name);
      if (n == nullptr) continue;
      if (found != nullptr) {
        error(n, fmt::format("{} and {} both say how many steps there are", used, name));
        continue;
      }
      found = n;
      used = name;
      if (n->read(v, name, diag_) && v < 1) error(n, fmt::format("{} is {}, it must be at least 1", name, v));
    }
    return v;
  }
  bool flag(const std::string& key, bool otherwise) {
    const YamlNode* n = find(key);
    if (n == nullptr) return otherwise;
    const std::string v = n->is_scalar() && !n->quoted() ? lower(n->text()) : "";
    if (v != "true" && v != "false") error(n, key + " must be true or false");
    return v == "true";
  }
  template <typename T>
  std::vector<T> list(const std::string& key, const std::string& alias) {
    std::vector<T> v;
    const YamlNode* n = find(alias);
    if (n == nullptr) n = required(key);
    if (n != nullptr) n->read(v, key, diag_);
    return v;
  }
  void finish() {
    for (const auto& [key, value] : keys_) {
      if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
      const std::string near = nearest(key, known_);
      if (!near.empty())
        error(&value, fmt::format("unknown key '{}'", key), "did you mean '" + near + "'?");
      else
        diag_.warning(value.loc(), fmt::format("{}: unknown key '{}': it changes nothing", what_, key));
    }
  }
  bool ok() const { return diag_.errors() == before_; }

 private:
  const YamlNode* required(const std::string& key) {
    const YamlNode* n = find(key);
    if (n == nullptr) error(nullptr, "needs the key '" + key + "'");
    return n;
  }
  const Keys& keys_;
  std::string what_;
  Diag& diag_;
  size_t before_;
  std::vector<std::string> known_;
};

// How long a schedule lasts and how long it decays; without one of the two the other is both.
void read_lengths(Reader& r, Schedule& s, bool required) {
  s.steps = r.steps({"steps"});
  s.decay_steps = r.steps({"decay_steps", "total_iters"});
  if (required && s.steps == 0 && s.decay_steps == 0) r.error(nullptr, "needs the key 'steps'");
  if (s.steps == 0) s.steps = s.decay_steps;
  if (s.decay_steps == 0) s.decay_steps = s.steps;
}

void read_decay(Reader& r, Schedule& s) {
  s.initial = r.rate("initial_learning_rate");
  s.end = r.rate("end_learning_rate");
  read_lengths(r, s, true);
}

void read_constant(Reader& r, Schedule& s) {
  s.kind = Schedule::Kind::constant;
  s.initial = r.rate("learning_rate");
  read_lengths(r, s, false);
}

void read_linear(Reader& r, Schedule& s) {
  s.kind = Schedule::Kind::polynomial;
  read_decay(r, s);
}

void read_polynomial(Reader& r, Schedule& s) {
  read_linear(r, s);
  s.power = r.positive("power", 1);
}

void read_cosine(Reader& r, Schedule& s) {
  s.kind = Schedule::Kind::cosine;
  read_decay(r, s);
}

void read_exponential(Reader& r, Schedule& s) {
  s.kind = Schedule::Kind::exponential;
  s.initial = r.rate("initial_learning_rate");
  s.decay_rate = r.positive("decay_rate", {});
  s.staircase = r.flag("staircase", false);
  read_lengths(r, s, true);
}

void read_inverse_root(Reader& r, Schedule& s) {
  s.kind = Schedule::Kind::inverse_root;
  s.initial = r.positive("initial_learning_rate", 1) * r.positive("scale", 1);
  s.warmup_steps = std::max<int64_t>(1, r.steps({"warmup_steps"}));
  read_lengths(r, s, false);
}

void read_piecewise(Reader& r, Schedule& s) {
  s.kind = Schedule::Kind::piecewise;
  s.values = r.list<double>("values", "learning_rates");
  s.boundaries = r.list<int64_t>("boundaries", "milestones");
  read_lengths(r, s, false);
  if (!r.ok()) return;
  for (const double v : s.values)
    if (!(v >= 0 && std::isfinite(v)))
      r.error(nullptr, fmt::format("{} is not a learning rate; it must not be negative", v));
  if (s.values.size() != s.boundaries.size() + 1)
    r.error(nullptr, fmt::format("{} values for {} boundaries; there must be one more", s.values.size(),
                                 s.boundaries.size()));
  for (size_t k = 0; k < s.boundaries.size(); ++k)
    if (s.boundaries[k] < 1 || (k > 0 && s.boundaries[k] <= s.boundaries[k - 1]))
      r.error(nullptr,
              fmt::format("boundary {} is out of order; they must rise, from 1 on", s.boundaries[k]));
}

struct Scheduler {
  const char* name;
  void (*read)(Reader&, Schedule&);
};
constexpr Scheduler kSchedulers[] = {
    {"Constant", read_constant},
    {"Linear", read_linear},
    {"Polynomial", read_polynomial},
    {"CosineDecay", read_cosine},
    {"Exponential", read_exponential},
    {"PiecewiseConstant", read_piecewise},
    {"InverseSquareRootDecay", read_inverse_root},
};

std::optional<Schedule> read_schedule(const Keys& keys, const std::string& what, Diag& diag) {
  Reader r(keys, what, diag);
  const YamlNode* node = r.find("scheduler");
  std::string name;
  if (node == nullptr) r.error(nullptr, "a schedule needs the key 'scheduler'");
  if (node == nullptr || !node->read(name, "scheduler", diag)) return std::nullopt;
  // The later style of the zoo calls them LinearLR and so on.
  const std::string plain =
      name.size() > 2 && lower(name).ends_with("lr") ? name.substr(0, name.size() - 2) : name;
  std::vector<std::string> names;
  std::string all;
  for (const Scheduler& s : kSchedulers) {
    names.emplace_back(s.name);
    all += fmt::format("{}{}", all.empty() ? "" : ", ", s.name);
    if (lower(s.name) != lower(plain)) continue;
    Schedule out;
    s.read(r, out);
    r.finish();
    return r.ok() ? std::optional(out) : std::nullopt;
  }
  const std::string near = nearest(plain, names);
  r.error(node, fmt::format("unknown scheduler '{}'; there are {}", name, all),
          near.empty() ? "" : "did you mean '" + near + "'?");
  return std::nullopt;
}

Keys keys_of(const YamlNode& map) {
  Keys keys;
  for (const auto& [key, value] : map.entries()) keys[key.text()] = value;
  return keys;
}

}  // namespace

double Schedule::at(int64_t step) const {
  const bool ends = kind == Kind::polynomial || kind == Kind::cosine;
  const auto s = double(std::max<int64_t>(0, ends ? std::min(step, decay_steps) : step));
  switch (kind) {
    case Kind::constant:
      return initial;
    case Kind::polynomial:
      return end + (initial - end) * std::pow(1 - s / double(decay_steps), power);
    case Kind::cosine:
      return end + (initial - end) * 0.5 * (1 + std::cos(std::numbers::pi * s / double(decay_steps)));
    case Kind::exponential: {
      const double periods = s / double(decay_steps);
      return initial * std::pow(decay_rate, staircase ? std::floor(periods) : periods);
    }
    case Kind::inverse_root:
      return initial / std::sqrt(std::max(s, double(warmup_steps)));
    case Kind::piecewise: {
      const auto passed =
          std::upper_bound(boundaries.begin(), boundaries.end(), int64_t(s)) - boundaries.begin();
      return values[size_t(passed)];
    }
  }
  return 0;
}

LearningRate::LearningRate(double constant) {
  Schedule s;
  s.initial = constant;
  parts_ = {s};
}

double LearningRate::value(int64_t step) const {
  int64_t start = 0;
  for (size_t k = 0; k + 1 < parts_.size(); ++k) {
    if (step < start + parts_[k].steps) return parts_[k].at(steps_restart ? step - start : step);
    start += parts_[k].steps;
  }
  return parts_.back().at(steps_restart ? step - start : step);
}

std::optional<LearningRate> read_learning_rate(const Keys& keys, const std::string& what, Diag& diag) {
  const auto one = read_schedule(keys, what, diag);
  return one ? std::optional(LearningRate(std::vector{*one})) : std::nullopt;
}

std::optional<LearningRate> read_learning_rate(const YamlNode& node, const std::string& what, Diag& diag) {
  if (node.is_map()) return read_learning_rate(keys_of(node), what, diag);
  if (!node.is_sequence()) {
    const size_t before = diag.errors();
    const double rate = Reader({}, what, diag).rate(node, what);
    return diag.errors() == before ? std::optional(LearningRate(rate)) : std::nullopt;
  }
  std::vector<Schedule> parts;
  const std::vector<YamlNode>& items = node.items();
  if (items.empty()) diag.error(node.loc(), what + ": the list of schedules is empty");
  for (size_t k = 0; k < items.size(); ++k) {
    if (!items[k].is_map()) {
      diag.error(items[k].loc(), what + ": an item of the list must be a schedule with its keys");
      continue;
    }
    const auto one = read_schedule(keys_of(items[k]), what, diag);
    if (one && one->steps == 0 && k + 1 < items.size())
      diag.error(items[k].loc(), what + ": only the last schedule of a list may leave out 'steps'");
    else if (one)
      parts.push_back(*one);
  }
  if (parts.empty() || parts.size() != items.size()) return std::nullopt;
  return LearningRate(std::move(parts));
}

namespace {

std::string schedule_text(const Schedule& s) {
  const std::string lengths = (s.steps > 0 ? fmt::format(", steps: {}", s.steps) : "") +
                              (s.decay_steps > 0 ? fmt::format(", decay_steps: {}", s.decay_steps) : "");
  switch (s.kind) {
    case Schedule::Kind::constant:
      return fmt::format("{{scheduler: Constant, learning_rate: {}{}}}", s.initial, lengths);
    case Schedule::Kind::polynomial:
      return fmt::format(
          "{{scheduler: Polynomial, initial_learning_rate: {}, end_learning_rate: {}, power: {}{}}}",
          s.initial, s.end, s.power, lengths);
    case Schedule::Kind::cosine:
      return fmt::format("{{scheduler: CosineDecay, initial_learning_rate: {}, end_learning_rate: {}{}}}",
                         s.initial, s.end, lengths);
    case Schedule::Kind::exponential:
      return fmt::format(
          "{{scheduler: Exponential, initial_learning_rate: {}, decay_rate: {}, staircase: {}{}}}", s.initial,
          s.decay_rate, s.staircase, lengths);
    case Schedule::Kind::piecewise:
      return fmt::format("{{scheduler: PiecewiseConstant, values: [{}], boundaries: [{}]{}}}",
                         fmt::join(s.values, ", "), fmt::join(s.boundaries, ", "), lengths);
    case Schedule::Kind::inverse_root:
      return fmt::format(
          "{{scheduler: InverseSquareRootDecay, initial_learning_rate: {}, warmup_steps: {}{}}}", s.initial,
          s.warmup_steps, lengths);
  }
  return "";
}

}  // namespace

std::string schedule_text(const LearningRate& rate) {
  if (rate.parts().size() == 1 && rate.parts()[0].kind == Schedule::Kind::constant)
    return fmt::format("{}", rate.parts()[0].initial);
  std::string out;
  for (const Schedule& s : rate.parts()) out += (out.empty() ? "" : ", ") + schedule_text(s);
  return "[" + out + "]";
}

}  // namespace cs
