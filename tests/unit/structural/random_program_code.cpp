// What the PEs of a random program do: their ends of the streams, and work beside.
#include <algorithm>

#include "tests/unit/structural/random_program_writer.h"

namespace cs::sim::test {

Tile RandomProgram::tile(Coord at) {
  Writer w;
  for (const Flow& flow : flows_) {
    if (!flow.by_host && flow.from == at) add_send(w, flow);
    if (std::count(flow.to.begin(), flow.to.end(), at)) add_receive(w, flow);
  }
  for (int i = int(pick(5)); i > 0; --i) add_vector(w);
  for (int i = int(pick(4)); i > 0; --i) add_scalars(w);
  if (chance(40)) add_registers(w);
  if (chance(15)) add_fifo(w);
  std::shuffle(w.items.begin(), w.items.end(), rng_);
  // Three tasks: each activates the next one at some place among its items.
  const char* names[] = {"start", "second", "third"};
  std::string code;
  for (size_t task = 0; task < 3; ++task) {
    code += fmt::format("{}: mov16 r9, {}\n", names[task], 1 + pick(5));
    const size_t first = w.items.size() * task / 3, end = w.items.size() * (task + 1) / 3;
    const size_t when = first + pick(uint32_t(end - first + 1));
    for (size_t i = first; i <= end; ++i) {
      if (i == when && task < 2) code += fmt::format("actvt {}\n", 9 + task);
      if (i < end) code += w.items[i];
    }
    code += "yield\n";
  }
  code += "done: ld16 r10, [8000+0]\nadd16 r10, r10, 1\nst16 [8000+0], r10\nyield\n";
  code += "word: st32 [8008+0], p0\nld16 r10, [8004+0]\nadd16 r10, r10, 1\nst16 [8004+0], r10\nyield\n";
  code += "control: ld16 r10, [8006+0]\nadd16 r10, r10, 1\nst16 [8006+0], r10\nyield\n";
  w.tile.code(code);
  w.tile.task(TaskKind::local, 8, "start").task(TaskKind::local, 9, "second").task(TaskKind::local, 10, "third");
  w.tile.task(TaskKind::local, 11, "done").task(TaskKind::local, isa::kTeardownTask, "done");
  w.tile.task(TaskKind::control, 40, "control", TaskArgs::half).activated(8);
  for (const QueueBinding& q : w.tile.t.queues)
    if (!q.output && q.priority == 9)  // marked by add_receive: a data task takes it
      w.tile.task(TaskKind::data, f_.machine.queues.data_task_on_queue ? q.queue : q.color, "word", TaskArgs::word);
  for (QueueBinding& q : w.tile.t.queues) q.priority = uint8_t(q.priority % 4);
  std::vector<uint32_t> words;
  for (int i = 0; i < 1024; ++i) words.push_back(chance(50) ? uint32_t(rng_()) : 0x3C003F80u + uint32_t(i));
  w.tile.words(kData, words);
  return w.tile;
}

// From memory, computed or copied; control wavelets behind it.
void RandomProgram::add_send(Writer& w, const Flow& flow) {
  if (w.out >= int(f_.machine.queues.output_words.size())) return;
  const int queue = w.out;
  if (f_.machine.queues.output_queue_per_color || chance(80)) ++w.out;
  w.tile.output(queue, flow.color);
  isa::Dsd out = fabout(queue, flow.color, flow.n);
  out.simd = flow.simd;
  out.advance_switch = chance(8);
  out.indexed = flow.half && chance(20);
  const int bytes = flow.half ? 2 : 4;
  const int a = w.place(mem(w.array(flow.n * bytes), flow.n)), b = w.place(mem(w.array(flow.n * bytes), flow.n));
  const int d = w.next_dsr();
  const bool async = chance(75);
  const char* ops[] = {"mov32", "fadds", "mov16", "faddh"};
  const char* op = ops[2 * int(flow.half) + int(flow.float_sum)];
  std::string code = fmt::format("lddds d{}, [{}], {{{}}}\n", d, w.place(out),
                                 async ? fmt::format("async ut={}{}{}", w.thread++ % 8,
                                                     chance(30) ? " activate=11" : "",
                                                     chance(20) ? fmt::format(" priority={}", pick(4)) : "")
                                       : "");
  code += fmt::format("lds0ds s0_{}, [{}], {{}}\n", d, a);
  if (flow.float_sum)
    code += fmt::format("lds1ds s1_{}, [{}], {{}}\n{} d{}, s0_{}, s1_{}\n", d, b, op, d, d, d);
  else
    code += fmt::format("{} d{}, s0_{}\n", op, d, d);
  for (int i = 0; i < flow.commands; ++i) {
    isa::Dsd control = fabout(queue, flow.color, 1);
    control.control = true;
    const uint32_t word = 40u << 16 | (pick(3)) << 22 | pick(2) << 24 | pick(4) << 25;
    code += fmt::format("lddds d{}, [{}], {{}}\nmov32 d{}, {}\n", d, w.place(control), d, int32_t(word));
  }
  w.items.push_back(code);
}

// Into memory, added to memory, into a register, or by a data task for every word.
void RandomProgram::add_receive(Writer& w, const Flow& flow) {
  if (w.in >= int(f_.machine.queues.input_words.size())) return;
  const int queue = w.in++, kind = int(pick(5));
  w.tile.input(queue, flow.color);
  w.tile.t.queues.back().priority = uint8_t(chance(30) ? pick(4) : 0);
  if (kind == 0 && !w.data_tasks) {
    w.data_tasks = true;
    w.tile.t.queues.back().priority = 9;
    return;
  }
  const int n = std::max(1, flow.n + (chance(10) ? int(pick(5)) - 2 : 0)), bytes = flow.half ? 2 : 4;
  isa::Dsd in = fabin(queue, flow.color, n);
  in.simd = flow.simd;
  const int d = w.next_dsr();
  const int to = w.place(mem(w.array(n * bytes), n));
  std::string options = chance(75) || kind == 4 ? fmt::format("async ut={}", w.thread++ % 8) : "";
  if (!options.empty() && chance(40)) options += " activate=11";
  if (chance(flow.commands > 0 ? 50 : 5)) options += options.empty() ? "on_control=terminate" : " on_control=terminate";
  std::string code;
  if (kind <= 2) {
    code = fmt::format("lddds d{}, [{}], {{{}}}\nlds0ds s0_{}, [{}], {{}}\n{} d{}, s0_{}\n", d, to, options, d,
                       w.place(in), flow.half ? "mov16" : "mov32", d, d);
  } else if (kind == 3) {
    code = fmt::format(
        "lddds d{}, [{}], {{{}}}\nlds0ds s0_{}, [{}], {{}}\nlds1ds s1_{}, [{}], {{}}\n{} d{}, s0_{}, s1_{}\n", d, to,
        options, d, to, d, w.place(in), flow.half ? "faddh" : "fadds", d, d, d);
  } else {
    code = fmt::format("lds1ds s1_{}, [{}], {{}}\n{}, s1_{}\n", d, w.place(in),
                       flow.half ? "faddh r4, r4" : "fadds p4, p4", d);
  }
  w.items.push_back(code);
}

// On memory alone: strides, several dimensions, rings, reductions, mixed widths.
void RandomProgram::add_vector(Writer& w) {
  const int n = 1 + int(pick(chance(30) ? 40 : 9));
  const auto operand = [&](int bytes) {
    isa::Dsd d = mem(w.array(4 * n * bytes + 64, chance(50) ? 2 : 16), n, 1 + int(pick(4)));
    if (chance(20)) {
      d.kind = isa::DsdKind::mem4d;
      d.extent = {1, 1, uint16_t((n + 1) / 2), 2};
      d.stride = {0, 0, int16_t(1 + pick(3)), int16_t(1 + pick(2))};
    }
    return w.place(d);
  };
  const int d = w.next_dsr();
  const char* ops[] = {"fadds", "fmuls", "add16", "faddh", "fmaxs", "xor16", "fmacs", "fmach", "sub16", "addc16"};
  const std::string op = ops[pick(10)];
  const int bytes = op.ends_with("s") ? 4 : 2;
  std::string options;
  if (chance(15)) options = fmt::format("async ut={}", w.thread++ % 8);
  if (chance(10)) options += options.empty() ? "save_address" : " save_address";
  if (chance(8)) options += options.empty() ? "single_step" : " single_step";
  if (!options.empty() && options[0] == 'a' && chance(30)) options += " activate=11";
  const std::string scalar = op == "fmacs" ? ", p6" : op == "fmach" ? ", r6" : "";
  std::string code = fmt::format("lds1ds s1_{}, [{}], {{{}}}\n", d, operand(bytes), options);
  if (chance(20)) {  // into a register
    code += fmt::format("{0} {1}, {1}, s1_{2}{3}\n", op, bytes == 4 ? "p4" : "r4", d, scalar);
  } else {
    const int to = operand(bytes);
    code += fmt::format("lddds d{}, [{}], {{{}}}\nlds0ds s0_{}, [{}], {{{}}}\n{} d{}, s0_{}, s1_{}{}\n", d, to, options,
                        d, chance(30) ? to : operand(bytes), options, op, d, d, d, scalar);
  }
  w.items.push_back(code);
}

void RandomProgram::add_scalars(Writer& w) {
  const std::string label = w.next_label();
  std::string code = fmt::format("mov16 r8, {}\n{}: sub16 r8, r8, 1\n", 1 + pick(4), label);
  const int at = w.array(8);
  const char* lines[] = {"add32 p2, p2, p4\n", "imul16 r2, r3, r4\n", "fadds p2, p2, p4\n", "fmuls p4, p2, p6\n",
                         "ld32 p2, [{}+0]\n",  "st32 [{}+0], p4\n",   "ld16 r4, [{}+4]\n",  "lt16 r5, r4, r2\n",
                         "div16 r2, r4, r3\n", "fh2s p4, r2\n",       "add16 r4, r4, r5\n"};
  for (int i = int(pick(7)); i > 0; --i) code += fmt::format(fmt::runtime(lines[pick(11)]), at);
  w.items.push_back(code + fmt::format("jmpt r8, @{}\n", label));
}

// Registers of queues, priorities, the cycle counter; threads and tasks blocked for a while.
void RandomProgram::add_registers(Writer& w) {
  using isa::ConfigReg;
  const auto store = [&](int reg) {
    return fmt::format("ldcfg16 r10, {}\nst16 [{}+0], r10\n", reg, w.array(2));
  };
  const auto write = [](int reg, int value) { return fmt::format("mov16 r10, {}\nstcfg16 {}, r10\n", value, reg); };
  std::string code;
  switch (pick(8)) {
    case 0:
      code = store(int(ConfigReg::input_empty) + int(pick(4)));
      break;
    case 1:
      code = write(int(ConfigReg::main_priority), int(pick(4)));
      break;
    case 2:
      code = write(int(ConfigReg::tsc_enable), 1) + store(int(ConfigReg::tsc_low));
      break;
    case 3:
      code = write(isa::kTaskPriority + 8 + int(pick(4)), 1);
      break;
    case 4: {
      const uint32_t thread = pick(8);
      code = fmt::format("mov16 r10, {0}\nblk 1, r10\nadd32 p2, p2, p4\ndiv16 r2, r4, r3\nublk 1, r10\n", thread);
      break;
    }
    case 5:
      code = fmt::format("blk 0, {0}\nactvt {0}\ndiv16 r2, r4, r3\nublk 0, {0}\n", 11);
      break;
    case 6:
      code = write((chance(50) ? isa::kInputFlush : isa::kOutputFlush) + int(pick(4)), 1);
      break;
    default:
      code = store(int(ConfigReg::random)) + store(int(ConfigReg::coord_x));
  }
  w.items.push_back(code);
}

// A ring between two operations on microthreads.
void RandomProgram::add_fifo(Writer& w) {
  const int n = 1 + int(pick(12)), bytes = 2 * (2 + int(pick(6)));
  FifoBinding binding;
  binding.address = uint16_t(w.array(bytes));
  binding.bytes = uint16_t(bytes);
  if (chance(40)) binding.activate_push = 11;
  if (chance(40)) binding.activate_pop = 11;
  const int number = int(w.tile.t.fifos.size());
  w.tile.t.fifos.push_back(binding);
  isa::Dsd fifo;
  fifo.kind = isa::DsdKind::fifo;
  fifo.queue = uint8_t(number);
  fifo.extent[0] = uint16_t(n);
  const int push = w.next_dsr(), pop = w.next_dsr();
  const int from = w.place(mem(w.array(2 * n), n)), to = w.place(mem(w.array(2 * n), n)), ring = w.place(fifo);
  w.items.push_back(fmt::format(
      "lddds d{0}, [{1}], {{async ut={2}}}\nlds0ds s0_{0}, [{3}], {{}}\nmov16 d{0}, s0_{0}\n"
      "lddds d{4}, [{5}], {{async ut={6}}}\nlds0ds s0_{4}, [{1}], {{}}\nmov16 d{4}, s0_{4}\n",
      push, ring, w.thread % 8, from, pop, to, (w.thread + 1) % 8));
  w.thread += 2;
}

}  // namespace cs::sim::test
