// Losses of one's own: a row whose formula is an attribute, so that whatever is true of losses (gradient, one
// kernel or primitives, shards) is true of them.
#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/ops/formula.h"
#include "runtime/ops/losses.h"
#include "runtime/ops/rows.h"
#include "runtime/ops/rules.h"

namespace cs::ops {

namespace {

constexpr std::string_view kReduction = "reduction";
// Operands have names of their own in the row; the formula's names stand for them in this order.
constexpr std::string_view kOperands[kMostCustomInputs] = {"input0", "input1", "input2", "input3",
                                                           "input4", "input5", "input6", "input7"};

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

bool names(const Formula& f, std::string_view attr) {
  return std::any_of(f.nodes.begin(), f.nodes.end(), [&](const FormulaNode& n) {
    return n.kind == FormulaNode::Kind::attr && n.word == attr;
  });
}

bool is_name(const std::string& word) {
  const auto plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  return !word.empty() && std::isdigit(static_cast<unsigned char>(word[0])) == 0 &&
         std::all_of(word.begin(), word.end(), plain);
}

bool check_names(const CustomFormula& f, std::string& error) {
  if (f.inputs.empty() || f.inputs.size() > kMostCustomInputs)
    return fail(error,
                fmt::format("a loss has 1 to {} inputs, this one {}", kMostCustomInputs, f.inputs.size()));
  std::vector<std::string> all = f.inputs;
  all.insert(all.end(), f.args.begin(), f.args.end());
  for (const std::string& name : all) {
    if (!is_name(name)) return fail(error, fmt::format("'{}' is no name of an input or argument", name));
    if (name == kReduction || name == "pi" || name == "inf")
      return fail(error, fmt::format("'{}' has a meaning in every formula", name));
    if (std::count(all.begin(), all.end(), name) > 1)
      return fail(error, fmt::format("'{}' is the name of two inputs or arguments", name));
  }
  return true;
}

std::optional<Formula> parsed(const CustomFormula& f, std::string& error) {
  if (!check_names(f, error)) return std::nullopt;
  const std::vector<std::string_view> inputs(f.inputs.begin(), f.inputs.end());
  std::vector<std::string_view> attrs(f.args.begin(), f.args.end());
  attrs.push_back(kReduction);
  return parse_formula(f.expr, inputs, attrs, error);
}

// What the formula gives for every element, as one number.
void reduce_result(Formula& f, const std::string& reduction) {
  if (reduction == "none") return;
  FormulaNode n;
  n.kind = FormulaNode::Kind::call;
  n.word = reduction;
  n.args = {f.root};
  n.line = f.nodes[size_t(f.root)].line;
  n.column = f.nodes[size_t(f.root)].column;
  f.nodes.push_back(std::move(n));
  f.root = int(f.nodes.size()) - 1;
}

bool lower(const ShapeContext& c, std::vector<DecompositionStep>& steps, TensorType& result,
           std::string& error) {
  const CustomFormula text{attr_text(c.op, c.attrs, "expr"), words_of(attr_text(c.op, c.attrs, "inputs")),
                           words_of(attr_text(c.op, c.attrs, "args"))};
  std::vector<double> values;
  if (const AttrValue* v = find_attr(c.attrs, "values")) values = std::get<std::vector<double>>(*v);
  const std::string reduction = attr_text(c.op, c.attrs, kReduction);
  if (reduction != "mean" && reduction != "sum" && reduction != "none")
    return fail(error, "reduction must be mean, sum or none");
  std::optional<Formula> formula = parsed(text, error);
  if (!formula) return false;
  if (values.size() != text.args.size())
    return fail(error, fmt::format("there are {} args and {} values", text.args.size(), values.size()));
  for (size_t k = 0; k < std::max(text.inputs.size(), c.inputs.size()); ++k) {
    if ((c.input(k) != nullptr) != (k < text.inputs.size()))
      return fail(error, fmt::format("the formula has the inputs {}, other operands are given",
                                     fmt::join(text.inputs, ", ")));
  }
  if (!names(*formula, kReduction)) reduce_result(*formula, reduction);
  Attrs attrs;
  for (size_t k = 0; k < values.size(); ++k) set_attr(attrs, text.args[k], values[k]);
  set_attr(attrs, kReduction, reduction);
  return lower_formula(*formula, {kOperands, c.inputs, attrs}, steps, result, error);
}

bool shape_custom_loss(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  std::vector<DecompositionStep> steps;
  outputs.resize(1);
  return lower(c, steps, outputs[0], error);
}

bool steps_custom_loss(const ShapeContext& c, std::vector<DecompositionStep>& steps, std::string& error) {
  TensorType ignored;
  return lower(c, steps, ignored, error);
}

}  // namespace

bool is_loss(const OpDef& d) { return d.loss || !d.gradient_of.empty(); }

bool asks_for_one_kernel(const OpDef& d, const Attrs& attrs) {
  return is_loss(d) && attr_int(d, attrs, kUseAutogen) != 0;
}

std::string_view why_not_fused(const OpDef& d) {
  const std::string_view row = d.gradient_of.empty() ? d.name : d.gradient_of;
  if (row == "cosine_embedding_loss")
    return "CosineEmbeddingLoss is not among the losses that the conventions of AutoGen fuse";
  return "";
}

bool check_custom_formula(const CustomFormula& f, CustomFacts& facts, std::string& error) {
  const std::optional<Formula> formula = parsed(f, error);
  if (!formula) return false;
  facts.is_index.assign(f.inputs.size(), false);
  facts.names_reduction = names(*formula, kReduction);
  for (const FormulaNode& n : formula->nodes) {
    if (n.kind != FormulaNode::Kind::call || (n.word != "pick" && n.word != "chosen")) continue;
    const FormulaNode& index = formula->nodes[size_t(n.args[n.word == "pick" ? 1 : 0])];
    if (index.kind == FormulaNode::Kind::operand) facts.is_index[size_t(index.index)] = true;
  }
  return true;
}

Attrs custom_loss_attrs(const CustomFormula& f, const std::vector<double>& values,
                        const std::string& reduction, bool use_autogen) {
  Attrs attrs;
  set_attr(attrs, "expr", f.expr);
  set_attr(attrs, "inputs", fmt::format("{}", fmt::join(f.inputs, " ")));
  if (!f.args.empty()) set_attr(attrs, "args", fmt::format("{}", fmt::join(f.args, " ")));
  if (!values.empty()) set_attr(attrs, "values", values);
  set_attr(attrs, kReduction, reduction);
  set_attr(attrs, kUseAutogen, int64_t(use_autogen));
  return attrs;
}

void add_custom_loss(Rows& t) {
  OpDef d =
      by_steps(kCustomLoss, {}, {std::begin(kOperands), std::end(kOperands)}, int(kMostCustomInputs) - 1,
               {AttrDef{"expr", AttrKind::text, std::string(), true},
                AttrDef{"inputs", AttrKind::text, std::string(), true}, text("args", ""),
                AttrDef{"values", AttrKind::reals, std::vector<double>()}, text(kReduction, "mean"),
                integer(kUseAutogen, 0)},
               shape_custom_loss, steps_custom_loss);
  d.loss = true;
  t.push_back(noted(d, "a loss of one's own: a formula over the named inputs"));
}

}  // namespace cs::ops
