// Roles of a region: one for each different program, and for several rows one of the feeders of each operand
// and one of all collectors. What else differs between PEs is data (region_layout.h).
#include <fmt/format.h>

#include "compiler/autogen/byte_rows.h"
#include "compiler/autogen/region_module.h"
#include "compiler/mapping/emit.h"

namespace cs::mapping {

namespace {

using autogen::RegionShare;

Need queue(bool output, const std::string& name, int color) {
  return {output ? Resource::output_queue : Resource::input_queue, name, color, -1};
}
Need task(const std::string& name) { return {Resource::local_task, name, -1, -1}; }

class Maker {
 public:
  Maker(const Instance& inst, const Machine& machine) : inst_(inst), machine_(machine) {}

  InstanceRoles run(const std::vector<int>& in, const std::vector<int>& row_in,
                    const std::vector<int>& row_out, const std::vector<int>& out) {
    for (size_t k = 0; k < inst_.layout.kinds.size(); ++k) kernel(k, row_in, row_out);
    if (!inst_.in_rows()) return std::move(made_);
    for (size_t i = 0; i < in.size(); ++i) {
      Role feeder = column(i > 0 ? fmt::format("feeder{}", i) : "feeder", inst_.entry(int(i)).x);
      add_stream(feeder, "row_feeder.csl", "walk", i, int(inst_.layout.feeders[0][i].size()), in[i],
                 row_in[i]);
      feeder.modules.back().needs.push_back(task("start"));
      made_.roles.push_back(feeder);
    }
    Role collector = column("collector", inst_.rect.x + inst_.rect.w);
    for (size_t j = 0; j < out.size(); ++j) {
      add_stream(collector, "row_collector.csl", "turns", j, int(inst_.layout.collectors[0][j].size()),
                 row_out[j], out[j]);
      collector.modules.back().parameters.push_back({"thread", std::to_string(j)});
      collector.modules.back().parameters.push_back({"alone", out.size() == 1 ? "true" : "false"});
    }
    made_.roles.push_back(collector);
    return std::move(made_);
  }

 private:
  void kernel(size_t kind, const std::vector<int>& in, const std::vector<int>& out) {
    const RegionShare& share = inst_.layout.kinds[kind];
    bool only = inst_.layout.kinds.size() == 1;
    Role role;
    role.name = only ? inst_.name : fmt::format("{}_program{}", inst_.name, kind);
    role.what = fmt::format("{}: program {} of {}", inst_.title, kind + 1, inst_.layout.kinds.size());
    std::vector<RouterKey> pes;
    for (size_t p = 0; p < inst_.layout.pes.size(); ++p) {
      int y = int(p) / inst_.layout.w, x = int(p) % inst_.layout.w;
      if (inst_.layout.pes[p].kind == int(kind)) pes.push_back({inst_.rect.y + y, inst_.rect.x + x});
    }
    role.runs = runs_of(pes);
    autogen::RegionTitle title{inst_.title, fmt::format("{} x {} PEs, {}", inst_.layout.w, inst_.layout.h,
                                                        autogen::cut_text(inst_.cut))};
    ModuleUse use{role.name + "_kernel.csl", "kernel", {}, {}};
    made_.files[use.file] = autogen::region_module(*inst_.region, share, title, machine_);
    if (inst_.row != nullptr) made_.files[std::string(inst_.row->file)] = kernels::source(inst_.row->file);
    add_streams(in, out, use);
    add_constants(share, role, use);
    role.buffers.push_back({"pe", int(autogen::pe_words(share).size()), false, inst_.name + "_pe",
                            "this PE's part of the streams, and its turn", "i32"});
    use.parameters.push_back({"pe", "&pe"});
    for (const char* name : {"compute", "start"}) use.needs.push_back(task(name));
    role.modules.push_back(use);
    made_.roles.push_back(role);
  }

  static void add_streams(const std::vector<int>& in, const std::vector<int>& out, ModuleUse& use) {
    for (size_t i = 0; i < in.size(); ++i) {
      use.needs.push_back(queue(false, fmt::format("x{}", i), in[i]));
      use.needs.push_back(task(fmt::format("x{}_next", i)));
    }
    for (size_t j = 0; j < out.size(); ++j) use.needs.push_back(queue(true, fmt::format("y{}", j), out[j]));
  }

  void add_constants(const RegionShare& share, Role& role, ModuleUse& use) {
    for (size_t k = 0; k < inst_.constants.size(); ++k) {
      const int buffer = inst_.region->constant_buffer[k];
      const autogen::Runs& part = share.stored[size_t(buffer)];
      if (part.empty()) continue;
      const PackedConstant& c = inst_.constants[k];
      const bool bytes = autogen::in_bytes(*inst_.region, share, buffer);
      const int64_t words =
          bytes ? autogen::words_in_bytes(inst_.region->bytes.at(buffer), part.words()) : part.words();
      const char* what = bytes ? "weights as bytes, row by row, 128 added, behind their scales" : "constant operand";
      role.buffers.push_back({c.name, int(words), true, fmt::format("{}_{}", inst_.name, c.name), what,
                              c.integer ? "i32" : "f32"});
      if (bytes) made_.files["byte_rows.csl"] = kernels::source("byte_rows.csl");
      // What may be in bytes has one type on all PEs, as it is exported.
      const bool words_of_floats = !bytes && inst_.region->bytes.count(buffer) > 0;
      use.parameters.push_back({c.name, words_of_floats ? fmt::format("@ptrcast([*]f32, &{})", c.name) : "&" + c.name});
    }
  }

  Role column(const std::string& what, int x) const {
    Role role;
    role.name = fmt::format("{}_{}", inst_.name, what);
    role.what = fmt::format("{}: {} of each of {} rows", inst_.title, what, inst_.layout.h);
    role.runs = {{x, inst_.rect.y, 1, 1, inst_.layout.h}};
    return role;
  }

  void add_stream(Role& role, const char* file, const char* data, size_t i, int words, int in,
                  int out) const {
    std::string name = fmt::format("{}{}", data, i);
    role.buffers.push_back({name, words, false, inst_.name + "_" + name, "", "i32"});
    ModuleUse use{file, fmt::format("stream{}", i), {{data, "&" + name}}, {}};
    use.needs = {queue(false, "in", in), queue(true, "out", out), task("next")};
    role.modules.push_back(use);
  }

  const Instance& inst_;
  const Machine& machine_;
  InstanceRoles made_;
};

}  // namespace

InstanceRoles region_roles(const Instance& inst, const InstanceFlows& flows,
                           const std::vector<int>& in_colors, const std::vector<int>& out_colors,
                           const FlowPlan& plan, const Machine& machine) {
  auto colors = [&](const std::vector<int>& list, const std::vector<int>& direct) {
    if (list.empty()) return direct;
    std::vector<int> found;
    for (int f : list) found.push_back(plan.flows[size_t(f)].color);
    return found;
  };
  return Maker(inst, machine)
      .run(in_colors, colors(flows.scatter, in_colors), colors(flows.gather, out_colors), out_colors);
}

}  // namespace cs::mapping
