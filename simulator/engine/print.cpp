// What PEs write to the simulator's log: text and numbers add to the PE's line; a newline, or a full buffer, ends it.
#include <algorithm>

#include "simulator/engine/engine_impl.h"
#include "simulator/exec/print_text.h"

namespace cs::sim {

void Core::print_byte(char c, Cycle t) {
  if (c == 0) return;
  std::string& line = pe_.print->line;
  if (c != '\n') line += c;
  if (c != '\n' && line.size() < kPrintLineBytes) return;
  block_.printed.push_back({t, pe_.at, std::move(line)});
  line.clear();
}

void Core::print(isa::ConfigReg reg, uint16_t value, Cycle t) {
  if (!pe_.print) pe_.print = std::make_unique<Pe::Print>();
  if (reg == isa::ConfigReg::print_high) {
    pe_.print->high = value;
  } else if (reg == isa::ConfigReg::print_text) {
    print_byte(char(value & 0xFF), t);
    print_byte(char(value >> 8), t);
  } else {
    const uint32_t word = uint32_t(pe_.print->high) << 16 | value;
    pe_.print->high = 0;
    for (char c : number_text(reg, word, pe_.tile->program->fp16)) print_byte(c, t);
  }
}

void Engine::Impl::take_printed() {
  for (uint32_t i : due) {
    std::vector<PrintLine>& lines = grid.blocks[i]->printed;
    std::move(lines.begin(), lines.end(), std::back_inserter(printed));
    lines.clear();
  }
}

// Lines of cores that ran ahead wait until the clock has come to them; their order depends on cycle and place alone.
void Engine::Impl::show_printed(Cycle before) {
  if (printed.empty()) return;
  std::stable_sort(printed.begin(), printed.end(), [](const PrintLine& a, const PrintLine& b) {
    return std::tuple(a.cycle, a.pe.y, a.pe.x) < std::tuple(b.cycle, b.pe.y, b.pe.x);
  });
  const auto end = std::find_if(printed.begin(), printed.end(), [&](const PrintLine& l) { return l.cycle >= before; });
  for (auto l = printed.begin(); l != end && print; ++l) print(l->cycle, l->pe, l->text);
  printed.erase(printed.begin(), end);
}

void Engine::set_print(PrintSink sink) { impl_->print = std::move(sink); }

}  // namespace cs::sim
