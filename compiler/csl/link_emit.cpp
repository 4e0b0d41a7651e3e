// The finished TileProgram: everything symbolic becomes a number, and the tables around the code are written.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/csl/link.h"
#include "runtime/isa/dsd.h"

namespace cs::csl::link {
namespace {

using isa::Operand;
using isa::OperandKind;

class Emitter {
 public:
  Emitter(State& state, TileProgram& out) : state_(state), out_(out) {}

  bool run() {
    out_.name = state_.tile.name;
    out_.fp16 = state_.tile.fp16;
    out_.code_address = uint16_t(state_.code_address);
    out_.queues = state_.tile.queues;
    out_.config = state_.tile.config;
    registers();
    out_.blocked = state_.tile.blocked;
    out_.unblocked = state_.tile.unblocked;
    out_.blocked_threads = state_.tile.blocked_threads;
    out_.activated = state_.tile.activated;
    code();
    sections();
    segments();
    tables();
    return ok_;
  }

 private:
  // FIFOs and the DSRs that hold something before the program begins.
  void registers() {
    std::vector<uint8_t> number(state_.tile.fifos.size());
    for (size_t i = 0; i < number.size(); ++i) {
      const MirFifo& f = state_.tile.fifos[i];
      if (!state_.fifo_live[i]) continue;
      number[i] = uint8_t(out_.fifos.size());
      out_.fifos.push_back(f.binding);
      out_.fifos.back().address = uint16_t(state_.globals[f.global].address + f.binding.address);
    }
    for (const MirDsr& d : state_.tile.dsrs) {
      DsrInit init = d.init;
      if (isa::Dsd fifo = isa::decode(init.words); fifo.kind == isa::DsdKind::fifo) {
        if (!state_.fifo_live[fifo.queue]) continue;
        fifo.queue = number[fifo.queue];
        isa::encode(fifo, init.words);
      }
      if (d.base.kind == OperandKind::global) {
        const uint32_t base = state_.globals[size_t(d.base.value)].address + uint32_t(d.base.extra);
        init.words[1] = uint16_t(init.words[1] + base);
      }
      out_.dsrs.push_back(init);
    }
  }

  const Function& function(uint32_t mir) const {
    int32_t at = state_.function_of_mir[mir];
    CS_CHECK(at >= 0, "a function that is used is live");
    return state_.functions[size_t(at)];
  }

  // Places and offsets may be added up to an address beyond either end; the 16 bits are what the hardware
  // sees.
  static Operand address(int64_t value) { return imm(int32_t(value & 0xFFFF)); }

  Operand resolve(const Operand& a, const Function& f, char letter) const {
    switch (a.kind) {
      case OperandKind::global:
        return address(int64_t(state_.globals[size_t(a.value)].address) + a.extra);
      case OperandKind::slot:
        return address(int64_t(f.slots[size_t(a.value)].address) + a.extra);
      case OperandKind::function: {
        int32_t entry = int32_t(function(uint32_t(a.value)).entry);
        return letter == 'F' ? Operand{OperandKind::label, entry, 0} : imm(entry);
      }
      case OperandKind::label:
        return {OperandKind::label, int32_t(f.entry + f.code.labels[size_t(a.value)]), 0};
      default:
        return a;
    }
  }

  void code() {
    for (const Function& f : state_.functions)
      for (const std::vector<Line>* part : {&f.stub, &f.code.lines})
        for (const Line& line : *part) {
          isa::Inst inst = line.inst;
          std::string_view form = isa::row(inst.op).form;
          for (size_t i = 0; i < form.size(); ++i) inst.args[i] = resolve(inst.args[i], f, form[i]);
          std::string wrong = isa::verify(inst, state_.machine);
          if (!wrong.empty()) {
            state_.diag.error(line.loc, fmt::format("no such instruction on {}: {}; {}", state_.machine.name,
                                                    isa::print(inst), wrong));
            ok_ = false;
          }
          position(line.loc);
          out_.code.push_back(inst);
        }
  }

  void position(SourceLoc loc) {
    if (!loc.valid()) return;
    const std::string& path = state_.sources.path(loc.file);
    auto found = std::find(out_.files.begin(), out_.files.end(), path);
    LineEntry entry{uint32_t(out_.code.size()), uint32_t(found - out_.files.begin()), loc.line, loc.column};
    if (found == out_.files.end()) out_.files.push_back(path);
    if (!out_.lines.empty()) {
      const LineEntry& last = out_.lines.back();
      if (last.file == entry.file && last.line == entry.line && last.column == entry.column) return;
    }
    out_.lines.push_back(entry);
  }

  void section(std::string name, SectionKind kind, uint32_t address, uint32_t bytes) {
    if (bytes > 0) out_.sections.push_back({std::move(name), kind, uint16_t(address), bytes});
  }

  void sections() {
    section("memcpy", SectionKind::reserved, 0, state_.reserved_bytes);
    uint32_t at = state_.code_address;
    for (const Function& f : state_.functions) {
      uint32_t bytes = 0;
      for (const std::vector<Line>* part : {&f.stub, &f.code.lines})
        for (const Line& line : *part) bytes += uint32_t(isa::bytes(line.inst.op, state_.machine.arch));
      section(f.mir->name, SectionKind::code, at, bytes);
      at += bytes;
    }
    for (SectionKind kind : {SectionKind::constants, SectionKind::data, SectionKind::frame})
      for (const Global& g : state_.globals)
        if (g.live && g.same_as < 0 && g.section == kind)
          section(g.mir.name, g.mir.noinit ? SectionKind::noinit : kind, g.address, g.mir.bytes);
    section("frames", SectionKind::frame, state_.frames_address, state_.frames_bytes);
    for (const Function& f : state_.functions)
      for (const Slot& s : f.slots)
        if (s.exclusive) section(f.mir->name + "." + s.name, SectionKind::frame, s.address, s.bytes);
  }

  std::vector<uint8_t> image(const Global& g) const {
    std::vector<uint8_t> bytes = g.mir.init;
    bytes.resize(g.mir.bytes, 0);
    for (const MirRelocation& r : g.mir.relocations) {
      int64_t value =
          r.function ? int64_t(function(r.target).entry) : int64_t(state_.globals[r.target].address);
      value += r.addend;
      CS_CHECK(r.offset + 2 <= bytes.size(), "relocation outside of its global");
      bytes[r.offset] = uint8_t(value & 0xFF);
      bytes[r.offset + 1] = uint8_t(value >> 8 & 0xFF);
    }
    return bytes;
  }

  void segments() {
    for (SectionKind kind : {SectionKind::constants, SectionKind::data}) {
      for (const Global& g : state_.globals) {
        if (!g.live || g.same_as >= 0 || g.section != kind) continue;
        if (g.mir.init.empty() && g.mir.relocations.empty()) continue;
        CS_CHECK(g.mir.init.empty() || g.mir.init.size() == g.mir.bytes,
                 "initial value as long as the global");
        std::vector<uint8_t> bytes = image(g);
        Segment* last = out_.segments.empty() ? nullptr : &out_.segments.back();
        if (last && last->address + last->bytes.size() == g.address)
          last->bytes.insert(last->bytes.end(), bytes.begin(), bytes.end());
        else
          out_.segments.push_back({uint16_t(g.address), std::move(bytes)});
      }
    }
  }

  void tables() {
    for (const MirTask& task : state_.tile.tasks) {
      const Function& f = function(task.function);
      out_.tasks.push_back({task.kind, task.id, f.entry, task.args, f.mir->name});
    }
    for (const MirSymbol& s : state_.tile.symbols) {
      const Global& g = state_.globals[s.global];
      const int32_t pointer = s.pointer < 0 ? -1 : int32_t(state_.globals[size_t(s.pointer)].address);
      out_.symbols.push_back({s.name, s.type, uint16_t(g.address + s.offset), s.elements, s.is_mutable, pointer});
    }
    for (const MirExportedFunction& e : state_.tile.exported_functions) {
      cs::Function entry;
      entry.name = e.name;
      entry.entry = function(e.function).launch_entry;
      auto places = state_.launch_params.find(e.function);
      for (size_t i = 0; i < e.params.size(); ++i) {
        auto [global, offset] = places->second[i];
        entry.parameters.push_back({e.params[i], uint16_t(state_.globals[size_t(global)].address + offset)});
      }
      out_.functions.push_back(std::move(entry));
    }
  }

  State& state_;
  TileProgram& out_;
  bool ok_ = true;
};

}  // namespace

bool emit_tile(State& state, TileProgram& out) { return Emitter(state, out).run(); }

}  // namespace cs::csl::link
