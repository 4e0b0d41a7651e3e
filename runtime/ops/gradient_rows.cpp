// The columns `gradient` and `no_gradient` of rows that are neither elementwise nor compounds whose steps say
// it.
#include <string_view>

#include "runtime/ops/gradient_steps.h"

namespace cs::ops {

namespace {

struct Rule {
  std::string_view row;
  GradientRule rule;
};

constexpr Rule kRules[] = {
    {"where", gradient_of_where},
    {"cast", gradient_of_cast},
    {"pow", gradient_of_pow},
    {"gemm", gradient_of_gemm},
    {"matmul", gradient_of_matmul},
    {"einsum", gradient_of_einsum},
    {"conv", gradient_of_conv},
    {"conv_transpose", gradient_of_conv_transpose},
    {"reduce_sum", gradient_of_sum},
    {"reduce_mean", gradient_of_mean},
    {"reduce_max", gradient_of_extreme},
    {"reduce_min", gradient_of_extreme},
    {"reduce_prod", gradient_of_product},
    {"reduce_l2", gradient_of_norm},
    {"reduce_log_sum_exp", gradient_of_log_sum_exp},
    {"softmax", gradient_of_softmax},
    {"log_softmax", gradient_of_log_softmax},
    {"cum_sum", gradient_of_cum_sum},
    {"max_pool", gradient_of_max_pool},
    {"average_pool", gradient_of_average_pool},
    {"lp_pool", gradient_of_lp_pool},
    {"max_unpool", gradient_of_max_unpool},
    {"lrn", gradient_of_lrn},
    {"resize", gradient_of_resize},
    {"upsample", gradient_of_resize},
    {"identity", gradient_of_view},
    {"reshape", gradient_of_view},
    {"flatten", gradient_of_view},
    {"squeeze", gradient_of_view},
    {"unsqueeze", gradient_of_view},
    {"transpose", gradient_of_transpose},
    {"concat", gradient_of_concat},
    {"split", gradient_of_split},
    {"slice", gradient_of_slice},
    {"pad", gradient_of_pad},
    {"tile", gradient_of_tile},
    {"expand", gradient_of_expand},
    {"trilu", gradient_by_itself},
    {"reverse_sequence", gradient_by_itself},
    {"depth_to_space", gradient_of_places},
    {"space_to_depth", gradient_of_places},
    {"gather", gradient_of_gather},
    {"gather_elements", gradient_of_gather_elements},
    {"gather_nd", gradient_of_gather_nd},
    {"scatter_elements", gradient_of_scatter},
    {"scatter_nd", gradient_of_scatter},
    {"top_k", gradient_of_top_k},
    {"one_hot", gradient_of_one_hot},
    {"rnn", gradient_of_recurrence},
    {"gru", gradient_of_recurrence},
    {"lstm", gradient_of_recurrence},
};

struct Reason {
  std::string_view row, text;
};

constexpr std::string_view kShapeOfValues = "the shape of its result depends on values";
constexpr std::string_view kIntegers = "it computes with integers";
constexpr std::string_view kOfTraining = "it is a part of a training step that acts on gradients";
constexpr Reason kReasons[] = {
    {"sgd_step", kOfTraining},
    {"adam_step", kOfTraining},
    {"adagrad_step", kOfTraining},
    {"rmsprop_step", kOfTraining},
    {"max_pool_gradient", kOfTraining},
    {"clip_by_norm", kOfTraining},
    {"unscale", kOfTraining},
    {"not_finite", kOfTraining},
    {"loss_scale_step", kOfTraining},
    {"shift_left", kIntegers},
    {"shift_right", kIntegers},
    {"det", "the table has no inverse of a matrix"},
    {"compress", kShapeOfValues},
    {"unique", kShapeOfValues},
    {"matmul_integer", kIntegers},
    {"conv_integer", kIntegers},
    {"qlinear_matmul", kIntegers},
    {"qlinear_conv", kIntegers},
    {"whole_batch", "it is computed over samples that are apart elsewhere"},
};

}  // namespace

void set_gradients(std::vector<OpDef>& table) {
  for (OpDef& d : table) {
    for (const Rule& r : kRules) {
      if (r.row == d.name) d.gradient = r.rule;
    }
    for (const Reason& r : kReasons) {
      if (r.row == d.name) d.no_gradient = r.text;
    }
  }
}

}  // namespace cs::ops
