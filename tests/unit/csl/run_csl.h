// Compiles a CSL program from texts and runs it on the engine, for tests of what programs compute.
//
//   CslRun run("wse2", layout_text, pe_text);   // or one_pe(pe_text): one PE, function `main` launched
//   run.launch("main");  run.f32("y")  run.i16("n", {1, 0})
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "compiler/csl/csl.h"
#include "simulator/engine/engine.h"

namespace cs::csl::test {

inline Machine load(const std::string& name) {
  Diag diag;
  auto m = load_machine(name, diag);
  EXPECT_TRUE(m.has_value()) << diag.to_string();
  return m.value_or(Machine{});
}

inline CslOptions options_for(const std::map<std::string, std::string>& files) {
  CslOptions o;
  o.layout = "layout.csl";
  o.files = files;
  return o;
}

// The diagnostics of a program that must not compile, as printed.
inline std::string errors_of(const std::map<std::string, std::string>& files,
                             const std::string& machine = "wse2") {
  Diag diag;
  const auto p = compile_csl(options_for(files), load(machine), diag);
  EXPECT_FALSE(p.has_value());
  return diag.to_string();
}

inline const char* kOnePe = R"(
const memcpy = @import_module("<memcpy/get_params>", .{ .width = 1, .height = 1 });
layout {
  @set_rectangle(1, 1);
  @set_tile_code(0, 0, "pe.csl", .{ .memcpy_params = memcpy.get_params(0) });
}
)";
inline const char* kPrologue = R"(param memcpy_params: comptime_struct;
const sys = @import_module("<memcpy/memcpy>", memcpy_params);
)";

class CslRun {
 public:
  CslRun(const std::string& machine, const std::map<std::string, std::string>& files)
      : CslRun(machine, options_for(files)) {}
  CslRun(const std::string& machine, const CslOptions& options) : CslRun(load(machine), options) {}
  CslRun(const Machine& machine, const CslOptions& options) : machine_(machine), engine_(machine_, {}) {
    Diag diag;
    auto p = compile_csl(options, machine_, diag);
    EXPECT_TRUE(p.has_value()) << diag.to_string();
    if (!p) return;
    program_ = std::move(*p);
    good_ = engine_.load(program_, {}, diag);
    EXPECT_TRUE(good_) << diag.to_string();
  }

  // Runs until nothing happens any more; the cycles it took.
  Cycle launch(const std::string& function, std::vector<uint32_t> args = {}) {
    if (!good_) return 0;
    int index = -1;
    for (size_t i = 0; i < program_.exports.size(); ++i)
      if (program_.exports[i].name == function) index = int(i);
    EXPECT_GE(index, 0) << "not exported: " << function;
    if (index < 0) return 0;
    const Cycle before = engine_.now();
    engine_.launch(index, args, program_.user, before);
    run();
    return engine_.now() - before;
  }
  // The next runs must end with this fault.
  void expect_fault(const std::string& name) { fault_ = name; }
  void run() {
    constexpr Cycle kLimit = 10'000'000;
    while (good_ && !engine_.idle() && !engine_.faulted() && engine_.now() < kLimit)
      engine_.step(engine_.next_event() + 1);
    if (fault_.empty())
      EXPECT_FALSE(engine_.faulted()) << engine_.fault().fault << ": " << engine_.fault().message;
    else
      EXPECT_TRUE(engine_.faulted() && engine_.fault().fault == fault_) << fault_;
    EXPECT_LT(engine_.now(), kLimit);
  }

  template <class T>
  std::vector<T> values(const std::string& symbol, Coord pe = {}) const {
    std::vector<T> out;
    const TileProgram* tile = tile_at(pe);
    const Symbol* s = tile ? tile->symbol(symbol) : nullptr;
    EXPECT_TRUE(s) << "no symbol " << symbol;
    if (!s) return out;
    EXPECT_EQ(size_t(data_type_bytes(s->type)), sizeof(T)) << symbol;
    out.resize(s->elements);
    std::vector<uint8_t> bytes(out.size() * sizeof(T));
    const Coord at{program_.user.x + pe.x, program_.user.y + pe.y};
    std::array<uint8_t, 2> word{uint8_t(s->address), uint8_t(s->address >> 8)};
    if (s->pointer >= 0) engine_.read(at, uint16_t(s->pointer), word);
    engine_.read(at, uint16_t(word[0] | word[1] << 8), bytes);
    std::memcpy(out.data(), bytes.data(), bytes.size());
    return out;
  }
  template <class T>
  void set(const std::string& symbol, const std::vector<T>& data, Coord pe = {}) {
    const TileProgram* tile = tile_at(pe);
    const Symbol* s = tile ? tile->symbol(symbol) : nullptr;
    ASSERT_TRUE(s) << "no symbol " << symbol;
    std::vector<uint8_t> bytes(data.size() * sizeof(T));
    std::memcpy(bytes.data(), data.data(), bytes.size());
    engine_.write({program_.user.x + pe.x, program_.user.y + pe.y}, s->address, bytes);
  }
  std::vector<float> f32(const std::string& s, Coord pe = {}) { return values<float>(s, pe); }
  std::vector<int16_t> i16(const std::string& s, Coord pe = {}) { return values<int16_t>(s, pe); }
  std::vector<int32_t> i32(const std::string& s, Coord pe = {}) { return values<int32_t>(s, pe); }

  const Program& program() const { return program_; }
  sim::Engine& engine() { return engine_; }

 private:
  const TileProgram* tile_at(Coord pe) const {
    const Coord c{program_.user.x + pe.x, program_.user.y + pe.y};
    for (const TileRect& r : program_.rects)
      if (r.rect.contains(c)) return &program_.tiles[r.tile];
    return nullptr;
  }
  Machine machine_;
  Program program_;
  sim::Engine engine_;
  std::string fault_;
  bool good_ = false;
};

// One PE with `body` after the memcpy prologue; its function `main` is launched.
inline CslRun one_pe(const std::string& body, const std::string& machine = "wse2") {
  std::string layout = kOnePe;
  layout.insert(layout.rfind('}'), "  @export_name(\"main\", fn()void);\n");
  return CslRun(machine, {{"layout.csl", layout},
                          {"pe.csl", kPrologue + body + "\ncomptime { @export_symbol(main); }\n"}});
}

}  // namespace cs::csl::test
