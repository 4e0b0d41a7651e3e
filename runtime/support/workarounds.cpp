// See workarounds.h.
#include "runtime/support/workarounds.h"

#include <array>
#include <atomic>

namespace cs {

namespace {

constexpr WorkaroundRow kRows[] = {
    {"onnx-weights-as-inputs", "an input of the ONNX graph has the name of an initializer",
     "exporters list weights among the inputs, as IR versions before 4 demanded: such an input is a constant",
     "contracts"},
    {"onnx-operand-at-axis",
     "operator set below 7, an elementwise operator whose second operand lies at `axis` of the first",
     "operands were not aligned at their ends then: it is reshaped", "contracts"},
    {"onnx-softmax-of-matrices", "operator set below 13, a softmax with several dimensions from `axis` on",
     "its operand counted as a matrix then: it is flattened and given its shape again", "contracts"},
    {"onnx-pad-paddings", "a Pad with the attribute `paddings`", "its first version called `pads` so", "contracts"},
    {"onnx-norm-is-test", "a BatchNormalization with the attribute `is_test`",
     "versions before 7 had training in the same operator; it is computed as in inference", "contracts"},
    {"csl-import-beside-layout", "an imported file lies neither at its name nor beside the file that imports it",
     "programs name all files from the folder of their layout: it is looked for there too", "contracts"},
    {"csl-rpc", "a program calls @rpc", "calls of the host once needed a task of the program; here they need none",
     "contracts"},
};

std::array<std::atomic<int64_t>, std::size(kRows)>& counts() {
  static std::array<std::atomic<int64_t>, std::size(kRows)> list{};
  return list;
}

}  // namespace

std::span<const WorkaroundRow> workaround_rows() { return kRows; }

void note_workaround(Workaround w) { counts()[size_t(w)].fetch_add(1, std::memory_order_relaxed); }

int64_t times_worked_around(Workaround w) { return counts()[size_t(w)].load(std::memory_order_relaxed); }

}  // namespace cs
