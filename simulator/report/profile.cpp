// Tile programs of the same file share their rows: a line costs what it costs on all PEs together.
#include "simulator/report/profile.h"

#include <fmt/format.h>

#include <algorithm>

namespace cs::sim {
namespace {

constexpr const char* kMicrothread = "microthread";

// The line that an instruction comes from, null if nobody knows.
const LineEntry* entry_of(const TileProgram& t, uint32_t inst) {
  const auto after = std::upper_bound(t.lines.begin(), t.lines.end(), inst,
                                      [](uint32_t i, const LineEntry& e) { return i < e.first; });
  return after == t.lines.begin() ? nullptr : &*std::prev(after);
}

// Where the code of a function or task begins: its first line that is not one of a library.
std::string where_of(const TileProgram& t, uint32_t entry) {
  uint32_t end = uint32_t(t.code.size());
  for (const Function& f : t.functions)
    if (f.entry > entry) end = std::min(end, f.entry);
  for (const TaskBinding& b : t.tasks)
    if (b.entry > entry) end = std::min(end, b.entry);
  for (uint32_t i = entry; i < end; ++i)
    if (std::string where = t.where(i); !where.empty() && where[0] != '<') return where;
  return t.where(entry);
}

const char* kind_name(TaskKind k) {
  return k == TaskKind::data ? "data task" : k == TaskKind::control ? "control task" : "local task";
}

}  // namespace

Profile::Profile(const Program& program) : program_(program) {
  pes_.resize(size_t(program.fabric_width) * size_t(program.fabric_height));
  std::map<std::pair<std::string, uint32_t>, uint32_t> known;
  for (const TileProgram& t : program.tiles) {
    std::vector<uint32_t>& at = line_at_.emplace_back(t.code.size());
    for (uint32_t i = 0; i < t.code.size(); ++i) {
      const LineEntry* e = entry_of(t, i);
      const std::string file = e != nullptr && e->file < t.files.size() ? t.files[e->file] : "";
      const uint32_t line = file.empty() ? 0 : e->line;
      const auto [found, fresh] = known.try_emplace({file, line}, uint32_t(lines_.size()));
      if (fresh) lines_.push_back({.file = file, .line = line});
      at[i] = found->second;
    }
  }
  for (const TileRect& r : program.rects)
    for (int y = r.rect.y; y < r.rect.y + r.rect.h; ++y)
      for (int x = r.rect.x; x < r.rect.x + r.rect.w; ++x) pe({x, y}).tile = int(r.tile);
}

LineCost* Profile::line_of(int tile, uint32_t inst) {
  if (tile < 0 || inst >= line_at_[size_t(tile)].size()) return nullptr;
  return &lines_[line_at_[size_t(tile)][inst]];
}

void Profile::work(const WorkEvent& e) {
  PeState& p = pe(e.pe);
  LineCost* line = line_of(p.tile, e.inst);
  if (ended_ || line == nullptr || e.end <= p.accounted) return;
  const Cycle more = e.end - std::max(e.begin, p.accounted);
  line->busy += more;
  if (e.what == Work::memory) line->memory_groups += more;
  if (e.what == Work::fabric) line->fabric_groups += more;
  p.accounted = e.end;
}

void Profile::stall(const StallEvent& e) {
  PeState& p = pe(e.pe);
  LineCost* line = line_of(p.tile, e.inst);
  if (ended_ || line == nullptr || e.end <= p.accounted) return;
  line->stalls[size_t(e.why)] += e.end - std::max(e.begin, p.accounted);
  p.accounted = e.end;
}

void Profile::task(const TaskEvent& e) {
  PeState& p = pe(e.pe);
  if (ended_ || p.tile < 0) return;
  const TileProgram& t = program_.tiles[size_t(p.tile)];
  std::string name, kind, where = e.microthread >= 0 ? t.where(e.inst) : where_of(t, e.inst);
  if (e.microthread >= 0) {
    name = e.inst < t.code.size() ? std::string(isa::row(t.code[e.inst].op).mnemonic) : "";
    kind = kMicrothread;
  } else if (e.task >= 0) {
    name = t.tasks[size_t(e.task)].name;
    kind = kind_name(t.tasks[size_t(e.task)].kind);
  } else if (e.function >= 0) {
    name = t.functions[size_t(e.function)].name;
    kind = "function";
  } else {
    return;
  }
  const auto [found, fresh] = function_at_.try_emplace({name, kind, where}, functions_.size());
  if (fresh) functions_.push_back({.name = name, .kind = kind, .where = where});
  FunctionCost& f = functions_[found->second];
  ++f.runs;
  f.cycles += e.end - e.begin;
  if (e.end - e.begin > f.longest) {
    f.longest = e.end - e.begin;
    f.longest_pe = e.pe;
  }
  if (std::find(p.ran.begin(), p.ran.end(), found->second) != p.ran.end()) return;
  p.ran.push_back(found->second);
  ++f.pes;
}

std::vector<LineCost> Profile::lines() const {
  std::vector<LineCost> out;
  std::copy_if(lines_.begin(), lines_.end(), std::back_inserter(out),
               [](const LineCost& l) { return l.cycles() > 0; });
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return a.cycles() > b.cycles(); });
  return out;
}

std::vector<FunctionCost> Profile::functions() const {
  std::vector<FunctionCost> out = functions_;
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    const bool a_beside = a.kind == kMicrothread, b_beside = b.kind == kMicrothread;
    return a_beside != b_beside ? b_beside : a.cycles > b.cycles;
  });
  return out;
}

}  // namespace cs::sim
