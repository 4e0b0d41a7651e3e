// Reading definitions of losses, and finding the place in the file that a formula's error means.
#include "compiler/frontend/custom_loss.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "compiler/frontend/loss_match.h"

namespace cs::frontend {

namespace {

// Keys of every use, which an argument would hide.
constexpr std::string_view kKeysOfUses[] = {"type",   "reduction", "use_autogen", "size_average", "reduce",
                                            "output", "factor",    "target",      "class_targets"};

std::string lower(std::string s) {
  for (char& c : s) c = char(std::tolower(static_cast<unsigned char>(c)));
  return s;
}

std::string_view line_of(std::string_view text, int line) {
  for (; line > 1; --line) {
    const size_t end = text.find('\n');
    if (end == text.npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

// The numbers of "line 2, column 5: ..."; what follows is left.
bool take_place(std::string_view& error, int& line, int& column) {
  const auto take = [&](std::string_view word, int& v) {
    if (!error.starts_with(word)) return false;
    error.remove_prefix(word.size());
    const auto [end, problem] = std::from_chars(error.data(), error.data() + error.size(), v);
    if (problem != std::errc()) return false;
    error.remove_prefix(size_t(end - error.data()));
    return true;
  };
  if (!take("line ", line) || !take(", column ", column) || !error.starts_with(": ")) return false;
  error.remove_prefix(2);
  return true;
}

class Definition {
 public:
  Definition(const YamlNode& node, const std::vector<std::string>& taken, Diag& diag)
      : node_(node), taken_(taken), diag_(diag) {}

  std::optional<CustomLoss> read() {
    const size_t before = diag_.errors();
    YamlMap m(node_, "custom_losses", diag_);
    if (!m.valid()) return std::nullopt;
    m.required("name", loss_.name);
    m.required("expr", loss_.formula.expr);
    if (const YamlNode* expr = m.child("expr")) loss_.expr = *expr;
    if (const YamlNode* autogen = m.child("autogen")) {
      const std::string text = autogen->is_scalar() && !autogen->quoted() ? lower(autogen->text()) : "";
      loss_.autogen = text == "true";
      if (text != "true" && text != "false") diag_.error(autogen->loc(), "autogen must be true or false");
    }
    if (const YamlNode* inputs = m.child("inputs"))
      inputs->read(loss_.formula.inputs, "inputs", diag_);
    else
      diag_.error(node_.loc(), "a custom loss needs 'inputs'",
                  "inputs: [logits, target]: the network's output, then what comes with the samples");
    if (const YamlNode* args = m.child("args")) read_args(*args);
    m.finish();
    if (diag_.errors() != before) return std::nullopt;
    check_name();
    std::string error;
    if (!ops::check_custom_formula(loss_.formula, loss_.facts, error))
      formula_error(loss_.expr, loss_.name, error, diag_);
    return diag_.errors() == before ? std::optional(std::move(loss_)) : std::nullopt;
  }

 private:
  void read_args(const YamlNode& args) {
    if (!args.is_map()) {
      diag_.error(args.loc(), "args must be a map of names and their defaults", "args: {alpha: 0.25}");
      return;
    }
    for (const auto& [key, value] : args.entries()) {
      double v = 0;
      if (!value.read(v, "args." + key.text(), diag_)) continue;
      if (std::find(std::begin(kKeysOfUses), std::end(kKeysOfUses), key.text()) != std::end(kKeysOfUses))
        diag_.error(key.loc(),
                    fmt::format("'{}' is a key of every loss, not a name of an argument", key.text()));
      loss_.formula.args.push_back(key.text());
      loss_.values.push_back(v);
    }
  }
  void check_name() {
    const auto same = [&](const std::string& other) { return lower(other) == lower(loss_.name); };
    if (loss_.name.empty() || std::any_of(taken_.begin(), taken_.end(), same))
      diag_.error(node_.loc(), fmt::format("'{}' is the name of another loss", loss_.name));
  }

  const YamlNode& node_;
  const std::vector<std::string>& taken_;
  Diag& diag_;
  CustomLoss loss_;
};

}  // namespace

// The formula's line is looked for from the scalar's on: in a block it stands below, in quotes beside.
void formula_error(const YamlNode& expr, const std::string& name, const std::string& error, Diag& diag) {
  std::string_view what = error;
  int line = 0, column = 0;
  SourceLoc at = expr.loc();
  if (take_place(what, line, column)) {
    const std::string_view wanted = line_of(expr.text(), line);
    for (uint32_t l = at.line; at.valid() && !wanted.empty() && l <= at.line + uint32_t(line) + 1; ++l) {
      const size_t found =
          diag.sources.line(at.file, l).find(wanted, l == expr.loc().line ? expr.loc().column - 1 : 0);
      if (found == std::string_view::npos) continue;
      at.line = l;
      at.column = uint32_t(found) + uint32_t(column);
      diag.error(at, fmt::format("custom loss {}: {}", name, what));
      return;
    }
  }
  diag.error(at, fmt::format("custom loss {}: {}", name, error));
}

std::vector<CustomLoss> read_custom_losses(const YamlNode& list, const std::vector<std::string>& taken,
                                           Diag& diag) {
  std::vector<CustomLoss> losses;
  if (!list.is_sequence()) {
    diag.error(list.loc(), "custom_losses must be a list",
               "custom_losses: [{name: ..., inputs: [...], expr: ...}]");
    return losses;
  }
  std::vector<std::string> names = taken;
  for (const YamlNode& item : list.items()) {
    auto loss = Definition(item, names, diag).read();
    if (!loss) continue;
    names.push_back(loss->name);
    losses.push_back(std::move(*loss));
  }
  return losses;
}

bool asks_for_one_kernel(const CustomLoss& loss, bool use_autogen, SourceLoc at, Diag& diag) {
  if (use_autogen && !loss.autogen) {
    const LossMatch match = match_catalogue(loss);
    if (match.same) return true;
    const std::string nearest = match.name.empty()
                                    ? "none has such inputs"
                                    : fmt::format("the nearest is {}: operation {} expected {}, found {}",
                                                  match.name, match.operation, match.expected, match.found);
    diag.warning(
        at,
        fmt::format("graph mismatch: use_autogen asks for one kernel, but the custom loss {} is none of the "
                    "catalogue's; {}; it is made of primitives",
                    loss.name, nearest),
        fmt::format("mark it autogen: true where it is defined (custom_losses: [{{name: {}, autogen: true, "
                    "...}}]; in C++ autogen_loss)",
                    loss.name));
  }
  if (!use_autogen && loss.autogen)
    diag.warning(
        at,
        fmt::format("the custom loss {} is marked autogen: true and is made of primitives all the same",
                    loss.name),
        "use_autogen: true where it is used asks for one kernel");
  return use_autogen && loss.autogen;
}

}  // namespace cs::frontend
