// Roles of a region: one for each different program, and for several rows one of the feeders of each operand
// and one of all collectors. What else differs between PEs is data (region_layout.h).
#include <fmt/format.h>

#include "compiler/autogen/byte_rows.h"
#include "compiler/autogen/region_module.h"
#include "compiler/kernels/region_parts.h"
#include "compiler/kernels/role_parts.h"
#include "compiler/kernels/row_streams.h"

namespace cs::kernels {

namespace {

using autogen::RegionShare;

Need task(const std::string& name) { return {Resource::local_task, name, -1, -1}; }

class Maker {
 public:
  Maker(const Choice& choice, const Setting& at, const RegionLayout& layout, InstanceRoles& made)
      : choice_(choice), at_(at), layout_(layout), made_(made) {}

  void run() {
    for (size_t k = 0; k < layout_.kinds.size(); ++k) kernel(k, layout_.in_rows() ? at_.gathered : at_.leaving);
    if (!layout_.in_rows()) return;
    for (size_t i = 0; i < at_.arriving.size(); ++i)
      made_.roles.push_back(row_feeders(choice_, at_, int(i), int(layout_.feeders[0][i].size()),
                                        at_.operands_held ? layout_.turn_words(i) : 0));
    std::vector<int> words;
    for (const std::vector<uint32_t>& turns : layout_.collectors[0]) words.push_back(int(turns.size()));
    const bool held = layout_.block > 0 && at_.gates.empty();
    made_.roles.push_back(held ? block_collectors(choice_, at_, words.front(), layout_.block, true)
                               : row_collectors(choice_, at_, words));
  }

 private:
  void kernel(size_t kind, const std::vector<int>& out) {
    const RegionShare& share = layout_.kinds[kind];
    bool only = layout_.kinds.size() == 1;
    Role role;
    role.name = only ? at_.name : fmt::format("{}_program{}", at_.name, kind);
    role.what = fmt::format("{}: program {} of {}", choice_.title, kind + 1, layout_.kinds.size());
    std::vector<Coord> pes;
    for (int y = 0; y < layout_.h; ++y)
      for (int x = 0; x < layout_.w; ++x)
        if (layout_.pe(x, y).kind == int(kind)) pes.push_back({at_.rect.x + x, at_.rect.y + y});
    role.runs = runs_of(pes);
    autogen::RegionTitle title{choice_.title, fmt::format("{} x {} PEs, {}", layout_.w, layout_.h,
                                                          autogen::cut_text(*at_.cut.loops))};
    ModuleUse use{role.name + "_kernel.csl", "kernel", {}, {}};
    made_.files[use.file] = autogen::region_module(*choice_.region, share, title, at_.machine);
    if (choice_.row != nullptr) made_.files[std::string(choice_.row->file)] = source(choice_.row->file);
    add_streams(share, at_.in, out, use);
    add_constants(share, role, use);
    role.buffers.push_back({"pe", int(autogen::pe_words(share).size()), false, at_.name + "_pe",
                            "this PE's part of the streams, and its turn", "i32"});
    use.parameters.push_back({"pe", "&pe"});
    for (const char* name : {"compute", "start"}) use.needs.push_back(task(name));
    role.modules.push_back(use);
    made_.roles.push_back(role);
  }

  static void add_streams(const RegionShare& share, const std::vector<int>& in, const std::vector<int>& out,
                          ModuleUse& use) {
    for (size_t i = 0; i < in.size(); ++i) {
      use.needs.push_back(queue(false, fmt::format("x{}", i), in[i]));
      if (autogen::has_next_task(share, i)) use.needs.push_back(task(fmt::format("x{}_next", i)));
    }
    for (size_t j = 0; j < out.size(); ++j) use.needs.push_back(queue(true, fmt::format("y{}", j), out[j]));
  }

  void add_constants(const RegionShare& share, Role& role, ModuleUse& use) {
    for (size_t k = 0; k < choice_.constants.size(); ++k) {
      const int buffer = choice_.region->constant_buffer[k];
      const autogen::Runs& part = share.stored[size_t(buffer)];
      if (part.empty()) continue;
      const PackedConstant& c = choice_.constants[k];
      const bool bytes = autogen::in_bytes(*choice_.region, share, buffer);
      const int64_t words = bytes ? autogen::words_in_bytes(choice_.region->bytes.at(buffer), part.words())
                                  : part.words() * choice_.region->parts_of(buffer);
      const char* what =
          bytes ? "weights as bytes, row by row, 128 added, behind their scales" : "constant operand";
      role.buffers.push_back({c.name, int(words), true, fmt::format("{}_{}", at_.name, c.name), what,
                              c.integer ? "i32" : "f32"});
      if (bytes) made_.files["byte_rows.csl"] = source("byte_rows.csl");
      // What may be in bytes has one type on all PEs, as it is exported.
      const bool words_of_floats = !bytes && choice_.region->bytes.count(buffer) > 0;
      use.parameters.push_back(
          {c.name, words_of_floats ? fmt::format("@ptrcast([*]f32, &{})", c.name) : "&" + c.name});
    }
  }

  const Choice& choice_;
  const Setting& at_;
  const RegionLayout& layout_;
  InstanceRoles& made_;
};

}  // namespace

void region_roles(const Choice& choice, const Setting& at, const RegionLayout& layout, InstanceRoles& made) {
  Maker(choice, at, layout, made).run();
}

}  // namespace cs::kernels
