// A small valid Program that uses every part of the format: two tile programs, switches, ports, exports, a
// host part.
#pragma once

#include <gtest/gtest.h>

#include "runtime/program/program.h"

namespace cs {

inline Machine machine(const std::string& name) {
  Diag diag;
  const auto m = load_machine(name, diag);
  EXPECT_TRUE(m) << diag.to_string();
  return m.value_or(Machine{});
}

inline isa::Inst assembled(const std::string& text) {
  Diag diag;
  const auto inst = isa::parse_inst(text, {}, diag);
  EXPECT_TRUE(inst) << text << "\n" << diag.to_string();
  return inst.value_or(isa::Inst{});
}

inline TileProgram sample_tile(const std::string& name) {
  TileProgram t;
  t.name = name;
  t.fp16 = Fp16Format::bf16;
  t.code = {assembled("lddds d1, [96], {async activate=8}"), assembled("fmovs d1, 0x3f800000"),
            assembled("jmpt r1, @4"), assembled("jmp @end"), assembled("yield")};
  t.code_address = 0;
  // 4 + 2 + 4 + 2 + 2 bytes of code on WSE-2 (isa.def), then data.
  t.sections = {{"code", SectionKind::code, 0, 14}, {"data", SectionKind::data, 64, 64}};
  t.segments = {{96, {0x01, 0xff, 0x20, 0x7f}}, {100, std::vector<uint8_t>(20, 0xab)}};
  t.tasks = {{TaskKind::data, 5, 0, TaskArgs::word, "recv"},
             {TaskKind::control, 40, 4, TaskArgs::none, "stop"},
             {TaskKind::local, 26, 4, TaskArgs::none, "done"}};
  t.queues = {{false, 2, 5, 0}, {true, 3, 6, 2}};
  t.blocked = {26};
  t.unblocked = {3};
  t.blocked_threads = {1};
  t.activated = {26};
  t.symbols = {{"x", DataType::f32, 64, 8, true}, {"n", DataType::i16, 120, 1, false}};
  t.functions = {{"run", 2, {{DataType::f32, 116}, {DataType::u16, 122}}}};
  t.files = {"pe.csl", "lib/a b.csl"};
  t.lines = {{0, 0, 12, 3}, {3, 1, 7, 1}};
  return t;
}

inline HostPart sample_host() {
  HostPart h;
  h.model = "two words: a model";
  h.policy = "medium";
  h.dtype = "fp32";
  h.roof = {12.5, 0.25, 17.75};
  h.inputs = {{"in:0", DataType::f32, {1, 4}, 0}};
  h.outputs = {{"y", DataType::f32, {1, 4}, 0}};
  h.values = {{"v", DataType::f32, {4}, -1}};
  h.constants = {{"x", {1, 1, 2, 1}, 32, 0}};
  h.host_constants = {{{"axis", DataType::i32, {2}, -1}, 64, 8}};
  h.steps = {{HostStep::Kind::send, "in", "in:0", "", {}, {}, {}},
             {HostStep::Kind::receive, "out", "v", "", {}, {}, {}},
             {HostStep::Kind::op,
              "",
              "",
              "softmax",
              {"v", "axis", ""},
              {"y"},
              {{"alpha", 0.5},
               {"axis", int64_t(1)},
               {"beta", 2.0},
               {"mode", std::string("true")},
               {"pads", std::vector<int64_t>{}},
               {"scale", std::vector<double>{1.0, -0.1}}}}};
  h.kernels = {{"k0",
                "gemm+relu",
                "gemv",
                Origin::handwritten,
                "a kernel: exists",
                {0, 0, 4, 3},
                1000,
                12.5,
                20,
                100,
                {5, 6},
                {"Gemm_0"},
                "k0"},
               {"k1", "softmax", "host", Origin::host, "", {}, 40, 0, 0, 0, {}, {}, ""}};
  h.ops = {{"Gemm_0", "gemm", Origin::handwritten, "policy medium", {"k0"}, "model.onnx: node Gemm_0"},
           {"s", "softmax", Origin::primitive, "", {"k1"}, "model.yaml:12"}};
  return h;
}

// The operand in symbol "x" of two PEs, which gives the result in its place.
inline HostPart resident_host() {
  HostPart h;
  h.model = "resident";
  h.policy = "medium";
  h.dtype = "fp32";
  h.inputs = {{"in", DataType::f32, {3, 5}, -1}};
  h.outputs = {{"out", DataType::f32, {3, 5}, -1}};
  HostStep in, launch, out;
  in.kind = HostStep::Kind::copy_in, in.tensor = "in", in.symbol = "x";
  in.tiling = {{1, 1, 2, 1}, 16, 1, 8};
  launch.kind = HostStep::Kind::launch, launch.symbol = "run";
  out = in;
  out.kind = HostStep::Kind::copy_out, out.tensor = "out";
  h.steps = {in, launch, out};
  return h;
}

// A step of training: one state in symbol "x" of two PEs, another one on the host; a number of the step.
inline HostPart training_host() {
  HostPart h;
  h.model = "training";
  h.policy = "medium";
  h.dtype = "fp32";
  h.inputs = {{"in:0", DataType::f32, {4}, kStackedSamples}};
  h.outputs = {{"loss", DataType::f32, {}, kStackedSamples}};
  h.values = {{"rate", DataType::f32, {}, -1},
              {"step", DataType::f32, {}, -1},
              {"m", DataType::f16, {2}, -1},
              {"m.next", DataType::f16, {2}, -1}};
  h.constants = {{"x", {1, 1, 2, 1}, 32, 0}};
  h.states = {{"w", "weights", DataType::f32, {4, 4}, "", "", 0, 0, {{"x", {1, 1, 2, 1}, 32, 64}}},
              {"w.m", "optimizer", DataType::f16, {2}, "m", "m.next", 128, 4, {}}};
  Schedule decay;
  decay.kind = Schedule::Kind::cosine;
  decay.initial = 0.5;
  decay.decay_steps = decay.steps = 10;
  h.scalars = {{"rate", LearningRate(std::vector{decay})}, {"step", {}}};
  HostStep send, update, receive;
  send.kind = HostStep::Kind::send, send.port = "in", send.tensor = "in:0";
  update.op = "add", update.inputs = {"m", "rate"}, update.outputs = {"m.next"};
  receive.kind = HostStep::Kind::receive, receive.port = "out", receive.tensor = "loss";
  h.steps = {send, update, receive};
  return h;
}

inline Program sample_program() {
  Program p;
  p.name = "sample";
  set_program_machine(p, machine("wse2"));
  p.fabric_width = 4;
  p.fabric_height = 3;
  p.user = {1, 1, 2, 1};
  p.tiles = {sample_tile("pe.csl"), sample_tile("pe.csl {a: 1}")};
  p.rects = {{{1, 1, 1, 1}, 0}, {{2, 1, 1, 1}, 1}};
  const PortSet e = port_bit(Port::east), w = port_bit(Port::west), r = port_bit(Port::ramp);
  RouteConfig config;
  config.positions[0] = {true, w, PortSet(r | e)};
  config.positions[2] = {true, w, r};
  config.current = 2;
  config.ring_mode = true;
  config.pop_mode = PopMode::pop_on_advance;
  RouteConfig straight;
  straight.positions[0] = {true, w, e};
  straight.teardown = true;
  p.routes = {{{0, 1, 4, 1}, 5, config}, {{0, 1, 4, 1}, 6, straight}};
  p.ports = {
      {"in", true, Port::west, 1, 5}, {"out", false, Port::east, 1, 5}, {"out2", false, Port::east, 1, 6}};
  p.exports = {{"x", false, DataType::f32, true}, {"run", true, DataType::f32, true}};
  p.host = sample_host();
  return p;
}

}  // namespace cs
