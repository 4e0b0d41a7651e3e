// The table of activations: what each computes, and the factors that it takes unless the node gives some.
#include "runtime/ops/activations.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>

#include <fmt/format.h>

namespace cs::ops {

namespace {

struct Activation {
  std::string_view name, text;  // "_" is the operand, "A" and "B" the factors
  double alpha = 0, beta = 0;   // defaults; those that `text` does not hold are not consumed
};

constexpr std::array<Activation, 11> kActivations = {{
    {"relu", "max(_, 0)"},
    {"tanh", "tanh(_)"},
    {"sigmoid", "1 / (1 + exp(-(_)))"},
    {"affine", "A * _ + B", 1, 0},
    {"leakyrelu", "select(_ < 0, A * _, _)", 0.01},
    {"thresholdedrelu", "select(_ > A, _, 0)", 1},
    {"scaledtanh", "A * tanh(B * _)", 1, 1},
    {"hardsigmoid", "max(min(A * _ + B, 1), 0)", 0.2, 0.5},
    {"elu", "select(_ < 0, A * (exp(_) - 1), _)", 1},
    {"softsign", "_ / (1 + abs(_))"},
    {"softplus", "max(_, 0) + log(1 + exp(-abs(_)))"},
}};

std::string replaced(std::string_view text, char what, const std::string& by) {
  std::string out;
  for (char c : text) {
    if (c == what) {
      out += by;
    } else {
      out += c;
    }
  }
  return out;
}

// The next factor of the node's list, if the expression has one.
std::string with_factor(const std::string& text, char letter, double standard,
                        const std::vector<double>& given, size_t& used) {
  if (text.find(letter) == std::string::npos) return text;
  double value = used < given.size() ? given[used] : standard;
  ++used;
  return replaced(text, letter, fmt::format("({})", value));
}

std::vector<double> reals_of(const ShapeContext& c, std::string_view name) {
  const AttrValue* v = find_attr(c.attrs, name);
  const auto* list = v != nullptr ? std::get_if<std::vector<double>>(v) : nullptr;
  return list != nullptr ? *list : std::vector<double>{};
}

}  // namespace

std::optional<std::vector<std::string>> activations_of(const ShapeContext& c, std::string& error) {
  std::istringstream names(attr_text(c.op, c.attrs, "activations"));
  std::vector<std::string> words, out;
  for (std::string word; names >> word;) words.push_back(word);
  const size_t functions = c.op.name == "rnn" ? 1 : c.op.name == "gru" ? 2 : 3;
  const bool both = attr_text(c.op, c.attrs, "direction") == "bidirectional";
  // The row's default says those of one direction.
  if (both && find_attr(c.attrs, "activations") == nullptr) {
    words.reserve(2 * words.size());
    for (size_t k = 0; k < functions; ++k) words.push_back(words[k]);
  }
  if (words.size() != functions * (both ? 2 : 1)) {
    error = fmt::format("{} activations, {} needs {}", words.size(), c.op.name, functions * (both ? 2 : 1));
    return std::nullopt;
  }
  std::vector<double> alphas = reals_of(c, "activation_alpha"), betas = reals_of(c, "activation_beta");
  size_t alpha = 0, beta = 0;
  for (const std::string& word : words) {
    std::string low = word;
    for (char& ch : low) ch = char(std::tolower(static_cast<unsigned char>(ch)));
    auto it = std::find_if(kActivations.begin(), kActivations.end(),
                           [&](const Activation& a) { return a.name == low; });
    if (it == kActivations.end()) {
      error = fmt::format("activation '{}' is not known", word);
      return std::nullopt;
    }
    std::string text(it->text);
    text = with_factor(text, 'A', it->alpha, alphas, alpha);
    out.push_back(with_factor(text, 'B', it->beta, betas, beta));
  }
  return out;
}

std::string activation_text(const std::string& activation, const std::string& x) {
  return "(" + replaced(activation, '_', x) + ")";
}

}  // namespace cs::ops
