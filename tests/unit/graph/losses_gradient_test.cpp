// Gradients of losses against central differences: every row that is one, with the options that change its
// form.
#include <gmock/gmock.h>

#include <map>

#include "runtime/ops/losses.h"
#include "tests/unit/graph/differences.h"

namespace cs::ops {
namespace {

constexpr int64_t kOne = 1;

std::vector<Sample> samples() {
  const auto named = [](const char* attr, const char* word) { return Attrs{{attr, std::string(word)}}; };
  const Attrs sum = named("reduction", "sum"), none = named("reduction", "none");
  const Tensor x = mixed({4, 3}), t = mixed({4, 3}, 0.9, 0.15), inside = mixed({4, 3}, 0.3, 0.5),
               part = mixed({4, 3}, 0.3, 0.45),
               signs = floats({4, 3}, {1, -1, 1, 1, -1, -1, 1, -1, 1, -1, 1, 1}),
               class_weights = floats({3}, {0.5, 1.5, 2}), image = mixed({2, 3, 2, 2}), row = mixed({3}),
               classes = ints({4}, {2, 0, 1, 2}), pixels = ints({2, 2, 2}, {2, 0, 1, 2, 0, 0, 1, -100}),
               anchor = mixed({4, 3}), positive = mixed({4, 3}, 0.8, 0.3),
               negative = mixed({4, 3}, 1.1, -0.2);
  std::vector<Sample> all = {
      {"l1_loss", {}, {x, t}},
      {"mse_loss", none, {x, t}},
      {"huber_loss", {{"delta", 0.4}}, {x, t}},
      {"huber_loss", sum, {x, mixed({4, 3}, 0.2)}},
      {"smooth_l1_loss", {{"beta", 0.5}}, {x, t}},
      {"smooth_l1_loss", {{"beta", 0.0}}, {x, t}},
      {"bce_loss", {}, {inside, part}},
      {"bce_loss", none, {inside, part, class_weights}},
      {"bce_with_logits_loss", {}, {x, part}},
      {"bce_with_logits_loss", sum, {x, part, class_weights, mixed({3}, 0.2, 2)}},
      {"bce_with_logits_loss", none, {x, part, std::nullopt, mixed({3}, 0.2, 2)}},
      {"gaussian_nll_loss", {}, {x, t, mixed({4, 3}, 0.3, 1)}},
      {"gaussian_nll_loss", {{"full", kOne}}, {x, t, mixed({4}, 0.3, 1)}},
      {"gaussian_nll_loss", none, {x, t, mixed({4, 1}, 0.3, 1)}},
      {"poisson_nll_loss", {{"full", kOne}}, {x, mixed({4, 3}, 0.9, 1.6)}},
      {"poisson_nll_loss", {{"log_input", int64_t(0)}, {"eps", 1e-3}}, {mixed({4, 3}, 0.3, 1), part}},
      {"kl_div_loss", {}, {x, part}},
      {"kl_div_loss", named("reduction", "batchmean"), {x, part}},
      {"kl_div_loss", {{"log_target", kOne}}, {x, t}},
      {"hinge_embedding_loss", {{"margin", 0.3}}, {x, signs}},
      {"margin_ranking_loss", {{"margin", 0.3}}, {x, t, signs}},
      {"cosine_embedding_loss", {{"margin", -0.2}}, {x, t, floats({4}, {1, -1, -1, 1})}},
      {"cosine_embedding_loss", {}, {row, mixed({3}, 0.7, 0.4), floats({}, {1})}},
      {"cross_entropy_loss", {}, {x, classes}},
      {"cross_entropy_loss", {{"ignore_index", kOne}, {"label_smoothing", 0.2}}, {x, classes, class_weights}},
      {"cross_entropy_loss", none, {image, pixels, class_weights}},
      {"cross_entropy_loss", {{"label_smoothing", 0.1}}, {x, inside, class_weights}},
      {"cross_entropy_loss", sum, {row, ints({}, {1})}},
      {"nll_loss", {}, {x, classes, class_weights}},
      {"nll_loss", none, {image, pixels}},
      {"multi_margin_loss", {}, {x, classes}},
      {"multi_margin_loss", {{"p", 2.0}, {"margin", 0.7}}, {x, classes, class_weights}},
      {"multi_margin_loss", {}, {row, ints({}, {1})}},
      {"multi_label_soft_margin_loss", {}, {x, part, class_weights}},
      {"triplet_margin_loss", {}, {anchor, positive, negative}},
      {"triplet_margin_loss", {{"p", 1.0}, {"swap", kOne}, {"margin", 2.0}}, {anchor, positive, negative}},
      {"triplet_margin_loss", {{"p", 3.0}}, {anchor, positive, negative}},
      {"triplet_margin_loss", {{"p", 2.5}}, {anchor, positive, negative}},
      {"triplet_margin_loss", {{"p", double(INFINITY)}}, {anchor, positive, negative}},
      {"ctc_loss", {}, {mixed({5, 2, 4}), ints({2, 2}, {1, 3, 2, 2}), ints({2}, {5, 4}), ints({2}, {2, 2})}},
      {"ctc_loss", sum, {mixed({4, 2, 3}), ints({3}, {1, 2, 1}), ints({2}, {4, 3}), ints({2}, {2, 1})}},
      {"ctc_loss", {{"blank", int64_t(2)}}, {mixed({3, 3}), ints({1}, {0}), ints({}, {3}), ints({}, {1})}},
  };
  const Attrs focal = custom_loss_attrs(
      {"p = sigmoid(x)\nalpha * t * (1 - p)^gamma * softplus(-x)", {"x", "t"}, {"alpha", "gamma"}},
      {0.25, 2.5}, "sum", false);
  all.push_back({"custom_loss", focal, {x, part}});
  all.push_back({"custom_loss",
                 custom_loss_attrs({"log(1 + exp(-pick(x, c)))", {"x", "c"}, {}}, {}, "mean", false),
                 {x, classes}});
  for (const char* distance : {"pairwise_l2", "l1", "sq_l2", "cosine"}) {
    Attrs attrs = named("distance", distance);
    all.push_back({"triplet_margin_with_distance_loss", attrs, {anchor, positive, negative}});
    set_attr(attrs, "swap", kOne);
    all.push_back({"triplet_margin_with_distance_loss", attrs, {anchor, positive, negative}});
  }
  return all;
}

TEST(Gradients, EveryLossAgreesWithCentralDifferences) {
  std::map<std::string_view, int> compared;
  for (const Sample& s : samples()) compared[s.op] += check_gradient(*find_op(s.op), s.attrs, s.operands);
  for (const OpDef& d : op_table()) {
    if (!d.loss) continue;
    EXPECT_GT(compared[d.name], 0) << d.name << " has no sample here";
  }
}

}  // namespace
}  // namespace cs::ops
