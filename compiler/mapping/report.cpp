// What mapping tells people: kernel rows, placement, flows, a floor plan in characters, memory by kernel.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "compiler/kernels/blocking.h"
#include "compiler/kernels/description.h"
#include "compiler/mapping/emit.h"

namespace cs::mapping {

namespace {

// Colors of every instance: of the flows inside it, of the streams that it takes and gives.
std::vector<std::set<int>> colors_of(const Parts& parts, const FlowPlan& plan) {
  std::vector<std::set<int>> colors(parts.instances.size());
  const auto add = [&](int instance, int flow) {
    if (instance >= 0 && flow >= 0) colors[size_t(instance)].insert(plan.flows[size_t(flow)].color);
  };
  for (size_t i = 0; i < parts.instances.size(); ++i) {
    for (int f : plan.of_instance[i].scatter) add(int(i), f);
    for (int f : plan.of_instance[i].chain) add(int(i), f);
    add(int(i), plan.of_instance[i].back);
  }
  for (size_t s = 0; s < parts.streams.size(); ++s) {
    add(parts.streams[s].producer, plan.of_stream[s]);
    for (const Taker& t : parts.streams[s].takers) add(t.instance, plan.of_stream[s]);
  }
  return colors;
}

// Of the numbers that its PEs compute with.
int element_bytes(const Instance& inst) { return inst.work.native ? 2 : 4; }

KernelRow kernel_row(const Instance& inst, const Machine& machine) {
  KernelRow row;
  row.name = inst.name;
  row.copy = inst.copy;
  row.op = inst.op;
  row.kernel = inst.kernel;
  row.origin = inst.origin;
  row.reason = inst.reason;
  row.rect = inst.rect;
  row.flops = inst.work.flops();
  row.ideal_cycles = kernels::ideal_cycles(inst.work, element_bytes(inst), inst.rect.w, inst.rect.h, machine);
  row.estimated_cycles = inst.plan.latency_cycles;
  row.bytes_per_pe = inst.plan.memory.total;
  return row;
}

std::string floorplan(const Parts& parts, const Extent& fabric) {
  constexpr int kMaxWidth = 120, kMaxHeight = 60;
  const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::string legend;
  std::vector<std::string> rows(size_t(fabric.height), std::string(size_t(fabric.width), '.'));
  for (size_t i = 0; i < parts.instances.size(); ++i) {
    const Instance& inst = parts.instances[i];
    char letter = letters[i % letters.size()];
    for (int y = inst.rect.y; y < inst.rect.y + inst.rect.h; ++y) {
      for (int x = inst.rect.x; x < inst.rect.x + inst.rect.w; ++x) rows[size_t(y)][size_t(x)] = letter;
    }
    for (int k = 0; k < inst.feeders(); ++k) {
      const Rect column = inst.feeders_of(k);
      for (int y = column.y; y < column.y + column.h; ++y) rows[size_t(y)][size_t(column.x)] = '>';
    }
    for (int y = inst.rect.y; inst.in_rows() && y < inst.rect.y + inst.rect.h; ++y)
      rows[size_t(y)][size_t(inst.rect.x) + size_t(inst.rect.w)] = '<';
    legend += fmt::format("  {}  {:<24} {:<28} {} x {} at ({}, {})\n", letter, inst.name, inst.kernel,
                          inst.rect.w, inst.rect.h, inst.rect.x, inst.rect.y);
  }
  std::string out;
  for (size_t y = 0; y < rows.size() && y < size_t(kMaxHeight); ++y) {
    out += "  " + rows[y].substr(0, size_t(kMaxWidth)) + (fabric.width > kMaxWidth ? "…\n" : "\n");
  }
  if (fabric.height > kMaxHeight) out += "  …\n";
  return out + legend + "  >  feeder, <  collector\n";
}

// What passes from PE to PE of a kernel: the memory that was reserved before anything was placed, what it takes now,
// and the colors of its ways.
std::string handed_text(const Instance& inst, const InstanceFlows& flows, const FlowPlan& plan) {
  const auto handed = inst.work.kind->handed(inst, inst.plan.cut);
  if (!handed) return "";
  std::string colors;
  for (const int f : {flows.chain[0], flows.chain[1], flows.back})
    if (f >= 0) colors += fmt::format("{} {}", colors.empty() ? ", colors" : "", plan.flows[size_t(f)].color);
  return fmt::format("  carries: {} of {} B that were reserved{}\n", handed->taken, handed->reserved, colors);
}

std::string fit_table(const Parts& parts, const FlowPlan& plan, const Machine& machine) {
  std::string out;
  for (size_t i = 0; i < parts.instances.size(); ++i) {
    const Instance& inst = parts.instances[i];
    out += fmt::format("{}: {}, {} of {} B per PE", inst.name,
                       kernels::blocking_text(kernels::blocking(inst, inst.plan.cut)), inst.plan.memory.total,
                       machine.core.memory_bytes);
    for (const auto& [name, bytes] : inst.plan.memory.users) out += fmt::format(", {} {}", name, bytes);
    out += "\n" + handed_text(inst, plan.of_instance[i], plan);
    if (const auto product = kernels::describe_product(inst, inst.plan.cut))
      out += "  " + kernels::description_text(*product) + "\n";
  }
  return out;
}

}  // namespace

void fill_reports(const Parts& parts, const FlowPlan& plan, const Extent& fabric, const Machine& machine,
                  Mapped& mapped) {
  const std::vector<std::set<int>> colors = colors_of(parts, plan);
  for (size_t i = 0; i < parts.instances.size(); ++i) {
    const Instance& inst = parts.instances[i];
    KernelRow row = kernel_row(inst, machine);
    row.colors.assign(colors[i].begin(), colors[i].end());
    mapped.host.kernels.push_back(row);
    mapped.placement.push_back({inst.name, inst.kernel, "kernel", inst.rect, inst.plan.interval_cycles,
                                inst.plan.memory.total,
                                kernels::ideal_bound(inst.work, element_bytes(inst), inst.rect.w, inst.rect.h,
                                                     machine)});
    for (int k = 0; k < inst.feeders(); ++k)
      mapped.placement.push_back(
          {inst.name + "_feeder", "feeder", "feeder", inst.feeders_of(k), inst.plan.interval_cycles, 0, {}});
    if (!inst.in_rows()) continue;
    const Rect east{inst.rect.x + inst.rect.w, inst.rect.y, 1, inst.rect.h};
    mapped.placement.push_back(
        {inst.name + "_collector", "collector", "feeder", east, inst.plan.interval_cycles, 0, {}});
  }
  for (const Flow& f : plan.flows) {
    mapped.flows.push_back({f.name, f.color, int(f.routers.size())});
  }
  mapped.floorplan = floorplan(parts, fabric);
  mapped.fit = fit_table(parts, plan, machine);
}

}  // namespace cs::mapping
