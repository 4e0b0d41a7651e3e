// Speed is that of the last stretch of time, so that a stall of the simulation is seen.
#include "tools/cs-sim/progress.h"

#include <fmt/format.h>

#include <bit>
#include <functional>
#include <numeric>

#include "runtime/support/progress.h"
#include "simulator/report/summary.h"

namespace cs {
namespace {

constexpr double kPeriod = 0.2;  // seconds

int port_index(const Program& p, const std::string& name) {
  for (size_t i = 0; i < p.ports.size(); ++i)
    if (p.ports[i].name == name) return int(i);
  return -1;
}

size_t elements_of(const HostPart& host, const std::string& tensor) {
  for (const auto* list : {&host.inputs, &host.outputs, &host.values})
    for (const HostTensor& t : *list)
      if (t.name == tensor)
        return size_t(std::accumulate(t.shape.begin(), t.shape.end(), int64_t(1), std::multiplies<>()));
  return 0;
}

}  // namespace

std::vector<std::pair<int, size_t>> words_to_come(const Program& p, int samples) {
  std::vector<std::pair<int, size_t>> words;
  for (const HostStep& step : p.host->steps) {
    const int port = step.kind == HostStep::Kind::receive ? port_index(p, step.port) : -1;
    if (port < 0) continue;
    words.emplace_back(port, elements_of(*p.host, step.tensor) * size_t(p.host->samples_of(step.copy, samples)));
  }
  return words;
}

std::pair<std::string, int> loss_port(const Program& p) {
  for (const HostTensor& t : p.host->outputs) {
    if (t.type != DataType::f32 || elements_of(*p.host, t.name) != 1) continue;
    for (const HostStep& step : p.host->steps)
      if (step.kind == HostStep::Kind::receive && step.tensor == t.name)
        return {t.name, port_index(p, step.port)};
  }
  return {"", -1};
}

std::string Progress::newest(const Device& device, double seconds) {
  if (followed_port_ < 0 || device.received(followed_port_).empty()) return "";
  const auto& words = device.received(followed_port_);
  const double rate = double(words.size() - last_steps_) / seconds;
  last_steps_ = words.size();
  return fmt::format("step {}  {} {:.4g}  {:.1f} steps/s  ", words.size(), followed_,
                     std::bit_cast<float>(words.back().data), rate);
}

void Progress::operator()(const Device& device, Cycle now) {
  const auto time = Clock::now();
  const double seconds = std::chrono::duration<double>(time - last_).count();
  if (seconds < kPeriod) return;
  size_t received = 0, all = 0;
  for (const auto& [port, words] : expected_) {
    received += device.received(port).size();
    all += words;
  }
  progress::part("", received, all);
  progress::note(fmt::format("{}{} cycles  {:.2f} Mcycles/s", newest(device, seconds), sim::grouped(now),
                             double(now - last_cycle_) / seconds / 1e6));
  last_ = time;
  last_cycle_ = now;
}

}  // namespace cs
