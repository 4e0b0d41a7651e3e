// The verifier of waiting: proves from kernels, streams and buffers alone that nothing in the network can
// stop.
//
// One sample is sent through the empty network. Every stream brings as many words as its producer has made
// and as all of its takers have room for; whoever has nothing more to take or to send waits. If all words of
// all streams arrive, the network is as empty as before and can do the same for ever; if not, it stops,
// whatever the cycles of its kernels are.
#include <algorithm>
#include <deque>
#include <limits>

#include <fmt/format.h>

#include "compiler/mapping/plan.h"
#include "compiler/mapping/skew.h"

namespace cs::mapping {

namespace {

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max() / 4, kUnknown = -1;

class Waiting {
 public:
  explicit Waiting(const Parts& parts)
      : parts_(parts), sent_(parts.streams.size(), 0), room_(sent_.size(), kUnknown), has_turn_(sent_.size(), false),
        skews_(skews_of(parts)) {
    for (const Instance& inst : parts.instances) {
      operands_.emplace_back(size_t(inst.work.operands), -1);
      results_.emplace_back(std::max<size_t>(1, inst.results.size()), -1);
    }
    for (size_t s = 0; s < parts.streams.size(); ++s) {
      const Stream& stream = parts.streams[s];
      if (stream.producer >= 0) results_[size_t(stream.producer)][size_t(stream.result)] = int(s);
      for (const Taker& t : stream.takers) {
        if (t.instance >= 0) operands_[size_t(t.instance)][size_t(t.operand)] = int(s);
      }
    }
  }

  // Until nothing moves any more. Words and room only grow, so the order in which streams have their turn makes no
  // difference: those have one whose producer has made more, or for which there may be more room.
  void run() {
    for (size_t s = 0; s < sent_.size(); ++s) give_turn(s);
    for (; !turns_.empty(); turns_.pop_front()) {
      const size_t s = turns_.front();
      has_turn_[s] = false;
      const int64_t words = std::min({parts_.streams[s].words, made(s), room(int(s))});
      if (words <= sent_[s]) continue;
      sent_[s] = words;
      moved(s);
    }
  }

  bool complete(size_t s) const { return sent_[s] == parts_.streams[s].words; }
  int64_t sent(size_t s) const { return sent_[s]; }
  // What the producer has, whether or not it could send it.
  int64_t made(size_t s) const {
    const Stream& stream = parts_.streams[s];
    if (stream.producer < 0 || stream.initial) return stream.words;
    const size_t p = size_t(stream.producer);
    const int64_t parts = parts_of(p);
    int64_t done = parts_taken(p, -1);
    for (size_t j = 0; j < results_[p].size(); ++j) {  // of each part one result after the other
      if (results_[p][j] < 0 || int(j) == stream.result) continue;
      const size_t other = size_t(results_[p][j]);
      const int64_t gone = scaled(sent_[other], parts_.streams[other].words, parts);
      done = std::min(done, int(j) < stream.result ? gone : gone + 1);
    }
    return scaled(done, parts, stream.words);
  }
  // Words that all takers of a stream would take now.
  int64_t room(int s) {
    if (room_[size_t(s)] != kUnknown) return room_[size_t(s)];
    int64_t least = kUnlimited;
    for (const Taker& t : parts_.streams[size_t(s)].takers) {
      if (t.instance >= 0) least = std::min(least, room_of(t));
    }
    return room_[size_t(s)] = least;
  }
  int64_t room_of(const Taker& t) {
    const size_t i = size_t(t.instance);
    const Skew& k = skews_[i];
    const int64_t words = std::min(k.words[size_t(t.operand)], room_of_turn(i, t.operand));
    if (k.whole) return words;
    int64_t done = parts_taken(i, t.operand);
    for (int r : results_[i]) {
      if (r >= 0) done = std::min(done, scaled(room(r), parts_.streams[size_t(r)].words, parts_of(i)));
    }
    int64_t used = scaled(done, parts_of(i), words);
    const int64_t first = k.first[size_t(t.operand)];
    if (first > words / parts_of(i)) used -= used % first;  // a part of it serves for several of the others
    return std::min(words, used + k.holds[size_t(t.operand)]);
  }

 private:
  void give_turn(size_t s) {
    if (has_turn_[s]) return;
    has_turn_[s] = true;
    turns_.push_back(s);
  }
  // Behind words of a stream others may move: the results of those that took them and the results beside it, and what
  // else the takers wait for.
  void moved(size_t s) {
    const Stream& stream = parts_.streams[s];
    if (stream.producer >= 0) give_turns(results_[size_t(stream.producer)]);
    for (const Taker& t : stream.takers) {
      if (t.instance < 0) continue;
      give_turns(results_[size_t(t.instance)]);
      const std::vector<int>& operands = operands_[size_t(t.instance)];
      for (size_t o = 0; o < operands.size(); ++o)
        if (int(o) != t.operand && operands[o] >= 0) has_more_room(size_t(operands[o]));
    }
  }
  void give_turns(const std::vector<int>& streams) {
    for (int s : streams)
      if (s >= 0) give_turn(size_t(s));
  }
  // It, and what comes to its producer, which takes no more than it can send. Where the room is unknown already, all
  // that depends on it is.
  void has_more_room(size_t s) {
    if (room_[s] == kUnknown) return;
    room_[s] = kUnknown;
    give_turn(s);
    const int producer = parts_.streams[s].producer;
    if (producer < 0 || skews_[size_t(producer)].whole) return;
    for (int operand : operands_[size_t(producer)])
      if (operand >= 0) has_more_room(size_t(operand));
  }

  // Words of an operand that rows take when what came of the one before it has passed: not counted before it has passed
  // all rows.
  int64_t room_of_turn(size_t i, int operand) const {
    const std::vector<int>& turns = parts_.instances[i].operand_turns;
    const auto turn = std::ranges::find(turns, operand);
    if (turn == turns.end() || turn == turns.begin()) return kUnlimited;
    const Skew& k = skews_[i];
    const size_t before = size_t(*(turn - 1)), s = size_t(operands_[i][before]);
    return sent_[s] / std::max<int64_t>(1, k.first[before]) * k.first[size_t(operand)];
  }
  // The same share of another number of words or parts, rounded down.
  static int64_t scaled(int64_t value, int64_t of, int64_t to) { return value >= of ? to : value * to / of; }
  // Parts in which an instance takes its sample: those of its finest operand.
  int64_t parts_of(size_t i) const {
    if (skews_[i].whole) return 1;
    int64_t parts = 1;
    for (size_t o = 0; o < operands_[i].size(); ++o)
      parts = std::max(parts, skews_[i].words[o] / std::max<int64_t>(1, skews_[i].first[o]));
    return parts;
  }
  // Those of which every operand, but for one, has come.
  int64_t parts_taken(size_t i, int without) const {
    const int64_t parts = parts_of(i);
    int64_t least = parts;
    for (size_t o = 0; o < operands_[i].size(); ++o) {
      if (int(o) == without || operands_[i][o] < 0) continue;
      const int64_t first = std::max<int64_t>(1, skews_[i].first[o]);
      const int64_t whole = skews_[i].words[o] / first;
      const int64_t have = sent_[size_t(operands_[i][o])] / first;
      least = std::min(least, have >= whole ? parts : have * (parts / whole));
    }
    return least;
  }

  const Parts& parts_;
  std::vector<int64_t> sent_, room_;  // by stream
  std::vector<bool> has_turn_;        // the same
  std::deque<size_t> turns_;          // streams
  std::vector<Skew> skews_;
  std::vector<std::vector<int>> operands_, results_;  // streams, by instance
};

// The model's nodes that an instance computes; of a buffer or relay those behind it.
std::string nodes_text(const Parts& parts, int i) {
  const Instance& inst = parts.instances[size_t(i)];
  if (!inst.node_names.empty()) return fmt::format("'{}'", fmt::join(inst.node_names, "', '"));
  for (const Stream& s : parts.streams) {
    if (s.producer != i) continue;
    for (const Taker& t : s.takers)
      if (t.instance >= 0) return nodes_text(parts, t.instance);
  }
  return "'" + inst.title + "'";
}

}  // namespace

std::vector<Stuck> stuck_operands(const Parts& parts) {
  std::vector<Stuck> list;
  Waiting waiting(parts);
  waiting.run();
  for (size_t s = 0; s < parts.streams.size(); ++s) {
    if (waiting.complete(s) || waiting.made(s) <= waiting.sent(s)) continue;
    for (const Taker& t : parts.streams[s].takers) {
      if (t.instance < 0) continue;
      const int64_t room = waiting.room_of(t);
      if (room <= waiting.sent(s)) list.push_back({int(s), t, room});
    }
  }
  return list;
}

bool verify_waiting(const Parts& parts, Diag& diag) {
  const std::vector<Stuck> list = stuck_operands(parts);
  for (const Stuck& k : list) {
    const Stream& s = parts.streams[size_t(k.stream)];
    const std::string what = s.producer >= 0 ? "the result of " + nodes_text(parts, s.producer) : "'" + s.tensor + "'";
    diag.error_at(nodes_text(parts, k.taker.instance),
                  fmt::format("waits for itself: it takes {} of the {} words of {} before it needs another operand, "
                              "which comes behind the rest of them",
                              k.room, s.words, what),
                  fmt::format("{} words more would have to be kept", s.words - k.room));
  }
  return list.empty();
}

}  // namespace cs::mapping
