// A cycle, and when it was the last one.
#include "simulator/systemc/structural/fabric.h"

#include <algorithm>

namespace cs::sim::structural {

void Fabric::cycle() {
  for (Activity* a : activities_) a->acted = false;
  const Cycle present = clocks_.cycle;
  sc_core::sc_start(sc_core::sc_time(Clocks::kPeriodNs, sc_core::SC_NS));
  bool acted = false, due = false;
  for (const Activity* a : activities_) {
    acted |= a->acted;
    due |= a->due > present;
    end_of_work_ = std::max(end_of_work_, a->works_until);
  }
  clocks_.cycle = present + 1;
  if (acted) end_of_work_ = std::max(end_of_work_, present + 1);
  quiet_ = !acted && !due;
}

void Fabric::faulted(const Fault& f) {
  const auto key = [](const Fault& x) { return std::tuple(x.cycle, x.pe.y, x.pe.x); };
  if (!fault_ || key(f) < key(*fault_)) fault_ = f;
}

ProcessingElement* Fabric::at(Coord c) {
  const auto found = elements_.find({c.y, c.x});
  return found == elements_.end() ? nullptr : found->second.get();
}

bool Fabric::trace(const std::string& file, Diag& diag) {
  file_ = sc_core::sc_create_vcd_trace_file(file.c_str());
  if (file_ == nullptr) {
    diag.error_at(file, "cannot be written");
    return false;
  }
  file_->set_time_unit(100, sc_core::SC_PS);
  sc_core::sc_trace(file_, clocks_.cycle, "cycle");
  for (const auto* clock : {&clocks_.route, &clocks_.deliver, &clocks_.execute, &clocks_.commit})
    sc_core::sc_trace(file_, *clock, clock->basename());
  const auto link = [&](const Link& l) {
    sc_trace(file_, l.in.read(), std::string(l.name()) + ".in");
    sc_trace(file_, l.out.read(), std::string(l.name()) + ".out");
    sc_core::sc_trace(file_, l.credit, std::string(l.name()) + ".credit");
  };
  for (const auto& l : links_) link(*l);
  for (auto& [place, edge] : edges_) {
    link(edge->in());
    link(edge->out());
    sc_core::sc_trace(file_, edge->room, std::string(edge->name()) + ".room");
  }
  for (const ProcessingElement* pe : in_order_) pe->trace(file_);
  return true;
}

Fabric::~Fabric() {
  if (file_ != nullptr) sc_core::sc_close_vcd_trace_file(file_);
}

}  // namespace cs::sim::structural
