// The rows of the operator table. An operator is added by adding a row here (and, if it has neither an
// expression nor a decomposition, a shape rule and a reference implementation in shapes.cpp and
// reference.cpp).
//
// Derivatives are written in the operands and y, the result; one per operand, separated by ";". They are what
// the upstream gradient is multiplied by (runtime/ops/gradient_elementwise.cpp), so a condition passes it or
// not. They keep their digits where 1 - y * y would lose them, and are not defined at infinity where their
// factors are not: x / x in the derivative of mish.
#include <limits>

#include "runtime/ops/gradient.h"
#include "runtime/ops/operations.h"
#include "runtime/ops/ops.h"
#include "runtime/ops/rows.h"
#include "runtime/ops/rules.h"
#include "runtime/ops/steps.h"

namespace cs::ops {

namespace {

void add_arithmetic(std::vector<OpDef>& t) {
  t.push_back(folded(binary("add", {"Add", "Sum"}, "a + b", "1; 1")));
  t.push_back(binary("sub", {"Sub"}, "a - b", "1; -1"));
  t.push_back(binary("mul", {"Mul"}, "a * b", "b; a"));
  t.push_back(binary("div", {"Div"}, "a / b", "1 / b; -a / (b * b)"));
  OpDef pow = binary("pow", {"Pow"}, "pow(a, b)", "b * pow(a, b - 1); y * log(a)", 16);
  pow.shape = shape_pow;
  t.push_back(noted(pow, "the exponent may have another type than the base and the result"));
  t.push_back(noted(binary("mod", {"Mod"}, "a - floor(a / b) * b", "1; -floor(a / b)", 1),
                    "Mod with fmod = 0: the sign of b"));
  t.push_back(noted(binary("fmod", {}, "a - select(a / b < 0, ceil(a / b), floor(a / b)) * b",
                           "1; -select(a / b < 0, ceil(a / b), floor(a / b))", 1),
                    "Mod with fmod = 1: the sign of a"));
  t.push_back(binary("shift_left", {"BitShift"}, "a * pow(2, b)", "", 0));
  t.push_back(
      noted(binary("shift_right", {}, "floor(a / pow(2, b))", "", 0), "BitShift with direction = RIGHT"));
  t.push_back(folded(
      binary("max", {"Max"}, "max(a, b)", "select(a == b, 0.5, a > b); select(a == b, 0.5, a < b)", 0)));
  t.push_back(folded(
      binary("min", {"Min"}, "min(a, b)", "select(a == b, 0.5, a < b); select(a == b, 0.5, a > b)", 0)));
  t.push_back(unary("neg", {"Neg"}, {}, "-x", "-1", 0));
  t.push_back(unary("abs", {"Abs"}, {}, "abs(x)", "(x > 0) - (x < 0)", 0));
  t.push_back(unary("sign", {"Sign"}, {}, "(x > 0) - (x < 0)", "0", 0));
  t.push_back(unary("square", {}, {}, "x * x", "2 * x", 1));
  t.push_back(unary("sqrt", {"Sqrt"}, {}, "sqrt(x)", "0.5 / y", 1));
  t.push_back(unary("rsqrt", {}, {}, "1 / sqrt(x)", "-0.5 * y / x", 2));
  t.push_back(unary("reciprocal", {"Reciprocal"}, {}, "1 / x", "-y * y", 1));
  t.push_back(noted(unary("one_if_zero", {}, {}, "select(x == 0, 1, x)", "x != 0", 0),
                    "the divisor of a norm: what is divided by a norm of 0 is 0 and stays it"));
  t.push_back(unary("floor", {"Floor"}, {}, "floor(x)", "0", 0));
  t.push_back(unary("ceil", {"Ceil"}, {}, "ceil(x)", "0", 0));
  t.push_back(unary("round", {"Round"}, {}, "round(x)", "0", 0));
  OpDef clip = unary("clip", {"Clip"}, {real("min", -kInf), real("max", kInf)}, "min(max(x, min), max)",
                     "select(x >= min, x <= max, 0)", 0);
  clip.onnx_inputs = {{1, "min"}, {2, "max"}};
  t.push_back(noted(clip, "limits are attributes before opset 11, constant inputs from 11 on"));
  t.push_back(noted(unary("hard_tanh", {}, {real("min", -1), real("max", 1)}, "min(max(x, min), max)",
                          "select(x <= min, 0, select(x >= max, 0, 1))", 0),
                    "clip as an activation: at its corners the gradient is 0"));
  OpDef cast = unary("cast", {"Cast", "CastLike"},
                     {{"to", AttrKind::text, std::string("f32"), true}, integer("saturate", 1)}, "x", "1", 0);
  cast.shape = shape_cast;
  t.push_back(cast);
}

void add_transcendental(std::vector<OpDef>& t) {
  t.push_back(unary("exp", {"Exp"}, {}, "exp(x)", "y"));
  t.push_back(unary("expm1", {}, {}, "exp(x) - 1", "y + 1", 4));
  t.push_back(unary("log", {"Log"}, {}, "log(x)", "1 / x"));
  t.push_back(unary("log1p", {}, {}, "log(1 + x)", "1 / (1 + x)", 4));
  t.push_back(unary("erf", {"Erf"}, {}, "erf(x)", "2 / sqrt(pi) * exp(-x * x)", 4));
  t.push_back(unary("sin", {"Sin"}, {}, "sin(x)", "cos(x)"));
  t.push_back(unary("cos", {"Cos"}, {}, "cos(x)", "-sin(x)"));
  t.push_back(unary("tan", {"Tan"}, {}, "sin(x) / cos(x)", "1 + y * y", 4));
  t.push_back(unary("sinh", {"Sinh"}, {}, "(exp(x) - exp(-x)) * 0.5", "(exp(x) + exp(-x)) * 0.5", 4));
  t.push_back(unary("cosh", {"Cosh"}, {}, "(exp(x) + exp(-x)) * 0.5", "(exp(x) - exp(-x)) * 0.5", 4));
  t.push_back(unary("asinh", {"Asinh"}, {}, "select(x < 0, -1, 1) * log(abs(x) + sqrt(x * x + 1))",
                    "1 / sqrt(x * x + 1)", 4));
  t.push_back(unary("acosh", {"Acosh"}, {}, "log(x + sqrt(x * x - 1))", "1 / sqrt(x * x - 1)", 4));
  t.push_back(unary("atanh", {"Atanh"}, {}, "0.5 * log((1 + x) / (1 - x))", "1 / (1 - x * x)", 4));
  t.push_back(unary("tanh", {"Tanh"}, {}, "tanh(x)",
                    "4 * exp(-2 * abs(x)) / ((1 + exp(-2 * abs(x))) * (1 + exp(-2 * abs(x))))", 4));
}

void add_activations(std::vector<OpDef>& t) {
  t.push_back(unary("relu", {"Relu"}, {}, "max(x, 0)", "select(x <= 0, 0, 1)", 0));
  t.push_back(unary("leaky_relu", {"LeakyRelu"}, {real("alpha", 0.01)}, "select(x >= 0, x, alpha * x)",
                    "select(x > 0, 1, alpha)", 1));
  OpDef prelu = unary("prelu", {"PRelu"}, {}, "select(x >= 0, x, slope * x)",
                      "select(x > 0, 1, slope); select(x > 0, 0, x)", 1);
  prelu.operands = {"x", "slope"};
  t.push_back(prelu);
  t.push_back(unary("thresholded_relu", {"ThresholdedRelu"}, {real("alpha", 1)}, "select(x > alpha, x, 0)",
                    "x > alpha", 0));
  t.push_back(unary("shrink", {"Shrink"}, {real("lambd", 0.5), real("bias", 0)},
                    "select(abs(x) <= lambd, 0, select(x < 0, x + bias, x - bias))",
                    "select(abs(x) <= lambd, 0, 1)", 1));
  t.push_back(unary("elu", {"Elu"}, {real("alpha", 1)}, "max(x, 0) + alpha * (exp(min(x, 0)) - 1)",
                    "select(x <= 0, alpha * exp(x), 1)", 4));
  t.push_back(
      noted(unary("selu", {"Selu"},
                  {real("alpha", 1.67326319217681884765625), real("gamma", 1.05070102214813232421875)},
                  "gamma * (max(x, 0) + alpha * (exp(min(x, 0)) - 1))",
                  "gamma * select(x <= 0, alpha * exp(x), 1)", 4),
            "opset 1 has other default constants"));
  t.push_back(unary("celu", {"Celu"}, {real("alpha", 1)}, "max(x, 0) + alpha * (exp(min(x, 0) / alpha) - 1)",
                    "select(x <= 0, exp(x / alpha), 1)", 4));
  t.push_back(unary("sigmoid", {"Sigmoid"}, {}, "1 / (1 + exp(-x))",
                    "exp(-abs(x)) / ((1 + exp(-abs(x))) * (1 + exp(-abs(x))))", 4));
  t.push_back(unary("hard_sigmoid", {"HardSigmoid"}, {real("alpha", 0.2), real("beta", 0.5)},
                    "max(min(alpha * x + beta, 1), 0)",
                    "select(alpha * x + beta > 0, select(alpha * x + beta < 1, alpha, 0), 0)", 2));
  t.push_back(unary("hard_swish", {"HardSwish"}, {}, "x * max(min(x / 6 + 0.5, 1), 0)",
                    "select(x < -3, 0, select(x < 3, x / 3 + 0.5, 1))", 3));
  t.push_back(unary("swish", {"Swish"}, {real("alpha", 1)}, "x / (1 + exp(-alpha * x))",
                    "(1 + alpha * x / (1 + exp(alpha * x))) / (1 + exp(-alpha * x))", 4));
  t.push_back(unary("log_sigmoid", {}, {}, "min(x, 0) - log(1 + exp(-abs(x)))", "1 / (1 + exp(x))", 4));
  t.push_back(unary("tanh_shrink", {}, {}, "x - tanh(x)",
                    "select(abs(x) > 0.35, (1 - exp(-2 * abs(x))) / (1 + exp(-2 * abs(x))) *"
                    " ((1 - exp(-2 * abs(x))) / (1 + exp(-2 * abs(x)))), tanh(x) * tanh(x))",
                    4));
  t.push_back(
      unary("softplus", {"Softplus"}, {}, "max(x, 0) + log(1 + exp(-abs(x)))", "1 / (1 + exp(-x))", 4));
  t.push_back(unary("softsign", {"Softsign"}, {}, "x / (1 + abs(x))",
                    "(1 + abs(x)) / (1 + abs(x)) / ((1 + abs(x)) * (1 + abs(x)))", 2));
  t.push_back(noted(
      unary(
          "mish", {"Mish"}, {},
          "x * (exp(min(x, 20)) * (exp(min(x, 20)) + 2) / (exp(min(x, 20)) * (exp(min(x, 20)) + 2) + 2))",
          // e (e + 2) / n + 4 x e (e + 1) / n², with e = e^x and n = e (e + 2) + 2
          "select(x > 20, x / x, exp(x) * (exp(x) + 2 + 4 * x * (exp(x) + 1) / (exp(x) * (exp(x) + 2) + 2)) /"
          " (exp(x) * (exp(x) + 2) + 2))",
          4),
      "opset 18"));
  t.push_back(
      noted(unary("gelu", {"Gelu"}, {}, "x * (0.5 + 0.5 * erf(x * 0.7071067811865476))",
                  "0.5 * (1 + erf(x * 0.7071067811865476)) + x * 0.3989422804014327 * exp(-0.5 * x * x)", 4),
            "opset 20 with approximate = none; erf form"));
  // 0.5 x (1 + tanh u) = x / (1 + e^-2u) with u = sqrt(2 / pi) (x + 0.044715 x^3): no digits are lost where
  // tanh u is near -1.
  t.push_back(noted(
      unary("gelu_tanh", {}, {}, "x / (1 + exp(x * (-1.5957691216057308 - 0.07135481627260025 * (x * x))))",
            "select(abs(x) > 12, x > 0, (1 + x * (1.5957691216057308 + 0.21406444881780074 * (x * x)) /"
            " (1 + exp(x * (1.5957691216057308 + 0.07135481627260025 * (x * x))))) /"
            " (1 + exp(x * (-1.5957691216057308 - 0.07135481627260025 * (x * x)))))",
            12),
      "Gelu of opset 20 with approximate = tanh"));
}

void add_logic(std::vector<OpDef>& t) {
  Names ab = {"a", "b"};
  t.push_back(noted(predicate("is_not_zero", {}, {"x"}, "x != 0"), "what a cast to booleans computes"));
  t.push_back(predicate("equal", {"Equal"}, ab, "a == b"));
  t.push_back(predicate("greater", {"Greater"}, ab, "a > b"));
  t.push_back(predicate("less", {"Less"}, ab, "a < b"));
  t.push_back(predicate("greater_or_equal", {"GreaterOrEqual"}, ab, "a >= b"));
  t.push_back(predicate("less_or_equal", {"LessOrEqual"}, ab, "a <= b"));
  t.push_back(predicate("and", {"And"}, ab, "select(a != 0, b != 0, 0)"));
  t.push_back(predicate("or", {"Or"}, ab, "select(a != 0, 1, b != 0)"));
  t.push_back(predicate("xor", {"Xor"}, ab, "(a != 0) != (b != 0)"));
  t.push_back(predicate("not", {"Not"}, {"x"}, "x == 0"));
  t.push_back(predicate("is_nan", {"IsNaN"}, {"x"}, "x != x"));
  OpDef is_inf = predicate("is_inf", {"IsInf"}, {"x"},
                           "select(abs(x) == inf, select(x > 0, detect_positive, detect_negative), 0)");
  is_inf.attrs = {integer("detect_positive", 1), integer("detect_negative", 1)};
  t.push_back(is_inf);
  OpDef where = predicate("where", {"Where"}, {"condition", "x", "y"}, "select(condition, x, y)");
  where.boolean_result = false;
  where.shape = shape_where;
  t.push_back(where);
}

bool shape_dropout(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  if (attr_int(c.op, c.attrs, "training_mode") != 0 && attr_real(c.op, c.attrs, "ratio") != 0)
    return fail(error, "training mode is not supported; export the model for inference");
  outputs = {*c.inputs[0], {DataType::boolean, c.inputs[0]->shape}};
  return true;
}

bool steps_dropout(const ShapeContext& c, std::vector<DecompositionStep>& steps, std::string&) {
  Steps s(steps);
  s.result("y", "identity", {"x"});
  s.result("mask", "constant_of_shape", {},
           {{"shape", c.inputs[0]->shape}, {"value", 1.0}, {"dtype", std::string("bool")}});
  return true;
}

void add_contractions(std::vector<OpDef>& t) {
  OpDef gemm;
  gemm.name = "gemm";
  gemm.kind = OpKind::contraction;
  gemm.onnx = {"Gemm"};
  gemm.operands = {"a", "b", "c"};
  gemm.optional_operands = 1;
  gemm.attrs = {real("alpha", 1), real("beta", 1), integer("trans_a", 0), integer("trans_b", 0),
                integer("broadcast", 1)};
  gemm.shape = shape_gemm;
  gemm.reference = reference_gemm;
  gemm.loops = loops_gemm;
  gemm.flops = 2;
  gemm.note = "'broadcast' is an attribute before opset 7";
  t.push_back(gemm);
  OpDef matmul;
  matmul.name = "matmul";
  matmul.kind = OpKind::contraction;
  matmul.onnx = {"MatMul"};
  matmul.operands = {"a", "b"};
  matmul.shape = shape_matmul;
  matmul.reference = reference_matmul;
  matmul.loops = loops_matmul;
  matmul.flops = 2;
  t.push_back(matmul);
}

void add_reductions(std::vector<OpDef>& t) {
  t.push_back(noted(reduce("reduce_sum", {"ReduceSum"}), "axes are an attribute before opset 13"));
  t.push_back(noted(reduce("reduce_max", {"ReduceMax"}), "axes are an attribute before opset 18"));
  t.push_back(noted(reduce("reduce_min", {"ReduceMin"}), "axes are an attribute before opset 18"));
  t.push_back(noted(reduce("reduce_mean", {"ReduceMean"}), "axes are an attribute before opset 18"));
  t.push_back(noted(reduce("reduce_prod", {"ReduceProd"}), "axes are an attribute before opset 18"));
  t.push_back(compound_reduce("reduce_l1", {"ReduceL1"},
                              "a = abs(x)\ny = reduce_sum(a, axes=axes, keepdims=keepdims, "
                              "noop_with_empty_axes=noop_with_empty_axes)"));
  t.push_back(compound_reduce("reduce_l2", {"ReduceL2"},
                              "q = square(x)\ns = reduce_sum(q, axes=axes, keepdims=keepdims, "
                              "noop_with_empty_axes=noop_with_empty_axes)\ny = sqrt(s)"));
  t.push_back(compound_reduce("reduce_sum_square", {"ReduceSumSquare"},
                              "q = square(x)\ny = reduce_sum(q, axes=axes, keepdims=keepdims, "
                              "noop_with_empty_axes=noop_with_empty_axes)"));
  t.push_back(compound_reduce("reduce_log_sum", {"ReduceLogSum"},
                              "s = reduce_sum(x, axes=axes, keepdims=keepdims, "
                              "noop_with_empty_axes=noop_with_empty_axes)\ny = log(s)"));
  // The largest element is taken out, so that no exponential overflows.
  t.push_back(compound_reduce("reduce_log_sum_exp", {"ReduceLogSumExp"},
                              "m = reduce_max(x, axes=axes, noop_with_empty_axes=noop_with_empty_axes)\n"
                              "d = sub(x, m)\n"
                              "e = exp(d)\n"
                              "s = reduce_sum(e, axes=axes, noop_with_empty_axes=noop_with_empty_axes)\n"
                              "l = log(s)\n"
                              "k = add(l, m)\n"
                              "y = reduce_max(k, axes=axes, keepdims=keepdims, "
                              "noop_with_empty_axes=noop_with_empty_axes)"));
}

void add_compounds(std::vector<OpDef>& t) {
  constexpr std::string_view kNote =
      "from opset 13 along one axis; before, the input counts as two-dimensional, split at axis";
  AttrDefs axis = {integer("axis", -1)};
  OpDef softmax = compound("softmax", {"Softmax"}, axis, shape_same,
                           "m = reduce_max(x, axes=axis, keepdims=1)\n"
                           "d = sub(x, m)\n"
                           "e = exp(d)\n"
                           "s = reduce_sum(e, axes=axis, keepdims=1)\n"
                           "y = div(e, s)");
  // Maximum, difference, exponential, sum, and a product with the row's 1 / s.
  softmax.flops = 4 + operations_of(ExprKind::exp);
  softmax.ulp = 8;
  t.push_back(noted(softmax, kNote));
  OpDef log_softmax = compound("log_softmax", {"LogSoftmax"}, axis, shape_same,
                               "m = reduce_max(x, axes=axis, keepdims=1)\n"
                               "d = sub(x, m)\n"
                               "e = exp(d)\n"
                               "s = reduce_sum(e, axes=axis, keepdims=1)\n"
                               "l = log(s)\n"
                               "y = sub(d, l)");
  log_softmax.flops = 4 + operations_of(ExprKind::exp);
  log_softmax.ulp = 8;
  t.push_back(noted(log_softmax, kNote));
}

void add_views(std::vector<OpDef>& t) {
  t.push_back(view("identity", {"Identity"}, {}, shape_elementwise));
  OpDef dropout =
      by_steps("dropout", {"Dropout"}, {"x"}, 0,
               {real("ratio", 0.5), integer("training_mode", 0), integer("seed", 0), integer("is_test", 1)},
               shape_dropout, steps_dropout);
  dropout.onnx_inputs = {{1, "ratio"}, {2, "training_mode"}};
  dropout.results = {"y", "mask"};
  dropout.optional_results = 1;
  t.push_back(noted(dropout, "inference only: the identity, and a mask that lets everything pass"));
  OpDef reshape =
      view("reshape", {"Reshape"}, {integers("shape", true), integer("allowzero", 0)}, shape_reshape);
  reshape.onnx_inputs = {{1, "shape"}};
  t.push_back(noted(reshape, "the shape must be constant"));
  t.push_back(view("flatten", {"Flatten"}, {integer("axis", 1)}, shape_flatten));
  OpDef squeeze = view("squeeze", {"Squeeze"}, {integers("axes")}, shape_squeeze);
  squeeze.onnx_inputs = {{1, "axes"}};
  t.push_back(noted(squeeze, "axes are an attribute before opset 13"));
  OpDef unsqueeze = view("unsqueeze", {"Unsqueeze"}, {integers("axes", true)}, shape_unsqueeze);
  unsqueeze.onnx_inputs = {{1, "axes"}};
  t.push_back(noted(unsqueeze, "axes are an attribute before opset 13"));
  OpDef transpose = view("transpose", {"Transpose"}, {integers("perm")}, shape_transpose);
  transpose.kind = OpKind::movement;
  transpose.reference = reference_transpose;
  transpose.loops = loops_transpose;
  t.push_back(transpose);
  OpDef concat = view("concat", {"Concat"}, {{"axis", kInt, int64_t(0), true}}, shape_concat);
  concat.kind = OpKind::movement;
  concat.variadic = true;
  concat.reference = reference_concat;
  concat.loops = loops_concat;
  t.push_back(concat);
  OpDef constant =
      view("constant", {"Constant"},
           {{"value", AttrKind::reals, std::vector<double>{}, true}, integers("shape")}, shape_constant);
  constant.kind = OpKind::source;
  constant.operands = {};
  constant.attrs.push_back(text("dtype", "f32"));
  constant.reference = reference_constant;
  constant.loops = loops_constant;
  t.push_back(noted(constant, "becomes a constant of the graph at import"));
}

// Work per element of an expression: its operations, every common subexpression counted once.
double count_operations(const OpDef& d) {
  std::vector<std::string_view> attrs;
  for (const AttrDef& a : d.attrs) attrs.push_back(a.name);
  std::string error;
  std::optional<Expr> e = parse_expr(d.expression, d.operands, attrs, error);
  CS_CHECK(e.has_value(), std::string(d.name) + ": " + error);
  return operations_of(*e);
}

std::vector<OpDef> make_table() {
  std::vector<OpDef> t;
  add_contractions(t);
  add_compounds(t);
  add_arithmetic(t);
  add_transcendental(t);
  add_inverse_functions(t);
  add_activations(t);
  add_logic(t);
  add_reductions(t);
  add_views(t);
  add_convolutions(t);
  add_pools(t);
  add_normalizations(t);
  add_slices(t);
  add_pads(t);
  add_indexed(t);
  add_scatters(t);
  add_searches(t);
  add_sources(t);
  add_data_dependent(t);
  add_recurrences(t);
  add_resizes(t);
  add_quantisations(t);
  add_integer_products(t);
  add_whole_batch(t);
  add_algebra(t);
  add_losses(t);
  add_ctc(t);
  add_custom_loss(t);
  add_attention(t);
  add_optimizers(t);
  add_gradient_scaling(t);
  set_gradients(t);
  add_gradient_rows(t);
  for (OpDef& d : t) {
    if (!d.expression.empty()) d.flops = count_operations(d);
  }
  return t;
}

}  // namespace

std::span<const OpDef> op_table() {
  static const std::vector<OpDef> table = make_table();
  return table;
}

}  // namespace cs::ops
