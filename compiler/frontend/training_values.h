// Values that a step of training is made of: other types and shapes of what is there, and numbers.
#pragma once

#include "compiler/graph/graph.h"

namespace cs::frontend {

// What sums are kept in: f64, or f32 for all others.
DataType wide(DataType);
ops::Tensor in_type(const ops::Tensor&, DataType);
ops::Tensor number(double);  // without dimensions, f32
// A node that converts; the value itself where it has the type. `of`: whose, for names and errors. Invalid
// after an error.
graph::ValueId cast_value(graph::Graph&, graph::ValueId, DataType to, const std::string& of, Diag&);
graph::ValueId reshape_value(graph::Graph&, graph::ValueId, const ops::Shape&, Diag&);

}  // namespace cs::frontend
