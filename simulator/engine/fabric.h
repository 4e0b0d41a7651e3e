// The fabric's state as plain arrays: lanes, colors at routers, borders and host ports of one block.
//
//   Lane      one color at one router input: a ring of wavelets, each with the cycle it lands
//   ColorNode one color at one router: switch position, outputs, and where each output leads
//   Router    what the colors of one router share: output arbitration and counters
//   Mirror    the sending side's copy of a lane in the next block: how many entries it believes to be taken
//
// A wavelet enters the ring of its next lane when it departs, stamped with its landing; so the entries of a
// lane plus those in flight towards it are simply its count.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/host/device.h"
#include "runtime/program/program.h"

namespace cs::sim {

// ---- wavelets in a lane: data in bits 0-31, control bit 32, advance bit 33, landing cycle (low 30 bits)
// above.
using Entry = uint64_t;
inline constexpr Entry kEntryControl = Entry(1) << 32;
inline constexpr Entry kEntryAdvance = Entry(1) << 33;
inline constexpr uint32_t kStampMask = (1u << 30) - 1;

constexpr Entry make_entry(uint32_t data, Entry flags, Cycle lands) {
  return data | flags | Entry(uint32_t(lands) & kStampMask) << 34;
}
constexpr uint32_t entry_data(Entry e) { return uint32_t(e); }
constexpr uint32_t entry_stamp(Entry e) { return uint32_t(e >> 34); }
// How far in the future the stamp lies. No flight takes 4096 cycles, so anything else is past.
constexpr Cycle entry_wait(Entry e, Cycle now) {
  uint32_t ahead = (entry_stamp(e) - uint32_t(now)) & kStampMask;
  return ahead < 4096 ? ahead : 0;
}

// How long ago the stamp was; for what has passed.
constexpr Cycle entry_age(Entry e, Cycle now) { return (uint32_t(now) - entry_stamp(e)) & kStampMask; }

// ---- references: what an output leads to, or who feeds a lane
using Ref = uint32_t;
enum class RefKind : uint32_t { lane, mirror, port, none };
inline constexpr uint32_t kRefShift = 30;
constexpr Ref make_ref(RefKind kind, uint32_t index = 0) { return uint32_t(kind) << kRefShift | index; }
constexpr RefKind ref_kind(Ref r) { return RefKind(r >> kRefShift); }
constexpr uint32_t ref_index(Ref r) { return r & ((1u << kRefShift) - 1); }
inline constexpr Ref kNoRef = make_ref(RefKind::none);

struct alignas(64) Lane {
  // queued: in the wheel; asking: it asked in this cycle and waits for the answer; waiter, core_waits:
  // somebody waits for room here; straight: the only input of a color with one position and one output, to a
  // lane of this block (`next`), for which nobody else ever asks.
  enum Flags : uint8_t { queued = 1, asking = 2, waiter = 4, core_waits = 8, straight = 16 };
  static constexpr int kInline = 4;
  std::array<Entry, kInline> ring{};  // rings of up to so many entries; longer ones lie in Block::entries
  uint32_t node = 0;
  union {
    uint32_t long_ring = 0;  // capacity > kInline: first entry in Block::entries
    uint32_t next;           // straight (never with a long ring): the lane it leads to
  };
  Ref up = kNoRef;  // lane: the node that feeds it (index of a node); mirror: of the block beyond; port
  uint32_t head_since = 0;  // low bits of the first cycle in which the oldest wavelet could leave
  uint32_t last_pop = ~0u;  // low bits of the last departure
  uint32_t moved = 0;       // departures to all of the node's tx, not yet in Router::sent
  uint8_t head = 0, count = 0, capacity = 0;
  uint8_t flags = 0;
  Port port = Port::ramp;
  uint8_t color = 0;
  // Of a color that routes messages: the output that the message at hand goes to, plus 1 (0: a header comes next), and
  // how many of its wavelets are still to come.
  uint8_t message_output = 0, message_left = 0;
};
static_assert(sizeof(Lane) == 64);

// Place of a lane in the fixed order of arbitration.
inline uint8_t lane_key(const Lane& l) { return uint8_t(int(l.port) * 32 + l.color); }

// A color that turns back at the ramp with the host in between (Program::streams): `from_host` feeds its ramp lane,
// `to_host` takes what would go back to the core.
enum class StreamEnd : uint8_t { none, from_host, to_host };

// A configuration that a program has changed, with the words as it wrote them.
struct OwnRoute {
  RouteConfig config;
  std::array<uint16_t, 4> words{};
};

// A filter on a color's way to the core.
struct FilterState {
  FilterConfig config;  // limits may change while it runs
  uint16_t counter = 0;
  bool off = false;
};

struct InputQueue;

struct ColorNode {
  std::array<Ref, 4> down{kNoRef, kNoRef, kNoRef, kNoRef};
  InputQueue* in = nullptr;  // Pe::inputs[queue], once that is resolved
  uint32_t pe = 0;  // index in the block
  uint32_t first_lane = 0;
  uint32_t config = 0;       // index into Program::routes, beyond them into Block::own_routes
  uint32_t stream_port = 0;  // index into Block::ports, plus 1; 0 before the host has asked for it
  uint16_t filter = 0;       // index into Block::filters, plus 1
  PortSet inputs = 0;        // ports that have a lane, in the order of Port
  uint8_t color = 0;
  uint8_t queue = 0xFF;        // index into Pe::inputs, 0xFF: not resolved yet
  PortSet rx : 5 = 0;          // of the position in force
  bool alone : 1 = false;      // no other lane of the router ever asks for these outputs: nothing to arbitrate
  bool teardown : 1 = false;   // rx is then empty
  bool messages : 1 = false;   // every message is routed by its header (messages.cpp)
  PortSet tx : 5 = 0;          // of the position in force
  StreamEnd stream : 2 = StreamEnd::none;
  PortSet message_outputs : 5 = 0;  // messages: busy with one
  uint8_t position : 2 = 0;
};
static_assert(sizeof(ColorNode) == 48);  // there are some for every PE

struct alignas(64) Router {
  uint32_t claim_cycle = ~0u;  // low bits of the cycle that `claimed` belongs to
  uint32_t first_node = 0;
  PortSet claimed = 0, contested = 0;
  uint8_t ramp_claims = 0;  // in that cycle
  std::array<uint8_t, kPorts> last{};  // per output: lane key granted last
  uint8_t nodes = 0;
  bool multicast = false;               // somebody asked for several outputs in this cycle
  uint32_t contest = 0;                 // outputs are contested: index into Block::contests_, plus 1
  // By port: wavelets sent, plus what the lanes have moved; lane-cycles blocked. What flows over is in Block::carried.
  std::array<uint32_t, kPorts> sent{}, blocked{};
};
static_assert(sizeof(Router) == 64);

struct Mirror {
  uint32_t remote_lane = 0;  // index in the neighbour block
  uint32_t node = 0;         // our node that sends there
  Port side = Port::east;
  uint8_t count = 0, depth = 0;
  bool waiter = false;
};

// What crossed a border in this cycle; the neighbour takes it before the next one.
struct Outbox {
  struct Push {
    uint32_t lane = 0;
    Entry entry = 0;
  };
  std::vector<Push> pushes;
  std::vector<uint32_t> credits;  // mirrors of the neighbour
  bool empty() const { return pushes.empty() && credits.empty(); }
  void clear() {
    pushes.clear();
    credits.clear();
  }
};

// A host port at an edge router, or a host stream at a PE's ramp: a source (input) or a sink (output) of one lane
// or node.
// A place at the edge where wavelets cross in one direction: all streams there take turns on one link.
struct PortLink {
  double period = 1;           // cycles per wavelet
  double next_free = 0;        // the link is taken until this cycle
  uint32_t last = UINT32_MAX;  // input: the port whose wavelet was the last one
  uint32_t source = 0;         // input: who sends in this cycle, an index of the block's sources + 1; 0: nobody
};

struct PortState {
  int program_port = 0;  // -1: a stream
  bool input = true;
  uint32_t lane = 0;  // input: the lane it feeds; output: the node that leads here
  struct Chunk {
    std::vector<uint32_t> data;
    Cycle not_before = 0;
    bool control = false;
  };
  std::vector<Chunk> chunks;  // input: what is still to be sent, from (chunk, offset)
  size_t chunk = 0, offset = 0;
  uint32_t link = 0;        // of the block's links
  size_t limit = SIZE_MAX;  // output: wavelets that the host has asked for
  size_t taken = 0;         // output of a stream: of `received`, handed to the host
  bool controls = false;    // output: control wavelets are received too
  bool waits_for_room = false;
  std::vector<Cycle> entered;  // input: departure onto the edge link
  std::vector<PortEvent> received;
  size_t watch = 0;
};

}  // namespace cs::sim
