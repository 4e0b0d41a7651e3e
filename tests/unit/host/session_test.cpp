// Copies by rectangle in both orders, 16- and 32-bit; host time by hand; errors.
#include "runtime/host/session.h"

#include <gtest/gtest.h>

#include "tests/unit/host/fake_device.h"

namespace cs {
namespace {

Program program_with_symbol(DataType type) {
  Program p;
  p.user = {4, 1, 2, 2};
  p.tiles.resize(1);
  p.tiles[0].symbols = {{"a", type, 16, 3, true}};
  p.rects = {{p.user, 0}};
  p.ports = {{"in", true, Port::west, 0, 1}, {"out", false, Port::east, 0, 2}};
  return p;
}

// The host's own time of 2 us for each call is on a clock of its own.
TEST(Session, ACopyTakesItsCommandAndTheBytesAtLinkRate) {
  FakeDevice device(10);
  Diag diag;
  device.load(program_with_symbol(DataType::f32), {}, diag);
  device.mutable_machine().host.host_call_us = 2;
  device.mutable_machine().host.link_gb_per_s = 0.012;
  device.mutable_machine().memcpy.command_cycles = 100;
  Session session(device);
  // 3 words of 4 bytes at 12 MB/s: 1 us, at 1 GHz 1000 cycles; with the command 1100.
  ASSERT_TRUE(
      session.copy_to("a", {0, 0, 1, 1}, 3, std::vector<uint32_t>{1, 2, 3}, HostOrder::row_major, diag));
  EXPECT_EQ(device.now(), 1100u);
  std::vector<uint32_t> back;
  ASSERT_TRUE(session.copy_from("a", {0, 0, 1, 1}, 3, back, HostOrder::row_major, diag));
  EXPECT_EQ(back, (std::vector<uint32_t>{1, 2, 3}));
  EXPECT_EQ(device.now(), 2200u);
  EXPECT_DOUBLE_EQ(session.host_seconds(), 4e-6);
}

TEST(Session, SixteenBitDataTravelsZeroExtended) {
  FakeDevice device(10);
  Diag diag;
  device.load(program_with_symbol(DataType::u16), {}, diag);
  Session session(device);
  ASSERT_TRUE(session.copy_to("a", {0, 0, 1, 1}, 3, std::vector<uint32_t>{0xfffe, 0x1ffff, 7},
                              HostOrder::row_major, diag));
  std::vector<uint32_t> back;
  ASSERT_TRUE(session.copy_from("a", {0, 0, 1, 1}, 3, back, HostOrder::row_major, diag));
  EXPECT_EQ(back, (std::vector<uint32_t>{0xfffe, 0xffff, 7}));
}

TEST(Session, ErrorsNameTheNumbers) {
  FakeDevice device(10);
  Diag diag;
  device.load(program_with_symbol(DataType::f32), {}, diag);
  Session session(device);
  const std::vector<uint32_t> three(3);
  EXPECT_FALSE(session.copy_to("a", {1, 0, 2, 1}, 3, three, HostOrder::row_major, diag));
  EXPECT_FALSE(session.copy_to("b", {0, 0, 1, 1}, 3, three, HostOrder::row_major, diag));
  EXPECT_FALSE(session.copy_to("a", {0, 0, 1, 1}, 4, three, HostOrder::row_major, diag));
  EXPECT_FALSE(session.send("nowhere", three, diag));
  const std::string text = diag.to_string();
  EXPECT_NE(text.find("2x2 PEs"), std::string::npos) << text;
  EXPECT_NE(text.find("3 words given"), std::string::npos) << text;
  EXPECT_NE(text.find("no such symbol"), std::string::npos) << text;
  EXPECT_NE(text.find("no input port"), std::string::npos) << text;
}

// The symbol has 3 elements. Four of them out: what lies behind, and a warning; four in: an error.
TEST(Session, OnlyReadingMayGoBeyondASymbol) {
  FakeDevice device(10);
  Diag diag;
  device.load(program_with_symbol(DataType::f32), {}, diag);
  Session session(device);
  std::vector<uint32_t> back;
  EXPECT_TRUE(session.copy_from("a", {0, 0, 1, 1}, 4, back, HostOrder::row_major, diag));
  EXPECT_EQ(back.size(), 4u);
  EXPECT_EQ(diag.warnings(), 1u);
  EXPECT_FALSE(
      session.copy_to("a", {0, 0, 1, 1}, 4, std::vector<uint32_t>(4), HostOrder::row_major, diag));
  EXPECT_NE(diag.to_string().find("the symbol has 3"), std::string::npos) << diag.to_string();
}

// The device adds command_cycles; nothing else lies between the present and the function.
TEST(Session, TheHostsOwnTimeDoesNotDelayALaunch) {
  FakeDevice device(10);
  Diag diag;
  device.load(program_with_symbol(DataType::f32), {}, diag);
  device.mutable_machine().host.host_call_us = 5;
  device.mutable_machine().memcpy.command_cycles = 100;
  device.mutable_machine().host.link_gb_per_s = 4;  // a word per cycle
  Session session(device);
  ASSERT_TRUE(session.copy_to("a", {0, 0, 1, 1}, 3, std::vector<uint32_t>(3), HostOrder::row_major, diag));
  ASSERT_TRUE(session.launch("run", {}, diag));
  EXPECT_EQ(device.launched_, 103u);
  EXPECT_TRUE(session.wait(diag));
  EXPECT_DOUBLE_EQ(session.host_seconds(), 10e-6);
}

// A wavelet that was sent at 0 is out of the fake device at 10, and cycle 10 is over at 11. A call of 171 us
// lets the fabric do that and no more; one of 5 ns ends before. Then the command, 100 cycles, and a word at 4
// GB/s and 1 GHz. A copy behind it that nobody has waited for is at the PEs by then.
TEST(Session, WhatStillRunsGoesOnWhileTheHostMakesACall) {
  for (const auto& [microseconds, rest] : {std::pair{171.0, Cycle(11)}, {0.005, Cycle(5)}}) {
    FakeDevice device(10);
    Diag diag;
    device.load(program_with_symbol(DataType::f32), {}, diag);
    device.mutable_machine().host.host_call_us = microseconds;
    device.mutable_machine().memcpy.command_cycles = 100;
    device.mutable_machine().host.link_gb_per_s = 4;
    Session session(device);
    ASSERT_TRUE(session.send("in", std::vector<uint32_t>{0x3f800000}, diag) && session.wait(diag));
    const HostCommand copy{HostCommand::Kind::copy_to, "a", 0, {0, 0, 1, 1}, 1, HostOrder::row_major, {7}};
    const auto first = session.begin(copy, diag), second = session.begin(copy, diag);
    ASSERT_TRUE(first && second && session.wait(*second, diag));
    EXPECT_EQ(device.now(), rest + 101 + 101) << microseconds;
  }
}

TEST(Session, StreamsComeBackInOrder) {
  FakeDevice device(10);
  Diag diag;
  device.load(program_with_symbol(DataType::f32), {}, diag);
  Session session(device);
  ASSERT_TRUE(session.send("in", std::vector<uint32_t>{0x3f800000, 0x40000000}, diag));  // 1, 2
  std::vector<uint32_t> got;
  ASSERT_TRUE(session.receive("out", 1, got, diag));
  EXPECT_EQ(got, std::vector<uint32_t>{0x40000000});  // 2
  ASSERT_TRUE(session.receive("out", 1, got, diag));
  EXPECT_EQ(got, std::vector<uint32_t>{0x40800000});  // 4
}

// What the host sends on color 3 the fake device has for it on color 4.
Program program_with_streams() {
  Program p = program_with_symbol(DataType::f32);
  p.streams = {{3, true}, {4, false}};
  return p;
}

TEST(Session, StreamsOfAColorGoToEachPeInItsOrder) {
  FakeDevice device(10);
  Diag diag;
  device.load(program_with_streams(), {}, diag);
  Session session(device);
  // A[h][w][n] = [2][2][1]; column-major: h runs fastest.
  ASSERT_TRUE(session.stream_to(3, {0, 0, 2, 2}, 1, std::vector<uint32_t>{1, 2, 3, 4}, HostOrder::column_major, diag));
  EXPECT_TRUE(device.stream_begun_.empty());  // queued
  std::vector<uint32_t> back;
  ASSERT_TRUE(session.stream_from(4, {0, 0, 2, 2}, 1, back, HostOrder::row_major, diag));
  EXPECT_EQ(back, (std::vector<uint32_t>{1, 3, 2, 4}));
}

// Each command takes 100 cycles before it starts; a stream's words take their own time.
TEST(Session, CommandsStartInOrder) {
  FakeDevice device(10);
  Diag diag;
  device.load(program_with_streams(), {}, diag);
  device.mutable_machine().memcpy.command_cycles = 100;
  Session session(device);
  HostCommand to{HostCommand::Kind::stream_to, {}, 3, {0, 0, 1, 1}, 2, HostOrder::row_major, {5, 6}};
  HostCommand from{HostCommand::Kind::stream_from, {}, 4, {0, 0, 1, 1}, 2, HostOrder::row_major, {}};
  const auto first = session.begin(to, diag), second = session.begin(from, diag);
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(session.done(*first));
  ASSERT_TRUE(session.wait(*second, diag));
  EXPECT_TRUE(session.done(*first));
  EXPECT_EQ(session.take(*second), (std::vector<uint32_t>{5, 6}));
  EXPECT_EQ(device.stream_begun_, (std::vector<Cycle>{100, 200}));
}

TEST(Session, RowsAndColumnsShareTheirData) {
  FakeDevice device(10);
  Diag diag;
  Program p = program_with_symbol(DataType::u32);
  device.load(p, {}, diag);
  device.mutable_machine().memcpy.command_cycles = 0;
  device.mutable_machine().host.link_gb_per_s = 0.004;  // a word per us
  Session session(device);
  // One column of two rows with two elements: four words, 4 us, whatever the width.
  const std::vector<uint32_t> data{1, 2, 3, 4};
  ASSERT_TRUE(session.copy_to_rows("a", {0, 0, 2, 2}, 2, data, HostOrder::row_major, diag));
  EXPECT_EQ(device.now(), 4000u);
  // The fake device has one memory for all PEs: what was written last is the last PE's, row 1.
  std::vector<uint32_t> back;
  ASSERT_TRUE(session.copy_from("a", {0, 0, 1, 1}, 2, back, HostOrder::row_major, diag));
  EXPECT_EQ(back, (std::vector<uint32_t>{3, 4}));
  ASSERT_TRUE(session.copy_to_columns("a", {0, 0, 2, 2}, 2, std::vector<uint32_t>{7, 8, 9, 10},
                                      HostOrder::column_major, diag));
  // Fortran order of [1][2][2]: element 0 of both columns, then element 1; column 1 has 8 and 10.
  ASSERT_TRUE(session.copy_from("a", {0, 0, 1, 1}, 2, back, HostOrder::row_major, diag));
  EXPECT_EQ(back, (std::vector<uint32_t>{8, 10}));
  EXPECT_FALSE(session.copy_to_rows("a", {0, 0, 2, 1}, 2, data, HostOrder::row_major, diag));
  EXPECT_NE(diag.to_string().find("4 words given, 1 PEs with 2 elements need 2"), std::string::npos)
      << diag.to_string();
}

TEST(Session, AStreamNeedsItsColor) {
  FakeDevice device(10);
  Diag diag;
  device.load(program_with_streams(), {}, diag);
  Session session(device);
  EXPECT_FALSE(session.stream_to(4, {0, 0, 1, 1}, 1, std::vector<uint32_t>{1}, HostOrder::row_major, diag));
  EXPECT_NE(diag.to_string().find("streams nothing from the host on this color"), std::string::npos);
  EXPECT_NE(diag.to_string().find("3 (from the host), 4 (to the host)"), std::string::npos) << diag.to_string();
}

}  // namespace
}  // namespace cs
