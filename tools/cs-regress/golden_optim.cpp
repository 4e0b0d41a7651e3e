// The table from optimizers of the format to rows, and the chain of their steps.
#include "tools/cs-regress/golden_optim.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "runtime/ops/optimizers.h"
#include "tools/cs-regress/golden_check.h"

namespace cs::golden {
namespace {

using G = CaseGraph;

struct Optimizer {
  std::string_view name, row;
  Attrs (*attrs)(G&);  // from the case's options and the format's defaults
};

int64_t flag(G& g, const char* name) { return g.flag(name, false) ? 1 : 0; }

Attrs adam(G& g, double weight_decay, bool decoupled) {
  const std::vector<double> betas = g.reals("betas", {0.9, 0.999});
  return {{"beta1", betas[0]},
          {"beta2", betas[1]},
          {"eps", g.real("eps", 1e-8)},
          {"weight_decay", g.real("weight_decay", weight_decay)},
          {"decoupled", int64_t(decoupled)},
          {"amsgrad", flag(g, "amsgrad")}};
}

constexpr Optimizer kTable[] = {
    {"SGD", "sgd_step",
     [](G& g) -> Attrs {
       return {{"momentum", g.real("momentum", 0)},
               {"dampening", g.real("dampening", 0)},
               {"nesterov", flag(g, "nesterov")},
               {"weight_decay", g.real("weight_decay", 0)}};
     }},
    {"Adam", "adam_step", [](G& g) { return adam(g, 0, false); }},
    {"AdamW", "adam_step", [](G& g) { return adam(g, 0.01, true); }},
    {"Adagrad", "adagrad_step",
     [](G& g) -> Attrs {
       return {{"lr_decay", g.real("lr_decay", 0)},
               {"eps", g.real("eps", 1e-10)},
               {"weight_decay", g.real("weight_decay", 0)}};
     }},
    {"RMSprop", "rmsprop_step",
     [](G& g) -> Attrs {
       return {{"alpha", g.real("alpha", 0.99)},
               {"eps", g.real("eps", 1e-8)},
               {"momentum", g.real("momentum", 0)},
               {"centered", flag(g, "centered")},
               {"weight_decay", g.real("weight_decay", 0)}};
     }},
};

std::string after_step(int64_t k) { return fmt::format("param.step{}", k); }

}  // namespace

bool build_optimizer(const Case& c, CaseGraph& g) {
  const auto* optimizer =
      std::find_if(std::begin(kTable), std::end(kTable), [&](const Optimizer& o) { return o.name == c.op; });
  if (optimizer == std::end(kTable)) {
    g.fail("optimizer '" + c.op + "' is not in the table of golden optimizers");
    return false;
  }
  const std::string name(optimizer->row);
  const ops::OpDef& row = *ops::find_op(name);
  Attrs attrs;
  for (auto& [key, value] : optimizer->attrs(g)) ops::set_attr(attrs, key, value);
  ops::set_attr(attrs, "maximize", flag(g, "maximize"));
  const ops::OptimizerNeeds needs = ops::optimizer_needs(row, attrs);

  ValueId parameter = g.cast(g.input("param"), g.wide());
  const ValueId rate = g.scalar_input("learning_rate", g.real("lr", 0.001));
  const ValueId first = needs.step ? g.scalar_input("step", 1) : ValueId{};
  if (!c.options.contains("lr")) g.fail("the case has no option 'lr'");
  const double initial = c.op == "Adagrad" ? g.real("initial_accumulator_value", 0) : 0;
  std::map<std::string, ValueId> state;
  if (!g.error().empty()) return false;
  const ops::Shape shape = g.graph.value(parameter).type.shape;
  for (const std::string& s : needs.state)
    state[s] = g.wide_constant(
        shape, std::vector<double>(size_t(g.graph.value(parameter).type.elements()), initial));

  std::vector<std::pair<std::string, ValueId>> outputs;
  for (int64_t k = 1; g.has(fmt::format("grad.step{}", k)); ++k) {
    std::vector<ValueId> operands;
    for (const std::string_view operand : row.operands) {
      const auto s = state.find(std::string(operand));
      operands.push_back(operand == "parameter"       ? parameter
                         : operand == "gradient"      ? g.input(fmt::format("grad.step{}", k))
                         : operand == "learning_rate" ? rate
                         : operand == "step" && needs.step
                             ? (k == 1 ? first : g.op("add", {first, g.wide_constant({}, {double(k - 1)})}))
                         : s != state.end() ? s->second
                                            : ValueId{});
    }
    const std::vector<ValueId> results = g.results(name, operands, attrs);
    for (size_t i = 0; i < results.size(); ++i) {
      const std::string of = std::string(row.results[i]).substr(std::string_view("new_").size());
      if (i == 0)
        parameter = results[i];
      else if (state.contains(of))
        state[of] = results[i];
    }
    if (g.has(after_step(k))) outputs.emplace_back(after_step(k), g.cast(parameter, g.dtype()));
  }
  for (const auto& [of, value] : state)
    if (g.has("state." + of)) outputs.emplace_back("state." + of, value);
  std::set<std::string> given;
  for (const auto& [output, value] : outputs) given.insert(output);
  for (const auto& [tensor, t] : c.tensors)
    if (t.role == "expected" && !given.contains(tensor))
      g.fail(fmt::format("the case expects '{}', which {} with these options does not give", tensor, name));
  return g.finish(outputs);
}

void judge_optimizer(const Case& c, DataType dtype, const std::string& outputs, Result& result) {
  Diag diag;
  const auto arrays = read_npz(outputs, diag);
  result.ok = true;
  CheckFigures figures;
  for (const auto& [name, t] : c.tensors) {
    if (t.role != "expected") continue;
    const NamedArray* output = arrays ? find_array(*arrays, name) : nullptr;
    if (output == nullptr) {
      result.ok = false;
      result.message = fmt::format("the run wrote no tensor '{}'\n{}", name, diag.to_string());
      return;
    }
    const auto floor = c.floors.find(name);
    const Verdict v =
        check_output(output->tensor, t.tensor, floor != c.floors.end() ? floor->second : Floor{},
                     Accuracy::optimizer, dtype, {}, 1, {});
    if (figures.rule.empty() || v.used > figures.used)
      figures = {std::max(v.error, figures.error), v.used, v.rule};
    if (v.ok) continue;
    result.ok = false;
    if (result.message.empty()) result.message = name + ", " + v.mismatch;
  }
  result.check = figures;
}

}  // namespace cs::golden
