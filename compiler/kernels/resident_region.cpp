// Any loops (region.cpp) of operands that lie on the PEs: each PE has its part of the leading dimension of
// every tensor, as losses of classes have their rows, or all of it, as it has a number. Same text everywhere,
// nothing is exchanged; what a sum over everything needs is a sum of sums (passes/loss_pieces.h).
#include <fmt/format.h>

#include "compiler/autogen/index_statements.h"
#include "compiler/autogen/join_statements.h"
#include "compiler/autogen/resident_region.h"
#include "compiler/kernels/resident_kind.h"

namespace cs::kernels {

namespace {

using graph::Graph;

class ResidentRegion final : public Kind {
 public:
  std::string_view name() const override { return "resident region"; }

  // ---- choice

  bool from_loops() const override { return true; }

  bool has_resident_form() const override { return true; }

  bool take_resident(const Graph& g, const graph::Group& group, const Machine& machine, Choice& choice,
                     std::string& why) const override {
    auto region = std::make_shared<autogen::Region>();
    if (!autogen::build_region(g, group.nodes, *region, why)) return false;
    region->resident = true;
    count_places(g, *region);
    autogen::join_in_memory(region->program);
    autogen::use_indices(region->program);
    autogen::share_temporaries(region->program);
    std::vector<PackedConstant> constants;
    if (!words_do(*region, why) || !pack_constants(g, *region, constants, why)) return false;
    Work work;
    work.kind = this;
    work.resident = true;
    work.operands = int(region->operands.size());
    work.n = ceil_div(region->words_in(), work.operands);
    work.m = region->words_out();
    work.half = g.value(region->results.front()).type.dtype == DataType::f16;
    double flops = 0;
    for (const graph::NodeId id : group.nodes) flops += double(g.flops(id));
    work.flops_per_element = flops / double(work.m);
    work.least_cycles = autogen::least_cycles(*region, machine);
    choice.operands = region->operands;
    choice.results = region->results;
    work.loops = region;
    choice.work = std::move(work);
    choice.kernel = std::string(name());
    choice.row = nullptr;
    choice.origin = Origin::autogen;
    choice.constants = std::move(constants);
    choice.expr.reset();
    choice.region.reset();
    choice.rows.reset();
    choice.epilogue = nullptr;
    return true;
  }

  // ---- costs

  std::optional<Cut> cut_resident(const Work& work, int w, int h, const Machine& m) const override {
    const autogen::Region& region = *work.loops;
    std::optional<autogen::ResidentShare> made = autogen::share_resident(region, w, h);
    if (!made) return std::nullopt;
    Cut cut;
    cut.w = w;
    cut.h = h;
    for (const int b : region.operand_buffer)
      if (words_of(region, made->share, b) > kMostInSlice) return std::nullopt;
    autogen::StatementCosts costs(m);
    const autogen::RegionEstimate e = autogen::estimate_region(region, std::move(made->share), costs);
    cut.words = e.words;
    cut.code_bytes = e.code_bytes;
    cut.cycles = e.compute_cycles;
    return cut;
  }
  std::string resident_limits(const Work&) const override {
    return "a region's results divide evenly among the PEs, and so does what each PE reads of every operand";
  }
  void add_resident_memory(const Work&, const Cut& cut, Memory& memory) const override {
    add_user(memory, "operands, results and temporaries", 4 * cut.words);
    add_user(memory, "code of the region", cut.code_bytes);
  }
  double launch_cycles(const Work&, const Cut& cut, const Machine&) const override { return cut.cycles; }
  double resident_words(const Work& work, const Cut& cut) const override {
    return double(work.words_in() + work.m) / (double(cut.w) * cut.h);
  }

  // ---- text

  ResidentArrays resident_arrays(const Choice& choice, const Cut& cut) const override {
    const autogen::Region& region = *choice.work.loops;
    const std::optional<autogen::ResidentShare> made = autogen::share_resident(region, cut.w, cut.h);
    const std::vector<bool> odd = autogen::odd_buffers(region);
    const auto array = [&](int b) {
      const ops::LoopBuffer& buffer = region.program.buffers[size_t(b)];
      const int64_t elements = region.elements(b);
      const bool all = !made || autogen::keeps_all(region, made->share, b);
      const int words = int(all ? elements : words_of(region, made->share, b));
      ResidentArray a{buffer.name, elements, all ? elements : int64_t(words) * cut.w, 1, words, cut.w, cut.h};
      a.half = buffer.type.dtype == DataType::f16;
      a.odd_word = odd[size_t(b)];
      return a;
    };
    ResidentArrays list;
    for (const int b : region.operand_buffer) {
      list.operands.push_back(array(b));
      ResidentArray& a = list.operands.back();
      if (a.words() == a.elements) a.windows = {1, 1, 0, 0, 0};  // the same on every PE
    }
    for (const int b : region.constant_buffer) {
      list.constants.push_back(array(b));
      ResidentArray& a = list.constants.back();
      a.by_rows = a.by_columns = a.words() != a.elements;
    }
    for (const int b : region.result_buffer) list.more.push_back(array(b));
    list.result = list.more.front();
    list.more.erase(list.more.begin());
    return list;
  }

  ResidentText write_resident(const Choice& choice, const Setting& at) const override {
    const autogen::Region& region = *choice.work.loops;
    const auto made = autogen::share_resident(region, at.cut.w, at.cut.h);
    const std::string file = at.name + "_kernel.csl";
    const std::vector<bool> odd = autogen::odd_buffers(region);
    ResidentText text = Kind::write_resident(choice, at);
    text.files[file] = autogen::resident_region_module(
        region, made->share, {choice.title, autogen::cut_text(made->cut)}, at.machine);
    text.import = fmt::format("const kernel = @import_module(\"{}\", .{{\n", file);
    for (const auto* list : {&region.operand_buffer, &region.result_buffer, &region.constant_buffer})
      for (const int b : *list) {
        const ops::LoopBuffer& buffer = region.program.buffers[size_t(b)];
        text.import +=
            fmt::format("  .{0} = @ptrcast([*]{1}, &{0}[{2}]),\n", buffer.name,
                        data_type_is_float(buffer.type.dtype) ? "f32" : "i32", odd[size_t(b)] ? 1 : 0);
      }
    text.import += "});\n";
    return text;
  }

  std::string resident_sharding(const Work& work, const Cut& cut) const override {
    const auto made = autogen::share_resident(*work.loops, cut.w, cut.h);
    return made ? autogen::cut_text(made->cut) : "";
  }

  // ---- bound

  int64_t flops(const Work& work) const override {
    return int64_t(double(work.rows * work.m) * work.flops_per_element);
  }
  double least_cycles(const Work& work, const Machine&) const override { return work.least_cycles; }

 private:
  // What no statement reads has a word all the same, since the host copies it.
  static int64_t words_of(const autogen::Region& region, const autogen::RegionShare& share, int buffer) {
    const int64_t kept = autogen::words_kept(share, buffer);
    return kept > 0 ? kept : region.elements(buffer);
  }
  // The host copies words of f32 and, for integers and truth values, i32; f16 where all floats are and one
  // result is made.
  static bool words_do(const autogen::Region& region, std::string& why) {
    bool half = false, full = false;
    for (const auto* list : {&region.operand_buffer, &region.result_buffer})
      for (const int b : *list) {
        const DataType t = region.program.buffers[size_t(b)].type.dtype;
        if (!data_type_is_float(t)) continue;
        half = half || t == DataType::f16;
        full = full || t == DataType::f32;
        if (t != DataType::f16 && t != DataType::f32) why = "its floats are neither f32 nor f16";
      }
    for (const int b : region.constant_buffer)
      if (region.program.buffers[size_t(b)].type.dtype == DataType::f16) why = "it has constants in 16 bits";
    if (half && full) why = "some of its floats have 16 bits and some 32";
    if (half && region.results.size() > 1) why = "it has several results in 16 bits";
    return why.empty();
  }
  // A constant whose elements are 0, 1, 2, … or go on from another number is what loops count.
  static void count_places(const Graph& g, autogen::Region& region) {
    for (size_t k = region.constants.size(); k-- > 0;) {
      const auto t = g.shared_constant_of(region.constants[k]);
      bool counts = !data_type_is_float(t->type.dtype);
      for (int64_t i = 0; counts && i < t->elements(); ++i) counts = t->get_int(i) == t->get_int(0) + i;
      const int buffer = region.constant_buffer[k];
      bool read = false;
      for (ops::LoopBlock& block : region.program.blocks)
        for (ops::LoopStatement& s : block.statements)
          for (ops::LoopAccess& a : s.loads) {
            if (a.buffer != buffer) continue;
            if (!counts || a.index >= 0) {
              read = true;
              continue;
            }
            a.buffer = ops::kCounter;
            a.offset += t->get_int(0);
          }
      if (read) continue;
      region.constants.erase(region.constants.begin() + int64_t(k));
      region.constant_buffer.erase(region.constant_buffer.begin() + int64_t(k));
    }
  }
  static bool pack_constants(const Graph& g, const autogen::Region& region,
                             std::vector<PackedConstant>& constants, std::string& why) {
    for (size_t k = 0; k < region.constants.size(); ++k) {
      const auto t = g.shared_constant_of(region.constants[k]);
      const bool integer = !data_type_is_float(t->type.dtype);
      for (int64_t i = 0; integer && i < t->elements(); ++i)
        if (t->get_int(i) != int64_t(int32_t(t->get_int(i)))) why = "a constant does not fit 32 bits";
      constants.push_back(
          {region.program.buffers[size_t(region.constant_buffer[k])].name, ConstantView(t), integer});
    }
    return why.empty();
  }
};

}  // namespace

const Kind* resident_region_kind() {
  static const ResidentRegion kind;
  return &kind;
}

}  // namespace cs::kernels
