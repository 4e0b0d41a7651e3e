// Text of region modules.
#include "compiler/autogen/region_module.h"

#include <fmt/format.h>

#include "compiler/autogen/region_code.h"

namespace cs::autogen {

namespace {

constexpr int kMaxSkip = 16384;  // words that one instruction passes over

class Writer {
 public:
  Writer(const Region& r, const RegionShare& share, const RegionTitle& title, const Machine& machine)
      : r_(r), share_(share), title_(title), machine_(machine) {
    for (const ops::LoopBuffer& b : r.program.buffers) {
      names_.push_back(b.name);
      integers_.push_back(!data_type_is_float(b.type.dtype));
    }
  }

  RegionModule run() {
    body();
    RegionModule m;
    m.text = header() + parameters() + "\n" +
             scalar_helpers(code_.uses_math, code_.uses_round, code_.uses_power) + arrays() + streams();
    for (const std::string& d : code_.declarations) m.text += d + "\n";
    m.text += "\nfn compute_sample() void {\n";
    for (const std::string& l : code_.lines) m.text += l + "\n";
    m.text += "}\n\n" + receiving() + tasks() + bindings();
    m.compute_cycles = code_.cycles;
    m.words = share_.words_stored() + code_.scratch_words;
    m.code_bytes = uint32_t(900 + 60 * code_.lines.size() + (code_.uses_math ? 1800 : 0));
    return m;
  }

 private:
  const ops::LoopBuffer& buffer(int b) const { return r_.program.buffers[size_t(b)]; }
  const Runs& stored(int b) const { return share_.stored[size_t(b)]; }
  const char* type(int b) const { return integers_[size_t(b)] ? "i32" : "f32"; }
  // The instruction that takes buffer b from the fabric or sends it.
  const char* stream_move(int b, bool in) const {
    DataType t = buffer(b).type.dtype;
    if (data_type_is_float(t) && data_type_bytes(t) == 2) return in ? "fh2s" : "fs2h";
    return integers_[size_t(b)] ? "mov32" : "fmovs";
  }

  // ---- statements

  // The statement as this PE sees it: addresses of what it stores.
  ops::LoopStatement local(ops::LoopStatement s, int64_t steps) const {
    auto move_access = [&](ops::LoopAccess& a) {
      if (steps == 1) a.step = 0;
      if (a.buffer != ops::kCounter) a = local_access(a, stored(a.buffer));
    };
    move_access(s.out);
    for (ops::LoopAccess& a : s.loads) move_access(a);
    merge_axes(s);
    return s;
  }

  void body() {
    for (const ops::LoopBlock& block : share_.program.blocks) {
      bool repeated = block.steps > 1;
      if (repeated) {
        code_.lines.push_back("  {");
        code_.lines.push_back("    var step: i16 = 0;");
        code_.lines.push_back(fmt::format("    while (step < {}) : (step += 1) {{", block.steps));
      }
      StatementContext context{names_, integers_, machine_, repeated ? 6 : 2};
      for (const ops::LoopStatement& s : block.statements) {
        append_statement(local(s, block.steps), block.steps, context, code_);
      }
      if (repeated) {
        code_.lines.push_back("    }");
        code_.lines.push_back("  }");
      }
    }
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
      out += fmt::format(
          "param x{0}_color: color;\nparam x{0}_queue: input_queue;\nparam x{0}_next_id: local_task_id;\n"
          "param x{0}_before: i32;\nparam x{0}_after: i32;\n",
          i);
    }
    for (size_t j = 0; j < r_.results.size(); ++j) {
      out += fmt::format("param y{0}_color: color;\nparam y{0}_queue: output_queue;\n", j);
    }
    for (size_t k = 0; k < r_.constants.size(); ++k) {
      if (stored(r_.constant_buffer[k]).empty()) continue;
      out +=
          fmt::format("param {}: [*]{};\n", buffer(r_.constant_buffer[k]).name, type(r_.constant_buffer[k]));
    }
    return out +
           "param send_control: bool;\nparam control: u32;\n"
           "param compute_id: local_task_id;\nparam start_id: local_task_id;\n";
  }

  bool is_constant(int b) const {
    for (int c : r_.constant_buffer) {
      if (c == b) return true;
    }
    return false;
  }

  std::string arrays() const {
    std::string out;
    for (size_t b = 0; b < names_.size(); ++b) {
      if (stored(int(b)).empty() || is_constant(int(b))) continue;
      out += fmt::format("var {0} = @zeros([{1}]{2});\n", names_[b], stored(int(b)).words(), type(int(b)));
    }
    return out;
  }

  std::string streams() const {
    std::string out = "var passed = @zeros([1]u32);\n";
    for (size_t i = 0; i < r_.operands.size(); ++i) {
      int b = r_.operand_buffer[i];
      out += fmt::format(
          "const x{0}_skip = @get_dsd(fabin_dsd, .{{ .extent = {1}, .fabric_color = x{0}_color, .input_queue "
          "= "
          "x{0}_queue }});\n",
          i, kMaxSkip);
      if (stored(b).empty()) continue;
      out += fmt::format(
          "const x{0}_in = @get_dsd(fabin_dsd, .{{ .extent = {1}, .fabric_color = x{0}_color, .input_queue = "
          "x{0}_queue }});\n"
          "const x{0}_keep = @get_dsd(mem1d_dsd, .{{ .tensor_access = |a|{{{1}}} -> {2}[a] }});\n",
          i, stored(b).run, names_[size_t(b)]);
    }
    out += fmt::format(
        "const passed_dsd = @get_dsd(mem1d_dsd, .{{ .tensor_access = |a|{{{}}} -> passed[0] }});\n",
        kMaxSkip);
    for (size_t j = 0; j < r_.results.size(); ++j) {
      int b = r_.result_buffer[j];
      const Runs& sent = share_.sent[j];
      if (!sent.empty()) {
        out += fmt::format(
            "const y{0}_out = @get_dsd(fabout_dsd, .{{ .extent = {1}, .fabric_color = y{0}_color, "
            ".output_queue = "
            "y{0}_queue }});\n"
            "const y{0}_send = @get_dsd(mem1d_dsd, .{{ .tensor_access = |a|{{{1}}} -> {2}[a + {3}] }});\n",
            j, sent.run, names_[size_t(b)], sent_access(j).offset);
      }
      out += fmt::format(
          "const y{0}_control = @get_dsd(fabout_dsd, .{{\n"
          "  .extent = 1, .fabric_color = y{0}_color, .output_queue = y{0}_queue, .control = true }});\n",
          j);
    }
    return out;
  }

  // ---- tasks

  // Where the runs of result j lie: offset of the first, step from one to the next.
  ops::LoopAccess sent_access(size_t j) const {
    ops::LoopAccess a;
    a.offset = share_.sent[j].first;
    a.step = share_.sent[j].stride;
    return local_access(a, stored(r_.result_buffer[j]));
  }

  // x<i>_next: pass over what is before the next run, keep the run; behind the last run pass over the rest,
  // then the operand has arrived.
  std::string receiving() const {
    std::string out = "var arrived: u16 = 0;\n";
    for (size_t i = 0; i < r_.operands.size(); ++i) {
      const Runs& runs = stored(r_.operand_buffer[i]);
      out += fmt::format(
          "\nvar x{0}_left: i32 = 0;\n"
          "var x{0}_run: i16 = {2};\n"
          "task x{0}_next() void {{\n"
          "  if (x{0}_left > 0) {{\n"
          "    const n: u16 = if (x{0}_left > {1}) {1} else @as(u16, x{0}_left);\n"
          "    x{0}_left -= @as(i32, n);\n"
          "    @mov32(@set_dsd_length(passed_dsd, n), @set_dsd_length(x{0}_skip, n), .{{\n"
          "      .async = true, .activate = x{0}_next_id }});\n",
          i, kMaxSkip, runs.empty() ? 0 : runs.count);
      if (!runs.empty()) out += keep_run(i, runs);
      out += fmt::format(
          "  }} else {{\n"
          "    arrived += 1;\n"
          "    if (arrived == {}) {{ @activate(compute_id); }}\n"
          "  }}\n"
          "}}\n",
          r_.operands.size());
    }
    out += "\nfn ask() void {\n  arrived = 0;\n";
    for (size_t i = 0; i < r_.operands.size(); ++i) {
      out += fmt::format("  x{0}_left = x{0}_before;\n  x{0}_run = 0;\n  @activate(x{0}_next_id);\n", i);
    }
    return out + "}\n\n";
  }

  std::string keep_run(size_t i, const Runs& runs) const {
    std::string to = fmt::format("x{}_keep", i);
    int b = r_.operand_buffer[i];
    if (runs.count > 1) to = fmt::format("@increment_dsd_offset({}, at, {})", to, type(b));
    return fmt::format(
               "  }} else if (x{0}_run < {1}) {{\n"
               "{2}"
               "    x{0}_run += 1;\n"
               "    x{0}_left = if (x{0}_run < {1}) {3} else x{0}_after;\n",
               i, runs.count,
               runs.count > 1 ? fmt::format("    const at: i16 = x{}_run * {};\n", i, runs.run) : "",
               runs.count > 1 ? runs.stride - runs.run : 0) +
           fmt::format("    @{0}({1}, x{2}_in, .{{ .async = true, .activate = x{2}_next_id }});\n",
                       stream_move(b, true), to, i);
  }

  std::string send(size_t j) const {
    const Runs& sent = share_.sent[j];
    std::string control = fmt::format("if (send_control) {{ @mov32(y{}_control, control); }}\n", j);
    auto run = [&](const std::string& from) {
      return sent.empty()
                 ? ""
                 : fmt::format("@{}(y{}_out, {});\n", stream_move(r_.result_buffer[j], false), j, from);
    };
    std::string from = fmt::format("y{}_send", j);
    if (sent.count <= 1) return "  " + run(from) + "  " + control;
    from = fmt::format("@increment_dsd_offset({}, run{} * {}, {})", from, j, sent_access(j).step,
                       type(r_.result_buffer[j]));
    return fmt::format(
        "  var run{0}: i16 = 0;\n  while (run{0} < {1}) : (run{0} += 1) {{\n    {2}    {3}  }}\n", j,
        sent.count, run(from), control);
  }

  std::string tasks() const {
    std::string out = "// The next sample may come as soon as this one is computed.\ntask compute() void {\n";
    out += "  compute_sample();\n  ask();\n";
    for (size_t j = 0; j < r_.results.size(); ++j) out += send(j);
    return out + "}\n\ntask start() void {\n  ask();\n}\n\n";
  }

  std::string bindings() const {
    std::string out = "comptime {\n";
    for (size_t i = 0; i < r_.operands.size(); ++i) {
      out += fmt::format(
          "  @initialize_queue(x{0}_queue, .{{ .color = x{0}_color }});\n"
          "  @bind_local_task(x{0}_next, x{0}_next_id);\n",
          i);
    }
    out += "  if (@is_arch(\"wse3\")) {\n";
    for (size_t j = 0; j < r_.results.size(); ++j) {
      out += fmt::format("    @initialize_queue(y{0}_queue, .{{ .color = y{0}_color }});\n", j);
    }
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
  const Machine& machine_;
  std::vector<std::string> names_;
  std::vector<bool> integers_;
  RegionCode code_;
};

}  // namespace

RegionModule region_module(const Region& r, const RegionShare& share, const RegionTitle& title,
                           const Machine& machine) {
  return Writer(r, share, title, machine).run();
}

}  // namespace cs::autogen
