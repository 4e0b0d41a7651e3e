// Fabric: elaborates a Program: a ProcessingElement where routes or programs are, links between them, ports of the host
// at the edges. cycle() lets one cycle pass.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <tuple>

#include "simulator/systemc/structural/edge_port.h"
#include "simulator/systemc/structural/processing_element.h"

namespace cs::sim::structural {

class Fabric : public sc_core::sc_module, private Observer {
 public:
  // Whoever watches may be null. What the model does not have is reported by refuse() (refuse.h) before.
  Fabric(sc_core::sc_module_name, const Program&, const Machine&, std::span<const uint8_t> weights, Observer*);
  ~Fabric() override;

  void cycle();
  Cycle now() const { return clocks_.cycle; }
  // Nothing was done in the last cycle and nothing is due: without the host nothing can happen any more.
  bool quiet() const { return quiet_; }
  void disturb() { quiet_ = false; }  // the host has done something
  // The cycle behind the last one in which anything was done.
  Cycle end_of_work() const { return end_of_work_; }
  // Cycles in which nothing was done and nothing was due do not count.
  void set_back(Cycle to) { clocks_.cycle = to; }
  const std::optional<Fault>& fault() const { return fault_; }

  ProcessingElement* at(Coord);
  const std::vector<ProcessingElement*>& all() const { return in_order_; }
  Launches& launches() { return launches_; }
  HostInput& input(int port) { return *inputs_[size_t(port)]; }
  HostOutput& output(int port) { return *outputs_[size_t(port)]; }
  bool trace(const std::string& file, Diag&);  // every signal, as VCD; FILE without ".vcd"

 private:
  // ---- elaboration
  void make_elements(std::span<const uint8_t> weights);
  void make_element(Coord, const Tile*);
  void add_colors();
  void make_links();
  void make_link(ProcessingElement&, ProcessingElement&, Port out);
  void make_ports();
  void add_streams();
  void load_constants(std::span<const uint8_t> weights);
  EdgePort& edge_port(Port side, int position);

  // ---- Observer
  void departs(const Departure& d) override {
    if (observer_) observer_->departs(d);
  }
  void ended(const Activation& a) override {
    if (observer_) observer_->ended(a);
  }
  void faulted(const Fault&) override;
  void printed(Cycle c, Coord pe, const std::string& line) override {
    if (observer_) observer_->printed(c, pe, line);
  }

  const Program& program_;
  const Machine& machine_;
  Observer* observer_;
  Clocks clocks_;
  Launches launches_;
  std::vector<std::unique_ptr<Tile>> tiles_;
  std::map<std::pair<int, int>, std::unique_ptr<ProcessingElement>> elements_;  // by row and column
  std::vector<ProcessingElement*> in_order_;
  std::vector<std::unique_ptr<Link>> links_;
  std::map<std::tuple<Port, int>, std::unique_ptr<EdgePort>> edges_;
  std::vector<HostInput*> inputs_;    // by port of the Program, null: not an input
  std::vector<HostOutput*> outputs_;
  std::vector<Activity*> activities_;
  std::optional<Fault> fault_;
  bool quiet_ = false;
  Cycle end_of_work_ = 0;
  sc_core::sc_trace_file* file_ = nullptr;
};

}  // namespace cs::sim::structural
