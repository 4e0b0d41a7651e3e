// Water-filling: ports that reach their own rate are set aside, the others share what is left by weight.
#include "runtime/host/port_rates.h"

#include <algorithm>
#include <map>

#include "runtime/host/samples.h"

namespace cs {
namespace {

// Wavelets of one sample by name of the port.
std::map<std::string, double> wavelets_of(const HostPart& host) {
  std::map<std::string, double> elements, out;
  for (const auto* list : {&host.inputs, &host.outputs, &host.values})
    for (const HostTensor& t : *list) elements[t.name] = double(tensor_type(t).elements());
  for (const HostStep& step : host.steps)
    if (!step.port.empty()) out[step.port] += elements[step.tensor];
  return out;
}

// The rates of ports with these weights, none above `most`, together at most `all`.
std::vector<double> share(const std::vector<double>& weights, double most, double all) {
  std::vector<double> rates(weights.size(), 0);
  for (bool changed = true; changed;) {
    double left = all, weight = 0;
    for (size_t i = 0; i < weights.size(); ++i) rates[i] == most ? left -= most : weight += weights[i];
    changed = false;
    for (size_t i = 0; i < weights.size(); ++i) {
      if (rates[i] == most) continue;
      rates[i] = std::min(most, left * weights[i] / weight);
      changed = changed || rates[i] == most;
    }
  }
  return rates;
}

}  // namespace

std::vector<double> port_periods(const Program& p, const Machine& m) {
  const std::map<std::string, double> wavelets =
      p.host ? wavelets_of(*p.host) : std::map<std::string, double>{};
  std::vector<double> periods(p.ports.size(), 1.0 / m.host.host_wavelets_per_cycle);
  for (const bool input : {true, false}) {
    std::map<std::pair<Port, int>, size_t> place;  // by side and position: which of `weights`
    std::vector<double> weights;
    for (const HostPort& port : p.ports) {
      if (port.input != input) continue;
      const auto found = wavelets.find(port.name);
      const auto [at, fresh] = place.emplace(std::pair{port.side, port.position}, weights.size());
      if (fresh) weights.push_back(0);
      weights[at->second] += found != wavelets.end() && found->second > 0 ? found->second : 1;
    }
    const std::vector<double> rates =
        share(weights, m.host.host_wavelets_per_cycle, m.system_wavelets_per_cycle());
    for (size_t i = 0; i < p.ports.size(); ++i)
      if (p.ports[i].input == input) periods[i] = 1 / rates[place.at({p.ports[i].side, p.ports[i].position})];
  }
  return periods;
}

}  // namespace cs
