// What a walk is told by its program: code, tasks and queues, which make a group, and what it has asked of memory.
#include "compiler/csl/walk_alike.h"

#include <algorithm>
#include <type_traits>

#include "compiler/csl/walk_state.h"
#include "runtime/support/files.h"

namespace cs::csl {

namespace {

class Key {
 public:
  template <class T>
    requires(std::is_integral_v<T> || std::is_enum_v<T>)
  void add(T value) {
    const auto wide = int64_t(value);
    bytes_.append(reinterpret_cast<const char*>(&wide), sizeof wide);
  }
  template <class T>
  void add(const std::vector<T>& list) {
    add(list.size());
    for (const T& value : list) add(value);
  }
  void add(const isa::Inst& inst) {
    add(inst.op);
    for (const isa::Operand& o : inst.args) add(o.kind), add(o.value);
  }
  void add(const TaskBinding& t) { add(t.kind), add(t.id), add(t.entry); }
  void add(const Function& f) {
    add(f.entry);
    bytes_ += f.name + '\0';
  }
  void add(const QueueBinding& q) { add(q.output), add(q.queue), add(q.priority); }
  void add(const DsrInit& d) {
    add(d.file), add(d.index), add(d.config);
    for (const uint16_t word : d.words) add(word);
  }
  void add(const WalkOptions& o) {
    bytes_ += o.function + '\0';
    add(o.entry), add(o.most_instructions), add(o.trips.size());
    for (const auto& [inst, trips] : o.trips) add(inst), add(trips);
  }
  std::string text() const { return wide_hash_text(bytes_); }

 private:
  std::string bytes_;
};

std::string key_of(const TileProgram& tile, const WalkOptions& options) {
  Key key;
  key.add(tile.code);
  key.add(tile.tasks);
  key.add(tile.functions);
  key.add(tile.queues);
  key.add(tile.dsrs);
  key.add(tile.blocked);
  key.add(tile.activated);
  key.add(options);
  return key.text();
}

// A descriptor as a walk sees it: of an input's color only the thread and the priority that it stands for.
struct SeenDescriptor {
  isa::Dsd dsd;
  bool known = false;
  int queue = -1, priority = 0;
  bool operator==(const SeenDescriptor&) const = default;
};

SeenDescriptor seen(const WalkState& state, uint32_t address, const TileProgram& tile, const Machine& machine) {
  SeenDescriptor s;
  s.dsd = state.descriptor(address, s.known);
  if (s.dsd.kind == isa::DsdKind::fabin && s.dsd.color != isa::kQueueColor) {
    for (const QueueBinding& q : tile.queues) {
      if (q.output || q.color != s.dsd.color) continue;
      s.priority = q.priority;
      if (s.queue < 0) s.queue = q.queue;
    }
    if (s.queue < 0) s.queue = s.dsd.color % std::max(1, machine.core.microthreads);
    s.dsd.color = 0;
  }
  if (s.dsd.kind == isa::DsdKind::fabout) s.dsd.color = 0;
  return s;
}

}  // namespace

// What a program has at cycle 0 where a walk has asked.
struct AlikeWalks::Known {
  Known(const WalkAsked& asked, const WalkState& state, const TileProgram& tile, const Machine& machine, Coord pe) {
    for (const uint32_t at : asked.bytes) bytes.push_back(state.at_start(at));
    for (const uint32_t at : asked.descriptors) descriptors.push_back(seen(state, at, tile, machine));
    if (asked.place) place = pe;
  }
  std::vector<WalkState::Value> bytes;
  std::vector<SeenDescriptor> descriptors;
  Coord place;
  bool operator==(const Known&) const = default;
};

struct AlikeWalks::Group {
  struct Walk {
    std::shared_ptr<const Walked> result;
    Known known;
  };
  std::mutex mutex;
  std::vector<std::shared_ptr<const Walk>> walks;

  std::vector<std::shared_ptr<const Walk>> all() {
    const std::lock_guard lock(mutex);
    return walks;
  }
  void add(std::shared_ptr<const Walk> walk) {
    const std::lock_guard lock(mutex);
    walks.push_back(std::move(walk));
  }
};

AlikeWalks::AlikeWalks(const Machine& machine) : machine_(machine) {}
AlikeWalks::~AlikeWalks() = default;

AlikeWalks::Group& AlikeWalks::group(const std::string& key) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Group>& found = groups_[key];
  if (!found) found = std::make_unique<Group>();
  return *found;
}

std::shared_ptr<const Walked> AlikeWalks::walk(const TileProgram& tile, const WalkOptions& options) {
  Group& alike = group(key_of(tile, options));
  const WalkState start(tile, machine_, options);
  for (const auto& walk : alike.all())
    if (Known(walk->result->asked, start, tile, machine_, options.at) == walk->known) return walk->result;
  auto result = std::make_shared<const Walked>(walk_tile(tile, machine_, options));
  Known known(result->asked, start, tile, machine_, options.at);
  alike.add(std::make_shared<const Group::Walk>(Group::Walk{result, std::move(known)}));
  return result;
}

size_t AlikeWalks::walked() const {
  const std::lock_guard lock(mutex_);
  size_t sum = 0;
  for (const auto& [key, alike] : groups_) sum += alike->all().size();
  return sum;
}

}  // namespace cs::csl
