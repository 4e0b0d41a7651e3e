// Runs a graph on the engine: maps it, compiles the CSL, feeds the input streams of several samples and
// collects the output streams. Only graphs that need no host operator.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/mapping/mapping.h"

namespace cs::test {

struct RunResult {
  bool ok = false;
  std::string message;
  std::map<std::string, std::vector<float>> outputs;  // by tensor, samples one after another
  std::vector<uint64_t> sample_ends;  // of the first output: cycle of each sample's last element
};

Machine machine(const std::string& name);
// What a stream of this type has for a number, and the number that it then is.
uint32_t word_of(float, DataType);
float number_of(uint32_t word, DataType);
// The value of every input is inputs.at(name), all samples one after another. Where a calculation by hand counts
// instructions of the code as it is written, its level is 0.
constexpr int kOptimised = 2, kAsWritten = 0;
RunResult run(const mapping::Mapped&, const Machine&, const std::map<std::string, std::vector<float>>& inputs,
              int samples, int opt_level = kOptimised);
RunResult run_graph(const graph::Graph&, const Machine&, const mapping::MapOptions&,
                    const std::map<std::string, std::vector<float>>& inputs, int samples,
                    int opt_level = kOptimised);

// Numbers in [-1, 1) from a linear congruential generator: the same everywhere.
std::vector<float> numbers(size_t count, uint32_t seed);

// x [rows, n] -> gemm with weights and bias -> activation (an elementwise operator without attributes, or
// none).
struct GemmCase {
  int rows = 1, n = 1, m = 1;
  std::string activation;
  Origin origin = Origin::handwritten;
  std::vector<float> w, b;        // filled by make: w is [n][m]
  DataType type = DataType::f32;  // of all tensors
};
graph::Graph gemm_graph(GemmCase&);
// What it computes, in double precision.
std::vector<double> gemm_reference(const GemmCase&, const std::vector<float>& x);

graph::ValueId add_op(graph::Graph&, const std::string& name, const std::string& op,
                      const std::vector<graph::ValueId>& inputs, ops::Shape shape, Origin origin,
                      const std::string& group = "");

}  // namespace cs::test
