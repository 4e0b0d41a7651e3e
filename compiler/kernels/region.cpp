// Regions: any loops, generated (autogen/region.h); PEs listen to whole streams and take what they need. The
// library's part is the convolution of conv.csl, a module in what is otherwise laid out like all regions. Cut
// and planned from its code.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/autogen/autogen.h"
#include "compiler/kernels/choice.h"
#include "compiler/kernels/match_parts.h"

namespace cs::kernels {

namespace {

class Region final : public Kind {
 public:
  std::string_view name() const override { return "region"; }

  std::span<const Row> library() const override {
    static const Row list[] = {
        {"conv",
         "conv.csl",
         this,
         {"conv"},
         "convolution of pictures with a constant kernel, stride 1, in the layout of a region"}};
    return list;
  }

  bool generated_layout() const override { return true; }

  // A picture and a constant kernel, which moves by one row or column at a time.
  const Row* choose(const graph::Graph& g, graph::NodeId id, std::string& why) const override {
    why.clear();
    const graph::Node& node = g.node(id);
    const graph::Value &x = operand(g, node, 0), &w = operand(g, node, 1);
    const ops::OpDef& op = g.op(id);
    auto ones = [&](const char* attribute) {
      const std::vector<int64_t> list = ops::attr_ints(op, node.attrs, attribute);
      return std::all_of(list.begin(), list.end(), [](int64_t n) { return n == 1; });
    };
    if (!is_computed(g, x) || !is_computed(g, w)) {
      why = "kernels compute in f32";
    } else if (x.type.rank() != 4) {
      why = fmt::format("the library's conv is for pictures of 4 dimensions, it has {}", x.type.rank());
    } else if (x.is_constant() || !w.is_constant()) {
      why = "the second operand must be the only constant one";
    } else if (ops::attr_int(op, node.attrs, "group") != 1 || !ones("strides") || !ones("dilations")) {
      why = "the library's conv has one group, and strides and dilations of 1";
    }
    return why.empty() ? &library()[0] : nullptr;
  }

  // ---- footprints

  bool several_rows() const override { return true; }

  Footprint footprint(const Work& work, const Cut& cut) const override {
    Footprint f;
    const bool several = cut.w * cut.h > 1;
    const Distribution d = several ? Distribution::selected : Distribution::whole;
    f.in.assign(size_t(work.operands), {.distribution = d});
    f.by_rows = cut.h > 1;
    f.feeders = f.by_rows ? work.operands : 0;
    f.collectors = f.by_rows ? 1 : 0;
    f.out = {{.distribution = d, .turns = several, .down = f.by_rows}};
    return f;
  }

  // ---- text

  // Of its region, which was built and sliced.
  void fill(const graph::Graph& g, const graph::Group& group, const Machine&, Choice& choice) const override {
    const autogen::Region& region = *choice.region;
    choice.kernel = autogen::kRegionKernel;
    if (region.by_library) {
      choice.row = &library()[0];
      choice.kernel = std::string(choice.row->name) + (group.nodes.size() > 1 ? "+dtg-region" : "");
    }
    choice.operands = region.operands;
    choice.results = region.results;
    Work& work = choice.work;
    work.operands = int(region.operands.size());
    work.n = (region.words_in() + work.operands - 1) / work.operands;
    work.m = region.words_out();
    double flops = 0;
    for (graph::NodeId id : group.nodes) flops += double(g.flops(id));
    work.flops_per_element = flops / double(work.rows * work.m);
  }

  // ---- bound

  int64_t flops(const Work& work) const override {
    return int64_t(double(work.rows * work.m) * work.flops_per_element);
  }
};

}  // namespace

const Kind* region_kind() {
  static const Region kind;
  return &kind;
}

}  // namespace cs::kernels
