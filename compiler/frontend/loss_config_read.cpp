// One loss is a map of keys: those of every loss, those of its row's attributes and optional operands.
#include "compiler/frontend/loss_config_read.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cs::frontend {

namespace {

using Keys = std::map<std::string, YamlNode>;

constexpr LossKind kKinds[] = {
    {"BCELoss", "bce_loss"},
    {"BCEWithLogitsLoss", "bce_with_logits_loss"},
    {"CosineEmbeddingLoss", "cosine_embedding_loss", Targets::rows},
    {"CrossEntropyLoss", "cross_entropy_loss", Targets::classes},
    {"CTCLoss", "ctc_loss", Targets::labels},
    {"GaussianNLLLoss", "gaussian_nll_loss"},
    {"HingeEmbeddingLoss", "hinge_embedding_loss"},
    {"HuberLoss", "huber_loss"},
    {"KLDivLoss", "kl_div_loss"},
    {"L1Loss", "l1_loss"},
    {"MarginRankingLoss", "margin_ranking_loss"},
    {"MSELoss", "mse_loss"},
    {"MultiLabelSoftMarginLoss", "multi_label_soft_margin_loss"},
    {"MultiMarginLoss", "multi_margin_loss", Targets::classes},
    {"NLLLoss", "nll_loss", Targets::classes},
    {"PoissonNLLLoss", "poisson_nll_loss"},
    {"SmoothL1Loss", "smooth_l1_loss"},
    {"TripletMarginLoss", "triplet_margin_loss", Targets::none},
    {"TripletMarginWithDistanceLoss", "triplet_margin_with_distance_loss", Targets::none},
};

// Attributes that are truth values in torch.nn.
constexpr std::string_view kFlags[] = {"full", "log_input", "log_target", "swap", "zero_infinity"};

std::string lower(std::string s) {
  for (char& c : s) c = char(std::tolower(static_cast<unsigned char>(c)));
  return s;
}

class Reader {
 public:
  Reader(ModelConfig& c, LossesConfig& out) : c_(c), diag_(c.diag()), out_(out) {}

  bool run() {
    const size_t before = diag_.errors();
    std::vector<std::string> taken;
    for (const LossKind& k : kKinds) taken.emplace_back(k.name);
    Keys keys;
    const YamlNode* name = nullptr;
    const YamlNode* list = nullptr;
    for (const auto& [path, node] : c_.values()) {
      constexpr std::string_view kMap = "model.loss.";
      if (path == "custom_losses" && !node.is_null())
        for (CustomLoss& l : read_custom_losses(node, taken, diag_)) out_.custom.push_back(std::move(l));
      else if (path.starts_with("custom_losses."))
        diag_.error(node.loc(), "custom_losses must be a list",
                    "custom_losses: [{name: ..., inputs: [...], expr: ...}]");
      else if (path.starts_with(kMap))
        keys[path.substr(kMap.size())] = node;
      else if (path == "model.loss" && !node.is_null())
        name = &node;
      else if (path == "losses" && !node.is_null())
        list = &node;
      else if (path.starts_with("losses."))
        diag_.error(node.loc(), "losses must be a list", "losses: [{type: ...}, {type: ...}]");
    }
    if (diag_.errors() != before) return false;  // else who uses such a loss would hear that there is none
    if (name != nullptr && !keys.empty())
      diag_.error(name->loc(), "model.loss is there as a name and as keys");
    else if (name != nullptr && name->is_sequence())
      read_list(*name, "model.loss");
    else if (name != nullptr)
      read_one({{"type", *name}}, "model.loss", name->loc());
    else if (!keys.empty())
      read_one(keys, "model.loss", keys.begin()->second.loc());
    if (list != nullptr && (name != nullptr || !keys.empty()))
      diag_.error(list->loc(), "there are 'model.loss' and 'losses'", "put all of them into the list");
    else if (list != nullptr)
      read_list(*list, "losses");
    return diag_.errors() == before;
  }

 private:
  void read_list(const YamlNode& list, const std::string& what) {
    if (!list.is_sequence() || list.items().empty()) {
      diag_.error(list.loc(), what + " must be a list of losses", what + ": [{type: ...}, {type: ...}]");
      return;
    }
    for (const YamlNode& item : list.items()) {
      Keys keys;
      if (item.is_scalar()) {
        keys["type"] = item;
      } else if (item.is_map()) {
        for (const auto& [key, value] : item.entries()) keys[key.text()] = value;
      } else {
        diag_.error(item.loc(), "a loss is its name or a map of keys");
        continue;
      }
      read_one(keys, what, item.loc());
    }
  }

  void read_one(const Keys& keys, const std::string& what, SourceLoc at) {
    LossUse use;
    use.at = at;
    what_ = what;
    keys_ = keys;
    known_ = {"type"};
    const YamlNode* type = find("type");
    if (type == nullptr) {
      diag_.error(at, what + ": 'type' is missing", "type is a class of torch.nn, such as CrossEntropyLoss");
      return;
    }
    use.at = type->loc();
    if (!type->read(use.name, what + ".type", diag_) || !find_type(use)) return;
    read_common(use);
    if (use.kind != nullptr)
      read_row(use);
    else
      read_args(use);
    check_names(use);
    if (use.custom != nullptr) use.kind = nullptr;  // also of a distance of one's own
    if (use.custom != nullptr)
      use.use_autogen = asks_for_one_kernel(*use.custom, use.use_autogen, use.at, diag_);
    out_.uses.push_back(std::move(use));
  }

  bool find_type(LossUse& use) {
    use.kind = find_loss_kind(use.name);
    for (const CustomLoss& l : out_.custom)
      if (lower(l.name) == lower(use.name)) use.custom = &l;
    if (use.kind != nullptr || use.custom != nullptr) return true;
    std::vector<std::string> names;
    for (const LossKind& k : kKinds) names.emplace_back(k.name);
    for (const CustomLoss& l : out_.custom) names.push_back(l.name);
    const std::string near = nearest(use.name, names);
    diag_.error(use.at, fmt::format("unknown loss '{}'; there are {}", use.name, fmt::join(names, ", ")),
                near.empty() ? "losses of your own stand in custom_losses" : "did you mean '" + near + "'?");
    return false;
  }

  // ---- keys

  const YamlNode* find(const std::string& key) {
    known_.push_back(key);
    const auto it = keys_.find(key);
    return it == keys_.end() || it->second.is_null() ? nullptr : &it->second;
  }
  void error(const YamlNode& at, const std::string& message, const std::string& help = {}) {
    diag_.error(at.loc(), what_ + ": " + message, help);
  }
  std::optional<bool> flag(const std::string& key) {
    const YamlNode* n = find(key);
    if (n == nullptr) return std::nullopt;
    const std::string text = n->is_scalar() && !n->quoted() ? lower(n->text()) : "";
    if (text == "true" || text == "1") return true;
    if (text != "false" && text != "0") error(*n, key + " must be true or false");
    return false;
  }
  std::optional<double> real(const std::string& key) {
    const YamlNode* n = find(key);
    double v = 0;
    if (n == nullptr) return std::nullopt;
    if (n->is_scalar() && !n->quoted() && (lower(n->text()) == "inf" || lower(n->text()) == ".inf"))
      return HUGE_VAL;
    if (!n->read(v, what_ + "." + key, diag_)) return std::nullopt;
    if (std::isfinite(v)) return v;
    error(*n, key + " must be a finite number");
    return std::nullopt;
  }
  std::string word(const std::string& key) {
    const YamlNode* n = find(key);
    std::string v;
    if (n != nullptr) n->read(v, what_ + "." + key, diag_);
    return v;
  }
  std::string one_of(const std::string& key, const std::vector<std::string>& words, std::string otherwise) {
    const YamlNode* n = find(key);
    if (n == nullptr) return otherwise;
    std::string v;
    if (!n->read(v, what_ + "." + key, diag_)) return otherwise;
    v = lower(v);
    if (std::find(words.begin(), words.end(), v) != words.end()) return v;
    const std::string near = nearest(v, words);
    error(*n, fmt::format("{} is '{}'; there are {}", key, v, fmt::join(words, ", ")),
          near.empty() ? "" : "did you mean '" + near + "'?");
    return otherwise;
  }

  void read_common(LossUse& use) {
    std::vector<std::string> reductions = {"mean", "sum", "none"};
    if (use.kind != nullptr && use.kind->row == std::string_view("kl_div_loss"))
      reductions.emplace_back("batchmean");
    use.reduction = one_of("reduction", reductions, "mean");
    // What `reduction` was before it had a name.
    const std::optional<bool> average = flag("size_average"), reduce = flag("reduce");
    if (average || reduce) {
      if (keys_.contains("reduction"))
        error(keys_.at(average ? "size_average" : "reduce"),
              "'reduction' says the same as size_average and reduce");
      use.reduction = !reduce.value_or(true) ? "none" : average.value_or(true) ? "mean" : "sum";
    }
    use.use_autogen = flag("use_autogen").value_or(false);
    use.output = word("output");
    use.target = word("target");
    use.factor = real("factor").value_or(1);
    if (!std::isfinite(use.factor)) error(keys_.at("factor"), "factor must be finite");
  }

  // Attributes and optional operands of the row have the names of torch.nn.
  void read_row(LossUse& use) {
    const ops::OpDef& row = *ops::find_op(use.kind->row);
    for (const ops::AttrDef& a : row.attrs) {
      const std::string name(a.name);
      if (name == "reduction" || name == ops::kUseAutogen) continue;
      if (name == "distance") {
        read_distance(use);
      } else if (std::find(std::begin(kFlags), std::end(kFlags), name) != std::end(kFlags)) {
        if (const auto v = flag(name)) set(use, name, int64_t(*v));
      } else if (a.kind == ops::AttrKind::integer) {
        int64_t v = 0;
        const YamlNode* n = find(name);
        if (n != nullptr && n->read(v, what_ + "." + name, diag_)) set(use, name, v);
      } else if (const auto v = real(name)) {
        set(use, name, *v);
      }
    }
    const size_t optional = row.operands.size() - size_t(row.optional_operands);
    for (size_t k = optional; k < row.operands.size(); ++k) {
      const std::string name(row.operands[k]);
      const YamlNode* n = find(name);
      if (n == nullptr || !n->read(use.lists[name], what_ + "." + name, diag_)) continue;
      const std::vector<double>& list = use.lists[name];
      if (list.empty() || !std::all_of(list.begin(), list.end(), [](double w) { return std::isfinite(w); }))
        error(*n, name + " must hold finite numbers, one for every class");
    }
    if (use.kind->row == std::string_view("cross_entropy_loss"))
      use.probabilities = one_of("class_targets", {"indices", "probabilities"}, "indices") == "probabilities";
    if (use.kind->targets == Targets::labels) {
      const YamlNode* n = find("max_target_length");
      if (n != nullptr && n->read(use.labels, what_ + ".max_target_length", diag_) &&
          (use.labels < 1 || use.labels > 100'000))
        error(*n, "max_target_length must be from 1 to 100000");
    }
  }
  // One of the names that the row has, or an expression over `a` and `b`, with which the loss is one of one's
  // own.
  void read_distance(LossUse& use) {
    const char* key = keys_.contains("distance") ? "distance" : "distance_function";
    known_.insert(known_.end(), {"distance", "distance_function"});
    const YamlNode* n = find(key);
    if (n == nullptr || !n->is_scalar() || n->text().find_first_of("(+-*/^") == std::string::npos)
      return set(use, "distance", one_of(key, {"pairwise_l2", "l1", "sq_l2", "cosine"}, "pairwise_l2"));
    ops::CustomFacts facts;
    std::string problem;
    if (!ops::check_custom_formula({n->text(), {"a", "b"}, {}}, facts, problem))
      return formula_error(*n, "distance", problem, diag_);
    const ops::OpDef& row = *ops::find_op(use.kind->row);
    const auto between = [&](const char* a, const char* b) { return "(" + renamed(n->text(), a, b) + ")"; };
    std::string far = between("anchor", "negative");
    if (ops::attr_int(row, use.attrs, "swap") != 0)
      far = fmt::format("min({}, {})", far, between("positive", "negative"));
    const std::string expr = fmt::format("clip(margin + {} - {}, min=0)", between("anchor", "positive"), far);
    out_.distances.push_back(
        {use.name, {expr, {"anchor", "positive", "negative"}, {"margin"}}, {}, use.use_autogen});
    out_.distances.back().facts.is_index.assign(3, false);
    out_.distances.back().expr = *n;
    use.values = {ops::attr_real(row, use.attrs, "margin")};
    use.custom = &out_.distances.back();
  }
  // The expression with other names for `a` and `b`.
  static std::string renamed(const std::string& text, const std::string& a, const std::string& b) {
    std::string out;
    for (size_t k = 0; k < text.size();) {
      size_t end = k;
      while (end < text.size() &&
             (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_'))
        ++end;
      const std::string word = text.substr(k, std::max<size_t>(end - k, 1));
      out += word == "a" ? a : word == "b" ? b : word;
      k += word.size();
    }
    return out;
  }
  static void set(LossUse& use, const std::string& name, AttrValue v) {
    ops::set_attr(use.attrs, name, std::move(v));
  }

  void read_args(LossUse& use) {
    use.values = use.custom->values;
    for (size_t k = 0; k < use.values.size(); ++k)
      use.values[k] = real(use.custom->formula.args[k]).value_or(use.values[k]);
  }

  void check_names(const LossUse& use) {
    for (const auto& [key, node] : keys_) {
      if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
      const std::string near = nearest(key, known_);
      error(
          node, fmt::format("{} has no key '{}'", use.name, key),
          near.empty() ? fmt::format("it has {}", fmt::join(known_, ", ")) : "did you mean '" + near + "'?");
    }
  }

  ModelConfig& c_;
  Diag& diag_;
  LossesConfig& out_;
  std::string what_;  // of the loss that is read
  Keys keys_;
  std::vector<std::string> known_;
};

}  // namespace

std::span<const LossKind> loss_kinds() { return kKinds; }

const LossKind* find_loss_kind(std::string name) {
  name = lower(std::move(name));
  if (name.starts_with("loss.")) name = name.substr(5);
  for (const LossKind& k : kKinds)
    if (name == lower(k.name)) return &k;
  return nullptr;
}

bool read_losses(ModelConfig& c, LossesConfig& out) { return Reader(c, out).run(); }

}  // namespace cs::frontend
