// A device without a wafer: what comes in at port 0 leaves, doubled, at port 1 after a fixed latency, one
// wavelet per cycle; the same from port 2 to port 3, and so on. Cycles are easy to compute by hand.
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

#include "runtime/host/device.h"
#include "runtime/machine/machine.h"

namespace cs {

class FakeDevice : public Device {
 public:
  explicit FakeDevice(Cycle latency) : latency_(latency) {
    memory_.resize(65536);
    machine_.clock_mhz = 1000;  // 1 cycle = 1 ns
  }
  const Machine& machine() const override { return machine_; }
  Machine& mutable_machine() { return machine_; }
  bool load(const Program& p, std::span<const uint8_t>, Diag&) override {
    program_ = p;
    return true;
  }
  const Program& program() const override { return program_; }
  Cycle now() const override { return now_; }
  void read(Coord, uint16_t a, std::span<uint8_t> out) override {
    std::memcpy(out.data(), &memory_[a], out.size());
  }
  void write(Coord, uint16_t a, std::span<const uint8_t> in) override {
    std::memcpy(&memory_[a], in.data(), in.size());
  }
  bool launch(const std::string&, std::span<const uint32_t>, Rect, Cycle not_before, Diag&) override {
    launched_ = not_before;
    return true;
  }
  std::vector<LaunchSpan> launches() override { return spans_; }
  void send(int port, std::span<const uint32_t> data, Cycle not_before) override {
    Lane& lane = lane_of(port);
    for (const uint32_t v : data) {
      lane.next = std::max(lane.next, not_before);
      lane.entered.push_back(lane.next);
      float f;
      std::memcpy(&f, &v, 4);
      f *= 2;
      PortEvent e;
      std::memcpy(&e.data, &f, 4);
      e.cycle = lane.next++ + latency_;
      lane.pending.push_back(e);
    }
  }
  const std::vector<PortEvent>& received(int port) const override { return lanes_[size_t(port) / 2].received; }
  Cycle entered(int port, size_t i) const override {
    const std::vector<Cycle>& entered = lanes_[size_t(port) / 2].entered;
    return i < entered.size() ? entered[i] : kNever;
  }
  void watch(int port, size_t count) override { lane_of(port).watch = count; }
  // Streams: what goes in on a color comes out on the next one, at once, for each PE alone.
  bool stream_to(uint8_t color, Rect pes, std::span<const uint32_t> data, Cycle not_before, Diag&) override {
    stream_begun_.push_back(not_before);
    const size_t per_pe = data.size() / size_t(pes.area());
    for (size_t i = 0; i < data.size(); ++i) {
      const int pe = int(i / per_pe);
      streamed_[{color + 1, pes.x + pe % pes.w, pes.y + pe / pes.w}].push_back(data[i]);
    }
    return true;
  }
  bool stream_from(uint8_t, Rect, uint32_t per_pe, Cycle not_before, Diag&) override {
    stream_begun_.push_back(not_before);
    wanted_ = per_pe;
    return true;
  }
  std::vector<std::vector<uint32_t>> take_streamed(uint8_t color, Rect pes) override {
    std::vector<std::vector<uint32_t>> out;
    for (int i = 0; i < pes.area(); ++i) {
      std::vector<uint32_t>& all = streamed_[{color, pes.x + i % pes.w, pes.y + i / pes.w}];
      const auto end = all.begin() + std::ptrdiff_t(std::min<size_t>(wanted_, all.size()));
      out.emplace_back(all.begin(), end);
      all.erase(all.begin(), end);
    }
    return out;
  }
  RunStatus run(const RunUntil& until) override {
    if (until.streams_done) return {StopReason::condition, now_, "", ""};
    while (true) {
      const auto there = [](const Lane& l) { return l.watch > 0 && l.received.size() >= l.watch; };
      if (until.any_watch && std::any_of(lanes_.begin(), lanes_.end(), there))
        return {StopReason::condition, now_, "", ""};
      if (until.commands_done && now_ >= launched_ + 10) return {StopReason::condition, now_, "", ""};
      if (until.received_port >= 0 && received(until.received_port).size() >= until.received_count)
        return {StopReason::condition, now_, "", ""};
      if (now_ >= until.cycle) return {StopReason::condition, now_, "", ""};
      const bool waits_for_data = until.any_watch || until.received_port >= 0;
      const bool empty = std::all_of(lanes_.begin(), lanes_.end(), [](const Lane& l) { return l.pending.empty(); });
      if (until.while_active && empty) return {StopReason::condition, now_, "", ""};
      if (lost_ || (empty && waits_for_data)) return {StopReason::idle, now_, "", ""};
      for (Lane& l : lanes_) {
        while (!l.pending.empty() && l.pending.front().cycle <= now_) {
          l.received.push_back(l.pending.front());
          l.pending.erase(l.pending.begin());
        }
      }
      ++now_;
    }
  }
  bool lost_ = false;  // nothing ever comes out
  Cycle launched_ = 0;
  std::vector<LaunchSpan> spans_;
  std::vector<Cycle> stream_begun_;

 private:
  struct Lane {  // from an input port to the output port behind it
    Cycle next = 0;
    size_t watch = 0;
    std::vector<Cycle> entered;
    std::vector<PortEvent> pending, received;
  };
  Lane& lane_of(int port) { return lanes_[size_t(port) / 2]; }

  static constexpr size_t kLanes = 8;
  Machine machine_;
  Program program_;
  Cycle latency_, now_ = 0;
  std::vector<Lane> lanes_ = std::vector<Lane>(kLanes);
  uint32_t wanted_ = 0;
  std::map<std::tuple<int, int, int>, std::vector<uint32_t>> streamed_;  // color, x, y
  std::vector<uint8_t> memory_;
};

}  // namespace cs
