// What is said of losses beside their rows: which rows are losses, which of them become one kernel when that
// is asked for, and losses of one's own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/ops/ops.h"

namespace cs::ops {

// Attribute of every loss and of its gradient: 1 asks for one generated kernel, 0 composes it of primitives.
inline constexpr std::string_view kUseAutogen = "use_autogen";

// A loss, or the backward pass of one.
bool is_loss(const OpDef&);
// Of a loss.
bool asks_for_one_kernel(const OpDef&, const Attrs&);
// Why a loss stays primitives whatever is asked for; empty: it can become one kernel.
std::string_view why_not_fused(const OpDef&);

// A loss of one's own is a node of the row `custom_loss`, whose formula (formula.h) is an attribute.
inline constexpr std::string_view kCustomLoss = "custom_loss";
inline constexpr size_t kMostCustomInputs = 8;

struct CustomFormula {
  std::string expr;
  std::vector<std::string> inputs;  // what the formula calls its operands
  std::vector<std::string> args;    // numbers that it may name
};
// Whether operands hold indices of classes, as far as the text says so: pick(x, i) and chosen(i, x).
// `names_reduction`: the formula reduces by itself; else what it gives is reduced.
// False: `error` begins with line and column.
struct CustomFacts {
  std::vector<bool> is_index;
  bool names_reduction = false;
};
bool check_custom_formula(const CustomFormula&, CustomFacts&, std::string& error);
// The attributes of the row; `values` are those of the args.
Attrs custom_loss_attrs(const CustomFormula&, const std::vector<double>& values, const std::string& reduction,
                        bool use_autogen);

}  // namespace cs::ops
