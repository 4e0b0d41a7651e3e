// Text of region modules.
#include "compiler/autogen/region_module.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/autogen/byte_rows.h"
#include "compiler/autogen/joins.h"
#include "compiler/autogen/region_estimate.h"
#include "compiler/autogen/region_own.h"

namespace cs::autogen {

namespace {

constexpr int64_t kAskFirst = 128;  // words of results of all PEs that are worth asking before they are sent

bool holds_integers(const ops::LoopBuffer& b) { return !data_type_is_float(b.type.dtype); }

class Writer {
 public:
  Writer(const Region& r, const RegionShare& share, const RegionTitle& title, const Machine& machine)
      : r_(r), share_(share), title_(title), code_(region_code(r, share, machine)) {
    for (size_t i = 0; i < r.operands.size(); ++i)
      if (const Arrival arrival = arrival_of(share.walks[i]); arrival != Arrival::never)
        (arrival == Arrival::at_once ? at_once_ : in_steps_).push_back(i);
    std::vector<std::string> names;
    for (size_t i : at_once_) names.push_back(fmt::format("x{}_next", i));
    if (!in_steps_.empty()) names.push_back("");
    join_ = Join("compute", std::move(names));
  }

  std::string run() {
    std::string text = header() + parameters() + "\n" +
                       scalar_helpers(code_.uses_math, code_.uses_round, code_.uses_power) + arrays() +
                       streams();
    for (const std::string& d : code_.declarations) text += d + "\n";
    text += "\nfn compute_sample() void {\n";
    for (const ops::LoopBlock& block : share_.program.blocks) text += own_numbers(block.statements, first_own());
    for (const std::string& l : code_.lines) text += l + "\n";
    text += "}\n\nfn prepare() void {\n" + own_numbers(share_.once, first_own());
    for (const std::string& l : code_.once) text += l + "\n";
    return text + "}\n\n" + receiving() + tasks() + bindings();
  }

 private:
  const ops::LoopBuffer& buffer(int b) const { return r_.program.buffers[size_t(b)]; }
  size_t first_own() const { return pe_words(share_).size() - size_t(share_.own); }
  const Runs& stored(int b) const { return share_.stored[size_t(b)]; }
  const char* type(int b) const { return holds_integers(buffer(b)) ? "i32" : "f32"; }
  // The instruction that takes buffer b from the fabric or sends it.
  const char* stream_move(int b, bool in) const {
    DataType t = buffer(b).type.dtype;
    if (data_type_is_float(t) && data_type_bytes(t) == 2) return in ? "fh2s" : "fs2h";
    return holds_integers(buffer(b)) ? "mov32" : "fmovs";
  }

  // ---- declarations

  std::string header() const {
    std::string out =
        fmt::format("// {}\n//\n// Generated. Sharding: {}. Expected: {:.0f} cycles of computing.\n",
                    title_.title, title_.sharding, code_.cycles);
    std::string text = ops::loops_text(r_.program);
    for (size_t at = 0; at < text.size();) {
      size_t end = text.find('\n', at);
      out += "//   " + text.substr(at, end - at) + "\n";
      at = end + 1;
    }
    return out + "\n";
  }

  std::string parameters() const {
    std::string out;
    for (size_t i = 0; i < r_.operands.size(); ++i) {
      out += fmt::format("param x{0}_color: color;\nparam x{0}_queue: input_queue;\n", i);
      if (has_next_task(share_, i)) out += fmt::format("param x{0}_next_id: local_task_id;\n", i);
    }
    for (size_t j = 0; j < r_.results.size(); ++j)
      out += fmt::format("param y{0}_color: color;\nparam y{0}_queue: output_queue;\n", j);
    for (size_t k = 0; k < r_.constants.size(); ++k) {
      if (stored(r_.constant_buffer[k]).empty()) continue;
      const int b = r_.constant_buffer[k];
      out += fmt::format("param {}: [*]{};\n", buffer(b).name, in_bytes(r_, share_, b) ? "i32" : type(b));
    }
    return out +
           "param pe: [*]i32;\n"
           "param compute_id: local_task_id;\nparam start_id: local_task_id;\n";
  }

  bool is_constant(int b) const {
    return std::find(r_.constant_buffer.begin(), r_.constant_buffer.end(), b) != r_.constant_buffer.end();
  }

  std::string arrays() const {
    std::string out;
    for (size_t b = 0; b < r_.program.buffers.size(); ++b) {
      if (!is_stored(r_, share_, int(b)) || is_constant(int(b))) continue;
      // Two words, so that banks are as the estimate takes them (region_code.cpp).
      out += fmt::format("var {0}: [{1}]{2} align(8) = @zeros([{1}]{2});\n", buffer(int(b)).name,
                         stored(int(b)).words(), type(int(b)));
    }
    return out;
  }

  std::string from_stream(size_t i, const char* what, int64_t words) const {
    return fmt::format(
        "const x{0}_{1} = @get_dsd(fabin_dsd, .{{ .extent = {2}, .fabric_color = x{0}_color, .input_queue = "
        "x{0}_queue }});\n",
        i, what, words);
  }
  std::string keeping(size_t i) const {
    return from_stream(i, "in", share_.walks[i].run) +
           fmt::format("const x{}_keep = @get_dsd({});\n", i, destination(i));
  }
  std::string passing(size_t i, int64_t words) const {
    return from_stream(i, "skip", words) +
           fmt::format("const x{}_passed = @get_dsd(mem1d_dsd, .{{ .tensor_access = |a|{{{}}} -> passed[0] }});\n", i,
                       words);
  }

  std::string streams() const {
    std::string out = "var passed = @zeros([1]u32);\n";
    for (size_t i : at_once_)
      out += stored(r_.operand_buffer[i]).empty() ? passing(i, share_.walks[i].before) : keeping(i);
    for (size_t i : in_steps_) {
      out += passing(i, kMostPassed);
      if (!stored(r_.operand_buffer[i]).empty()) out += keeping(i);
    }
    for (size_t j = 0; j < r_.results.size(); ++j) {
      int b = r_.result_buffer[j];
      const Send& sent = share_.out[j];
      if (sent.run > 0) {
        out += fmt::format(
            "const y{0}_out = @get_dsd(fabout_dsd, .{{ .extent = {1}, .fabric_color = y{0}_color, .output_queue = "
            "y{0}_queue }});\n"
            "const y{0}_send = @get_dsd(mem1d_dsd, .{{ .tensor_access = |a|{{{1}}} -> {2}[a + {3}] }});\n",
            j, sent.run, buffer(b).name, sent.own < 0 ? sent.first : 0);
      }
      out += fmt::format(
          "const y{0}_control = @get_dsd(fabout_dsd, .{{\n"
          "  .extent = 1, .fabric_color = y{0}_color, .output_queue = y{0}_queue, .control = true }});\n",
          j);
    }
    return out;
  }

  // ---- tasks

  // Every operand has a microthread of its own: one that waits must not hold up another. Asking for a sample does
  // the first step at once, not in a task that would wait until results are sent: an operand in one run arrives
  // meanwhile.
  //
  //   in one step   all that comes is kept, or passed over: one operation, whose end is an event
  //   in steps      x<i>_go_on: pass over what is before the next run, keep the run; behind the last run pass over
  //                 the rest. That all such operands have arrived is one event
  std::string receiving() {
    std::string out = in_steps_.size() > 1 ? "var arrived: u16 = 0;\n" : "";
    std::string asked = in_steps_.empty() ? "\ninline fn ask() void {\n" : "\nfn ask() void {\n";
    if (in_steps_.size() > 1) asked += "  arrived = 0;\n";
    for (size_t i : in_steps_) {
      const std::string ask = fmt::format("  {0}  x{1}_at = 0;\n  x{1}_go_on();\n", left(i, int(i)), i);
      asked += ask_every(r_.stays_for(i), i, ask, end_of_steps());
      out += steps_of(i);
    }
    for (size_t k = 0; k < at_once_.size(); ++k) {
      const Join::End end = join_.end_of(k);
      asked += ask_every(r_.stays_for(at_once_[k]), at_once_[k], "  " + only_step(at_once_[k], end),
                         fmt::format("    @{}({});\n", end.what, end.id));
    }
    for (size_t i = 0; i < r_.operands.size(); ++i)
      if (r_.stays_for(i) > 1) out += fmt::format("var x{}_stays: i32 = 0;\n", i);
    if (join_.events() == 0) asked += "  @activate(compute_id);\n";
    return out + join_.tasks() + asked + "}\n\n";
  }

  static std::string move(const char* mnemonic, const std::string& to, const std::string& from, size_t i,
                          const Join::End& end) {
    return fmt::format("@{}({}, {}, .{{ .async = true, .{} = {}, .ut_id = @get_ut_id({}) }});\n", mnemonic, to,
                       from, end.what, end.id, i);
  }
  std::string only_step(size_t i, const Join::End& end) const {
    const int b = r_.operand_buffer[i];
    if (stored(b).empty()) return move("mov32", fmt::format("x{}_passed", i), fmt::format("x{}_skip", i), i, end);
    return move(stream_move(b, true), fmt::format("x{}_keep", i), fmt::format("x{}_in", i), i, end);
  }

  // ---- operands in steps: words that are still to be passed over, and words kept so far

  std::string left(size_t i, int word) const {
    return fmt::format("x{}_left = {};\n", i, short_gaps(share_.walks[i]) ? fmt::format("@as(i16, pe[{}])", word)
                                                                           : fmt::format("pe[{}]", word));
  }
  std::string steps_of(size_t i) {
    const std::string all = fmt::format("    const n = @as(u16, x{0}_left);\n    x{0}_left = 0;\n", i),
                      some = fmt::format("    const n: u16 = if (x{0}_left > {1}) {1} else @as(u16, x{0}_left);\n"
                                         "    x{0}_left -= @as(i32, n);\n",
                                         i, kMostPassed);
    const bool is_short = short_gaps(share_.walks[i]);
    const std::string keep = stored(r_.operand_buffer[i]).empty() ? "" : keep_run(i), count = end_of_steps();
    return fmt::format(
        "\nvar x{0}_left: {1} = 0;\n"
        "var x{0}_at: i16 = 0;\n"
        "{2}"
        "fn x{0}_go_on() void {{\n"
        "  if (x{0}_left > 0) {{\n"
        "{3}    {4}"
        "{5}"
        "  }} else {{\n"
        "{6}"
        "  }}\n"
        "}}\n"
        "task x{0}_next() void {{ x{0}_go_on(); }}\n",
        i, is_short ? "i16" : "i32", counters(i), is_short ? all : some,
        move("mov32", fmt::format("@set_dsd_length(x{}_passed, n)", i),
             fmt::format("@set_dsd_length(x{}_skip, n)", i), i, next_step(i)),
        keep, count);
  }
  // The word of `pe` with the first gap between the operand's runs.
  int first_gap(size_t operand) const {
    size_t at = r_.operands.size();
    for (size_t i = 0; i < operand; ++i)
      if (share_.walks[i].run > 0) at += share_.walks[i].loops.size() + 1;
    return int(at);
  }
  static Join::End next_step(size_t i) { return {"activate", fmt::format("x{}_next_id", i)}; }
  std::string end_of_steps() const {
    const Join::End end = join_.end_of(at_once_.size());
    if (in_steps_.size() == 1) return fmt::format("    @{}({});\n", end.what, end.id);
    return fmt::format("    arrived += 1;\n    if (arrived == {}) {{ @{}({}); }}\n", in_steps_.size(), end.what,
                       end.id);
  }

  std::string counters(size_t i) const {
    std::string out;
    for (size_t k = 0; k < share_.walks[i].loops.size(); ++k)
      out += fmt::format("var x{}_round{}: i16 = 0;\n", i, k);
    return out;
  }

  bool in_place(size_t i) const { return share_.receive[i].buffer != r_.operand_buffer[i]; }
  // Where a run goes, relative to the place of the run.
  std::string destination(size_t i) const {
    const Receive& to = share_.receive[i];
    const std::string& array = buffer(to.buffer).name;
    size_t loops = share_.walks[i].loops.size(), dimensions = to.moves.size() - loops;
    if (!in_place(i) || dimensions == 0) {
      return fmt::format("mem1d_dsd, .{{ .tensor_access = |a|{{{}}} -> {}[a + {}] }}", share_.walks[i].run,
                         array, to.first);
    }
    const std::string names = "abcd";
    std::string variables, extents, at;
    for (size_t d = 0; d < dimensions; ++d) {
      variables += fmt::format("{}{}", d > 0 ? ", " : "", names[d]);
      extents += fmt::format("{}{}", d > 0 ? ", " : "", to.moves[loops + d].extent);
      at += fmt::format("{} * {} + ", to.steps[loops + d], names[d]);
    }
    return fmt::format("{}, .{{ .tensor_access = |{}|{{{}}} -> {}[{}{}] }}",
                       dimensions > 1 ? "mem4d_dsd" : "mem1d_dsd", variables, extents, array, at, to.first);
  }
  // Where the next run goes.
  std::string place(size_t i) const {
    if (!in_place(i)) return fmt::format("x{}_at", i);
    const std::vector<int64_t>& steps = share_.receive[i].steps;
    std::string at;  // the innermost first; further moves are those within a run
    for (size_t k = 0, loops = share_.walks[i].loops.size(); k < loops; ++k) {
      at += fmt::format("{}x{}_round{} * {}", k > 0 ? " + " : "", i, k, steps[loops - 1 - k]);
    }
    return at;
  }

  std::string keep_run(size_t i) {
    const Walk& walk = share_.walks[i];
    int b = r_.operand_buffer[i];
    bool one = walk.loops.empty();
    std::string to = fmt::format("x{}_keep", i), indent = "    ", close;
    int gap = first_gap(i);
    std::string out = fmt::format(
        "  }} else if (x{0}_at < {1}) {{\n"
        "    {2}"
        "    x{0}_at += {3};\n",
        i, stored(b).words(),
        move(stream_move(b, true),
             one ? to : fmt::format("@increment_dsd_offset({}, {}, {})", to, place(i), type(b)),
             fmt::format("x{}_in", i), i, next_step(i)),
        walk.run);
    for (size_t k = 0; k < walk.loops.size(); ++k) {
      out += fmt::format(
          "{0}x{1}_round{2} += 1;\n{0}if (x{1}_round{2} < {3}) {{\n{0}  {4}{0}}} else {{\n", indent, i, k,
          walk.loops[k].count, left(i, gap++));
      close = indent + "}\n" + close;
      indent += "  ";
      out += fmt::format("{}x{}_round{} = 0;\n", indent, i, k);
    }
    return out + indent + left(i, gap++) + close;
  }

  // Behind a turn goes the control wavelet that says whose turn is next. Everybody waits for it, so what it
  // says is found out before the run is sent: `y<j>_word`, and where a turn has several runs, `y<j>_ends`.
  std::string next_word(size_t j, const std::string& indent) const {
    const Turns& t = share_.turns[j];
    int between = first_gap(r_.operands.size()) + 2 * int(j);
    auto word = [&](int at) { return fmt::format("y{}_word = @bitcast(u32, pe[{}]);\n", j, at); };
    if (t.turns == 1 || t.inner_places == t.places) return indent + word(between + 1);
    return fmt::format(
        "{0}y{1}_turn += 1;\n{0}if (y{1}_turn == {2}) {{\n{0}  y{1}_turn = 0;\n{0}  {3}{0}}} else {{\n{0}  "
        "{4}{0}}}\n",
        indent, j, t.turns, word(between + 1), word(between));
  }
  bool ends_always(size_t j) const { return share_.turns[j].words <= share_.out[j].run; }
  std::string before_run(size_t j, const std::string& indent) const {
    if (share_.turns[j].places == 1) return "";
    std::string out = fmt::format("{}var y{}_word: u32 = 0;\n", indent, j);
    if (share_.out[j].run == 0 || ends_always(j)) return out + next_word(j, indent);
    return out +
           fmt::format(
               "{0}y{1}_run += 1;\n{0}const y{1}_ends: bool = y{1}_run == {2};\n{0}if (y{1}_ends) {{\n{0}  "
               "y{1}_run = 0;\n{3}{0}}}\n",
               indent, j, share_.turns[j].words / share_.out[j].run, next_word(j, indent + "  "));
  }
  std::string end_of_turn(size_t j, const std::string& indent) const {
    return fmt::format("{}@mov32(y{}_control, y{}_word);\n", indent, j, j);
  }
  std::string after_run(size_t j, const std::string& indent) const {
    if (share_.turns[j].places == 1) return "";
    if (ends_always(j)) return end_of_turn(j, indent);
    return fmt::format("{0}if (y{1}_ends) {{\n{2}{0}}}\n", indent, j, end_of_turn(j, indent + "  "));
  }

  std::string send(size_t j) const {
    const Send& sent = share_.out[j];
    if (sent.run == 0) return share_.turns[j].places == 1 ? "" : before_run(j, "  ") + end_of_turn(j, "  ");
    int b = r_.result_buffer[j];
    std::string out, at, indent = "  ", close, from = fmt::format("y{}_send", j);
    if (sent.own >= 0) at = fmt::format("@as(i16, pe[{}])", first_own() + size_t(sent.own));
    for (size_t k = 0; k < sent.loops.size(); ++k) {
      out += fmt::format("{0}var y{1}_i{2}: i16 = 0;\n{0}while (y{1}_i{2} < {3}) : (y{1}_i{2} += 1) {{\n",
                         indent, j, k, sent.loops[k].count);
      at += fmt::format("{}y{}_i{} * {}", at.empty() ? "" : " + ", j, k, sent.loops[k].step);
      close = indent + "}\n" + close;
      indent += "  ";
    }
    if (!at.empty()) from = fmt::format("@increment_dsd_offset({}, {}, {})", from, at, type(b));
    return out + before_run(j, indent) +
           fmt::format("{}@{}(y{}_out, {});\n", indent, stream_move(b, false), j, from) +
           after_run(j, indent) + close;
  }

  std::string tasks() const {
    std::string out;
    const bool ask_first = asks_before_sending(r_);
    for (size_t j = 0; j < r_.results.size(); ++j)
      out += fmt::format("var y{0}_run: i16 = 0;\nvar y{0}_turn: i16 = 0;\n", j);
    out += "task compute() void {\n" + join_.block_again() + "  compute_sample();\n";
    if (ask_first) out += "  ask();\n";
    for (size_t j = 0; j < r_.results.size(); ++j) out += "  {\n" + send(j) + "  }\n";
    if (!ask_first) out += "  ask();\n";
    out += "}\n\ntask start() void {\n  prepare();\n";
    for (const KeptState& state : r_.states)
      for (size_t j = 0; j < r_.results.size(); ++j)
        if (r_.result_buffer[j] == state.made) out += "  {\n" + send(j) + "  }\n";
    return out + "  ask();\n}\n\n";
  }

  std::string bindings() const {
    std::string out = "comptime {\n";
    for (size_t i = 0; i < r_.operands.size(); ++i)
      out += fmt::format("  @initialize_queue(x{0}_queue, .{{ .color = x{0}_color }});\n", i);
    for (size_t i : in_steps_) out += fmt::format("  @bind_local_task(x{0}_next, x{0}_next_id);\n", i);
    out += join_.bindings();
    out += "  if (@is_arch(\"wse3\")) {\n";
    for (size_t j = 0; j < r_.results.size(); ++j)
      out += fmt::format("    @initialize_queue(y{0}_queue, .{{ .color = y{0}_color }});\n", j);
    return out +
           "  }\n"
           "  @bind_local_task(compute, compute_id);\n"
           "  @bind_local_task(start, start_id);\n"
           "  @activate(start_id);\n"
           "}\n";
  }

  const Region& r_;
  const RegionShare& share_;
  const RegionTitle& title_;
  RegionCode code_;
  std::vector<size_t> at_once_, in_steps_;  // operands (Arrival)
  Join join_{"compute", {}};                // of the operands in one step, and of all others together
};

}  // namespace

bool asks_before_sending(const Region& r) { return r.words_out() >= kAskFirst; }

std::string region_module(const Region& r, const RegionShare& share, const RegionTitle& title,
                          const Machine& machine) {
  return Writer(r, share, title, machine).run();
}

}  // namespace cs::autogen
