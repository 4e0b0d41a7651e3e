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

TEST(Session, ACopyTakesTheCallAndTheBytesAtLinkRate) {
  FakeDevice device(10);
  Diag diag;
  device.load(program_with_symbol(DataType::f32), {}, diag);
  device.mutable_machine().host.host_call_us = 2;
  device.mutable_machine().host.link_gb_per_s = 0.012;
  Session session(device);
  // 3 words of 4 bytes at 12 MB/s: 1 us; with the call 3 us, at 1 GHz 3000 cycles.
  ASSERT_TRUE(
      session.copy_to("a", {0, 0, 1, 1}, 3, std::vector<uint32_t>{1, 2, 3}, HostOrder::row_major, diag));
  EXPECT_EQ(device.now(), 3000u);
  std::vector<uint32_t> back;
  ASSERT_TRUE(session.copy_from("a", {0, 0, 1, 1}, 3, back, HostOrder::row_major, diag));
  EXPECT_EQ(back, (std::vector<uint32_t>{1, 2, 3}));
  EXPECT_EQ(device.now(), 6000u);
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

TEST(Session, ALaunchArrivesAfterTheCall) {
  FakeDevice device(10);
  Diag diag;
  device.load(program_with_symbol(DataType::f32), {}, diag);
  device.mutable_machine().host.host_call_us = 5;
  Session session(device);
  ASSERT_TRUE(session.launch("run", {}, diag));
  EXPECT_EQ(device.launched_, 5000u);
  EXPECT_TRUE(session.wait(diag));
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

}  // namespace
}  // namespace cs
