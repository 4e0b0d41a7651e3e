// The largest ids that the encodings have room for go through every form of a Program, and only a machine
// that has them accepts it.
#include <gmock/gmock.h>

#include "tests/unit/program/sample_program.h"

namespace cs {
namespace {

using ::testing::HasSubstr;

Machine widest() {
  Machine m = machine("wse4");
  m.core.registers = 32;
  m.task_ids.local_first = 16;
  m.task_ids.local_last = 62;
  m.queues.input_words.assign(16, 4);
  m.queues.output_words.assign(16, 4);
  return m;
}

Program wide_program() {
  Program p;
  p.name = "wide";
  set_program_machine(p, widest());
  p.fabric_width = 2;
  p.fabric_height = 1;
  p.user = {0, 0, 2, 1};
  TileProgram t;
  t.name = "pe.csl";
  t.code = {assembled("lddds d31, [65516], {async activate=62 ut=15}"),
            assembled("mov16 r31, 1"),
            assembled("mov32 p30, 7"),
            assembled("mov32 d31, p30"),
            assembled("jv r31"),
            assembled("yield")};
  t.sections = {{"code", SectionKind::code, 0, 64}, {"end", SectionKind::data, 65500, 36}};
  t.segments = {{65516, std::vector<uint8_t>(20, 1)}};
  t.tasks = {{TaskKind::local, 62, 5, TaskArgs::none, "last"},
             {TaskKind::control, 63, 5, TaskArgs::none, "stop"}};
  t.queues = {{false, 15, 31, 0}, {true, 15, 31, 0}};
  t.blocked_threads = {15};
  isa::Dsd d;
  d.kind = isa::DsdKind::fabin;
  d.queue = 15;
  d.color = 31;
  d.extent[0] = 3;
  d.microthread = 15;
  DsrInit init{.file = 1, .index = 31};
  isa::encode(d, init.words);
  t.dsrs = {init};
  t.config = {{isa::dsr_length(2, 31), 9}};
  t.symbols = {{"last_word", DataType::i16, 65534, 1, true}};
  p.tiles = {t};
  p.rects = {{{0, 0, 2, 1}, 0}};
  RouteConfig straight;
  straight.positions[0] = {true, port_bit(Port::ramp), port_bit(Port::east)};
  p.routes = {{{0, 0, 1, 1}, 31, straight}};
  return p;
}

TEST(WideFields, GoThroughBytesAndText) {
  const Program p = wide_program();
  Diag diag;
  EXPECT_TRUE(verify(p, widest(), diag)) << diag.to_string();
  const auto from_bytes = parse_program_bytes(program_bytes(p), "p", diag);
  ASSERT_TRUE(from_bytes) << diag.to_string();
  EXPECT_EQ(*from_bytes, p);
  const auto from_text = parse_program_text(program_text(p), "p", diag);
  ASSERT_TRUE(from_text) << diag.to_string();
  EXPECT_EQ(*from_text, p);
  EXPECT_EQ(program_machine(*from_text, diag), widest());
}

TEST(WideFields, AreRefusedByAMachineThatLacksThem) {
  Diag diag;
  EXPECT_FALSE(verify(wide_program(), machine("wse3"), diag));
  const std::string errors = diag.to_string();
  for (const char* text :
       {"there are 24 colors", "number 31 of a destination DSR not below 16",
        "number 31 of a register not below 16", "pair p30 not below p15",
        "needs 65536 bytes of memory, a PE has 49152", "input queue 15: there are 8",
        "output queue 15: there are 8", "blocks microthread 15, there are 8",
        "local task 'last' (id 62): ids are 8 to 30", "names queue 15, there are 8", "names color 31 of 24",
        "names microthread 15, there are 8", "there are 3 files of 16"})
    EXPECT_THAT(errors, HasSubstr(text));
}

}  // namespace
}  // namespace cs
