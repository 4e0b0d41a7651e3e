// A ChildDevice over pipes to a DeviceServer in a thread: the same answers as from the device itself, and
// clean ends.
#include "runtime/host/child_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "runtime/host/device_server.h"
#include "tests/unit/host/fake_device.h"

namespace cs {
namespace {

using testing::HasSubstr;

Program doubling_program() {
  Program p;
  p.fabric_width = 4;
  p.fabric_height = 3;
  p.user = {0, 0, 4, 3};
  p.ports = {{"in", true, Port::west, 0, 1}, {"out", false, Port::east, 0, 2}};
  return p;
}

// The fake device on a machine that can be described, with the program loaded.
struct Fake : FakeDevice {
  Fake() : FakeDevice(5) {
    Diag diag;
    mutable_machine() = load_machine("wse2", diag).value();
    load(doubling_program(), {}, diag);
  }
};

// Serves until the requests end; `limit` requests at most.
class Served {
 public:
  explicit Served(Device& device, int limit = 1 << 30) {
    EXPECT_EQ(pipe(requests_), 0);
    EXPECT_EQ(pipe(replies_), 0);
    thread_ = std::thread([this, &device, limit] {
      DeviceServer server(device);
      const wire::Frame hello = server.hello();
      wire::write_frame(replies_[1], hello.op, hello.payload);
      wire::Frame request;
      std::string why;
      for (int i = 0; i < limit && wire::read_frame(requests_[0], request, why) == wire::Received::frame; ++i)
        if (const auto reply = server.handle(request))
          wire::write_frame(replies_[1], reply->op, reply->payload);
      ::close(replies_[1]);
      ::close(requests_[0]);
    });
  }
  ~Served() { thread_.join(); }
  std::unique_ptr<ChildDevice> connect(Diag& diag) {
    return ChildDevice::connect(requests_[1], replies_[0], diag);
  }

 private:
  int requests_[2], replies_[2];
  std::thread thread_;
};

TEST(ChildDevice, LaunchesAreThoseOfTheDevice) {
  Fake fake;
  fake.spans_ = {{"run", 1, 2, 3, 4, 5, {6, 7}, 8, 8, 9},
                 {"hangs", 10, kNever, 0, kNever, 0, {0, 0}, 11, 0, 0}};
  Diag diag;
  Served served(fake);
  const auto child = served.connect(diag);
  ASSERT_TRUE(child && child->load(doubling_program(), {}, diag)) << diag.to_string();
  EXPECT_EQ(child->launches(), fake.spans_);
}

TEST(ChildDevice, MemoryIsWrittenAndRead) {
  Fake fake;
  Diag diag;
  Served served(fake);
  const auto child = served.connect(diag);
  ASSERT_TRUE(child && child->load(doubling_program(), {}, diag)) << diag.to_string();
  EXPECT_EQ(child->machine(), fake.machine());

  child->write({1, 2}, 100, std::vector<uint8_t>{1, 2, 3, 4});
  child->write({1, 2}, 102, std::vector<uint8_t>{9});
  std::vector<uint8_t> out(4);
  child->read({1, 2}, 100, out);
  EXPECT_EQ(out, (std::vector<uint8_t>{1, 2, 9, 4}));

  // Pieces of different sizes come back one after the other.
  const std::vector<MemoryPiece> pieces{{{0, 0}, 102, 1}, {{3, 2}, 100, 2}};
  out.resize(3);
  child->read_many(pieces, out);
  EXPECT_EQ(out, (std::vector<uint8_t>{9, 1, 2}));
}

// The fake device doubles what comes in, one wavelet per cycle, and lets it out 5 cycles later.
TEST(ChildDevice, StreamsAndTimeAreThoseOfTheDevice) {
  Fake fake;
  Diag diag;
  Served served(fake);
  const auto child = served.connect(diag);
  ASSERT_TRUE(child && child->load(doubling_program(), {}, diag));

  const std::vector<uint32_t> data{0x3f800000, 0x40000000};  // 1.0f, 2.0f
  child->send(0, data, 10);
  EXPECT_EQ(child->entered(0, 0), kNever) << "news come with run()";
  const RunStatus status = child->run({.received_port = 1, .received_count = 2});
  EXPECT_EQ(status.reason, StopReason::condition);
  EXPECT_EQ(child->entered(0, 0), 10u);
  EXPECT_EQ(child->entered(0, 1), 11u);
  EXPECT_EQ(child->entered(0, 2), kNever);
  ASSERT_EQ(child->received(1).size(), 2u);
  EXPECT_EQ(child->received(1)[0].data, 0x40000000u);
  EXPECT_EQ(child->received(1)[0].cycle, 15u);
  EXPECT_EQ(child->received(1)[1].data, 0x40800000u);
  EXPECT_EQ(child->now(), fake.now());
}

TEST(ChildDevice, StreamsOfAColorReachTheDevice) {
  Fake fake;
  Diag diag;
  Served served(fake);
  const auto child = served.connect(diag);
  ASSERT_TRUE(child && child->load(doubling_program(), {}, diag)) << diag.to_string();
  ASSERT_TRUE(child->stream_to(3, {1, 0, 2, 1}, std::vector<uint32_t>{1, 2, 3, 4}, 70, diag));
  ASSERT_TRUE(child->stream_from(4, {1, 0, 2, 1}, 2, 80, diag));
  EXPECT_EQ(child->run({.streams_done = true}).reason, StopReason::condition);
  EXPECT_EQ(fake.stream_begun_, (std::vector<Cycle>{70, 80}));
  EXPECT_EQ(child->take_streamed(4, {1, 0, 2, 1}), (std::vector<std::vector<uint32_t>>{{1, 2}, {3, 4}}));
}

TEST(ChildDevice, AnotherProgramIsReported) {
  Fake fake;
  Diag diag;
  Served served(fake);
  const auto child = served.connect(diag);
  ASSERT_TRUE(child) << diag.to_string();
  Program other = doubling_program();
  other.fabric_width = 5;
  EXPECT_FALSE(child->load(other, {}, diag));
  EXPECT_THAT(diag.to_string(), HasSubstr("another program"));
}

TEST(ChildDevice, DeathOfTheOtherSideIsAFault) {
  Fake fake;
  Diag diag;
  Served served(fake, 1);
  const auto child = served.connect(diag);
  ASSERT_TRUE(child && child->load(doubling_program(), {}, diag));
  EXPECT_EQ(child->run({.cycle = 7}).now, 7u);
  const RunStatus status = child->run({.cycle = 9});
  EXPECT_EQ(status.reason, StopReason::fault);
  EXPECT_EQ(status.fault, "simulator-lost");
  EXPECT_THAT(status.message, HasSubstr("has ended"));
  Diag later;
  EXPECT_FALSE(child->launch("f", {}, {0, 0, 4, 3}, 0, later));
  EXPECT_THAT(later.to_string(), HasSubstr("has ended"));
}

TEST(ChildDevice, ProgramThatCannotBeStarted) {
  Diag diag;
  EXPECT_EQ(ChildDevice::open({"/nonexistent/cs-sim", "out", {}}, diag), nullptr);
  EXPECT_THAT(diag.to_string(), HasSubstr("'/nonexistent/cs-sim' cannot be started"));
}

// ---- requests that make no sense

std::string error_of(DeviceServer& server, wire::Op op, const std::string& payload) {
  const auto reply = server.handle({op, payload});
  if (!reply || reply->op != wire::Op::error) return "";
  Diag diag;
  wire::unpack(reply->payload, diag);
  return diag.to_string();
}

std::string piece(int x, int y, uint16_t address, uint32_t bytes) {
  wire::Writer w;
  w.put(uint32_t(1));
  w.put(int32_t(x));
  w.put(int32_t(y));
  w.put(address);
  w.put(bytes);
  return w.take();
}

TEST(DeviceServer, RefusesWhatDoesNotExist) {
  Fake fake;
  // A PE has 49152 bytes.
  const std::vector<std::pair<wire::Op, std::string>> bad = {
      {wire::Op::read, piece(4, 0, 0, 4)},
      {wire::Op::read, piece(0, -1, 0, 4)},
      {wire::Op::read, piece(0, 0, 49150, 4)},
      {wire::Op::read, piece(0, 0, 0, 4) + "x"},
      {wire::Op::read, "\xff\xff\xff\xff"},
      {wire::Op::write, piece(0, 0, 0, 4) + "abc"},
      {wire::Op::send, std::string("\1\0\0\0", 4) + std::string(12, '\0')},
      {wire::Op::watch, std::string(12, '\0')},
      {wire::Op::run, ""},
      {wire::Op::hello, ""}};
  for (const auto& [op, payload] : bad) {
    DeviceServer server(fake);
    EXPECT_NE(error_of(server, op, payload), "") << int(op);
    EXPECT_TRUE(server.broken());
  }
  DeviceServer server(fake);
  EXPECT_EQ(error_of(server, wire::Op::read, piece(3, 2, 49148, 4)), "");
  EXPECT_FALSE(server.broken());
}

TEST(Wire, BrokenFramesAreNamed) {
  const auto why_of = [](const std::string& bytes) {
    int fds[2];
    EXPECT_EQ(pipe(fds), 0);
    EXPECT_EQ(write(fds[1], bytes.data(), bytes.size()), ssize_t(bytes.size()));
    ::close(fds[1]);
    wire::Frame frame;
    std::string why;
    const wire::Received got = wire::read_frame(fds[0], frame, why);
    ::close(fds[0]);
    return got == wire::Received::end ? "end" : got == wire::Received::frame ? "frame" : why;
  };
  EXPECT_EQ(why_of(""), "end");
  EXPECT_EQ(why_of(std::string("\0\0\0\0\1", 5)), "frame");
  EXPECT_THAT(why_of("abc"), HasSubstr("after 3 of 5 bytes of its head"));
  EXPECT_THAT(why_of(std::string("\0\0\0\0\x63", 5)), HasSubstr("unknown kind 99"));
  EXPECT_THAT(why_of("\xff\xff\xff\xff\1"), HasSubstr("claims 4294967295 bytes"));
  EXPECT_THAT(why_of(std::string("\3\0\0\0\2ab", 7)), HasSubstr("after 2 of 3 bytes"));
}

TEST(Wire, DiagnosticsTravel) {
  Diag diag, back;
  diag.error_at("A", "no such symbol", "it exports B");
  wire::unpack(wire::pack(diag), back);
  EXPECT_EQ(back.to_string(), diag.to_string());
  Diag broken;
  wire::unpack("\5", broken);
  EXPECT_FALSE(broken.ok());
}

}  // namespace
}  // namespace cs
