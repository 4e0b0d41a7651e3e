// Streams of named ports at the edge of the fabric: sends queue up at the port, a receive waits for its wavelets.
#include "runtime/host/session.h"

namespace cs {

int Session::port_index(const std::string& port, bool input, Diag& diag) const {
  const auto& ports = device_.program().ports;
  for (size_t i = 0; i < ports.size(); ++i)
    if (ports[i].name == port && ports[i].input == input) return int(i);
  diag.error_at(port, input ? "the program has no input port of this name"
                            : "the program has no output port of this name");
  return -1;
}

bool Session::send(const std::string& port, std::span<const uint32_t> data, Diag& diag) {
  const int index = port_index(port, true, diag);
  if (index < 0) return false;
  device_.send(index, data, device_.now());
  return true;
}

bool Session::receive(const std::string& port, size_t count, std::vector<uint32_t>& data, Diag& diag) {
  const int index = port_index(port, false, diag);
  if (index < 0) return false;
  if (received_.empty()) received_.assign(device_.program().ports.size(), 0);
  size_t& taken = received_[size_t(index)];
  const RunStatus status =
      device_.run({.cycle = max_cycles_, .received_port = index, .received_count = taken + count});
  const auto& events = device_.received(index);
  if (events.size() < taken + count) {
    status_ = status;
    return false;
  }
  if (!judge(status)) return false;
  data.clear();
  for (size_t i = 0; i < count; ++i) data.push_back(events[taken + i].data);
  taken += count;
  return true;
}

}  // namespace cs
