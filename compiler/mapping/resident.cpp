// Resident operands: check, size, host steps, constants.
#include "compiler/mapping/resident_text.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "compiler/autogen/expression.h"
#include "compiler/mapping/emit.h"
#include "compiler/mapping/plan.h"
#include "compiler/mapping/resident.h"

namespace cs::mapping {

namespace {

using kernels::Cut;

constexpr const char* kFunction = "compute";

class Resident {
 public:
  Resident(Parts& parts, const MapOptions& options, const Machine& machine, Mapped& mapped, Diag& diag)
      : parts_(parts), options_(options), machine_(machine), mapped_(mapped), diag_(diag) {}

  bool run(const graph::Graph& g) {
    if (!one_kernel() || !supported(g)) return false;
    inst().work.resident = true;
    if (inst().expr) inst().work.chain = autogen::chain_cost(*inst().expr, machine_, true);
    if (!size()) return false;
    mapped_.layout = "layout.csl";
    mapped_.files = resident_files(inst(), kFunction, machine_);
    host_steps();
    mapped_.host = parts_.host;
    mapped_.weights = parts_.weights;
    for (const PackedConstant& c : inst().constants) pack(c);
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
  bool fail(const std::string& where, const std::string& why, const std::string& help) {
    diag_.error_at(where, why, help);
    return false;
  }

  // ---- checks

  bool one_kernel() {
    std::string list;
    for (const Instance& i : parts_.instances) list += (list.empty() ? "" : ", ") + i.name;
    for (const HostStep& s : parts_.host.steps)
      if (s.kind == HostStep::Kind::op) list += (list.empty() ? "" : ", ") + s.op + " on the host";
    const bool alone = parts_.instances.size() == 1 && list == inst().name;
    return alone ||
           fail("--operands resident",
                fmt::format("is for graphs of one kernel, this one has: {}", list.empty() ? "none" : list),
                "compile the operator alone, or let operands be streamed");
  }

  bool supported(const graph::Graph& g) {
    if (!inst().work.kind->has_resident_form())
      return fail(inst().title,
                  fmt::format("its operands cannot be resident: the kernel is a {} ({})",
                              inst().work.kind->name(), inst().kernel),
                  "elementwise chains of f32, softmax, norms and reductions of rows have a resident form");
    if (inst().work.half) return fail(inst().title, "16-bit operands cannot be resident", "use f32");
    for (graph::ValueId v : inst().operands) {
      if (g.value(v).type.elements() != inst().work.rows * inst().work.n)
        return fail(inst().title, fmt::format("operand '{}' would have to be repeated", g.value(v).name),
                    "give it the shape of the result");
    }
    return true;
  }

  // ---- size

  bool size() {
    const Extent limit = fabric_limit(options_, machine_);
    const bool forced = options_.force_width > 0;
    std::vector<int> widths = powers(limit.width - margins().width);
    std::vector<int> heights = powers(limit.height - margins().height);
    if (forced) widths = {options_.force_width}, heights = {std::max(1, options_.force_height)};
    std::optional<kernels::Plan> best, least;
    for (int w : widths) {
      for (int h : heights) {
        if (!forced && int64_t(w) * h > options_.max_pes_per_kernel) break;
        const auto plan = kernels::plan_resident(inst().work, w, h, machine_);
        if (!plan) continue;
        if (!least || plan->memory.total < least->memory.total) least = plan;
        const bool fits = plan->memory.total <= uint32_t(machine_.core.memory_bytes);
        if (fits && (!best || plan->interval_cycles < best->interval_cycles)) best = plan;
      }
    }
    if (!best) return no_room(least);
    inst().plan = *best;
    inst().rect = {machine_.memcpy.margin_west, machine_.memcpy.margin_north, best->cut.w, best->cut.h};
    return true;
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
    if (!least)
      return fail(inst().title, "no rectangle of the fabric can hold its operands", "a larger --rect");
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
  std::string operand_tensor(int k) {
    for (const Stream& s : parts_.streams)
      for (const Taker& t : s.takers)
        if (t.instance == 0 && t.operand == k) return s.tensor;
    return {};
  }
  std::string result_tensor() {
    for (const Stream& s : parts_.streams)
      if (s.producer == 0) return s.tensor;
    return {};
  }

  Tiling tiling() {
    Tiling t;
    t.rect = inst().rect;
    if (meets_on_line(inst())) {  // a piece of every row
      t.columns = inst().work.n;
      t.tile_rows = uint32_t(cut().m_slice);
      t.tile_columns = uint32_t(cut().n_slice);
    } else {  // PE after PE
      t.tile_columns = uint32_t(resident_words(inst(), "x0"));
      t.columns = int64_t(t.tile_columns) * cut().w;
    }
    return t;
  }
  Tiling result_tiling() {
    if (!inst().work.kind->result_apart()) return tiling();
    Tiling t;
    t.rect = {inst().rect.x, inst().rect.y, meets_on_line(inst()) ? 1 : cut().w, cut().h};
    t.tile_columns = uint32_t(cut().m_slice);
    t.columns = int64_t(t.tile_columns) * t.rect.w;
    return t;
  }

  void host_steps() {
    std::vector<HostStep> steps;
    for (int k = 0; k < inst().work.operands; ++k) {
      HostStep& s = steps.emplace_back();
      s.kind = HostStep::Kind::copy_in;
      s.tensor = operand_tensor(k);
      s.symbol = fmt::format("x{}", k);
      s.tiling = tiling();
    }
    HostStep& launch = steps.emplace_back();
    launch.kind = HostStep::Kind::launch;
    launch.symbol = kFunction;
    HostStep& back = steps.emplace_back();
    back.kind = HostStep::Kind::copy_out;
    back.tensor = result_tensor();
    back.symbol = inst().work.kind->result_apart() ? "y" : "x0";
    back.tiling = result_tiling();
    parts_.host.steps = std::move(steps);
  }

  // Rows have the same constants on every PE, chains the part that belongs to their slice.
  void pack(const PackedConstant& c) {
    const std::vector<float>& values = *c.values;
    const bool same = inst().work.kind->constants_alike();
    const size_t words = size_t(resident_words(inst(), c.name)), pes = size_t(inst().rect.area());
    mapped_.host.constants.push_back({c.name, inst().rect, uint32_t(4 * words), mapped_.weights.size()});
    for (size_t i = 0; i < words * pes; ++i) {
      const size_t from = same ? i % words : i;
      const float value = from < values.size() ? values[from] : 0.0F;
      const size_t at = mapped_.weights.size();
      mapped_.weights.resize(at + 4);
      std::memcpy(mapped_.weights.data() + at, &value, 4);
    }
  }

  Parts& parts_;
  const MapOptions& options_;
  const Machine& machine_;
  Mapped& mapped_;
  Diag& diag_;
};

}  // namespace

bool map_resident(const graph::Graph& g, Parts& parts, const MapOptions& options, const Machine& machine,
                  Mapped& mapped, Diag& diag) {
  return Resident(parts, options, machine, mapped, diag).run(g);
}

}  // namespace cs::mapping
