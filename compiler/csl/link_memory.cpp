// Where everything lies in the 48 KB of a PE.
//
//  1. Equal constants become one.
//  2. Frames: functions that can be active together (one calls the other, directly or not) lie behind each
//  other, all
//     others on top of each other. Offsets grow along call edges until nothing changes; a function that might
//     call itself through a pointer, and slots that asynchronous operations use, get memory of their own.
//  3. In address order: reserved, code, constants, data, argument areas, frames, exclusive slots.
//  4. If that is more than there is: need, have, the breakdown and the largest users.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "compiler/csl/link.h"

namespace cs::csl::link {
namespace {

uint32_t align_to(uint32_t value, uint32_t align) { return (value + align - 1) / align * align; }

void merge_constants(State& state) {
  std::map<std::vector<uint8_t>, int32_t> known;
  for (size_t i = 0; i < state.globals.size(); ++i) {
    Global& g = state.globals[i];
    if (!g.live || g.section != SectionKind::constants || !g.mir.relocations.empty() || g.mir.init.empty())
      continue;
    auto [it, is_new] = known.try_emplace(g.mir.init, int32_t(i));
    if (is_new) continue;
    g.same_as = it->second;
    Global& first = state.globals[size_t(it->second)];
    first.mir.align = std::max(first.mir.align, g.mir.align);
  }
}

// Call edges between live functions, as positions in state.functions.
std::vector<std::set<size_t>> call_graph(const State& state) {
  std::vector<std::set<size_t>> edges(state.functions.size());
  for (size_t i = 0; i < state.functions.size(); ++i) {
    for (uint32_t callee : state.functions[i].callees) edges[i].insert(size_t(state.function_of_mir[callee]));
    if (!state.functions[i].calls_indirectly) continue;
    for (size_t k = 0; k < state.functions.size(); ++k)
      if (state.functions[k].address_taken) edges[i].insert(k);
  }
  return edges;
}

bool reaches_itself(const std::vector<std::set<size_t>>& edges, size_t start) {
  std::vector<bool> seen(edges.size(), false);
  std::vector<size_t> work{start};
  while (!work.empty()) {
    size_t at = work.back();
    work.pop_back();
    for (size_t next : edges[at]) {
      if (next == start) return true;
      if (!seen[next]) seen[next] = true, work.push_back(next);
    }
  }
  return false;
}

void place_frames(State& state) {
  std::vector<std::set<size_t>> edges = call_graph(state);
  for (size_t i = 0; i < state.functions.size(); ++i) {
    Function& f = state.functions[i];
    bool alone = reaches_itself(edges, i);
    for (Slot& s : f.slots) {
      s.exclusive |= alone;
      uint32_t& top = s.exclusive ? state.exclusive_bytes : f.frame_bytes;
      s.offset = align_to(top, s.align);
      top = s.offset + s.bytes;
    }
    f.frame_bytes = align_to(f.frame_bytes, 4);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < state.functions.size(); ++i) {
      uint32_t end = state.functions[i].frame_offset + state.functions[i].frame_bytes;
      for (size_t callee : edges[i]) {
        Function& f = state.functions[callee];
        if (f.frame_offset >= end) continue;
        f.frame_offset = end;
        changed = true;
      }
    }
  }
  for (const Function& f : state.functions)
    state.frames_bytes = std::max(state.frames_bytes, f.frame_offset + f.frame_bytes);
}

struct User {
  std::string name;
  uint32_t bytes = 0;
  SourceLoc loc;
};

std::vector<User> largest_users(const State& state) {
  std::vector<User> users;
  for (const Global& g : state.globals)
    if (g.live && g.same_as < 0) users.push_back({g.mir.name, g.mir.bytes, g.mir.loc});
  for (const Function& f : state.functions)
    for (const Slot& s : f.slots) users.push_back({f.mir->name + "." + s.name, s.bytes, f.mir->loc});
  std::stable_sort(users.begin(), users.end(),
                   [](const User& a, const User& b) { return a.bytes > b.bytes; });
  constexpr size_t kShown = 5;
  if (users.size() > kShown) users.resize(kShown);
  return users;
}

uint32_t section_bytes(const State& state, SectionKind kind) {
  uint32_t sum = 0;
  for (const Global& g : state.globals)
    if (g.live && g.same_as < 0 && g.section == kind) sum += g.mir.bytes;
  return sum;
}

void report_overflow(State& state, uint32_t need) {
  std::vector<User> users = largest_users(state);
  uint32_t have = uint32_t(state.machine.core.memory_bytes);
  state.too_many_bytes = need - have;
  std::string breakdown = fmt::format(
      "reserved {}, code {}, constants {}, data {}, frames {}", state.reserved_bytes, state.code_bytes,
      section_bytes(state, SectionKind::constants), section_bytes(state, SectionKind::data),
      state.frames_bytes + state.exclusive_bytes + section_bytes(state, SectionKind::frame));
  SourceLoc loc = users.empty() ? SourceLoc{} : users[0].loc;
  state.diag.error(
      loc,
      fmt::format("'{}' does not fit in the memory of a PE: need {} bytes, have {} ({} too many); {}",
                  state.tile.name, need, have, need - have, breakdown),
      "spread the data over more PEs, use 16-bit elements, or share buffers that are not in use together");
  for (const User& user : users)
    if (user.loc.valid())
      state.diag.note(user.loc, fmt::format("'{}' takes {} bytes", user.name, user.bytes));
}

}  // namespace

void layout_code(State& state) {
  uint32_t next = 0;
  for (Function& f : state.functions) {
    f.first = f.launch_entry = next;
    f.entry = next + uint32_t(f.stub.size());
    next = f.entry + uint32_t(f.code.lines.size());
    for (const std::vector<Line>* part : {&f.stub, &f.code.lines})
      for (const Line& line : *part)
        state.code_bytes += uint32_t(isa::bytes(line.inst.op, state.machine.arch));
  }
}

bool plan_memory(State& state) {
  merge_constants(state);
  place_frames(state);
  if (state.tile.memcpy) state.reserved_bytes = uint32_t(state.machine.memcpy.memcpy_bytes);
  state.code_address = align_to(state.reserved_bytes, 4);
  uint64_t end = state.code_address + state.code_bytes;
  for (SectionKind kind : {SectionKind::constants, SectionKind::data, SectionKind::frame}) {
    for (Global& g : state.globals) {
      if (!g.live || g.section != kind || g.same_as >= 0) continue;
      uint32_t align = std::max(g.mir.align, 2u);
      end = (end + align - 1) / align * align;
      g.address = uint32_t(end);
      end += g.mir.bytes;
    }
  }
  for (Global& g : state.globals)
    if (g.same_as >= 0) g.address = state.globals[size_t(g.same_as)].address;
  uint32_t slot_align = 4;
  for (const Function& f : state.functions)
    for (const Slot& s : f.slots) slot_align = std::max(slot_align, s.align);
  bool any_frame = state.frames_bytes + state.exclusive_bytes > 0;
  if (any_frame) end = (end + slot_align - 1) / slot_align * slot_align;
  state.frames_address = uint32_t(end);
  uint32_t exclusive = state.frames_address + align_to(state.frames_bytes, slot_align);
  for (Function& f : state.functions)
    for (Slot& s : f.slots)
      s.address = s.exclusive ? exclusive + s.offset : state.frames_address + f.frame_offset + s.offset;
  end = state.exclusive_bytes > 0 ? exclusive + state.exclusive_bytes
                                  : state.frames_address + state.frames_bytes;
  if (end <= uint64_t(state.machine.core.memory_bytes)) return true;
  report_overflow(state, uint32_t(std::min<uint64_t>(end, 0xFFFFFFFFu)));
  return false;
}

}  // namespace cs::csl::link
