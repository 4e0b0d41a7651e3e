// See role_parts.h.
#include "compiler/kernels/role_parts.h"

#include <algorithm>

#include <fmt/format.h>

namespace cs::kernels {

Need queue(bool output, const std::string& name, int color) {
  return {output ? Resource::output_queue : Resource::input_queue, name, color, -1};
}

void add_tasks(ModuleUse& use, std::initializer_list<const char*> names) {
  for (const char* name : names) use.needs.push_back({Resource::local_task, name, -1, -1});
}

std::vector<Span> columns(const Cut& cut) {
  std::vector<Span> list;
  list.push_back({0, 1, 1});
  if (cut.w > 2) list.push_back({1, (cut.w - 1) / 2, 2});
  if (cut.w > 3) list.push_back({2, (cut.w - 2) / 2, 2});
  if (cut.w > 1) list.push_back({cut.w - 1, 1, 1});
  return list;
}

Place column_place(const Span& s, const Cut& cut) {
  Place p;
  p.first = s.first == 0;
  p.last = s.first == cut.w - 1;
  p.parity = s.first % 2;
  return p;
}

std::string column_name(const Place& p) {
  if (p.first && p.last) return "";
  return p.first ? "_first" : p.last ? "_last" : p.parity != 0 ? "_odd" : "_even";
}

std::string sharding_of_row(const Work& work, const Cut& cut) {
  return fmt::format("{} elements on {} PEs, at most {} each", work.n, cut.w, cut.n_slice);
}

void row_roles(const Choice& choice, const Setting& at, bool turns, InstanceRoles& out,
               const AddModule& module) {
  for (const Span& s : columns(at.cut)) {
    Place p = column_place(s, at.cut);
    p.turns = at.cut.w;
    p.turn = !turns ? -1 : p.first ? 0 : p.last ? at.cut.w - 1 : 1;
    Role role;
    role.name = at.name + column_name(p);
    role.what = fmt::format("{}: {}", choice.title, sharding_of_row(choice.work, at.cut));
    role.runs = {{at.rect.x + s.first, at.rect.y, s.count, s.step, 1}};
    module(p, role, out);
    out.roles.push_back(role);
  }
}

void single_role(const Choice& choice, const Setting& at, ModuleUse use, InstanceRoles& out) {
  Role role;
  role.name = at.name;
  role.what = fmt::format("{}: {}", at.name, choice.reason);
  role.runs = {{at.rect.x, at.rect.y, 1, 1, 1}};
  role.modules.push_back(std::move(use));
  out.roles.push_back(role);
}

void add_constants(const Choice& choice, const Setting& at, int n, ModuleUse& use, Role& role) {
  for (int j = 0; j < choice.expr_constants; ++j) {
    std::string name = fmt::format("c{}", j);
    role.buffers.push_back({name, n + 1, true, fmt::format("{}_{}", at.name, name),
                            "constant operand, behind one unused element"});
    use.parameters.push_back({name, fmt::format("@ptrcast([*]f32, &{}[1])", name)});
  }
}

void add_chain_queues(const Setting& at, const Place& p, bool library, ModuleUse& use) {
  use.needs.push_back(queue(false, "x", at.in[0]));
  const int east = p.last ? at.out : at.chain[p.parity];
  if (!p.first) {
    use.needs.push_back(queue(false, "west", at.chain[1 - p.parity]));
  } else if (library) {
    use.parameters.push_back({"west_color", fmt::format("@get_color({})", at.in[0])});
    use.parameters.push_back({"west_queue", "@get_input_queue(0)"});
  }
  use.needs.push_back(queue(true, "east", east));
  add_tasks(use, {"compute", "start"});
}

std::vector<CutPart> parts_of(const Cut& cut) {
  std::vector<CutPart> list;
  for (int south = 0; south < 2; ++south) {
    for (int east = 0; east < 2; ++east) {
      CutPart p;
      p.row = south != 0 ? cut.h - 1 : 0;
      p.rows = south != 0 ? 1 : cut.h - 1;
      p.column = east != 0 ? cut.w - 1 : 0;
      p.columns = east != 0 ? 1 : cut.w - 1;
      p.m = south != 0 ? cut.m_last : cut.m_slice;
      p.n = east != 0 ? cut.n_last : cut.n_slice;
      if (p.rows > 0 && p.columns > 0) list.push_back(p);
    }
  }
  return list;
}

void pack_per_element(const PackedConstant& c, const Cut& cut, std::vector<PackedPart>& out) {
  for (const CutPart& p : parts_of(cut)) {
    if (p.row + p.rows != cut.h) continue;
    out.push_back({c.name,
                   {p.column, p.row, p.columns, p.rows},
                   uint32_t(4 * (p.n + 1)),
                   [values = c.values, p, slice = cut.n_slice](size_t pe, std::vector<uint32_t>& words) {
                     words.push_back(0);
                     values.append_floats((p.column + int64_t(pe)) * slice, p.n, 1, words);
                   }});
  }
}

uint32_t turn_word(int turn, int turns) {
  if (turns == 1) return control_wavelet({});
  return turn == 0           ? control_wavelet({1})
         : turn + 1 == turns ? control_wavelet({2})
                             : control_wavelet({2, 1});
}

std::string turn_control(int turn, int turns) { return fmt::format("0x{:08x}", turn_word(turn, turns)); }

uint32_t control_wavelet(std::initializer_list<int> commands) {
  // Positions of opcode and ignore bit of commands 0 to 7 in the wavelet.
  constexpr int kOpcode[8] = {22, 25, 28, 1, 4, 7, 10, 13};
  constexpr int kIgnore[8] = {24, 27, 0, 3, 6, 9, 12, 15};
  uint32_t word = 0;
  size_t i = 0;
  for (int c : commands) word |= uint32_t(c) << kOpcode[i++];
  for (int k = 0; k < 8; ++k) word |= 1U << kIgnore[k];
  return word;
}

Role slice_feeder(const Choice& choice, const Setting& at, int k, Coord here) {
  Role role;
  role.name = fmt::format("{}_feeder{}", at.name, k > 0 ? std::to_string(k) : "");
  role.what =
      fmt::format("{}: feeder of operand {}, {} elements to {} columns", at.name, k, choice.work.n, at.cut.w);
  role.runs = {{here.x, here.y, 1, 1, 1}};
  ModuleUse use{"feeder.csl", "feeder", {}, {}};
  use.parameters = {
      {"slices", number(at.cut.w)}, {"slice", number(at.cut.n_slice)}, {"last_slice", number(at.cut.n_last)}};
  use.needs = {queue(false, "in", at.arriving[size_t(k)]), queue(true, "out", at.in[size_t(k)])};
  add_tasks(use, {"send"});
  role.modules.push_back(use);
  return role;
}

std::vector<Run> runs_of(const std::vector<Coord>& pes) {
  std::map<int, std::vector<int>> rows;
  for (const Coord& k : pes) rows[k.y].push_back(k.x);
  std::vector<Run> open, done;
  for (auto& [y, xs] : rows) {
    std::vector<Run> here;
    for (size_t i = 0; i < xs.size();) {
      int step = i + 1 < xs.size() && xs[i + 1] - xs[i] <= 2 ? xs[i + 1] - xs[i] : 1;
      size_t j = i + 1;
      while (j < xs.size() && xs[j] - xs[j - 1] == step) ++j;
      here.push_back({xs[i], y, int(j - i), step, 1});
      i = j;
    }
    // A run of the row above with the same columns grows by one row.
    std::vector<Run> next;
    for (Run run : here) {
      for (Run& above : open) {
        bool same = above.x == run.x && above.count == run.count && above.step == run.step && above.h > 0;
        if (same && above.y + above.h == y) {
          run.y = above.y;
          run.h = above.h + 1;
          above.h = 0;
          break;
        }
      }
      next.push_back(run);
    }
    for (const Run& run : open) {
      if (run.h > 0) done.push_back(run);
    }
    open = next;
  }
  done.insert(done.end(), open.begin(), open.end());
  std::sort(done.begin(), done.end(),
            [](const Run& a, const Run& b) { return std::pair(a.y, a.x) < std::pair(b.y, b.x); });
  return done;
}

}  // namespace cs::kernels
