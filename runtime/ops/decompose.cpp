// Decompositions: the text form of rows, rules that write steps, and the loops of a compound, which are the
// loops of its steps one after another. A view among the steps costs nothing: its result is the same buffer.
#include <cctype>
#include <map>

#include <fmt/format.h>

#include "runtime/ops/rules.h"
#include "runtime/ops/steps.h"

namespace cs::ops {

namespace {

// Splits "a, b, axes=axis" at commas.
std::vector<std::string> split_arguments(std::string_view text) {
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else if (c != ' ') {
      parts.back() += c;
    }
  }
  return parts;
}

AttrValue argument_value(const Attrs& attrs, const std::string& text) {
  if (const AttrValue* v = find_attr(attrs, text)) return *v;
  if (text.find('.') != std::string::npos) return std::stod(text);
  CS_CHECK(!text.empty() && (std::isdigit(static_cast<unsigned char>(text[0])) || text[0] == '-'),
           "unknown attribute in a decomposition: " + text);
  return int64_t(std::stoll(text));
}

std::vector<DecompositionStep> parse_steps(const OpDef& op, const Attrs& given) {
  Attrs attrs = with_defaults(op, given);
  std::vector<DecompositionStep> steps;
  std::string_view text = op.decomposition;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    size_t equal = line.find(" = "), open = line.find('('), close = line.rfind(')');
    CS_CHECK(equal != line.npos && open != line.npos && close != line.npos,
             "decomposition of " + std::string(op.name));
    DecompositionStep step;
    step.results = split_arguments(line.substr(0, equal));
    step.op = line.substr(equal + 3, open - equal - 3);
    for (const std::string& part : split_arguments(line.substr(open + 1, close - open - 1))) {
      size_t sign = part.find('=');
      if (sign == std::string::npos) {
        step.operands.push_back(part);
      } else {
        set_attr(step.attrs, part.substr(0, sign), argument_value(attrs, part.substr(sign + 1)));
      }
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

// Joins the loops of steps into one program. Every value of the decomposition is a buffer of it.
class Composer {
 public:
  Composer(const OpDef& op, std::span<const TensorType* const> inputs, std::span<const TensorType> outputs,
           LoopProgram& program)
      : op_(op), program_(program), builder_(program, inputs, outputs) {
    for (size_t k = 0; k < inputs.size() && k < op.operands.size(); ++k) {
      if (inputs[k] != nullptr)
        values_[std::string(op.operands[k])] = {builder_.operand(int(k)).buffer, *inputs[k]};
    }
    for (size_t k = 0; k < outputs.size(); ++k) results_[std::string(op.results[k])] = int(k);
  }

  bool add(const DecompositionStep& step, std::string& error) {
    const OpDef* row = find_op(step.op);
    CS_CHECK(row != nullptr, fmt::format("decomposition of {} uses unknown '{}'", op_.name, step.op));
    std::vector<const TensorType*> inputs;
    std::vector<int> map;  // buffer of the step's program -> of ours
    for (const std::string& name : step.operands) {
      auto it = values_.find(name);
      inputs.push_back(name.empty() ? nullptr : &it->second.type);
      if (!name.empty()) map.push_back(it->second.buffer);
    }
    std::vector<TensorType> types;
    if (!infer_types(*row, step.attrs, inputs, types, error)) return false;
    types.resize(std::min(types.size(), step.results.size()));
    if (row->kind == OpKind::view && !results_.contains(step.results[0])) {
      values_[step.results[0]] = {map[0], types[0]};
      return true;
    }
    LoopProgram part;
    if (!loops_of(*row, step.attrs, inputs, types, part, error)) return false;
    for (size_t k = 0; k < types.size(); ++k) {
      auto result = results_.find(step.results[k]);
      int buffer = result != results_.end()
                       ? builder_.result(result->second).buffer
                       : builder_.temporary(step.results[k], types[k].dtype, types[k].shape).buffer;
      map.push_back(buffer);
      values_[step.results[k]] = {buffer, types[k]};
    }
    for (const LoopBuffer& b : part.buffers) {
      if (b.kind == BufferKind::temporary)
        map.push_back(builder_.temporary(step.results[0] + "_" + b.name, b.type.dtype, b.type.shape).buffer);
    }
    append(std::move(part), map);
    return true;
  }

 private:
  struct ValueAt {
    int buffer = 0;
    TensorType type;
  };

  void append(LoopProgram part, const std::vector<int>& map) {
    auto move = [&](LoopAccess& a) {
      if (a.buffer != kCounter) a.buffer = map[size_t(a.buffer)];
    };
    for (LoopBlock& block : part.blocks) {
      for (LoopStatement& s : block.statements) {
        for (LoopAccess& a : s.loads) move(a);
        move(s.out);
      }
      LoopBlock& last = program_.blocks.back();
      if (block.steps == 1 && last.steps == 1) {
        last.statements.insert(last.statements.end(), block.statements.begin(), block.statements.end());
      } else if (!block.statements.empty()) {
        if (last.statements.empty()) program_.blocks.pop_back();
        program_.blocks.push_back(std::move(block));
      }
    }
  }

  const OpDef& op_;
  LoopProgram& program_;
  LoopBuilder builder_;
  std::map<std::string, ValueAt> values_;
  std::map<std::string, int> results_;
};

}  // namespace

std::string Steps::add(const std::string& op, std::vector<std::string> operands, const Attrs& attrs) {
  std::string name = fmt::format("t{}", steps_.size());
  result(name, op, std::move(operands), attrs);
  return name;
}

void Steps::result(const std::string& name, const std::string& op, std::vector<std::string> operands,
                   const Attrs& attrs) {
  DecompositionStep step{{name}, op, std::move(operands), {}};
  for (const auto& [key, value] : attrs) set_attr(step.attrs, key, value);
  steps_.push_back(std::move(step));
}

std::string Steps::constant(double value, DataType dtype) {
  return constant(std::vector<double>{value}, {}, dtype);
}

std::string Steps::constant(std::vector<double> values, const Shape& shape, DataType dtype) {
  return add("constant", {},
             {{"value", std::move(values)}, {"shape", shape}, {"dtype", std::string(data_type_name(dtype))}});
}

std::string Steps::reshape(const std::string& x, const Shape& shape) {
  return add("reshape", {x}, {{"shape", shape}, {"allowzero", int64_t(1)}});
}

std::string Steps::transpose(const std::string& x, std::vector<int64_t> perm) {
  return add("transpose", {x}, {{"perm", std::move(perm)}});
}

bool decompose(const OpDef& op, const Attrs& attrs, std::span<const TensorType* const> inputs,
               std::vector<DecompositionStep>& steps, std::string& error) {
  steps.clear();
  const DecompositionRule rule = op.primitives != nullptr ? op.primitives : op.steps;
  if (rule != nullptr) return rule({op, attrs, inputs}, steps, error);
  steps = parse_steps(op, attrs);
  return true;
}

bool loops_of(const OpDef& op, const Attrs& attrs, std::span<const TensorType* const> inputs,
              std::span<const TensorType> outputs, LoopProgram& program, std::string& error,
              std::span<const Tensor* const> values) {
  program = {};
  if (op.loops != nullptr) {
    ShapeContext c{op, attrs, inputs, values};
    return values_known(c, error) && op.loops(c, outputs, program, error);
  }
  if (op.kind == OpKind::compound) {
    std::vector<DecompositionStep> steps;
    if (!decompose(op, attrs, inputs, steps, error)) return false;
    Composer composer(op, inputs, outputs, program);
    for (const DecompositionStep& step : steps) {
      if (!composer.add(step, error)) return false;
    }
    return true;
  }
  if (op.expression.empty()) {
    error = fmt::format("{} has no loops", op.name);
    return false;
  }
  LoopBuilder b(program, inputs, outputs);
  std::vector<LoopAccess> loads;
  for (size_t k = 0; k < inputs.size(); ++k) {
    loads.push_back(b.operand(int(k)).broadcast_to(outputs[0].shape).access());
  }
  b.statement(outputs[0].shape, b.result().access(), std::move(loads),
              bind_attrs(op_expression(op), with_defaults(op, attrs)));
  return true;
}

}  // namespace cs::ops
