// Which constants, what they take, and the loop over their rows.
#include "compiler/autogen/byte_rows.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "compiler/autogen/region_writer.h"
#include "compiler/kernels/byte_weights.h"
#include "compiler/kernels/constant_view.h"

namespace cs::autogen {

namespace {

using ops::LoopAccess;
using ops::LoopStatement;

constexpr int64_t kPairsAtOnce = 128;  // of byte_rows.csl
constexpr int64_t kShortRow = 2048;    // elements that may be there twice

bool moves_rows(const LoopAccess& a, size_t axis, const LoopStatement& s, int64_t row) {
  return s.extents[axis] > 1 && a.strides[axis] >= row && a.strides[axis] % row == 0;
}

// The axis that moves furthest through the rows; -1: none does.
int outermost(const LoopStatement& s, const LoopAccess& w, int64_t row) {
  int best = -1;
  for (size_t k = 0; k < s.extents.size(); ++k)
    if (moves_rows(w, k, s, row) && (best < 0 || w.strides[k] > w.strides[size_t(best)])) best = int(k);
  return best;
}

// Rows that are read while that axis stands still.
int64_t rows_at_once(const LoopStatement& s, const LoopAccess& w, int64_t row) {
  const int outer = outermost(s, w, row);
  int64_t rows = 1;
  for (size_t k = 0; k < s.extents.size(); ++k)
    if (int(k) != outer && moves_rows(w, k, s, row)) rows += (s.extents[k] - 1) * (w.strides[k] / row);
  return rows;
}

bool is_multiply_add(const LoopStatement& s) {
  const auto& root = s.value.nodes[size_t(s.value.root)];
  if (s.combine != ops::Combine::add || root.kind != ops::ExprKind::mul || s.loads.size() != 2) return false;
  const auto in_memory = [](const LoopAccess& a) { return a.index < 0 && a.buffer != ops::kCounter; };
  const auto is_input = [&](int node) { return s.value.nodes[size_t(node)].kind == ops::ExprKind::input; };
  return in_memory(s.out) && in_memory(s.loads[0]) && in_memory(s.loads[1]) && is_input(root.a) &&
         is_input(root.b);
}

// Whether an axis moves either through a row or from row to row.
bool keeps_rows(const LoopStatement& s, const LoopAccess& w, int64_t row) {
  int64_t within = w.offset % row;
  for (size_t k = 0; k < s.extents.size(); ++k) {
    if (moves_rows(w, k, s, row) || s.extents[k] == 1) continue;
    if (w.strides[k] < 0) return false;
    within += w.strides[k] * (s.extents[k] - 1);
  }
  return w.offset >= 0 && w.step == 0 && within < row;
}

// Rows at once of all statements that read the buffer; 0: one of them does not keep to rows.
int64_t rows_of_uses(const Region& r, int buffer, int64_t row) {
  int64_t rows = 1;
  for (const ops::LoopBlock& block : r.program.blocks)
    for (const LoopStatement& s : block.statements) {
      const auto uses = std::count_if(s.loads.begin(), s.loads.end(),
                                      [&](const LoopAccess& a) { return a.buffer == buffer; });
      if (uses == 0) continue;
      if (uses > 1 || block.steps > 1 || !is_multiply_add(s)) return 0;
      const LoopAccess& w = s.loads[s.loads[0].buffer == buffer ? 0 : 1];
      if (!keeps_rows(s, w, row)) return 0;
      rows = std::max(rows, rows_at_once(s, w, row));
    }
  return rows;
}

// Before the statement: the rows from the given one on.
struct Unpacking {
  std::string module, array;  // of the region module
  int64_t words = 0;          // of its arrays
  double cycles = 0;
};

int64_t pairs_of(int64_t row) { return (row + 1) / 2; }

Unpacking declare(const LoopAccess& w, int64_t rows, const StatementContext& c, RegionCode& code) {
  const ByteRows& bytes = c.bytes[size_t(w.buffer)];
  const int64_t part = std::min(pairs_of(bytes.row), kPairsAtOnce), floats = rows * bytes.row + 1;
  Unpacking u;
  u.array = fmt::format("{}_by_{}", c.names[size_t(w.buffer)], rows);
  u.module = u.array + "_bytes";
  u.words = floats + 2 * part;
  std::string array = fmt::format("var {0}: [{1}]f32 align(8) = @zeros([{1}]f32);", u.array, floats);
  if (std::find(code.declarations.begin(), code.declarations.end(), array) == code.declarations.end()) {
    code.declarations.push_back(std::move(array));
    code.declarations.push_back(
        fmt::format("const {} = @import_module(\"byte_rows.csl\", .{{ .q = {}, .rows = {}, .n = {}, .at_once "
                    "= {}, .to = &{} }});",
                    u.module, c.names[size_t(w.buffer)], bytes.rows, bytes.row, rows, u.array));
  }
  const Machine& m = c.machine;
  constexpr double kInstruction = 8, kRow = 30;  // descriptors that are moved; what a row begins with
  const int64_t parts = (pairs_of(bytes.row) + part - 1) / part;
  const auto n = double(bytes.row);
  u.cycles = double(rows) * (kRow + n / m.simd("and16") + n / m.simd("fsubs") + n / m.simd("fmuls") +
                             double(4 * parts + 1) * kInstruction);
  return u;
}

}  // namespace

void find_byte_rows(const graph::Graph& g, Region& r) {
  for (size_t k = 0; k < r.constants.size(); ++k) {
    const graph::Value& v = g.value(r.constants[k]);
    if (!v.quantised || !data_type_is_float(v.type.dtype) || v.type.rank() < 2) continue;
    const int64_t rows = v.type.shape[0], row = v.type.elements() / std::max<int64_t>(1, rows);
    if (row < 2) continue;
    const int64_t at_once = rows_of_uses(r, r.constant_buffer[k], row);
    if (at_once == 0) continue;
    const std::vector<float> values = kernels::ConstantView(g.shared_constant_of(r.constants[k])).floats();
    if (kernels::byte_scales(values, rows, row)) r.bytes[r.constant_buffer[k]] = {row, at_once, rows};
  }
}

int64_t words_in_bytes(const ByteRows& b, int64_t elements) {
  const int64_t rows = elements / b.row;
  return rows + (2 * rows * pairs_of(b.row) + 3) / 4;
}

bool in_bytes(const ByteRows& b, int64_t elements) {
  if (b.row == 0 || elements == 0) return false;
  return b.row <= kShortRow || elements > words_in_bytes(b, elements) + b.at_once * b.row + 2 * kPairsAtOnce;
}

bool in_bytes(const Region& r, const RegionShare& share, int buffer) {
  const auto it = r.bytes.find(buffer);
  return it != r.bytes.end() && !share.stored[size_t(buffer)].empty() &&
         in_bytes(it->second, share.stored[size_t(buffer)].words());
}

std::vector<ByteRows> byte_rows_of(const Region& r, const RegionShare& share) {
  if (r.bytes.empty()) return {};
  std::vector<ByteRows> list(r.program.buffers.size());
  for (const auto& [buffer, rows] : r.bytes) {
    if (!in_bytes(r, share, buffer)) continue;
    list[size_t(buffer)] = rows;
    list[size_t(buffer)].rows = share.stored[size_t(buffer)].words() / rows.row;
  }
  return list;
}

bool append_by_rows(const LoopStatement& s, int64_t steps, const StatementContext& c, RegionCode& code) {
  size_t load = 0;
  while (load < s.loads.size() && !c.is_bytes(s.loads[load].buffer)) ++load;
  if (load == s.loads.size()) return false;
  const int64_t row = c.bytes[size_t(s.loads[load].buffer)].row;
  const LoopAccess w = s.loads[load];
  const int axis = outermost(s, w, row);
  const Unpacking u = declare(w, rows_at_once(s, w, row), c, code);

  std::vector<std::string> names = c.names;
  std::vector<bool> integers = c.integers, constants = c.constants, odd = c.odd;
  names.push_back(u.array), integers.push_back(false), constants.push_back(false);
  if (!odd.empty()) odd.push_back(false);
  LoopStatement inner = s;
  inner.loads[load].buffer = int(names.size()) - 1;
  inner.loads[load].offset %= row;
  const int64_t rounds = axis < 0 ? 1 : s.extents[size_t(axis)];
  if (axis >= 0) {
    const auto step = [&](LoopAccess& a) {
      a.step = a.strides[size_t(axis)];
      a.strides.erase(a.strides.begin() + axis);
    };
    inner.extents.erase(inner.extents.begin() + axis);
    step(inner.out);
    for (LoopAccess& a : inner.loads) step(a);
    inner.loads[load].step = 0;
    merge_axes(inner);
  }
  const std::string indent(size_t(c.indent), ' ');
  const std::string first = std::to_string(w.offset / row);
  if (rounds > 1) {
    code.lines.push_back(indent + "{");
    code.lines.push_back(indent + "  var step: i16 = 0;");
    code.lines.push_back(fmt::format("{}  while (step < {}) : (step += 1) {{", indent, rounds));
    code.lines.push_back(fmt::format("{}    {}.unpack({} + {} * step);", indent, u.module, first,
                                     w.strides[size_t(axis)] / row));
  } else {
    code.lines.push_back(fmt::format("{}{}.unpack({});", indent, u.module, first));
  }
  StatementContext context{
      names, integers, constants, c.machine, c.by_library, c.resident, rounds > 1 ? c.indent + 4 : c.indent,
      odd};
  append_statement(inner, rounds, context, code);
  if (rounds > 1) {
    code.lines.push_back(indent + "  }");
    code.lines.push_back(indent + "}");
  }
  code.cycles += double(steps * rounds) * (u.cycles + 8);
  code.scratch_words += u.words;
  return true;
}

}  // namespace cs::autogen
