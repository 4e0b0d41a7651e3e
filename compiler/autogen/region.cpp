// Regions from nodes of the graph.
#include "compiler/autogen/region.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "compiler/autogen/byte_rows.h"
#include "compiler/autogen/join_statements.h"

namespace cs::autogen {

namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;
using ops::BufferKind;
using ops::LoopAccess;
using ops::LoopProgram;
using ops::LoopStatement;

// 16-bit floats are f32 inside a PE: streams convert them on the way in and out. Integers and booleans are
// i32; the host refuses values that do not fit.
bool computable(const Graph& g, std::span<const ops::LoopBuffer> buffers, std::string& why) {
  int bf16 = -1;  // not known: it takes a look at the whole graph
  for (const ops::LoopBuffer& b : buffers) {
    if (b.type.dtype == DataType::bf16 && bf16 < 0) bf16 = int(graph::bf16_is_half(g));
    if (b.type.dtype != DataType::f64 && (b.type.dtype != DataType::bf16 || bf16 == 1)) continue;
    why = fmt::format("{} is {}, PEs compute in f32 and i32", b.name, ops::type_text(b.type));
    return false;
  }
  return true;
}

class Builder {
 public:
  Builder(const Graph& g, std::span<const NodeId> nodes, Region& region)
      : g_(g), nodes_(nodes), region_(region) {}

  bool run(std::string& why) {
    for (NodeId id : nodes_) {
      LoopProgram part;
      if (!loops(id, part, why)) return false;
      append(id, part);
    }
    for (ops::LoopBlock& block : region_.program.blocks) {
      for (LoopStatement& s : block.statements) merge_axes(s);
    }
    drop_unread(region_.operands, region_.operand_buffer);
    drop_unread(region_.constants, region_.constant_buffer);
    return ops::check_loops(region_.program, why);
  }

 private:
  bool loops(NodeId id, LoopProgram& part, std::string& why) const {
    const graph::Node& node = g_.node(id);
    std::vector<ops::TensorType> outputs;
    for (ValueId v : node.outputs) outputs.push_back(g_.value(v).type);
    std::vector<const ops::TensorType*> inputs = g_.input_types(id);
    if (!ops::loops_of(g_.op(id), node.attrs, inputs, outputs, part, why, g_.input_values(id))) return false;
    if (!computable(g_, part.buffers, why)) return false;
    // A node with one result is taken apart in the graph, where fusing joins its parts; others come whole.
    if (outputs.size() > 1) join_statements(part);
    for (const ops::LoopBuffer& b : part.buffers) {
      if (b.type.elements() > 0) continue;
      why = "a tensor is empty";
      return false;
    }
    return true;
  }

  // Operands of which only the shape counts, and constants that became numbers.
  void drop_unread(std::vector<ValueId>& values, std::vector<int>& buffers) const {
    for (size_t k = values.size(); k-- > 0;) {
      bool read = false;
      for (const ops::LoopBlock& block : region_.program.blocks) {
        for (const LoopStatement& s : block.statements) {
          for (const LoopAccess& a : s.loads) read = read || a.buffer == buffers[k];
        }
      }
      if (read) continue;
      values.erase(values.begin() + int64_t(k));
      buffers.erase(buffers.begin() + int64_t(k));
    }
  }

  int add_buffer(const std::string& name, BufferKind kind, const ops::TensorType& type) {
    region_.program.buffers.push_back({name, kind, type});
    return int(region_.program.buffers.size()) - 1;
  }

  // Buffer of a value that a node reads.
  int read(ValueId v) {
    ValueId source = graph::source_of(g_, v);
    auto it = buffer_of_.find(source);
    if (it != buffer_of_.end()) return it->second;
    bool constant = g_.value(source).is_constant();
    auto& list = constant ? region_.constants : region_.operands;
    std::string name = fmt::format("{}{}", constant ? "c" : "x", list.size());
    int buffer = add_buffer(name, BufferKind::operand, g_.value(source).type);
    list.push_back(source);
    (constant ? region_.constant_buffer : region_.operand_buffer).push_back(buffer);
    return buffer_of_[source] = buffer;
  }

  bool used_outside(ValueId v) const {
    if (g_.value(v).is_output) return true;
    for (NodeId user : g_.value(v).users) {
      if (std::find(nodes_.begin(), nodes_.end(), user) != nodes_.end()) continue;
      if (!graph::is_transparent(g_, user) || used_outside(g_.node(user).outputs[0])) return true;
    }
    return false;
  }

  int written(ValueId v) {
    bool result = used_outside(v);
    std::string name = result ? fmt::format("y{}", region_.results.size()) : fmt::format("m{}", middle_++);
    int buffer = add_buffer(name, result ? BufferKind::result : BufferKind::temporary, g_.value(v).type);
    if (result) {
      region_.results.push_back(v);
      region_.result_buffer.push_back(buffer);
    }
    return buffer_of_[v] = buffer;
  }

  void append(NodeId id, LoopProgram& part) {
    const graph::Node& node = g_.node(id);
    std::vector<int> to(part.buffers.size(), -1);
    size_t b = 0;
    for (ValueId v : node.inputs) {
      if (v.valid()) to[b++] = read(v);
    }
    for (ValueId v : node.outputs) to[b++] = written(v);
    for (; b < part.buffers.size(); ++b) {
      to[b] = add_buffer(fmt::format("{}{}", part.buffers[b].name, middle_++), BufferKind::temporary,
                         part.buffers[b].type);
    }
    for (ops::LoopBlock& block : part.blocks) {
      for (LoopStatement& s : block.statements) {
        s.out.buffer = to[size_t(s.out.buffer)];
        for (LoopAccess& a : s.loads) a.buffer = a.buffer < 0 ? a.buffer : to[size_t(a.buffer)];
        fold_constants(s);
      }
      bool join =
          block.steps == 1 && !region_.program.blocks.empty() && region_.program.blocks.back().steps == 1;
      if (!join) region_.program.blocks.push_back({block.steps, {}});
      auto& list = region_.program.blocks.back().statements;
      list.insert(list.end(), block.statements.begin(), block.statements.end());
    }
  }

  // Loads of constants with one element become numbers of the expression.
  void fold_constants(LoopStatement& s) {
    std::vector<ops::Expr> inner(s.loads.size());
    for (size_t k = 0; k < s.loads.size(); ++k) {
      const LoopAccess& a = s.loads[k];
      const ops::Tensor* t = nullptr;
      for (size_t j = 0; j < region_.constants.size(); ++j) {
        if (a.buffer == region_.constant_buffer[j]) t = g_.constant_of(region_.constants[j]);
      }
      bool fold = t != nullptr && t->elements() == 1 && a.index < 0;
      inner[k].root = fold ? inner[k].constant(t->get(0)) : inner[k].input(int(k));
    }
    s.value = ops::substitute(s.value, inner);
    drop_unused(s);
  }

  static void drop_unused(LoopStatement& s) {
    std::vector<bool> used(s.loads.size(), false);
    for (size_t k = 0; k < s.loads.size(); ++k) used[k] = s.value.uses_input(int(k));
    for (size_t k = s.loads.size(); k-- > 0;) {
      if (used[k] && s.loads[k].index >= 0) used[size_t(s.loads[k].index)] = true;
    }
    if (s.out.index >= 0) used[size_t(s.out.index)] = true;
    std::vector<ops::Expr> inner(s.loads.size());
    std::vector<int> number(s.loads.size(), -1);
    std::vector<LoopAccess> kept;
    for (size_t k = 0; k < s.loads.size(); ++k) {
      if (used[k]) {
        number[k] = int(kept.size());
        kept.push_back(s.loads[k]);
        if (kept.back().index >= 0) kept.back().index = number[size_t(kept.back().index)];
      }
      inner[k].root = used[k] ? inner[k].input(number[k]) : inner[k].constant(0);
    }
    if (s.out.index >= 0) s.out.index = number[size_t(s.out.index)];
    s.value = ops::substitute(s.value, inner);
    s.loads = std::move(kept);
  }

  const Graph& g_;
  std::span<const NodeId> nodes_;
  Region& region_;
  std::map<ValueId, int> buffer_of_;
  int middle_ = 0;
};

bool follows(const LoopAccess& a, size_t outer, size_t inner, int64_t inner_extent) {
  return a.strides[outer] == a.strides[inner] * inner_extent;
}

}  // namespace

int64_t Region::words_in() const {
  double n = 0;
  for (size_t i = 0; i < operands.size(); ++i) n += words_a_round(i);
  return int64_t(std::ceil(n));
}

int64_t Region::words_out() const {
  int64_t n = 0;
  for (int b : result_buffer) n += program.buffers[size_t(b)].type.elements();
  return n;
}

bool same_region(const Region& a, const Region& b) {
  return a.operand_buffer == b.operand_buffer && a.result_buffer == b.result_buffer &&
         a.constant_buffer == b.constant_buffer && a.states == b.states && a.bytes == b.bytes &&
         a.stays == b.stays && a.constant_parts == b.constant_parts && a.may_wait == b.may_wait &&
         a.by_library == b.by_library && a.program == b.program;
}

bool build_region(const Graph& g, std::span<const NodeId> nodes, Region& region, std::string& why) {
  region = {};
  if (!Builder(g, nodes, region).run(why)) return false;
  region.by_library = std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) {
    return g.node(id).assignment.origin == Origin::handwritten && g.op(id).kind == ops::OpKind::loops;
  });
  find_byte_rows(g, region);
  if (region.operands.empty()) why = "all its operands are constant";
  return !region.operands.empty();
}

void keep_results(Region& r, const std::set<graph::ValueId>& taken) {
  for (size_t k = r.results.size(); k-- > 0;) {
    if (taken.count(r.results[k]) > 0) continue;
    r.program.buffers[size_t(r.result_buffer[k])].kind = BufferKind::temporary;
    r.results.erase(r.results.begin() + int64_t(k));
    r.result_buffer.erase(r.result_buffer.begin() + int64_t(k));
  }
}

void merge_axes(LoopStatement& s) {
  auto each = [&](auto&& f) {
    f(s.out);
    for (LoopAccess& a : s.loads) f(a);
  };
  auto drop = [&](size_t axis) {
    s.extents.erase(s.extents.begin() + int64_t(axis));
    each([&](LoopAccess& a) { a.strides.erase(a.strides.begin() + int64_t(axis)); });
  };
  for (size_t k = s.extents.size(); k-- > 0;) {
    if (s.extents[k] == 1) drop(k);
  }
  for (size_t k = s.extents.size(); k-- > 1;) {
    bool all = true;
    each([&](LoopAccess& a) { all = all && follows(a, k - 1, k, s.extents[k]); });
    if (!all) continue;
    s.extents[k - 1] *= s.extents[k];
    each([&](LoopAccess& a) { a.strides[k - 1] = a.strides[k]; });
    drop(k);
  }
}

}  // namespace cs::autogen
