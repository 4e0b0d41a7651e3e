// The operator table: everything that is known about an operator is said once, in its row.
//
// Importer: ONNX names and which inputs become attributes. Shape inference: `shape`. Host execution and
// constant folding: evaluate(). Kernel generator: the expression or the loops. Decomposition pass:
// `decomposition` or `steps`. Policy: `kind`. Rows lie in ops_table.cpp and rows_*.cpp, with their shape and
// loop rules beside them; `cs-compile --list-ops` prints them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/ops/expr.h"
#include "runtime/ops/loops.h"
#include "runtime/ops/tensor.h"
#include "runtime/program/host_part.h"
#include "runtime/support/diag.h"

namespace cs::ops {

enum class OpKind : uint8_t {
  elementwise,  // has an expression; operands broadcast
  contraction,  // gemm, matmul
  reduction,    // along axes: reduce_sum ...
  compound,     // has a decomposition into other rows
  view,         // same elements in the same C order, other shape: reshape, flatten, squeeze, identity ...
  movement,     // elements move: transpose, concat, slice, pad
  source,       // no operand's elements are read: constant, shape
  loops,        // has a loop rule of another form: windows, indices, recurrences
};
std::string_view op_kind_name(OpKind);

enum class AttrKind : uint8_t { integer, real, text, integers, reals };

struct AttrDef {
  std::string_view name;
  AttrKind kind = AttrKind::real;
  AttrValue value;  // default; ignored if required
  bool required = false;
};

struct OpDef;
// What a rule sees: types of operands (absent optional ones: null), and values of those that are known.
struct ShapeContext {
  const OpDef& op;
  const Attrs& attrs;
  std::span<const TensorType* const> inputs;
  std::span<const Tensor* const> values = {};  // null: not known; may be shorter than inputs

  const TensorType* input(size_t k) const { return k < inputs.size() ? inputs[k] : nullptr; }
  const Tensor* value(size_t k) const { return k < values.size() ? values[k] : nullptr; }
};
// Fills the types of all results, the optional ones too; on failure says why, with numbers.
using ShapeRule = bool (*)(const ShapeContext&, std::vector<TensorType>& outputs, std::string& error);
// A faster way to what the loops say, or the only one if the result's shape depends on values. Operands: null
// where absent.
using Reference = bool (*)(const ShapeContext&, std::span<const Tensor* const> inputs,
                           std::span<Tensor> outputs, std::string& error);

// Loop definition of rows that are neither an expression nor a decomposition (runtime/ops/loops.h):
// statements over the operands and `outputs`, whose types the shape rule has filled in. `outputs` may end
// early where nobody wants the optional results.
using LoopRule = bool (*)(const ShapeContext&, std::span<const TensorType> outputs, LoopProgram&,
                          std::string& error);

// One line of a decomposition: results = op(operands, attrs).
struct DecompositionStep {
  std::vector<std::string> results;
  std::string op;
  std::vector<std::string> operands;  // names of the row's operands or results of earlier lines; "": absent
  Attrs attrs;
};
// Decomposition of rows whose steps depend on types or on which operands are there. The results of the row
// are the values called like OpDef::results.
using DecompositionRule = bool (*)(const ShapeContext&, std::vector<DecompositionStep>&, std::string& error);

struct GradientCall;
// Reverse mode of the row as steps (runtime/ops/gradient.h).
using GradientRule = bool (*)(const GradientCall&, std::vector<DecompositionStep>&, std::string& error);

// An ONNX input that must be constant and becomes an attribute ("shape" of Reshape, "min" of Clip from opset
// 11).
struct OnnxInputAttr {
  int input = 0;
  std::string_view attr;
};

struct OpDef {
  std::string_view name;  // gemm, leaky_relu
  OpKind kind = OpKind::elementwise;
  std::vector<std::string_view> onnx;      // ONNX names (domain ai.onnx)
  std::vector<std::string_view> operands;  // x · a, b · condition, x, y
  int optional_operands = 0;               // the last so many may be absent
  bool variadic = false;                   // the last operand may be repeated (concat)
  std::vector<std::string_view> results = {"y"};
  int optional_results = 0;       // the last so many may be absent
  bool variadic_results = false;  // the last may be repeated; the shape rule says how many there are (split)
  bool onnx_fold = false;         // ONNX's form is variadic, ours binary: max(a, b, c) = max(max(a, b), c)
  std::vector<AttrDef> attrs;
  std::vector<OnnxInputAttr> onnx_inputs;
  std::vector<int> constant_operands;  // operands whose values the shape rule needs
  bool types_only = false;             // the results depend on the operands' types alone: shape, size
  ShapeRule shape = nullptr;
  std::string_view expression;        // elementwise
  bool boolean_result = false;        // elementwise: output is boolean, not the operands' type
  std::string_view derivative;        // elementwise: d output / d operand, ";" between; in operands and y
  GradientRule gradient = nullptr;    // others; a compound without one follows from its decomposition
  std::string_view no_gradient;       // why there is none: the error where one is asked for
  bool loss = false;                  // a gradient row "<name>_gradient" is made of it
  std::string_view gradient_of;       // the row whose gradient row this is
  double ulp = 1;                     // allowed error of a float32 kernel, in units of the last place
  std::string_view decomposition;     // compound: one "name = op(operand, ..., attr=value)" per line;
                                      // lines that end in a result's name define it
  DecompositionRule steps = nullptr;  // compound: instead of the text, or for a formula (formula.h) in it
  // Not a compound: what can stand beside the kernel that is made of it, for some operands.
  DecompositionRule primitives = nullptr;
  double flops = 1;               // per output element (contraction: per multiply-add); elementwise: counted
  Reference reference = nullptr;  // host only
  LoopRule loops = nullptr;
  std::string_view note;  // ONNX versions and limits, for --list-ops
};

// Rows in table order; pointers stay valid.
std::span<const OpDef> op_table();
const OpDef* find_op(std::string_view name);  // by our name
const OpDef* find_onnx_op(std::string_view onnx_name);
std::vector<std::string> op_names();

// The parsed expression of an elementwise row: operand i = OpDef::operands[i]; attributes unbound.
const Expr& op_expression(const OpDef&);

// Attribute access with the row's default. CS_CHECK on an attribute that the row does not have.
int64_t attr_int(const OpDef&, const Attrs&, std::string_view name);
double attr_real(const OpDef&, const Attrs&, std::string_view name);
std::string attr_text(const OpDef&, const Attrs&, std::string_view name);
std::vector<int64_t> attr_ints(const OpDef&, const Attrs&, std::string_view name);
const AttrValue* find_attr(const Attrs&, std::string_view name);
void set_attr(Attrs&, std::string_view name, AttrValue value);  // keeps the list sorted
// The attributes of a row with defaults filled in for those absent (required ones excepted).
Attrs with_defaults(const OpDef&, const Attrs&);

// Arity, attribute names, kinds and required ones. One message per problem.
bool check_node(const OpDef&, const Attrs&, size_t inputs, std::vector<std::string>& errors);
// Types of all results, optional ones too. Null: operand absent. `values`: of operands that are constant.
bool infer_types(const OpDef&, const Attrs&, std::span<const TensorType* const> inputs,
                 std::vector<TensorType>& outputs, std::string& error,
                 std::span<const Tensor* const> values = {});
// Whether a node may name so many results if its row has `all`.
bool check_results(const OpDef&, size_t named, size_t all, std::string& error);

// The operator as loops: its loop rule, one statement made of its expression, or the loops of its steps one
// after another. `outputs`: the first so many results. False where a rule refuses.
bool loops_of(const OpDef&, const Attrs&, std::span<const TensorType* const> inputs,
              std::span<const TensorType> outputs, LoopProgram&, std::string& error,
              std::span<const Tensor* const> values = {});

// Runs one operator on the host: float32 data in float32, float64 in float64, integers in double or exactly.
// Inputs: null where absent. Used by constant folding, host steps and tests.
bool evaluate(const OpDef&, const Attrs&, std::span<const Tensor* const> inputs, std::vector<Tensor>& outputs,
              Diag&);
bool evaluate(const OpDef&, const Attrs&, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs,
              Diag&);

// The same for rows with `types_only`, which need no operand's elements.
bool evaluate_types(const OpDef&, const Attrs&, std::span<const TensorType* const> inputs,
                    std::vector<Tensor>& outputs, Diag&);

// Floating-point operations of one call, from the row.
int64_t op_flops(const OpDef&, const Attrs&, std::span<const TensorType* const> inputs,
                 std::span<const TensorType> outputs);

// The steps of a compound for these operands; attribute references of the text are replaced by values.
bool decompose(const OpDef&, const Attrs&, std::span<const TensorType* const> inputs,
               std::vector<DecompositionStep>&, std::string& error);

}  // namespace cs::ops
