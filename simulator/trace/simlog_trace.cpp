// One function per event; identities follow the wavelets through their lanes, which are first in, first out.
#include "simulator/trace/simlog_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>

namespace cs::sim {
namespace {

// Ports in the order of the five slots of `departing`, and the letter of each.
constexpr std::array<std::pair<Port, char>, 5> kSlots{
    {{Port::east, 'E'}, {Port::north, 'N'}, {Port::west, 'W'}, {Port::south, 'S'}, {Port::ramp, 'R'}}};

std::string departing(PortSet to) {
  std::string out;
  for (const auto& [port, letter] : kSlots) out += (to & port_bit(port)) != 0 ? letter : ' ';
  return out;
}

// A DSR as the log spells it: DDS5, S0DS5, S1DS5.
std::string dsr_name(const isa::Operand& o) {
  const char* file = o.kind == isa::OperandKind::dest   ? "DDS"
                     : o.kind == isa::OperandKind::src0 ? "S0DS"
                                                        : "S1DS";
  return fmt::format("{}{}", file, o.value);
}

}  // namespace

std::optional<uint32_t> SimlogLines::parse(std::string_view text) {
  uint32_t lines = 0;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    if (word == "inst_trace")
      lines |= kInstructions;
    else if (word == "router")
      lines |= kRouter;
    else if (word == "landing")
      lines |= kLanding;
    else
      return std::nullopt;
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return lines;
}

uint32_t SimlogLines::of(const TraceFilter& filter) {
  uint32_t lines = 0;
  if (filter.has(TraceKind::tasks) || filter.has(TraceKind::operations)) lines |= kInstructions;
  if (filter.has(TraceKind::wavelets)) lines |= kRouter | kLanding;
  return lines;
}

SimlogTrace::SimlogTrace(const std::string& path, const Program& program, const Machine& machine,
                         TraceFilter filter, uint32_t lines, Diag& diag)
    : program_(program),
      names_(program),
      hop_(Cycle(machine.router.hop_cycles)),
      filter_(filter),
      groups_(lines),
      lines_(path, diag) {
  lines_.head(fmt::format("@0 dimX={}, dimY={}\n", program.fabric_width, program.fabric_height));
  for (const TileProgram& tile : program.tiles) {
    std::vector<uint32_t>& pcs = pcs_.emplace_back();
    uint32_t at = tile.code_address;
    for (const isa::Inst& inst : tile.code) {
      pcs.push_back(at / 2);
      at += uint32_t(isa::bytes(inst.op, program.arch));
    }
  }
}

bool SimlogTrace::takes(uint32_t group, Coord pe, Cycle cycle) {
  if ((groups_ & group) == 0 || !filter_.keeps(pe, cycle, cycle)) return false;
  if (events_ < filter_.max_events && lines_.bytes() < filter_.max_bytes) return ++events_, true;
  truncated_at_ = std::min(truncated_at_.value_or(kNever), cycle);
  return false;
}

// A PE falls idle before it begins to wait for something.
void SimlogTrace::add(Coord pe, Cycle cycle, std::string_view text) {
  const uint32_t order = text.ends_with("IDLE\n") ? 0 : ++order_;
  lines_.add({cycle, uint32_t(pe.y * program_.fabric_width + pe.x), order}, text);
}

std::deque<SimlogTrace::Flight>& SimlogTrace::lane(Coord pe, Port from, int color) {
  const uint64_t index = uint64_t(pe.y) * uint64_t(program_.fabric_width) + uint64_t(pe.x);
  return lanes_[index << 8 | uint64_t(from) << 5 | uint64_t(color)];
}

// The PE in the upper half, a number of its own in the lower.
uint64_t SimlogTrace::new_ident(Coord pe) {
  const uint32_t index = uint32_t(pe.y * program_.fabric_width + pe.x);
  return uint64_t(index) << 32 | ++idents_[index];
}

std::string SimlogTrace::opcode(Coord pe, uint32_t inst) const {
  std::string name = names_.instruction(pe, inst);
  for (char& c : name) c = char(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

uint32_t SimlogTrace::pc(Coord pe, uint32_t inst) const {
  const TileProgram* tile = names_.tile(pe);
  if (tile == nullptr) return 0xFFFF;
  const std::vector<uint32_t>& pcs = pcs_[size_t(tile - program_.tiles.data())];
  return inst < pcs.size() ? pcs[inst] : 0xFFFF;
}

// A launched function has no id; the log needs a number.
int SimlogTrace::task_id(Coord pe, int task) const {
  const TileProgram* tile = names_.tile(pe);
  return tile != nullptr && task >= 0 && size_t(task) < tile->tasks.size() ? tile->tasks[size_t(task)].id : 0;
}

int SimlogTrace::queue_color(Coord pe, bool output, int queue) const {
  const TileProgram* tile = names_.tile(pe);
  if (tile == nullptr) return -1;
  for (const QueueBinding& q : tile->queues)
    if (q.output == output && q.queue == queue) return q.color;
  return -1;
}

void SimlogTrace::work(const WorkEvent& e) {
  Busy& busy = busy_[uint32_t(e.pe.y * program_.fabric_width + e.pe.x)];
  constexpr uint32_t kGroup = SimlogLines::kInstructions;
  if (busy.end < e.begin && busy.inst != ~0u && takes(kGroup, e.pe, busy.end))
    add(e.pe, busy.end, fmt::format("@{} P{}.{}: [EX OP] IDLE\n", busy.end, e.pe.x, e.pe.y));
  if ((busy.end < e.begin || busy.inst != e.inst || busy.thread != e.microthread) &&
      takes(kGroup, e.pe, e.begin))
    add(e.pe, e.begin,
        fmt::format("@{} P{}.{}: [EX OP] ^ 0x{:04x}: T{}{} {}\n", e.begin, e.pe.x, e.pe.y, pc(e.pe, e.inst),
                    task_id(e.pe, e.task), e.microthread >= 0 ? fmt::format(".{}", e.microthread) : "",
                    opcode(e.pe, e.inst)));
  busy = {e.inst, e.microthread, std::max(busy.end, e.end)};
}

void SimlogTrace::send(const SendEvent& e) {
  const uint64_t ident = new_ident(e.pe);
  lane(e.pe, Port::ramp, e.color).push_back({ident, e.lands});
  constexpr uint32_t kGroup = SimlogLines::kInstructions;
  if (takes(kGroup, e.pe, e.cycle))
    add(e.pe, e.cycle,
        fmt::format("@{} P{}.{}: Writing wavelet C{} data={:08x} to OUT_Q[{}]\n", e.cycle, e.pe.x, e.pe.y,
                    e.color, e.data, e.queue));
  if (takes(kGroup, e.pe, e.lands))
    add(e.pe, e.lands,
        fmt::format("@{} P{}.{}: Sending wavelet C{} data={:08x} ident:{:016X} on OUT_Q[{}]\n", e.lands,
                    e.pe.x, e.pe.y, e.color, e.data, ident, e.queue));
}

void SimlogTrace::wavelet(const WaveletEvent& e) {
  std::deque<Flight>& from = lane(e.pe, e.from, e.color);
  Flight flight{0, e.landed};
  if (from.empty()) {
    flight.ident = new_ident(e.pe);  // from a host port
  } else {
    flight = from.front();
    from.pop_front();
  }
  const bool to_core = (e.to & port_bit(Port::ramp)) != 0;
  if (takes(SimlogLines::kRouter, e.pe, e.cycle))
    add(e.pe, e.cycle,
        fmt::format("@{} P{}.{} (hwtile) wavelet C{} ctrl={}, idx={:04x}, data={:04x} ({:+}({})), half=0, "
                    "ident={:016X} landing={} departing=/{}/{}\n",
                    e.cycle, e.pe.x, e.pe.y, e.color, e.control ? 1 : 0, e.data >> 16, e.data & 0xFFFF,
                    int32_t(e.data), int16_t(e.data), flight.ident, port_letter(e.from), departing(e.to),
                    to_core ? " to_ce_from_router" : ""));
  for (int p = 0; p < 4; ++p) {
    if ((e.to & port_bit(Port(p))) == 0) continue;
    const Coord next = neighbour(e.pe, Port(p));
    const Cycle arrives = e.cycle + hop_;
    lane(next, opposite(Port(p)), e.color).push_back({flight.ident, arrives});
    if (next.x >= 0 && next.y >= 0 && next.x < program_.fabric_width && next.y < program_.fabric_height &&
        takes(SimlogLines::kLanding, next, arrives))
      add(next, arrives,
          fmt::format("@{} P{}.{} (hwtile) landing C{} from link {},\n", arrives, next.x, next.y, e.color,
                      port_letter(opposite(Port(p)))));
  }
}

// What the pipeline waits for, in the words of the log.
std::string SimlogTrace::pipe_stall(const StallEvent& e) const {
  const TileProgram* tile = names_.tile(e.pe);
  const isa::Inst* inst = tile != nullptr && e.inst < tile->code.size() ? &tile->code[e.inst] : nullptr;
  if (e.why == Stall::memory) return "Pipe: 5, Msg: stall: read conflict MEM[0000](b0)";
  if (e.why == Stall::dispatch) return "Pipe: 1, Msg: stall: task dispatch";
  const auto before = busy_.find(uint32_t(e.pe.y * program_.fabric_width + e.pe.x));
  if (before != busy_.end() && tile != nullptr && before->second.inst < tile->code.size() &&
      isa::row(tile->code[before->second.inst].op).cost == isa::Cost::jump)
    return "Pipe: 1, Msg: stall: instruction fetch";
  if (inst != nullptr)
    for (const isa::Operand& o : inst->args) {
      if (o.is_dsr()) return fmt::format("Pipe: 2, Msg: stall: dependent {}", dsr_name(o));
      if (o.kind == isa::OperandKind::reg) return fmt::format("Pipe: 6, Msg: stall: R{} ilock", o.value);
    }
  return "Pipe: 1, Msg: stall: dependency";
}

void SimlogTrace::stall(const StallEvent& e) {
  if ((groups_ & SimlogLines::kInstructions) == 0) return;
  std::string text;
  if (e.why == Stall::input || e.why == Stall::output) {
    const bool output = e.why == Stall::output;
    const int color = queue_color(e.pe, output, e.queue);
    if (color < 0) return;
    text = output
               ? fmt::format("Backpressure on C{} for OUT_Q[{}]", color, e.queue)
               : fmt::format("Not enough wavelets (0/1) for SRC0 with C{}, IN_Q[{}], SIMD-1", color, e.queue);
  } else {
    text = pipe_stall(e);
  }
  if (takes(SimlogLines::kInstructions, e.pe, e.begin))
    add(e.pe, e.begin, fmt::format("@{} P{}.{}: {}\n", e.begin, e.pe.x, e.pe.y, text));
}

bool SimlogTrace::finish() {
  std::string tail;
  for (const auto& [index, busy] : busy_) {
    const Coord pe{int(index) % program_.fabric_width, int(index) / program_.fabric_width};
    if (!truncated_at_ && (groups_ & SimlogLines::kInstructions) != 0 &&
        filter_.keeps(pe, busy.end, busy.end))
      tail += fmt::format("@{} P{}.{}: [EX OP] IDLE\n", busy.end, pe.x, pe.y);
  }
  return lines_.finish(tail);
}

}  // namespace cs::sim
