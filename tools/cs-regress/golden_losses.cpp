// A loss is one node: tensors of the case become its operands, constructor arguments constants, options its
// attributes with the defaults of the format.
#include "tools/cs-regress/golden_losses.h"

namespace cs::golden {
namespace {

using G = CaseGraph;

struct Option {
  enum class Kind : uint8_t { real, integer, flag, text };
  const char* name;
  Kind kind = Kind::real;
  double value = 0;  // default
  const char* text = "";
};

ValueId loss(G& g, const char* row, std::vector<ValueId> operands, std::initializer_list<Option> options) {
  Attrs attrs{{"reduction", g.text("reduction", "mean")}, {"use_autogen", int64_t(g.use_autogen)}};
  for (const Option& o : options) {
    if (o.kind == Option::Kind::real) attrs.push_back({o.name, g.real(o.name, o.value)});
    if (o.kind == Option::Kind::integer) attrs.push_back({o.name, g.integer(o.name, int64_t(o.value))});
    if (o.kind == Option::Kind::flag) attrs.push_back({o.name, int64_t(g.flag(o.name, o.value != 0))});
    if (o.kind == Option::Kind::text) attrs.push_back({o.name, g.text(o.name, o.text)});
  }
  return g.op(row, std::move(operands), std::move(attrs));
}
// Loss of `input` and `target`, weighted if the case has weights.
ValueId scored(G& g, const char* row, std::initializer_list<Option> options = {}) {
  return loss(g, row, {g.input("input"), g.input("target"), g.optional_parameter("weight")}, options);
}
ValueId pair(G& g, const char* row, std::initializer_list<Option> options = {}) {
  return loss(g, row, {g.input("input"), g.input("target")}, options);
}
ValueId two_inputs(G& g, const char* row) {
  return loss(g, row, {g.input("input1"), g.input("input2"), g.input("target")}, {{"margin"}});
}
ValueId triplet(G& g, const char* row, std::initializer_list<Option> options) {
  return loss(g, row, {g.input("anchor"), g.input("positive"), g.input("negative")}, options);
}

constexpr Accuracy kLoss = Accuracy::loss;
constexpr Option::Kind kInteger = Option::Kind::integer, kFlag = Option::Kind::flag,
                       kText = Option::Kind::text;

constexpr Operation kTable[] = {
    {"L1Loss", kLoss, [](G& g) { return pair(g, "l1_loss"); }},
    {"MSELoss", kLoss, [](G& g) { return pair(g, "mse_loss"); }},
    {"HuberLoss", kLoss,
     [](G& g) {
       return pair(g, "huber_loss", {{"delta", {}, 1}});
     }},
    {"SmoothL1Loss", kLoss,
     [](G& g) {
       return pair(g, "smooth_l1_loss", {{"beta", {}, 1}});
     }},
    {"BCELoss", kLoss, [](G& g) { return scored(g, "bce_loss"); }},
    {"BCEWithLogitsLoss", kLoss,
     [](G& g) {
       return loss(g, "bce_with_logits_loss",
                   {g.input("input"), g.input("target"), g.optional_parameter("weight"),
                    g.optional_parameter("pos_weight")},
                   {});
     }},
    {"GaussianNLLLoss", kLoss,
     [](G& g) {
       return loss(g, "gaussian_nll_loss", {g.input("input"), g.input("target"), g.input("var")},
                   {{"full", kFlag}, {"eps", {}, 1e-6}});
     }},
    {"PoissonNLLLoss", kLoss,
     [](G& g) {
       return pair(g, "poisson_nll_loss", {{"log_input", kFlag, 1}, {"full", kFlag}, {"eps", {}, 1e-8}});
     }},
    {"KLDivLoss", kLoss,
     [](G& g) {
       return pair(g, "kl_div_loss", {{"log_target", kFlag}});
     }},
    {"HingeEmbeddingLoss", kLoss,
     [](G& g) {
       return pair(g, "hinge_embedding_loss", {{"margin", {}, 1}});
     }},
    {"MarginRankingLoss", kLoss, [](G& g) { return two_inputs(g, "margin_ranking_loss"); }},
    {"CosineEmbeddingLoss", kLoss, [](G& g) { return two_inputs(g, "cosine_embedding_loss"); }},
    {"CrossEntropyLoss", kLoss,
     [](G& g) {
       return scored(g, "cross_entropy_loss", {{"ignore_index", kInteger, -100}, {"label_smoothing"}});
     }},
    {"NLLLoss", kLoss,
     [](G& g) {
       return scored(g, "nll_loss", {{"ignore_index", kInteger, -100}});
     }},
    {"MultiMarginLoss", kLoss,
     [](G& g) {
       return scored(g, "multi_margin_loss", {{"p", {}, 1}, {"margin", {}, 1}});
     }},
    {"MultiLabelSoftMarginLoss", kLoss, [](G& g) { return scored(g, "multi_label_soft_margin_loss"); }},
    {"TripletMarginLoss", kLoss,
     [](G& g) {
       return triplet(g, "triplet_margin_loss",
                      {{"margin", {}, 1}, {"p", {}, 2}, {"eps", {}, 1e-6}, {"swap", kFlag}});
     }},
    {"TripletMarginWithDistanceLoss", kLoss,
     [](G& g) {
       return triplet(g, "triplet_margin_with_distance_loss",
                      {{"margin", {}, 1}, {"swap", kFlag}, {"distance", kText, 0, "pairwise_l2"}});
     }},
    {"CTCLoss",
     kLoss,
     [](G& g) {
       return loss(
           g, "ctc_loss",
           {g.input("log_probs"), g.input("targets"), g.input("input_lengths"), g.input("target_lengths")},
           {{"blank", kInteger}, {"zero_infinity", kFlag}});
     },
     {},
     false,
     true},  // the backward pass has a thousand steps
};

}  // namespace

const Operation* find_loss(std::string_view name) {
  for (const Operation& o : kTable)
    if (o.name == name) return &o;
  return nullptr;
}

}  // namespace cs::golden
