// Resident operands: check, size, host steps, constants.
#include "compiler/mapping/resident_text.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "compiler/kernels/library.h"
#include "compiler/mapping/emit.h"
#include "compiler/mapping/plan.h"
#include "compiler/mapping/resident.h"
#include "compiler/mapping/resident_merge.h"
#include "compiler/mapping/transfers.h"

namespace cs::mapping {

namespace {

using kernels::Cut;
using kernels::ResidentArray;

constexpr const char* kFunction = "compute";

class Resident {
 public:
  Resident(Parts& parts, const MapOptions& options, const Machine& machine, Mapped& mapped, Diag& diag)
      : parts_(parts), options_(options), machine_(machine), mapped_(mapped), diag_(diag) {}

  bool run(const graph::Graph& g) {
    if (!one_kernel(g)) return report();
    streamed_ = inst().operands;
    streamed_results_ = inst().results;
    if (!choose(g)) return report();
    say_why(g);
    mapped_.layout = "layout.csl";
    host_steps(g);
    mapped_.files = resident_files(inst(), kFunction, words_, machine_);
    mapped_.host = parts_.host;
    mapped_.weights = parts_.weights;
    const Extent fabric{inst().rect.w + margins().width, inst().rect.h + margins().height};
    mapped_.fabric_width = fabric.width;
    mapped_.fabric_height = fabric.height;
    FlowPlan flows;
    flows.of_instance.resize(1);
    parts_.streams.clear();
    fill_reports(parts_, flows, fabric, machine_, mapped_);
    return true;
  }

 private:
  Instance& inst() { return parts_.instances.front(); }
  const Cut& cut() { return inst().plan.cut; }
  // The first reason is the one that helps: what is tried later does not suit the operator as well.
  bool fail(const std::string& where, const std::string& why, const std::string& help) {
    if (!failure_) failure_ = {where, why, help};
    return false;
  }
  bool report() {
    diag_.error_at(failure_->where, failure_->why, failure_->help);
    return false;
  }

  // ---- checks

  bool one_kernel(const graph::Graph& g) {
    std::string list, why;
    merged_ = merge_resident(g, machine_, parts_, why);
    if (merged_) return true;
    for (const Instance& i : parts_.instances) list += (list.empty() ? "" : ", ") + i.name;
    for (const HostStep& s : parts_.host.steps)
      if (s.kind == HostStep::Kind::op) list += (list.empty() ? "" : ", ") + s.op + " on the host";
    const bool alone = parts_.instances.size() == 1 && list == inst().name;
    return alone || fail("--operands resident",
                         fmt::format("is for graphs of one kernel, this one has: {}{}",
                                     list.empty() ? "none" : list, why.empty() ? "" : "; " + why),
                         "compile the operator alone, or let operands be streamed");
  }

  // Loops can be anything. For one operator, and beside a kernel of the library, they are taken where nothing that is
  // made for it can be; for several operators as one generated kernel where they are quicker.
  bool choose(const graph::Graph& g) {
    if (find_forms(g) && supported(g) && size()) return true;
    if (loops_.empty()) return false;
    forms_ = std::move(loops_);
    return supported(g) && size();
  }

  // The kernel's own form, and those of others that compute the same nodes.
  bool find_forms(const graph::Graph& g) {
    std::string why;
    const bool own = inst().work.kind->has_resident_form();
    if (own && holds_operands(g, inst())) add_form(inst());
    for (kernels::Choice& form : resident_forms(g, group_of(g), machine_, inst(), why)) {
      if (form.work.kind->from_loops()) {
        form.work.resident = true;
        loops_.push_back(std::move(form));
      } else if (form.row != nullptr || may_generate(parts_)) {
        add_form(std::move(form));
      }
    }
    const auto from_library = [](const kernels::Choice& form) { return form.row != nullptr; };
    if (merged_ && std::none_of(forms_.begin(), forms_.end(), from_library))
      for (kernels::Choice& form : std::exchange(loops_, {})) forms_.push_back(std::move(form));
    if (forms_.empty() && own) add_form(inst());  // supported() says what is wrong with it
    if (!forms_.empty()) return true;
    if (why.empty())
      why = fmt::format("the kernel is a {} ({})", inst().work.kind->name(), inst().kernel);
    std::string forms;
    for (const kernels::Kind* kind : kernels::kinds())
      if (kind->has_resident_form()) forms += fmt::format("{}{}", forms.empty() ? "" : ", ", kind->name());
    return fail(inst().title, "its operands cannot be resident: " + why,
                "kinds of kernels that can: " + forms);
  }
  // A form that reads an operand once; one that would have to be repeated is for regions.
  static bool holds_operands(const graph::Graph& g, const kernels::Choice& form) {
    const kernels::ResidentArrays arrays = form.work.kind->resident_arrays(form, kernels::Cut{});
    for (size_t k = 0; k < form.operands.size(); ++k)
      if (g.value(form.operands[k]).type.elements() != arrays.operands[k].elements) return false;
    return true;
  }
  void add_form(kernels::Choice choice) {
    choice.work.resident = true;
    kernels::count_resident_chain(choice, machine_);
    forms_.push_back(std::move(choice));
  }
  graph::Group group_of(const graph::Graph& g) {
    for (graph::Group& group : graph::groups(g))
      if (group.nodes == inst().nodes) return std::move(group);
    return {.name = inst().name, .nodes = inst().nodes};  // several of them (resident_merge.h)
  }

  bool supported(const graph::Graph& g) {
    for (const kernels::Choice& form : forms_) {
      const kernels::ResidentArrays arrays = form.work.kind->resident_arrays(form, kernels::Cut{});
      for (size_t k = 0; k < form.operands.size(); ++k) {
        const graph::Value& v = g.value(form.operands[k]);
        if (v.type.elements() != arrays.operands[k].elements)
          return fail(inst().title, fmt::format("operand '{}' would have to be repeated", v.name),
                      "give it the shape of the result");
      }
    }
    return true;
  }

  // ---- size

  // The quickest form on its quickest rectangle; of equals the first one.
  bool size() {
    const Extent limit = fabric_limit(options_, machine_);
    const bool forced = options_.force_width > 0;
    std::vector<int> widths = powers(limit.width - margins().width);
    std::vector<int> heights = powers(limit.height - margins().height);
    if (forced) widths = {options_.force_width}, heights = {std::max(1, options_.force_height)};
    std::optional<kernels::Plan> best, least;
    const kernels::Choice* quickest = nullptr;
    for (const kernels::Choice& form : forms_) {
      for (int w : widths) {
        for (int h : heights) {
          if (!forced && int64_t(w) * h > options_.max_pes_per_kernel) break;
          const auto plan = kernels::plan_resident(form.work, w, h, machine_);
          if (!plan || (w * h > 1 && lacks(form))) continue;
          if (!least || plan->memory.total < least->memory.total) least = plan;
          const bool fits = plan->memory.total <= uint32_t(machine_.core.memory_bytes);
          if (!fits || (best && plan->interval_cycles >= best->interval_cycles)) continue;
          best = plan;
          quickest = &form;
        }
      }
    }
    if (quickest == nullptr) return no_room(least);
    static_cast<kernels::Choice&>(inst()) = *quickest;
    inst().plan = *best;
    inst().work.kind->settle_resident(best->cut, inst());
    inst().rect = {machine_.memcpy.margin_west, machine_.memcpy.margin_north, best->cut.w, best->cut.h};
    return true;
  }
  // The machine has not what the library's kernel needs where it lies on several PEs.
  bool lacks(const kernels::Choice& form) {
    const std::string why = form.row != nullptr ? kernels::library().lacking(form.row->name, machine_) : "";
    if (why.empty()) return false;
    if (std::ranges::find(lacking_, why) == lacking_.end()) lacking_.push_back(why);
    return true;
  }
  // Policies choose kernels for streams; of operators that this form computes otherwise is said what has
  // them. A chain behind the library's kernel is generated.
  void say_why(const graph::Graph& g) {
    for (const graph::NodeId id : inst().nodes) {
      const bool first = id == inst().nodes.front();
      const kernels::Row* library = first || !inst().expr ? inst().row : nullptr;
      const graph::Assignment& a = g.node(id).assignment;
      if (library != nullptr ? kernels::kernel_of(a.kernel).row == library : a.origin == Origin::autogen) continue;
      std::string why = library != nullptr
                            ? fmt::format("library kernel '{}', for operands on the PEs", library->name)
                            : "generated, for operands on the PEs";
      for (const std::string& lack : lacking_) why += "; left out: " + lack;
      if (first) inst().reason = why;
      for (OpRow& row : parts_.host.ops) {
        if (row.name != g.node(id).name) continue;  // its primitives have names of their own
        row.origin = library != nullptr ? Origin::handwritten : Origin::autogen;
        row.reason = why;
      }
    }
  }
  // What <memcpy> needs around the rectangle.
  Extent margins() const {
    const Machine::Memcpy& m = machine_.memcpy;
    return {m.margin_west + m.margin_east, m.margin_north + m.margin_south};
  }
  static std::vector<int> powers(int limit) {
    std::vector<int> list;
    for (int k = 1; k <= limit; k *= 2) list.push_back(k);
    return list;
  }
  bool no_room(const std::optional<kernels::Plan>& least) {
    std::string names, limits;
    for (const kernels::Choice& form : forms_) {
      const std::string own = form.work.kind->resident_limits(form.work);
      names += (names.empty() ? "'" : " or '") + form.kernel + "'";
      limits += (limits.empty() || own.empty() ? "" : "; ") + own;
    }
    if (!least && !lacking_.empty()) return fail(inst().title, lacking_.front(), "another machine, or --rect 1x1");
    if (!least && options_.force_width > 0)
      return fail(inst().title,
                  fmt::format("kernel {} has no cut for {} x {} PEs{}", names, options_.force_width,
                              std::max(1, options_.force_height), limits.empty() ? "" : ": " + limits),
                  "another --rect");
    if (!least)
      return fail(inst().title,
                  "no rectangle of the fabric can hold its operands" + (limits.empty() ? "" : ": " + limits),
                  "a larger --fabric");
    std::string users;
    for (size_t i = 0; i < least->memory.users.size() && i < 3; ++i)
      users += fmt::format("{}{} {} B", i > 0 ? ", " : "", least->memory.users[i].first,
                           least->memory.users[i].second);
    return fail(
        inst().title,
        fmt::format("needs {} B per PE on {} x {} PEs, a PE has {} B; largest: {}", least->memory.total,
                    least->cut.w, least->cut.h, machine_.core.memory_bytes, users),
        "a larger --rect, or a larger --fabric");
  }

  // ---- host

  // What the streams would have carried.
  std::string operand_tensor(size_t k) {
    for (const Stream& s : parts_.streams)
      for (const Taker& t : s.takers)
        if (t.instance == 0 && streamed_[size_t(t.operand)] == inst().operands[k]) return s.tensor;
    return {};
  }
  std::string result_tensor(size_t k) {
    for (const Stream& s : parts_.streams)
      if (s.producer == 0 && streamed_results_[size_t(s.result)] == inst().results[k]) return s.tensor;
    return {};
  }

  Tiling tiling(const ResidentArray& a) {
    Tiling t;
    t.rect = {inst().rect.x, inst().rect.y, a.w, a.h};
    t.columns = a.columns;
    t.tile_rows = uint32_t(a.tile_rows);
    t.tile_columns = uint32_t(a.tile_columns);
    t.windows = a.windows;
    t.order = a.order;
    return t;
  }
  HostStep& copy(HostStep::Kind kind, const std::string& tensor, const ResidentArray& a,
                 const std::string& symbol) {
    HostStep& s = parts_.host.steps.emplace_back();
    s.kind = kind;
    s.tensor = tensor;
    s.symbol = symbol;
    s.tiling = tiling(a);
    return s;
  }
  // A kernel that has operands as 16-bit floats takes them two to a word.
  void copy_operand(const graph::Graph& g, size_t k, const ResidentArray& a) {
    HostStep& s = copy(HostStep::Kind::copy_in, operand_tensor(k), a, a.name);
    for (HostTensor& t : parts_.host.inputs) {
      const auto input = g.find_value(t.name);
      if (t.name != s.tensor || !input) continue;
      copy_in_words(g.value(*input), t, s);
      CS_CHECK(!s.words || a.half, "a kernel takes 16-bit floats as halves");
      if (s.words) words_.insert(a.name);
    }
  }

  void host_steps(const graph::Graph& g) {
    const kernels::ResidentArrays arrays = inst().work.kind->resident_arrays(inst(), cut());
    parts_.host.steps.clear();
    for (size_t k = 0; k < arrays.operands.size(); ++k)
      copy_operand(g, k, arrays.operands[k]);
    HostStep& launch = parts_.host.steps.emplace_back();
    launch.kind = HostStep::Kind::launch;
    launch.symbol = kFunction;
    copy(HostStep::Kind::copy_out, result_tensor(0), arrays.result, result_symbol(arrays));
    for (size_t k = 0; k < arrays.more.size(); ++k)
      copy(HostStep::Kind::copy_out, result_tensor(k + 1), arrays.more[k], arrays.more[k].name);
    for (size_t k = 0; k < arrays.constants.size(); ++k) pack(arrays.constants[k], inst().constants[k]);
  }

  // PE after PE, each its tile.
  void pack(const ResidentArray& a, const kernels::PackedConstant& constant) {
    std::vector<uint32_t> values;
    constant.values.append_words(0, constant.values.size(), values);
    parts_.host.constants.push_back({a.name, {inst().rect.x, inst().rect.y, a.w, a.h},
                                      uint32_t(4 * a.words()), parts_.weights.size()});
    const Tiling all = tiling(a);
    std::vector<uint32_t> tiles;
    for (int pe = 0; pe < a.w * a.h; ++pe) {
      const Coord tile = all.tile_of({pe % a.w, pe / a.w});
      for (int i = 0; i < a.words(); ++i) {
        const int64_t row = (a.by_rows ? tile.y : 0) * int64_t(a.tile_rows) + i / a.tile_columns;
        const int64_t column = (a.by_columns ? tile.x : 0) * int64_t(a.tile_columns) + i % a.tile_columns;
        const int64_t from = row * a.columns + column;
        const bool inside = column < a.columns && from < int64_t(values.size());
        tiles.push_back(inside ? values[size_t(from)] : 0);
      }
    }
    parts_.weights.append({reinterpret_cast<const char*>(tiles.data()), 4 * tiles.size()});
  }

  Parts& parts_;
  const MapOptions& options_;
  const Machine& machine_;
  Mapped& mapped_;
  Diag& diag_;
  struct Failure {
    std::string where, why, help;
  };
  std::optional<Failure> failure_;
  std::vector<std::string> lacking_;      // what kernels of the library need and the machine has not
  std::set<std::string> words_;           // operands that are copied so
  bool merged_ = false;                   // several operators are one kernel
  std::vector<kernels::Choice> forms_;    // that compute the nodes
  std::vector<kernels::Choice> loops_;    // the same as any loops, where that comes last
  std::vector<graph::ValueId> streamed_, streamed_results_;  // in the order of the streams
};

}  // namespace

bool map_resident(const graph::Graph& g, Parts& parts, const MapOptions& options, const Machine& machine,
                  Mapped& mapped, Diag& diag) {
  return Resident(parts, options, machine, mapped, diag).run(g);
}

}  // namespace cs::mapping
