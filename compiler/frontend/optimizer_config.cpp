// One line per key: its spellings, which optimizers have it, its range and where it goes.
#include "compiler/frontend/optimizer_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cs::frontend {

namespace {

constexpr std::string_view kSection = "optimizer.";

constexpr std::array<std::string_view, 5> kBuilt = {"sgd", "adam", "adamw", "adagrad", "rmsprop"};
constexpr std::array<std::string_view, 5> kSpelled = {"SGD", "Adam", "AdamW", "Adagrad", "RMSprop"};
// Others of the zoo, whose forward graphs compile all the same.
constexpr std::array<std::string_view, 8> kOthers = {"adamax", "adafactor", "adadelta", "asgd",
                                                     "lamb",   "nadam",     "radam",    "rprop"};

enum Of : unsigned { kSgd = 1, kAdam = 2, kAdamW = 4, kAdagrad = 8, kRms = 16, kAll = 31 };
constexpr unsigned kAdams = kAdam | kAdamW;

struct RealKey {
  std::array<const char*, 3> names;  // the first is the one to suggest
  unsigned of;
  double OptimizerConfig::*field;
  double low = 0, high = std::numeric_limits<double>::infinity();  // the upper end is not allowed
  bool above_low = false;                                          // nor the lower one
};
constexpr RealKey kReals[] = {
    {{"weight_decay_rate", "weight_decay"}, kAll, &OptimizerConfig::weight_decay},
    {{"beta1", "beta_1"}, kAdams, &OptimizerConfig::beta1, 0, 1},
    {{"beta2", "beta_2"}, kAdams, &OptimizerConfig::beta2, 0, 1},
    {{"eps", "epsilon"}, kAdams | kAdagrad | kRms, &OptimizerConfig::eps},
    {{"momentum"}, kSgd | kRms, &OptimizerConfig::momentum},
    {{"dampening"}, kSgd, &OptimizerConfig::dampening},
    {{"alpha"}, kRms, &OptimizerConfig::alpha, 0, 1},
    {{"lr_decay"}, kAdagrad, &OptimizerConfig::lr_decay},
    {{"initial_accumulator_value"}, kAdagrad, &OptimizerConfig::initial_accumulator},
    {{"max_gradient_norm"}, kAll, &OptimizerConfig::max_gradient_norm},
    {{"max_gradient_value"}, kAll, &OptimizerConfig::max_gradient_value},
};

struct FlagKey {
  std::array<const char*, 2> names;
  unsigned of;
  bool OptimizerConfig::*field;  // null: says nothing that a step depends on
};
constexpr FlagKey kFlags[] = {
    {{"nesterov", "use_nesterov"}, kSgd, &OptimizerConfig::nesterov},
    {{"amsgrad"}, kAdams, &OptimizerConfig::amsgrad},
    {{"correct_bias", "use_bias_correction"}, kAdams, &OptimizerConfig::correct_bias},
    {{"centered"}, kRms, &OptimizerConfig::centered},
    {{"maximize"}, kAll, &OptimizerConfig::maximize},
    {{"log_grads"}, kAll, nullptr},
    {{"log_hists"}, kAll, nullptr},
    {{"log_summaries"}, kAll, nullptr},
    {{"ws_summary"}, kAll, nullptr},
};

// Keys that are read one by one below, and those of optimizers that are not built.
constexpr const char* kTogether[] = {"optimizer_type",
                                     "name",
                                     "learning_rate",
                                     "lr",
                                     "betas",
                                     "loss_scaling_factor",
                                     "initial_loss_scale",
                                     "steps_per_increase",
                                     "min_loss_scale",
                                     "max_loss_scale",
                                     "disable_lr_steps_reset"};
constexpr const char* kOfOthers[] = {"adjust_learning_rate",
                                     "clip_threshold",
                                     "decay_rate",
                                     "eps1",
                                     "eps2",
                                     "params",
                                     "relative_step",
                                     "rho",
                                     "scale_parameter",
                                     "warmup_init",
                                     "momentum_decay",
                                     "lambd",
                                     "t0",
                                     "eta1",
                                     "eta2",
                                     "step_size_min",
                                     "step_size_max",
                                     "adam"};

std::string lower(std::string s) {
  for (char& c : s) c = char(std::tolower(static_cast<unsigned char>(c)));
  return s;
}

template <size_t N>
bool among(const std::array<std::string_view, N>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

class Reader {
 public:
  explicit Reader(ModelConfig& c) : c_(c), before_(c.diag().errors()) {}

  std::optional<OptimizerConfig> read() {
    collect();
    if (keys_.empty()) return std::nullopt;
    const bool named = read_type();
    check_names();
    OptimizerConfig out;
    if (type_ == OptimizerType::adamw) out.weight_decay = 0.01;
    if (type_ == OptimizerType::adagrad) out.eps = 1e-10;
    read_rate(out);
    for (const RealKey& k : kReals) read_real(k, out);
    for (const FlagKey& k : kFlags) read_flag(k, out);
    read_betas(out);
    read_scaling(out);
    check_together(out);
    const bool fine = c_.diag().errors() == before_;
    out.type = type_;
    return named && fine ? std::optional(out) : std::nullopt;
  }

 private:
  // "optimizer.AdamW.betas" is the key betas of AdamW.
  void collect() {
    for (const auto& [path, node] : c_.values()) {
      if (!path.starts_with(kSection)) continue;
      std::string key = path.substr(kSection.size());
      const size_t point = key.find('.');
      const std::string first = lower(key.substr(0, point));
      if (among(kBuilt, first) || among(kOthers, first)) {
        if (!section_.empty() && lower(section_) != first)
          error(node, fmt::format("there are two optimizers, {} and {}", section_, key.substr(0, point)));
        section_ = key.substr(0, point);
        section_node_ = node;
        if (point == std::string::npos) continue;  // a section without keys
        key = key.substr(point + 1);
      }
      if (!node.is_null()) keys_[key] = node;
    }
    if (!section_.empty() && keys_.empty()) keys_["name"] = section_node_;
  }
  void error(const YamlNode& at, const std::string& message, const std::string& help = {}) {
    c_.diag().error(at.loc(), "optimizer: " + message, help);
  }
  const YamlNode* find(const std::string& key) const {
    const auto it = keys_.find(key);
    return it == keys_.end() ? nullptr : &it->second;
  }
  // The node under any spelling; two of them are an error.
  template <size_t N>
  const YamlNode* find(const std::array<const char*, N>& names) {
    const YamlNode* found = nullptr;
    for (const char* name : names) {
      const YamlNode* n = name != nullptr ? find(name) : nullptr;
      if (n == nullptr) continue;
      if (found != nullptr) error(*n, fmt::format("'{}' says the same as another key", name));
      found = n;
    }
    return found;
  }

  // False if no optimizer is named that is built.
  bool read_type() {
    std::string name = section_;
    const YamlNode* node = section_.empty() ? find(std::array{"optimizer_type", "name"}) : &section_node_;
    if (node == nullptr) return false;
    if (section_.empty() && !node->read(name, "optimizer_type", c_.diag())) return false;
    const auto it = std::find(kBuilt.begin(), kBuilt.end(), lower(name));
    if (it != kBuilt.end()) {
      type_ = OptimizerType(it - kBuilt.begin());
      known_type_ = true;
      return true;
    }
    std::vector<std::string> names(kSpelled.begin(), kSpelled.end());
    const std::string all = fmt::format("{}", fmt::join(names, ", "));
    if (among(kOthers, lower(name))) {
      other_ = true;
      c_.diag().warning(node->loc(), fmt::format("optimizer: {} is not built; there are {}", name, all));
      return false;
    }
    const std::string near = nearest(name, names);
    error(*node, fmt::format("unknown optimizer '{}'; there are {}", name, all),
          near.empty() ? "" : "did you mean '" + near + "'?");
    return false;
  }

  void check_names() {
    std::vector<std::string> known(std::begin(kTogether), std::end(kTogether));
    for (const RealKey& k : kReals) add_names(k.names, known);
    for (const FlagKey& k : kFlags) add_names(k.names, known);
    for (const auto& [key, node] : keys_) {
      const std::string head = key.substr(0, key.find('.'));
      const bool map =
          head == "learning_rate" || head == "lr" || head == "adjust_learning_rate" || head == "params";
      const std::string& name = map ? head : key;
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      if (std::find(std::begin(kOfOthers), std::end(kOfOthers), name) != std::end(kOfOthers)) {
        if (!other_) unused(node, name);
        continue;
      }
      const std::string near = nearest(key, known);
      error(node, fmt::format("unknown key '{}{}'", kSection, key),
            near.empty() ? "" : fmt::format("did you mean '{}{}'?", kSection, near));
    }
  }
  template <size_t N>
  static void add_names(const std::array<const char*, N>& names, std::vector<std::string>& known) {
    for (const char* n : names)
      if (n != nullptr) known.emplace_back(n);
  }
  void warn(const YamlNode& at, const std::string& message) {
    c_.diag().warning(at.loc(), "optimizer: " + message);
  }
  void unused(const YamlNode& at, const std::string& key) {
    const std::string of = known_type_ ? fmt::format(" for {}", kSpelled[size_t(type_)]) : "";
    warn(at, fmt::format("'{}' changes nothing{}", key, of));
  }
  bool has_key(unsigned of) const { return !known_type_ || (of & (1U << unsigned(type_))) != 0; }

  void read_rate(OptimizerConfig& out) {
    const char* name = find("lr") != nullptr ? "lr" : "learning_rate";
    const std::string what = std::string(kSection) + name;
    std::map<std::string, YamlNode> map;  // one schedule, whose keys the configuration holds by their paths
    for (const auto& [key, node] : keys_)
      for (const char* prefix : {"learning_rate.", "lr."})
        if (key.starts_with(prefix)) map[key.substr(std::string_view(prefix).size())] = node;
    const YamlNode* node = find(std::array{"learning_rate", "lr"});
    if (node != nullptr && !map.empty()) error(*node, what + " is there as a rate and as a schedule");
    if (node != nullptr) out.learning_rate = read_learning_rate(*node, what, c_.diag());
    if (node == nullptr && !map.empty()) out.learning_rate = read_learning_rate(map, what, c_.diag());
    bool keeps_count = false;
    if (const YamlNode* n = find("disable_lr_steps_reset"))
      read_truth(*n, "disable_lr_steps_reset", keeps_count);
    if (out.learning_rate) out.learning_rate->steps_restart = !keeps_count;
  }

  void read_real(const RealKey& k, OptimizerConfig& out) {
    const YamlNode* n = find(k.names);
    if (n == nullptr || !read_number(*n, k.names[0], k.low, k.high, k.above_low, out.*k.field)) return;
    if (!has_key(k.of)) unused(*n, k.names[0]);
  }
  bool read_number(const YamlNode& n, const std::string& name, double low, double high, bool above_low,
                   double& v) {
    if (!n.read(v, std::string(kSection) + name, c_.diag())) return false;
    if (v >= low && v < high && !(above_low && v == low)) return true;
    error(n, fmt::format("{} is {}, it must be {} {}{}", name, v, above_low ? "above" : "at least", low,
                         std::isfinite(high) ? fmt::format(" and below {}", high) : " and finite"));
    return false;
  }
  // The zoo writes True and False.
  bool read_truth(const YamlNode& n, const std::string& name, bool& v) {
    const std::string text = n.is_scalar() && !n.quoted() ? lower(n.text()) : "";
    if (text != "true" && text != "false") {
      error(n, name + " must be true or false");
      return false;
    }
    v = text == "true";
    return true;
  }
  void read_flag(const FlagKey& k, OptimizerConfig& out) {
    const YamlNode* n = find(k.names);
    bool v = false;
    if (n == nullptr || !read_truth(*n, k.names[0], v)) return;
    if (k.field == nullptr) return;
    out.*k.field = v;
    if (!has_key(k.of)) unused(*n, k.names[0]);
  }

  void read_betas(OptimizerConfig& out) {
    const YamlNode* n = find("betas");
    if (n == nullptr) return;
    std::vector<double> betas;
    if (!n->read(betas, "betas", c_.diag())) return;
    if (betas.size() != 2)
      return error(*n, fmt::format("betas must be 2 numbers, there are {}", betas.size()));
    for (const char* single : {"beta1", "beta_1", "beta2", "beta_2"})
      if (const YamlNode* other = find(single))
        error(*other, fmt::format("'{}' says the same as 'betas'", single));
    for (const double b : betas)
      if (!(b >= 0 && b < 1)) error(*n, fmt::format("{} in betas must be at least 0 and below 1", b));
    out.beta1 = betas[0];
    out.beta2 = betas[1];
    if (!has_key(kAdams)) unused(*n, "betas");
  }

  void read_scaling(OptimizerConfig& out) {
    LossScaling& s = out.loss_scaling;
    const double inf = std::numeric_limits<double>::infinity();
    const YamlNode* n = find("loss_scaling_factor");
    if (n != nullptr && n->is_scalar() && lower(n->text()) == "dynamic") {
      s.dynamic = true;
      s.factor = s.max;
    } else if (n != nullptr && n->is_scalar() && !n->text().empty() &&
               std::isalpha(static_cast<unsigned char>(n->text()[0])) != 0) {
      error(*n, fmt::format("loss_scaling_factor is '{}'; it must be 'dynamic' or a number", n->text()),
            nearest(lower(n->text()), {"dynamic"}).empty() ? "" : "did you mean 'dynamic'?");
    } else if (n != nullptr) {
      read_number(*n, "loss_scaling_factor", 0, inf, true, s.factor);
    }
    bool moved = false;
    for (const auto& [key, field] :
         {std::pair{"initial_loss_scale", &LossScaling::factor},
          std::pair{"min_loss_scale", &LossScaling::min}, std::pair{"max_loss_scale", &LossScaling::max}}) {
      const YamlNode* k = find(key);
      if (k == nullptr) continue;
      if (!s.dynamic) warn(*k, fmt::format("'{}' changes nothing without loss_scaling_factor: dynamic", key));
      double v = 0;
      if (!read_number(*k, key, 0, inf, true, v) || !s.dynamic) continue;
      s.*field = v;
      moved = true;
    }
    if (moved && find("initial_loss_scale") == nullptr) s.factor = std::min(std::max(s.factor, s.min), s.max);
    if (moved && !(s.min <= s.factor && s.factor <= s.max))
      error(
          keys_.begin()->second,
          fmt::format("the loss scale must be from min_loss_scale {} to max_loss_scale {}, it begins with {}",
                      s.min, s.max, s.factor));
    if (const YamlNode* k = find("steps_per_increase")) {
      if (!s.dynamic) warn(*k, "'steps_per_increase' changes nothing without loss_scaling_factor: dynamic");
      if (k->read(s.steps_per_increase, "steps_per_increase", c_.diag()) && s.steps_per_increase < 1)
        error(*k, fmt::format("steps_per_increase is {}, it must be at least 1", s.steps_per_increase));
    }
  }

  void check_together(const OptimizerConfig& out) {
    if (out.max_gradient_norm > 0 && out.max_gradient_value > 0)
      error(*find("max_gradient_value"), "gradients are clipped by norm or by value, not by both");
    if (known_type_ && type_ == OptimizerType::sgd && out.nesterov &&
        (out.momentum == 0 || out.dampening != 0))
      error(*find(std::array{"nesterov", "use_nesterov"}), "nesterov needs a momentum and no dampening");
  }

  ModelConfig& c_;
  size_t before_;
  std::map<std::string, YamlNode> keys_;  // without the section's name
  std::string section_;
  YamlNode section_node_;
  OptimizerType type_ = OptimizerType::sgd;
  bool known_type_ = false, other_ = false;  // other: an optimizer that is not built
};

}  // namespace

std::optional<OptimizerConfig> read_optimizer(ModelConfig& c) { return Reader(c).read(); }

OptimizerRow row_of(const OptimizerConfig& c) {
  OptimizerRow row;
  const auto set = [&](std::string_view name, AttrValue v) { ops::set_attr(row.attrs, name, std::move(v)); };
  set("weight_decay", c.weight_decay);
  set("maximize", int64_t(c.maximize));
  switch (c.type) {
    case OptimizerType::sgd:
      row.name = "sgd_step";
      set("momentum", c.momentum);
      set("dampening", c.dampening);
      set("nesterov", int64_t(c.nesterov));
      break;
    case OptimizerType::adam:
    case OptimizerType::adamw:
      row.name = "adam_step";
      set("beta1", c.beta1);
      set("beta2", c.beta2);
      set("eps", c.eps);
      set("amsgrad", int64_t(c.amsgrad));
      set("decoupled", int64_t(c.type == OptimizerType::adamw));
      set("correction", std::string(c.correct_bias ? "moments" : "none"));
      break;
    case OptimizerType::adagrad:
      row.name = "adagrad_step";
      set("lr_decay", c.lr_decay);
      set("eps", c.eps);
      row.initial_state = c.initial_accumulator;
      break;
    case OptimizerType::rmsprop:
      row.name = "rmsprop_step";
      set("alpha", c.alpha);
      set("eps", c.eps);
      set("momentum", c.momentum);
      set("centered", int64_t(c.centered));
      break;
  }
  return row;
}

}  // namespace cs::frontend
