// Pe: the state of one core that has ever had something to do. PEs that never do have none.
//
// Times are cycles. `wake` is the next cycle in which the core must be looked at; everything that could
// change earlier (a wavelet for a queue it waits for, room in a lane) lowers it.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/isa/dsd.h"
#include "simulator/exec/exec.h"
#include "simulator/engine/core_settings.h"
#include "simulator/engine/fabric.h"
#include "simulator/engine/packed_dsd.h"
#include "simulator/engine/pe_memory.h"
#include "simulator/engine/stats.h"
#include "simulator/engine/tile_image.h"

namespace cs::sim {

inline constexpr int kMainThread = widths::kMicrothreads;  // threads below are the microthreads
inline constexpr int kThreads = kMainThread + 1;
inline constexpr int kOutputBit = widths::kQueues;
inline constexpr uint32_t kMicrothreads = (1u << kMainThread) - 1;  // of a set of threads

// Words are entries as in lanes (fabric.h); their stamp is the departure from the router to the ramp.
struct InputQueue {
  Entry* ring = nullptr;  // `depth` entries of the block's (Block::make_queue)
  uint32_t readers = 0;   // threads with an operation on this queue, a bit each
  uint16_t head = 0, count = 0;
  uint16_t depth = 0;  // in force
  uint8_t color = 0;
  uint8_t id = 0xFF;    // queue id, 0xFF: a color without a queue
  uint8_t words = 0;    // depth as configured
  int8_t task_id = -1;  // data task id (bound or not)
  uint8_t message_left = 0;  // of a color that routes messages: wavelets of the message at its head still to be taken
  uint8_t priority : 6 = 0;
  bool lane_waits : 1 = false;  // a lane found it full
  bool messages : 1 = false;    // of a color that routes messages
  bool full() const { return count >= depth; }
  Entry at(size_t place) const {
    const size_t i = head + place;
    return ring[i >= depth ? i - depth : i];
  }
  Entry front() const { return ring[head]; }
  void push(Entry w) {
    const size_t at = size_t(head) + count;
    ring[at >= depth ? at - depth : at] = w;
    ++count;
  }
  void pop() {
    head = uint16_t(head + 1 == depth ? 0 : head + 1);
    --count;
  }
};
static_assert(sizeof(InputQueue) == 24);

// A ring in memory between two operations (FifoBinding): bytes from `head` on are filled.
struct Fifo {
  uint16_t head = 0, fill = 0;
  bool was_full = false,
       was_empty = false;  // an operation could not go on; the next one at the other end clears it
  uint16_t need = 0;       // bytes that it needs
};

struct Dsr {
  Cycle ready = 0;  // an instruction that uses it may issue
  PackedDsd dsd;
  int32_t loaded_with = 0;  // isa::DsrConfig, encoded
  // single_step: elements done, and the position in a mem4d
  uint32_t stepped = 0;
  std::array<uint16_t, 4> at{};
  isa::DsrConfig config() const { return isa::decode_config(loaded_with); }
  uint32_t left() const {
    const uint32_t all = dsd.unpacked().elements();
    return all - std::min(stepped, all);
  }
};
static_assert(sizeof(Dsr) == 48);

// An operand of a running vector operation, walked element by element.
struct Cursor {
  enum class Kind : uint8_t { none, value, reg, memory, memory4, ring, fifo, fabin, fabout };
  Kind kind = Kind::none;
  uint8_t bytes = 0;  // of one element
  uint8_t queue = 0;  // fabin: index into Pe::inputs; fabout: output queue id; fifo: index into Pe::fifos
  uint8_t color = 0;
  bool packed : 1 = false;  // two 16-bit elements per wavelet
  bool simd_64 : 1 = false;
  uint8_t half : 1 = 0;  // packed: which half of the wavelet is next
  bool control : 1 = false, advance : 1 = false, indexed : 1 = false;
  bool transform : 1 = false;     // control_transform
  bool clears : 1 = false;        // memory: what was read is set to zero
  bool drops : 1 = false;         // fabin: @dfilt
  uint16_t index = 0;             // indexed: the upper half of every wavelet
  int32_t address = 0, step = 0;  // memory: next element and stride in bytes
  uint32_t value = 0;             // value; reg: running result; fabin: present wavelet
  uint16_t low = 0, last = 0xFFFF;  // memory: first and last byte of the variable that it starts in
  uint8_t late = 0;                 // fabout: by which a result lands later (ramp.fp_cycles)
  uint32_t high() const { return last + 1U; }
  // fabout: our ramp lane of the color.
  uint32_t lane() const { return uint32_t(address); }
  void set_lane(uint32_t lane) { address = int32_t(lane); }
};
static_assert(sizeof(Cursor) == 28);  // an operation has three, and operations are many

inline bool in_memory(const Cursor& c) {
  return c.kind >= Cursor::Kind::memory && c.kind <= Cursor::Kind::fifo;
}
inline bool on_fabric(const Cursor& c) {
  return c.kind == Cursor::Kind::fabin || c.kind == Cursor::Kind::fabout;
}
inline bool is_fifo(const Cursor& c) { return c.kind == Cursor::Kind::fifo; }

// How an operand in memory walks, as its descriptor said when the operation issued, and where it is.
struct Walk {
  isa::DsdKind kind = isa::DsdKind::none;
  uint16_t first = 0;  // circbuf: where it begins
  std::array<uint16_t, 4> extent{};
  std::array<int16_t, 4> stride{};
  uint32_t end = 0;  // circbuf
  std::array<uint16_t, 4> at{};  // mem4d: position per dimension, outermost first
};

// Those of an operation's operands: destination, a and b. Only operations with a walk of several dimensions or round a
// ring have any.
class Walks {
 public:
  Walks() = default;
  Walks(const Walks& o) : all_(o.all_ ? std::make_unique<All>(*o.all_) : nullptr) {}
  Walks(Walks&&) = default;
  Walks& operator=(const Walks& o) { return *this = Walks(o); }
  Walks& operator=(Walks&&) = default;
  void set(size_t position, const Walk& walk) {
    if (!all_) all_ = std::make_unique<All>();
    (*all_)[position] = walk;
  }
  size_t bytes() const { return all_ ? sizeof(All) : 0; }
  const Walk& operator[](size_t position) const {
    static constexpr Walk kNone;
    return all_ ? (*all_)[position] : kNone;
  }
  // Of an operand that steps nowhere nothing changes.
  Walk& operator[](size_t position) { return const_cast<Walk&>(std::as_const(*this)[position]); }

 private:
  using All = std::array<Walk, 3>;
  std::unique_ptr<All> all_;
};

struct VectorOp {
  Cycle next = 0;  // earliest cycle of the next group
  Cycle served = 0;
  const ElementOp* element = nullptr;
  uint32_t total = 0, done = 0;
  uint32_t group = 1;         // elements per group
  uint32_t group_cycles = 1;  // cycles per group
  uint32_t work_cycles = 1;   // of these, those in which elements or memory are at work
  uint32_t drag = 0;          // more cycles per group, in 1/65536 (silicon_drag.h)
  uint16_t dragged = 0;       // of these, what is not charged yet
  bool sync : 1 = false;
  bool fabric : 1 = false;          // has a fabric operand or a FIFO: every group may have to wait
  bool stopped : 1 = false;         // a FIFO ended it before its last element
  bool waits : 1 = false;           // for wavelets or room; whoever brings them wakes the PE
  bool holds_datapath : 1 = false;  // a group of several cycles keeps the datapath (memory)
  bool reduction : 1 = false;
  bool wide : 1 = false;     // simd_64: a group has up to two wavelets
  bool half : 1 = false;     // its operations are of 16 bits
  uint8_t flops = 0;         // per element
  uint8_t memory_bytes = 0;  // read and written per element
  uint8_t rank = 0;          // priority among the threads
  Stall why = Stall::dependency;
  int8_t waits_queue = -1, waits_fifo = -1;
  uint32_t scalar = 0;
  uint32_t inst = 0;
  Cursor dst, a, b;
  // Needed at issue and retirement, and by mem4d.
  isa::DsrConfig config;
  std::array<int8_t, 3> saves{-1, -1, -1};  // where they came from: index into Pe::dsrs, -1: no DSR
  Cycle issued = 0;
  Walks walks;
};
static_assert(sizeof(VectorOp) <= 192);

// From which cycles on the results in the registers may be used: the low bits of each, counted back from the latest.
class ResultTimes {
 public:
  // No result comes so much later than the instruction issues (Engine::load).
  static constexpr Cycle kMostLatency = 1 << 14;

  Cycle latest() const { return latest_; }
  // Of what is long past, some cycle that is long past.
  Cycle of(size_t r) const { return latest_ - uint16_t(uint16_t(latest_) - low_[r]); }
  void set(uint32_t registers, Cycle ready) {
    if (ready > latest_) {
      if ((ready ^ latest_) >> 15 != 0) [[unlikely]] forget_old(ready);
      latest_ = ready;
    }
    for (; registers != 0; registers &= registers - 1) low_[size_t(std::countr_zero(registers))] = uint16_t(ready);
  }
  template <class F>
  void fields(F&& f) {
    f(latest_, low_);
  }

 private:
  static constexpr Cycle kPast = 1 << 15;
  // So that none is 65536 cycles old before it is written here again.
  void forget_old(Cycle latest) {
    const Cycle past = latest < kPast ? 0 : latest - kPast;
    for (size_t r = 0; r < low_.size(); ++r) low_[r] = uint16_t(std::max(of(r), past));
  }
  Cycle latest_ = 0;
  std::array<uint16_t, widths::kRegisters> low_{};
};

// All of a core that changes when its main thread runs ahead of time, but for memory and operations. It is
// remembered and restored as a whole; what the router or a microthread may change meanwhile does not belong
// here.
struct MainState {
  Cycle accounted = 0;  // cycles before are in `stats`
  Cycle ready = 0;      // the next instruction may issue
  Cycle datapath_free = 0;
  uint32_t pc = 0;
  int8_t why = -1;  // Stall of the cycles since `accounted`, -1: idle
  int8_t why_thread = -1, why_queue = -1;
  uint32_t why_inst = 0;
  uint16_t next_index = 0;  // of the next vector operation
  Registers regs;
  ResultTimes results;
  Cycle last_group = 0;   // cycle of the main thread's last element group
  uint64_t blocked = 0, activated = 0;
  CoreStats stats;
  std::vector<Cycle> ready_at;  // of tasks, by slot
  std::vector<Dsr> dsrs;
};

// Where the main thread was before it ran ahead of time while the host may stop the run at any cycle, and
// what it has overwritten since; enough to go back and do it again up to the stop.
struct Ahead {
  static constexpr size_t kMostBytes = 4096;  // overwritten: then the core waits until time has come that far
  Cycle until = 0;                            // the effects reach this far
  MainState main;
  bool active = false;  // the main thread has the operation `op`
  VectorOp op;
  struct Undo {
    uint32_t address = 0, bytes = 0;
  };
  std::vector<Undo> undo;
  std::vector<uint8_t> old;  // bytes of all undo entries, in order
  struct Pe* owner = nullptr;
};

// The order of the fields follows how often they are used.
struct alignas(64) Pe : MainState {
  const TileImage* tile = nullptr;  // nullptr: routes only
  // ---- every time the core is looked at
  Cycle wake = kNever;
  uint32_t active = 0;  // operations, a bit per thread
  uint16_t threads_blocked = 0;
  bool running = false;       // the main thread has a task
  bool waits_thread = false;  // its next instruction needs a busy microthread, this one:
  uint8_t wanted_thread = 0;
  bool tasks_changed = true;  // next_task is out of date
  bool test = true;           // the last FIFO operation of the main thread did all its elements
  bool command_ready = true;
  uint32_t next_command = 0;  // of `commands`
  Cycle next_task = 0;        // not running: when a task may start, kNever: none is in sight
  std::array<VectorOp*, kThreads> ops{};  // of the block's pool, null: none
  std::vector<InputQueue> inputs;
  Cycle ramp_base = 0;           // of the cycles in which something of this core lands at its router,
  uint64_t ramp_taken = 0;       // a bit each
  Cycle first_arrival = kNever;  // of a wavelet, in the past even of a core that has gone back
  // ---- main thread
  PeMemory memory;        // empty until first used
  Unwritten unwritten;    // of that memory
  Cycle free_at = 0;      // not running: a task may start
  Cycle still_until = 0;  // commands_watched: the last groups of an operation reach this far
  std::unique_ptr<Fifo[]> fifos;  // one per FifoBinding of the program
  // ---- tasks
  int16_t task = -1, function = -1;
  int16_t launched = -1;     // function that was launched last
  uint16_t last_choice = 0;  // (kind, id) that ran last
  Cycle task_begin = 0;
  uint32_t task_entry = 0;
  uint32_t launch = 0;             // number of the launch that has the command stream, or had it last
  std::vector<uint32_t> commands;  // launches not started, indices into World::launches; from next_command
  Cycle launched_at = 0;           // first instruction of `launch`
  Cycle command_ready_at = 0;
  // ---- the rest
  Coord at;
  std::array<uint8_t, widths::kColors> input_of_color{};  // index into inputs, 0xFF: none
  std::array<int8_t, widths::kQueues> output_last{};      // color an output queue holds words of, -1: none
  SharedSettings settings;
  struct Print {
    std::string line;  // not yet ended
    uint16_t high = 0;
  };
  std::unique_ptr<Print> print;  // only of a PE that has written to the log
  Ahead* ahead = nullptr;        // of the block's WaysBack, only while the host may stop the run at any cycle
  uint32_t index = 0;            // in the block
  size_t fifo_count() const { return tile == nullptr ? 0 : tile->program->fifos.size(); }
  void make_fifos() {
    if (fifo_count() != 0) fifos = std::make_unique<Fifo[]>(fifo_count());
  }
};

}  // namespace cs::sim
