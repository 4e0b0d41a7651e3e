// Looks ids up in the Program; nothing here is needed while the simulation runs.
#include "simulator/trace/names.h"

#include <fmt/format.h>

namespace cs::sim {

TraceNames::TraceNames(const Program& program)
    : program_(program), tile_of_(size_t(program.fabric_width) * size_t(program.fabric_height), -1) {
  for (const TileRect& r : program.rects)
    for (int y = r.rect.y; y < r.rect.y + r.rect.h; ++y)
      for (int x = r.rect.x; x < r.rect.x + r.rect.w; ++x)
        if (Rect{0, 0, program.fabric_width, program.fabric_height}.contains({x, y}))
          tile_of_[size_t(y) * size_t(program.fabric_width) + size_t(x)] = int(r.tile);
}

const TileProgram* TraceNames::tile(Coord pe) const {
  if (!Rect{0, 0, program_.fabric_width, program_.fabric_height}.contains(pe)) return nullptr;
  const int tile = tile_of_[size_t(pe.y) * size_t(program_.fabric_width) + size_t(pe.x)];
  return tile < 0 ? nullptr : &program_.tiles[size_t(tile)];
}

int TraceNames::kernel(Coord pe) const {
  if (!program_.host) return -1;
  int found = -1;
  for (size_t i = 0; i < program_.host->kernels.size(); ++i)
    if (program_.host->kernels[i].rect.contains(pe)) found = int(i);
  return found;
}

std::string TraceNames::kernel_name(int kernel) const {
  const KernelRow& row = program_.host->kernels[size_t(kernel)];
  return fmt::format("{} ({})", row.name, origin_name(row.origin));
}

std::string TraceNames::task_name(const TaskEvent& e) const {
  const TileProgram* t = tile(e.pe);
  if (e.microthread >= 0) return instruction(e.pe, e.inst);
  if (t != nullptr && e.task >= 0 && size_t(e.task) < t->tasks.size()) return t->tasks[size_t(e.task)].name;
  if (t != nullptr && e.function >= 0 && size_t(e.function) < t->functions.size())
    return t->functions[size_t(e.function)].name;
  return "task";
}

std::string TraceNames::instruction(Coord pe, uint32_t inst) const {
  const TileProgram* t = tile(pe);
  if (t == nullptr || inst >= t->code.size()) return "instruction";
  return std::string(isa::row(t->code[inst].op).mnemonic);
}

std::string TraceNames::where(Coord pe, uint32_t inst) const {
  const TileProgram* t = tile(pe);
  return t == nullptr ? std::string() : t->where(inst);
}

const char* port_letter(Port port) {
  static constexpr const char* kLetters[kPorts] = {"E", "W", "S", "N", "R"};
  return kLetters[size_t(port)];
}

}  // namespace cs::sim
