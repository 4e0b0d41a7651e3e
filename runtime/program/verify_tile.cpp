// Checks of one tile program: memory map, code, tasks, queues, symbols, functions, line table.
//
// Memory first: sections in address order without overlap inside the PE's memory; code, initial contents and symbols
// each inside one section. Then ids against the machine (and what memcpy reserves) and entries against the code.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "runtime/program/names.h"
#include "runtime/program/verify_parts.h"

namespace cs {
namespace {

class TileVerifier {
 public:
  TileVerifier(const Verifier& v, const TileProgram& t, size_t index) : v_(v), t_(t), m_(v.machine) {
    where_ = fmt::format("tile program {} '{}'", index, t.name);
  }

  void run() {
    sections();
    segments();
    code();
    tasks();
    queues();
    fifos();
    registers();
    ids();
    symbols();
    functions();
    line_table();
  }

 private:
  void error(const std::string& message, const std::string& help = {}) { v_.error(where_, message, help); }

  // The section that holds [address, address + bytes), or null.
  const Section* section_of(uint32_t address, uint64_t bytes) const {
    for (const Section& s : t_.sections) {
      if (address >= s.address && address + bytes <= uint64_t(s.address) + s.bytes) return &s;
    }
    return nullptr;
  }
  // Code and initial contents may run over several sections (one per function or variable), without a gap.
  bool covered(uint32_t address, uint64_t bytes) const {
    const uint64_t end = uint64_t(address) + bytes;
    for (uint64_t at = address; at < end;) {
      const Section* s = section_of(uint32_t(at), 1);
      if (s == nullptr) return false;
      at = uint64_t(s->address) + s->bytes;
    }
    return true;
  }
  void in_sections(const std::string& what, uint32_t address, uint64_t bytes) {
    if (covered(address, bytes)) return;
    error(fmt::format("{} takes bytes {} to {}, which lie in no section of the memory map", what, address,
                      address + bytes - 1));
  }

  void sections() {
    uint64_t end = 0;
    for (const Section& s : t_.sections) {
      if (s.address < end) error(fmt::format("section '{}' begins at {}, the one before it ends at {}", s.name,
                                             s.address, end));
      end = std::max(end, uint64_t(s.address) + s.bytes);
    }
    if (end <= uint64_t(m_.core.memory_bytes)) return;
    std::string users;
    for (const Section& s : t_.sections) users += fmt::format("{}{} {}", users.empty() ? "" : ", ", s.name, s.bytes);
    error(fmt::format("needs {} bytes of memory, a PE has {}", end, m_.core.memory_bytes), "it is used by " + users);
  }

  void segments() {
    std::vector<std::pair<uint32_t, uint64_t>> ranges;
    for (const Segment& s : t_.segments) {
      in_sections("initial contents", s.address, s.bytes.size());
      if (!s.bytes.empty()) ranges.emplace_back(s.address, s.address + s.bytes.size());
    }
    std::sort(ranges.begin(), ranges.end());
    for (size_t i = 1; i < ranges.size(); ++i) {
      if (ranges[i].first < ranges[i - 1].second) {
        error(fmt::format("two initial contents for byte {}", ranges[i].first));
      }
    }
  }

  void code() {
    if (t_.code.size() >= size_t(isa::kReturnToScheduler)) {
      return error(fmt::format("has {} instructions, at most {} can be addressed", t_.code.size(),
                               isa::kReturnToScheduler - 1));
    }
    uint64_t bytes = 0;
    for (size_t i = 0; i < t_.code.size() && !v_.diag.full(); ++i) {
      instruction(i);
      if (t_.code[i].op < isa::Op::count) bytes += uint64_t(isa::bytes(t_.code[i].op, v_.program.arch));
    }
    if (t_.code_address % 2 != 0) error(fmt::format("the code begins at the odd address {}", t_.code_address));
    in_sections("code", t_.code_address, bytes);
    if (!t_.code.empty() && !ends_code(t_.code.back())) {
      error("the last instruction can be run over; code must end with yield, trap or a jump");
    }
  }

  static bool ends_code(const isa::Inst& i) {
    return i.op == isa::Op::yield || i.op == isa::Op::trap || i.op == isa::Op::jmp || i.op == isa::Op::jv;
  }

  void instruction(size_t i) {
    const isa::Inst& inst = t_.code[i];
    const auto complain = [&](const std::string& why) {
      const std::string line = t_.where(uint32_t(i));
      const std::string text = inst.op < isa::Op::count ? isa::print(inst) : std::string("?");
      error(fmt::format("instruction {} ({}){}{}: {}", i, text, line.empty() ? "" : " from ", line, why));
    };
    if (inst.op >= isa::Op::count) return complain("unknown instruction");
    if (const std::string why = isa::verify(inst, m_); !why.empty()) return complain(why);
    for (const isa::Operand& a : inst.args) {
      if (a.kind != isa::OperandKind::label || a.value == isa::kReturnToScheduler) continue;
      if (a.value < 0 || size_t(a.value) >= t_.code.size()) {
        complain(fmt::format("continues at instruction {}, there are {}", a.value, t_.code.size()));
      }
    }
  }

  void entry(const std::string& what, uint32_t entry) {
    if (entry >= t_.code.size()) {
      error(fmt::format("{} begins at instruction {}, there are {}", what, entry, t_.code.size()));
    }
  }

  bool reserved(const std::vector<int>& ids, int id) const {
    return v_.program.memcpy && std::find(ids.begin(), ids.end(), id) != ids.end();
  }

  // What ids of the kind are: [first, last].
  std::pair<int, int> id_range(TaskKind kind) const {
    switch (kind) {
      case TaskKind::local: return {m_.task_ids.local_first, m_.task_ids.local_last};
      case TaskKind::control: return {m_.task_ids.control_first, m_.task_ids.control_last};
      case TaskKind::data: break;
    }
    return {0, (m_.queues.data_task_on_queue ? int(m_.queues.input_words.size()) : m_.router.colors) - 1};
  }

  void tasks() {
    std::map<std::pair<bool, int>, std::string> taken;
    for (const TaskBinding& k : t_.tasks) {
      const std::string what = fmt::format("{} task '{}' (id {})", task_kind_name(k.kind), k.name, k.id);
      const auto [first, last] = id_range(k.kind);
      if (k.id < first || k.id > last) error(fmt::format("{}: ids are {} to {}", what, first, last));
      entry(what, k.entry);
      // Control tasks have a table of their own where data tasks are bound to queues; else all share one id space.
      const bool own_table = m_.queues.data_task_on_queue && k.kind == TaskKind::control;
      const auto [it, added] = taken.try_emplace({own_table, k.id}, k.name);
      if (!added) error(fmt::format("{}: the id is bound to task '{}' already", what, it->second));
      if ((k.kind == TaskKind::local && reserved(m_.memcpy.local_task_ids, k.id)) ||
          (k.kind == TaskKind::control && reserved(m_.memcpy.control_task_ids, k.id))) {
        error(fmt::format("{}: memcpy uses this id", what));
      }
      if (k.args != TaskArgs::none && k.kind == TaskKind::local) error(fmt::format("{}: takes no arguments", what));
    }
  }

  void queues() {
    std::set<std::tuple<bool, int, int>> seen;
    for (const QueueBinding& q : t_.queues) {
      const auto& words = q.output ? m_.queues.output_words : m_.queues.input_words;
      const std::string what = fmt::format("{} queue {}", q.output ? "output" : "input", q.queue);
      if (q.queue >= words.size()) error(fmt::format("{}: there are {}", what, words.size()));
      if (q.color >= m_.router.colors) error(fmt::format("{}: color {} of {}", what, q.color, m_.router.colors));
      if (q.priority > 3) error(fmt::format("{}: priority {} is not 0 to 3", what, q.priority));
      // An output queue may serve several colors where the descriptor names the color.
      const bool one_color = !q.output || m_.queues.output_queue_per_color;
      if (!seen.insert({q.output, q.queue, one_color ? -1 : q.color}).second) {
        error(fmt::format("{} is bound twice", what));
      }
      if (reserved(q.output ? m_.memcpy.output_queues : m_.memcpy.input_queues, q.queue)) {
        error(fmt::format("{}: memcpy uses this queue", what));
      }
    }
  }

  void fifos() {
    for (size_t i = 0; i < t_.fifos.size(); ++i) {
      const FifoBinding& f = t_.fifos[i];
      const std::string what = fmt::format("FIFO {}", i);
      if (f.bytes < 2 || f.bytes % 2 != 0 || f.address % 2 != 0) {
        error(fmt::format("{} has {} bytes at {}; both must be even, and it cannot be empty", what, f.bytes,
                          f.address));
      }
      in_sections(what, f.address, f.bytes);
      for (const int task : {int(f.activate_push), int(f.activate_pop)}) {
        const auto bound = [&](const TaskBinding& k) { return k.kind == TaskKind::local && k.id == task; };
        if (task >= 0 && std::none_of(t_.tasks.begin(), t_.tasks.end(), bound)) {
          error(fmt::format("{} activates the local task id {}, to which no task is bound", what, task));
        }
      }
    }
  }

  void fabric_descriptor(const DsrInit& d, const isa::Dsd& dsd) {
    const std::string what = fmt::format("DSR {} of file {}", d.index, d.file);
    const auto& words = dsd.kind == isa::DsdKind::fabout ? m_.queues.output_words : m_.queues.input_words;
    if (dsd.queue >= words.size()) error(fmt::format("{} names queue {}, there are {}", what, dsd.queue, words.size()));
    if (dsd.color != isa::kQueueColor && dsd.color >= m_.router.colors)
      error(fmt::format("{} names color {} of {}", what, dsd.color, m_.router.colors));
    if (dsd.microthread >= m_.core.microthreads)
      error(fmt::format("{} names microthread {}, there are {}", what, dsd.microthread, m_.core.microthreads));
  }

  void dsr_config(const DsrInit& d) {
    const isa::DsrConfig c = isa::decode_config(d.config);
    const std::string what = fmt::format("DSR {} of file {}", d.index, d.file);
    if (c.microthread >= m_.core.microthreads)
      error(fmt::format("{} names microthread {}, there are {}", what, c.microthread, m_.core.microthreads));
    for (const int task : {int(c.activate), int(c.unblock), int(c.on_control_task)})
      if (task >= widths::kTaskIds)
        error(fmt::format("{} names the task id {}, ids are 0 to {}", what, task, widths::kTaskIds - 1));
  }

  void registers() {
    for (const DsrInit& d : t_.dsrs) {
      dsr_config(d);
      if (d.file > 2 || d.index >= m_.core.dsrs_per_file) {
        error(fmt::format("DSR {} of file {} has contents; there are 3 files of {}", d.index, d.file,
                          m_.core.dsrs_per_file));
      }
      const isa::Dsd dsd = isa::decode(d.words);
      if (dsd.kind == isa::DsdKind::none) error(fmt::format("DSR {} of file {} holds no descriptor", d.index, d.file));
      if (dsd.is_fabric()) fabric_descriptor(d, dsd);
      if (dsd.kind == isa::DsdKind::fifo && dsd.queue >= t_.fifos.size()) {
        error(fmt::format("DSR {} holds FIFO {}, there are {}", d.index, dsd.queue, t_.fifos.size()));
      }
    }
    for (const ConfigInit& c : t_.config) {
      if (!isa::is_config_address(c.address)) error(fmt::format("there is no configuration register {}", c.address));
    }
  }

  void ids() {
    constexpr int kLastTask = widths::kTaskIds - 1;
    for (const uint8_t id : t_.blocked) {
      if (id > kLastTask) error(fmt::format("blocks the task id {}, ids are 0 to {}", id, kLastTask));
    }
    for (const uint8_t id : t_.unblocked) {
      if (id > kLastTask) error(fmt::format("unblocks the task id {}, ids are 0 to {}", id, kLastTask));
    }
    for (const uint8_t id : t_.blocked_threads) {
      if (id >= m_.core.microthreads)
        error(fmt::format("blocks microthread {}, there are {}", id, m_.core.microthreads));
    }
    for (const uint8_t id : t_.activated) {
      const auto bound = [&](const TaskBinding& k) { return k.kind == TaskKind::local && k.id == id; };
      if (std::none_of(t_.tasks.begin(), t_.tasks.end(), bound)) {
        error(fmt::format("activates the local task id {}, to which no task is bound", id));
      }
    }
  }

  void symbols() {
    std::set<std::string> seen;
    for (const Symbol& s : t_.symbols) {
      const std::string what = fmt::format("symbol '{}'", s.name);
      if (s.name.empty() || !seen.insert(s.name).second) error(what + ": names must be unique and not empty");
      if (s.address % 2 != 0) error(fmt::format("{} is at the odd address {}", what, s.address));
      in_sections(what, s.address, uint64_t(s.elements) * uint64_t(data_type_bytes(s.type)));
      if (s.pointer >= 0) in_sections("the pointer of " + what, uint32_t(s.pointer), 2);
      if (s.pointer >= 0 && s.pointer % 2 != 0)
        error(fmt::format("the pointer of {} is at the odd address {}", what, s.pointer));
    }
  }

  void functions() {
    std::set<std::string> seen;
    for (const Function& f : t_.functions) {
      const std::string what = fmt::format("function '{}'", f.name);
      if (f.name.empty() || !seen.insert(f.name).second) error(what + ": names must be unique and not empty");
      entry(what, f.entry);
      for (const Parameter& p : f.parameters) {
        in_sections("a parameter of " + what, p.address, uint64_t(data_type_bytes(p.type)));
      }
    }
  }

  void line_table() {
    for (size_t i = 0; i < t_.lines.size(); ++i) {
      const LineEntry& l = t_.lines[i];
      const bool ordered = i == 0 || t_.lines[i - 1].first < l.first;
      if (ordered && l.first < t_.code.size() && l.file < t_.files.size()) continue;
      return error(fmt::format("entry {} of the line table is out of order or names what does not exist", i));
    }
  }

  const Verifier& v_;
  const TileProgram& t_;
  const Machine& m_;
  std::string where_;
};

}  // namespace

void verify_tile(const Verifier& v, const TileProgram& t, size_t index) { TileVerifier(v, t, index).run(); }

}  // namespace cs
