// Regions: any loops, generated (autogen/region.h); PEs listen to whole streams and take what they need. The
// library's part is the convolution of conv.csl, a module in what is otherwise laid out like all regions. Cut
// and planned from its code.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "compiler/autogen/autogen.h"
#include "compiler/autogen/held.h"
#include "compiler/autogen/region_module.h"
#include "compiler/kernels/choice.h"
#include "compiler/kernels/match_parts.h"
#include "compiler/kernels/region_parts.h"
#include "compiler/kernels/region_traffic.h"

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

  std::string_view generated() const override { return "dtg-region"; }
  bool generated_layout() const override { return true; }
  bool from_loops() const override { return true; }
  bool writes_groups() const override { return true; }
  bool keeps_states() const override { return true; }

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

  bool take(const graph::Graph& g, const graph::Group& group, const Taking& by, Choice& choice,
            Diag& diag) const override {
    const graph::NodeId front = group.nodes.front();
    autogen::Region region;
    std::string why;
    if (!autogen::build_region(g, group.nodes, region, why)) return refuse(g, front, why, diag);
    std::map<graph::ValueId, const graph::State*> states;
    for (const graph::State* s : by.states) {
      const graph::ValueId before = *g.find_value(s->input);
      if (!autogen::keep_state(region, before, *g.find_value(s->output)))
        return refuse(g, front, fmt::format("state '{}' cannot stay on its PEs", s->name), diag);
      states[before] = s;
    }
    region.may_wait = autogen::HeldStreams(g, by.group_of).may_wait(region);
    choice.work.kind = this;
    choice.work.rows = autogen::slice_region(region);
    for (size_t k = 0; k < region.constants.size(); ++k) {
      const auto state = states.find(region.constants[k]);
      const auto t =
          state != states.end() ? state->second->initial : g.shared_constant_of(region.constants[k]);
      if (!fits_words(g.value(region.constants[k]), *t, diag)) return false;
      const int buffer = region.constant_buffer[k];
      const bool words = !data_type_is_float(t->type.dtype) || region.bytes.count(buffer) > 0;
      choice.constants.push_back({region.program.buffers[size_t(buffer)].name, ConstantView(t), words,
                                  state != states.end() ? state->second->name : ""});
    }
    choice.region = std::move(region);
    fill(g, group, by.machine, choice);
    return true;
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

  int64_t operand_words(const Choice& choice, int k) const override {
    const autogen::Region& r = *choice.region;
    return choice.work.rows / r.stays_for(size_t(k)) * r.elements(r.operand_buffer[size_t(k)]);
  }

  // Of its PEs, or of the collectors of its rows.
  int64_t turns(const Choice& choice, const Cut& cut, int result) const override {
    const autogen::Region& r = *choice.region;
    const int64_t elements = r.elements(r.result_buffer[size_t(result)]);
    autogen::Turns t;
    const bool known = autogen::turns_of(elements, *cut.loops, cut.h > 1, 0, 0, t) && t.words > 0;
    return known ? choice.work.rows * elements / t.words : 0;
  }

  Skew skew(const Choice& choice, const Plan& plan, const Layout* layout) const override {
    Skew s = whole_samples(choice, plan, 1);
    s.again = std::max(0.0, s.until_first);
    s.sends_first = !autogen::asks_before_sending(*choice.region);
    s.one_by_one = plan.cut.w * plan.cut.h > 1 && takes_one_by_one(*choice.region, layout, s.words);
    if (plan.computing_cycles > 0 && layout != nullptr) {  // walked
      s.kept = static_cast<const RegionLayout*>(layout)->kept;
      s.in_order = static_cast<const RegionLayout*>(layout)->in_order;
      s.again = s.until_first = plan.computing_cycles;
      s.until_last = plan.computing_cycles + double(choice.work.m);
    }
    if (choice.work.rows > 1)
      take_in_parts(s, choice.work.rows, 1, plan.latency_cycles, choice.region->stays);
    return s;
  }

  std::optional<std::vector<Plan>> plans(const Choice& choice, const Extent& limit, const Extent& forced,
                                         const Costing& by) const override {
    return region_plans(*choice.region, choice.work.rows, limit, forced, by);
  }
  bool plans_alike(const Choice& a, const Choice& b) const override {
    return autogen::same_region(*a.region, *b.region);
  }

  Plan plan_by_walk(const Choice& choice, const Cut& cut, const PeRound& round,
                    const Costing& by) const override {
    // What it sends is waited for elsewhere, at so many words for each PE.
    const double sent = double(choice.work.m) / (double(cut.w) * cut.h);
    const PeSample pe{std::max(0.0, round.longest - sent), std::max(0.0, round.steady - round.longest)};
    Plan plan = plan_cut(*choice.region, *cut.loops, by.statements, Look::few, &pe).plan;
    plan.latency_cycles += plan.interval_cycles * double(choice.work.rows - 1);
    plan.interval_cycles *= double(choice.work.rows);
    return plan;
  }

  void keep_results(const std::set<graph::ValueId>& taken, Choice& choice) const override {
    autogen::keep_results(*choice.region, taken);
    choice.results = choice.region->results;
    choice.work.m = choice.region->words_out();
  }

  // ---- text

  std::shared_ptr<const Layout> lay_out(const Choice& choice, const Cut& cut) const override {
    return std::make_shared<const RegionLayout>(kernels::lay_out(*choice.region, *cut.loops));
  }
  void write_roles(const Choice& choice, const Setting& at, InstanceRoles& out) const override {
    region_roles(choice, at, static_cast<const RegionLayout&>(*at.layout), out);
  }
  std::vector<PackedPart> pack(const Choice& choice, const Cut&, const Layout* layout) const override {
    return pack_region(choice, static_cast<const RegionLayout&>(*layout));
  }
  // Constants of which no PE needs anything are nowhere.
  std::vector<Exported> exported(const Choice& choice, const Layout* layout) const override {
    const auto& l = static_cast<const RegionLayout&>(*layout);
    std::vector<Exported> list;
    for (const std::string& symbol : region_symbols(choice, l)) list.push_back({symbol, true});
    for (size_t k = 0; k < choice.constants.size(); ++k) {
      const auto needs = [&](const RegionPe& pe) { return !pe.constants[k].empty(); };
      if (std::any_of(l.pes.begin(), l.pes.end(), needs))
        list.push_back({choice.constants[k].name, choice.constants[k].integer});
    }
    return list;
  }

  // Of its region, which was built and sliced.
  void fill(const graph::Graph& g, const graph::Group& group, const Machine&, Choice& choice) const override {
    const autogen::Region& region = *choice.region;
    choice.kernel = generated();
    if (region.by_library) {
      choice.row = &library()[0];
      choice.kernel =
          std::string(choice.row->name) + (group.nodes.size() > 1 ? fmt::format("+{}", generated()) : "");
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

 private:
  // 64-bit integers are computed in 32 bits; what does not fit is refused here.
  static bool fits_words(const graph::Value& value, const ops::Tensor& t, Diag& diag) {
    if (data_type_is_float(t.type.dtype)) return true;
    for (int64_t i = 0; i < t.elements(); ++i) {
      const int64_t v = t.get_int(i);
      if (v == int64_t(int32_t(v))) continue;
      diag.error_at(value.name, fmt::format("element {} is {}, PEs compute integers in 32 bits", i, v));
      return false;
    }
    return true;
  }

  // No PE takes words from the beginning of an operand to its end: routers reject what comes before and
  // behind its own, which is no more than half of it: a PE that waits for the last words is ready when all are.
  // Not assumed before there is a layout, since buffers are planned for the worse.
  static bool takes_one_by_one(const autogen::Region& r, const Layout* layout, const std::vector<int64_t>& words) {
    if (layout == nullptr) return false;
    const auto& l = static_cast<const RegionLayout&>(*layout);
    for (const autogen::RegionShare& share : l.kinds)
      for (const int b : r.operand_buffer) {
        const autogen::Runs& stored = share.stored[size_t(b)];
        if (!stored.empty() && 2 * (stored.last() - stored.first() + 1) > r.elements(b)) return false;
      }
    return l.in_rows() || std::all_of(l.pes.begin(), l.pes.end(), [&](const RegionPe& pe) {
             for (size_t k = 0; k < words.size(); ++k)
               if (!pe.filters[k].used() || pe.filters[k].period < words[k]) return false;
             return true;
           });
  }
};

}  // namespace

const Kind* region_kind() {
  static const Region kind;
  return &kind;
}

}  // namespace cs::kernels
