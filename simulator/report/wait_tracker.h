// WaitTracker: listens to a run and finds out who waits for whom, and why.
//
// Every PE has a chain (chain.h): its last cause to go on after a gap. A wavelet carries the chain of the PE that sent
// it; a PE that waited for it goes on with that chain, to which a link is added where it came from another kernel. A
// lane that was full remembers the chain of whoever made room, router by router back to the sender. So at the end of a
// sample its chain is its critical path, and every gap of a PE has somebody whom it was spent on.
//
//   waits()     PE cycles that kernels waited for each other, by cause, over the run
//   received()  the chain of the last wavelet of every sample at an output port      (critical_path.h walks them)
//   blocked()   who kept the host from sending at a cycle
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/machine/machine.h"
#include "runtime/program/program.h"
#include "simulator/engine/trace.h"
#include "simulator/report/chain.h"

namespace cs::sim {

struct Wait {
  int who = 0, what_for = 0;  // parties
  Cause cause = Cause::input;
  uint64_t cycles = 0;        // of PEs
};

class WaitTracker : public TraceSink {
 public:
  WaitTracker(const Program&, const Machine&);

  bool wants_details() const override { return true; }
  void task(const TaskEvent&) override {}
  void stall(const StallEvent&) override;
  void wavelet(const WaveletEvent&) override;
  void work(const WorkEvent&) override;
  void begin(const BeginEvent&) override;
  void send(const SendEvent&) override;
  // What comes after the end of the run does not count.
  void end() { ended_ = true; }

  // Kernels in the order of the host part, tile programs beside them, then the host ports.
  const std::vector<std::string>& parties() const { return parties_; }
  int kernels() const { return kernels_; }
  int party_of_port(int port) const { return first_port_ + port; }
  int port_of_party(int party) const { return party >= first_port_ ? party - first_port_ : -1; }

  // In the order of parties and causes.
  std::vector<Wait> waits() const;
  struct Arrival {
    Cycle left = 0;  // when the last PE of the chain sent it
    Cycle at = 0;    // on the edge link
    Chain chain;
  };
  // Of an output port, by sample.
  const std::vector<Arrival>& received(int port) const { return received_[size_t(port)]; }
  // Whom the oldest wavelet in front of an input port waited for in this cycle; nothing if it did not wait.
  Chain blocked(int port, Cycle) const;
  // Wavelets that one sample brings over a port.
  uint64_t words_per_sample(int port) const { return words_[size_t(port)]; }
  // How many wavelets the counter has seen in all.
  uint64_t total(uint32_t counter) const { return counters_[counter]; }

 private:
  struct Flight {  // a wavelet in a lane
    Chain chain;
    int from = -1;               // party that sent it, or made room for it on its way
    Cause cause = Cause::input;  // host: from a host port; link: somebody made room for it on its way
    Cycle sent = 0;
    Cycle waited = 0;     // at the heads of lanes, behind wavelets of other lanes
    uint64_t number = 0;  // from a host port: its place there
  };
  struct LaneState {  // first in, first out
    std::vector<Flight> ring = std::vector<Flight>(4);
    size_t head = 0, count = 0;
    Cycle freed = 0;  // last departure
    Chain blame;      // who let that one go, if it had waited
    Cycle freed_before = 0;  // the same of the one before: routers see each other as of the start of a cycle
    Chain blame_before;
    int port = -1;    // host port that feeds it
    Flight& push();
    Flight pop();
  };
  struct Delivered {
    Flight flight;
    Cycle at = kNever;
  };
  struct Color {  // of the wavelets that reach a core
    static constexpr size_t kKept = 16;
    std::array<Delivered, kKept> last;
    uint64_t count = 0;
    uint32_t counter = 0, sent_counter = 0;  // 0: none yet
  };
  struct PeState {
    int who = -1;
    Chain chain;
    Cycle busy_until = 0;
    StallEvent stalled;
    std::vector<std::unique_ptr<LaneState>> lanes;  // by color and input
    std::vector<std::unique_ptr<Color>> colors;
  };
  struct Blocked {
    Cycle from = 0;
    Chain chain;
  };

  void name_parties();
  void find_ports();
  int kernel_at(Coord) const;
  int party_of(Coord) const;
  PeState& pe(Coord);
  LaneState& lane(PeState&, Port from, int color);
  Color& color(PeState&, int color);
  uint32_t counter(uint32_t& id);
  Chain chain_of(PeState&, Cycle);
  bool inside(Coord) const;
  int output_port(const WaveletEvent&, int side) const;
  Chain who_made_room(const WaveletEvent&, PeState&);
  void deliver(PeState&, const WaveletEvent&, const Flight&);
  void note_port(int port, Cycle, const Chain& blame);
  void wake(PeState&, Cycle, const WorkEvent*, int started_by);
  const Delivered* arrival(PeState&, int color, Cycle latest) const;
  bool by_wavelet(PeState&, int color, Cycle t, Cycle latest, bool exactly);
  bool by_room(PeState&, int color, Cycle);
  void spend(PeState&, Cycle from, Cycle to, int what_for, Cause);
  void spend_on_own(PeState&, Cycle from, Cycle to);

  const Program& program_;
  Cycle down_, start_;
  size_t depth_;
  int colors_;
  std::vector<std::string> parties_;
  int kernels_ = 0, first_port_ = 0;
  std::vector<int> of_tile_;                     // party of the PEs of a tile program that are no kernel's
  std::map<std::tuple<int, int, int, int>, int> inputs_, outputs_;  // (x, y, side, color) of a router -> port
  std::vector<uint64_t> words_;                  // by port
  std::vector<uint64_t> passed_;                 // by port
  std::vector<std::vector<Arrival>> received_;   // by port
  std::vector<std::vector<Blocked>> blocked_;    // by port
  std::vector<Chain> port_chain_;                // by output port: why it is at work
  std::vector<std::unique_ptr<PeState>> pes_;    // by place on the fabric
  std::vector<uint64_t> counters_{0};
  std::vector<std::pair<LaneState*, size_t>> unsigned_;  // sent in the group at hand; its work() says with which chain
  std::map<std::tuple<int, int, Cause>, uint64_t> spent_;
  bool ended_ = false;
};

}  // namespace cs::sim
