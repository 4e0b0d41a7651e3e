// One gather for each part, and what selects between them.
#include "compiler/passes/table_parts.h"

namespace cs::passes {

namespace {

using graph::ValueId;

// Of each index, with as many dimensions of 1 behind it as a row of the table has.
ValueId beside_rows(Rewriter& r, ValueId of_index, bool in_tuples, size_t row_rank) {
  ops::Shape shape = r.type(of_index).shape;
  if (in_tuples) shape.pop_back();  // of one index
  shape.insert(shape.end(), row_rank, 1);
  return r.reshape(of_index, std::move(shape));
}

}  // namespace

ValueId gather_from_parts(Rewriter& r, std::span<const TablePart> parts, int axis) {
  const ValueId index = r.node().inputs[1];
  const DataType type = r.type(index).dtype;
  const size_t row_rank = r.type(parts[0].rows).shape.size() - size_t(axis) - 1;
  int64_t rows = 0;
  for (const TablePart& part : parts) rows += part.count;
  const ValueId zero = r.number(type, 0);
  const ValueId from_start =
      r.op("where", {r.op("less", {index, zero}), r.op("add", {index, r.number(type, double(rows))}), index});
  ValueId made;
  int64_t first = 0;
  for (const TablePart& part : parts) {
    const ValueId inside = first == 0 ? from_start : r.op("sub", {from_start, r.number(type, double(first))});
    const ValueId last = r.op("min", {inside, r.number(type, double(part.count - 1))});
    const ValueId own = r.op(r.node().op.c_str(), {part.rows, r.op("max", {last, zero})}, r.node().attrs);
    // What lies behind this part is chosen from a later one.
    made = first == 0 ? own
                      : r.op("where", {beside_rows(r, r.op("greater_or_equal", {inside, zero}),
                                                   r.node().op == "gather_nd", row_rank),
                                       own, made});
    first += part.count;
  }
  return made;
}

}  // namespace cs::passes
