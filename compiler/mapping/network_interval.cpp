// Events of streams and kernels, and the circle among them that sets the interval.
#include "compiler/mapping/network_interval.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "compiler/mapping/event_graph.h"

namespace cs::mapping {

namespace {

constexpr double kHopsUnplaced = 8;  // of a stream between neighbours

class Events : EventGraph {
 public:
  Events(const Parts& parts, const Slack& slack, const Machine& machine, bool placed, double late, PlansBy plans)
      : parts_(parts), machine_(machine), placed_(placed), walked_(plans == PlansBy::walks), skews_(skews_of(parts)) {
    for (Skew& k : skews_) {
      k.until_first *= late, k.until_last *= late, k.again *= late;
      if (k.until_first_of_stays) *k.until_first_of_stays *= late;
    }
    for (const Instance& inst : parts.instances) {
      takes_.emplace_back(size_t(inst.work.operands));
      sends_before_.push_back(0);
      sends_.emplace_back(std::max<size_t>(1, inst.results.size()));
      sent_words_.emplace_back(sends_.back().size(), 0);
      sending_.emplace_back(sends_.back().size());
      room_.emplace_back(sends_.back().size());
    }
    for (size_t s = 0; s < parts.streams.size(); ++s) made_by(s);
    for (size_t s = 0; s < parts.streams.size(); ++s) taken_by(s, slack);
    for (size_t i = 0; i < parts.instances.size(); ++i) instance(int(i));
  }

  std::optional<NetworkInterval> run() const {
    if (!live()) return std::nullopt;
    NetworkInterval n;
    for (size_t i = 0; i < parts_.instances.size(); ++i) {
      const double cycles = skews_[i].interval;
      if (cycles > n.slowest) n.slowest = cycles, n.slowest_instance = int(i);
    }
    n.cycles = n.slowest;
    add_slowest_circle(n);
    return n;
  }

 private:
  // ---- streams

  void made_by(size_t s) {
    const Stream& stream = parts_.streams[s];
    const Way w = sent(stream.words);
    ways_.push_back(w);
    if (stream.producer < 0) return;
    sends_[size_t(stream.producer)][size_t(stream.result)] = w;
    if (stream.initial) sends_before_[size_t(stream.producer)] = 1;
    sent_words_[size_t(stream.producer)][size_t(stream.result)] = stream.words;
    sending_[size_t(stream.producer)][size_t(stream.result)] = pace(stream);
    room_[size_t(stream.producer)][size_t(stream.result)] = room(stream);
  }

  // Cycles from the first word to the last one, as the slowest taker takes them. A buffer takes them at once, and
  // sends them on later.
  double pace(const Stream& stream) const {
    auto cycles = double(stream.words);
    for (const Taker& t : stream.takers) {
      if (t.instance >= 0 && parts_.instances[size_t(t.instance)].slack == 0)
        cycles = std::max(cycles, taking(t));
    }
    return cycles;
  }
  // From the first word taken to the last one. A whole kernel takes every operand by itself; by formulas they are taken
  // together, as buffers were planned.
  double taking(const Taker& t) const {
    const Skew& k = skews_[size_t(t.instance)];
    const bool alone = (walked_ && k.whole) || k.comes_first(size_t(t.operand));
    return alone ? double(k.words[size_t(t.operand)]) : k.taking;
  }
  // Words that a taker, or the way to it, has room for when a sample begins.
  double room(const Stream& stream) const {
    auto least = double(stream.words);
    for (const Taker& t : stream.takers) {
      if (t.instance < 0 || parts_.instances[size_t(t.instance)].slack > 0) continue;
      const Skew& k = skews_[size_t(t.instance)];
      const double held = k.whole ? 0 : double(k.holds[size_t(t.operand)]);
      least = std::min(least, held + on_the_way(stream, t));
    }
    return least;
  }
  double on_the_way(const Stream& stream, const Taker& t) const {
    return walked_ && placed_ && stream.producer >= 0 ? way_of(stream, t) * machine_.router.lane_depth_wavelets : 0;
  }
  // Words that wait in front of a PE, whichever queue they take.
  double in_front() const {
    return std::ranges::min(machine_.queues.input_words) + machine_.router.lane_depth_wavelets;
  }
  // From the first word of a stream to its last one, as the sender sees it.
  double leaving(const Stream& stream, const Taker& t, double taking) const {
    const auto words = double(std::max<int64_t>(1, stream.words));
    return std::max(words, taking * (1 - on_the_way(stream, t) / words));
  }

  void taken_by(size_t s, const Slack& slack) {
    const Stream& stream = parts_.streams[s];
    for (const Taker& t : stream.takers) {
      if (t.instance < 0) continue;
      const auto found = slack.find({t.instance, t.operand});
      Way w = ways_[s];
      if (found != slack.end() && found->second != 0)
        w = found->second == kSentAgain ? sent(stream.words) : buffered(w, stream.words, found->second);
      takes_[size_t(t.instance)][size_t(t.operand)] = {w, hops(stream, t), on_the_way(stream, t)};
      // A taker that takes slowly could have the words from a buffer that took them at once.
      const double cycles = taking(t);
      const bool slow = cycles > double(stream.words);
      const std::pair<int, int> wait = slow ? std::pair{t.instance, t.operand} : std::pair{-1, -1};
      after(w.last, w.first, leaving(stream, t, cycles), 0, wait);
    }
  }

  // What leaves a buffer of so many samples.
  Way buffered(const Way& in, int64_t words, int64_t samples) {
    const Way out = way();
    buffer(in, out, words, samples);
    return out;
  }
  void buffer(const Way& in, const Way& out, int64_t words, int64_t samples) {
    const double pass = stage() + machine_.core.task_start_cycles;
    after(out.first, in.first, pass, 0);
    after(out.last, in.last, pass, 0);
    after(out.last, out.first, double(words), 0);
    after(out.first, out.last, 0, 1);
    after(in.first, in.first, double(words), 1);
    after(in.first, out.first, 0, int(samples));
    after(in.last, out.last, 0, int(samples));
  }

  double stage() const {
    return machine_.ramp.up_cycles + machine_.ramp.down_cycles + 1 + machine_.router.hop_cycles;
  }
  double way_of(const Stream& s, const Taker& t) const {
    if (!placed_ || s.producer < 0) return kHopsUnplaced;
    const Coord from = parts_.instances[size_t(s.producer)].exit(),
                to = parts_.instances[size_t(t.instance)].entry(t.operand);
    return std::abs(from.x - to.x) + std::abs(from.y - to.y);
  }
  double hops(const Stream& s, const Taker& t) const {
    return stage() + way_of(s, t) * machine_.router.hop_cycles;
  }

  // ---- kernels

  void instance(int i) {
    if (parts_.instances[size_t(i)].slack > 0) return slack(i);
    if (skews_[size_t(i)].whole) {
      whole(i);
    } else {
      in_parts(i);
    }
  }

  // The next buffer of a line, -1 behind the last one.
  int next_in_line(int i) const {
    for (const Stream& s : parts_.streams) {
      if (s.producer != i) continue;
      const int next = s.takers.front().instance;
      return next >= 0 && parts_.instances[size_t(next)].slack > 0 ? next : -1;
    }
    return -1;
  }
  // A line of buffers is one: the first of them speaks for all.
  void slack(int i) {
    const Way& in = takes_[size_t(i)][0].way;
    for (const Stream& s : parts_.streams) {
      const bool feeds = s.takers.size() == 1 && s.takers.front().instance == i;
      if (feeds && s.producer >= 0 && parts_.instances[size_t(s.producer)].slack > 0) return;
    }
    int64_t size = 0;
    int last = i;
    for (int k = i; k >= 0; k = next_in_line(k)) size += parts_.instances[size_t(k)].slack, last = k;
    const int64_t words = words_of(i);
    buffer(in, sends_[size_t(last)][0], words, size / words);
  }
  int64_t words_of(int i) const {
    for (const Stream& s : parts_.streams)
      if (s.producer == i) return s.words;
    return 1;
  }

  void whole(int i) {
    const Skew& k = skews_[size_t(i)];
    const size_t begin = event(i);
    after(begin, begin, k.interval, 1);
    const bool parts = walked_ && !k.kept.empty();
    const size_t first = parts ? kept(i, begin) : begin;
    for (size_t o = 0; !parts && o < takes_[size_t(i)].size(); ++o) {
      const Taken& t = takes_[size_t(i)][o];
      after(begin, t.way.last, t.hops, 0);
      if (k.one_by_one)
        after(t.way.first, t.way.first, k.interval, 1, {i, int(o)});
      else if (k.sends_first)
        after(t.way.first, sends_[size_t(i)].back().last, -t.hops, 1, {i, int(o)});
      else
        after(t.way.first, begin, k.again - t.hops, 1, {i, int(o)});
    }
    if (parts && (k.in_order || rows_in_circle(i))) {
      in_turn(i, first, begin);
    } else {
      results(i, begin);
    }
    sending(i, begin);
    turns(i);
  }
  // A row takes a run of an operand when that of the one before has passed. If it sends when the last one has, it takes
  // the next sample behind that.
  void turns(int i) {
    const Instance& inst = parts_.instances[size_t(i)];
    const std::vector<int>& order = inst.operand_turns;
    const auto taken = [&](size_t k) -> const Taken& { return takes_[size_t(i)][size_t(order[k])]; };
    const auto run = [&](size_t k) { return double(inst.layout->turn_words(size_t(order[k]))); };
    for (size_t k = 0; k + 1 < order.size(); ++k)
      after(taken(k + 1).way.first, taken(k).way.first, taken(k).hops + run(k) - taken(k + 1).hops, 0);
    if (!rows_in_circle(i)) return;
    const size_t out = sends_[size_t(i)].front().first, last = order.size() - 1;
    after(out, taken(last).way.first, taken(last).hops + run(last), sends_before_[size_t(i)]);
    if (!walked_ || skews_[size_t(i)].kept.empty()) return;  // by formulas results leave behind all operands
    after(taken(0).way.first, out, row_share(i) - taken(0).hops, 1 - sends_before_[size_t(i)]);
  }
  // Of operands of which PEs keep parts: the first PE has its words when the first ones of the streams have
  // come, the last one when the last ones have. Each has room for those of the next sample when it has
  // computed, one that sends before it asks when it has sent; before that for what queues hold, on the way and in front
  // of the PE, which of a short part is all. Returns the event at which the first PE begins.
  size_t kept(int i, size_t last) {
    const Skew& k = skews_[size_t(i)];
    const size_t first = event(i);
    const Way& out = sends_[size_t(i)].back();
    for (size_t o = 0; o < takes_[size_t(i)].size(); ++o) {
      const Taken& t = takes_[size_t(i)][o];
      const kernels::KeptPart& part = k.kept[o];
      if (part.behind == 0) continue;  // passes without them
      const auto words = double(k.words[o]), longest = double(part.longest);
      if (part.first + part.longest < k.words[o])
        after(first, t.way.first, t.hops + double(part.first) + longest, 0);
      else  // the last word is the first PE's too, however slowly it comes
        after(first, t.way.last, t.hops, 0);
      if (part.behind < k.words[o])
        after(last, t.way.first, t.hops + double(part.behind), 0);
      else
        after(last, t.way.last, t.hops, 0);
      const std::pair<int, int> wait{i, int(o)};
      const double own = k.sends_first ? k.again + own_share(i) : k.again, again = longest <= in_front() ? 0 : own;
      const double rest = words - double(part.behind) + longest;  // from the last PE's first word on
      after(t.way.first, first, again - t.hops - double(part.first) - t.held, 1, wait);
      if (again == 0) after(first, first, own, 1);
      if (k.sends_first && again == 0)
        after(last, out.last, 0, 1);
      else if (k.sends_first)
        after(t.way.last, out.last, rest - t.hops - t.held, 1, wait);
      else
        after(t.way.last, last, own + rest - t.hops - t.held, 1, wait);
    }
    return first;
  }
  // The first PE sends when it has computed, whatever the others do, and the last one its share when it has.
  void in_turn(int i, size_t first, size_t last) {
    const Skew& k = skews_[size_t(i)];
    const Way& out = sends_[size_t(i)].front();
    const int before = sends_before_[size_t(i)];
    after(out.first, first, k.until_first, before);
    after(out.last, first, k.until_last, before);
    after(out.last, last, k.until_first + (rows_in_circle(i) ? row_share(i) : own_share(i)), before);
  }
  // One after the other, each as fast as the kernel alone sends them all.
  void results(int i, size_t begin) {
    const Skew& k = skews_[size_t(i)];
    const std::vector<int64_t>& words = sent_words_[size_t(i)];
    const auto all = double(std::max<int64_t>(1, std::accumulate(words.begin(), words.end(), int64_t(0))));
    double sent = 0;
    for (size_t r = 0; r < words.size(); ++r) {
      const Way& out = sends_[size_t(i)][r];
      if (r == 0) {
        after(out.first, begin, k.until_first, sends_before_[size_t(i)]);
      } else {
        after(out.first, sends_[size_t(i)][r - 1].last, 0, 0);
      }
      sent += double(words[r]);
      after(out.last, begin, k.until_first + (k.until_last - k.until_first) * sent / all,
            sends_before_[size_t(i)]);
    }
  }
  // While a PE sends it computes nothing. Of several in turn the first one is done when it has sent its share
  // of the last result, and the last one computes before the others have sent theirs. What a result takes
  // beyond the interval of the kernel it spends in other PEs: partial sums on their way from column to
  // column.
  void sending(int i, size_t begin) {
    const Skew& k = skews_[size_t(i)];
    const std::vector<Way>& out = sends_[size_t(i)];
    const int before = 1 - sends_before_[size_t(i)];
    if (k.busy_sending == 1) return after(begin, out.back().last, 0, before);
    const double own = std::min(k.until_first, walked_ ? k.interval - own_share(i) : k.interval);
    double shares = 0;
    for (size_t r = 0; r < out.size(); ++r) {
      const double share = share_of_sending(i, r);
      after(begin, out[r].first, share + own - k.until_first, before);
      after(out[r].last, out.back().last, own + (shares += share), 1);
    }
  }

  // Rows send behind the last operand's part, and take the first one of the next sample behind that.
  bool rows_in_circle(int i) const {
    const Instance& inst = parts_.instances[size_t(i)];
    return inst.gates() > inst.operand_turns.size();
  }
  // Words that a row sends of its only result.
  double row_share(int i) const {
    return double(sent_words_[size_t(i)].front()) / parts_.instances[size_t(i)].rect.h;
  }
  // Words that a PE sends of all results.
  double own_share(int i) const {
    const std::vector<int64_t>& words = sent_words_[size_t(i)];
    const auto all = double(std::accumulate(words.begin(), words.end(), int64_t(0)));
    return std::min(skews_[size_t(i)].interval, all * skews_[size_t(i)].busy_sending);
  }
  // Cycles in which a PE sends its share of a result: what nobody has room for, as it is taken.
  double share_of_sending(int i, size_t r) const {
    const double share = skews_[size_t(i)].busy_sending;
    if (!walked_) return sending_[size_t(i)][r] * share;
    const auto words = double(std::max<int64_t>(1, sent_words_[size_t(i)][r]));
    return std::max(words * share, (words * share - room_[size_t(i)][r]) * sending_[size_t(i)][r] / words);
  }

  void in_parts(int i) {
    const Skew& k = skews_[size_t(i)];
    for (size_t o = 0; o < takes_[size_t(i)].size(); ++o) {
      const Taken& t = takes_[size_t(i)][o];
      after(t.way.first, t.way.first, k.interval, 1);
      const double part = double(k.first[o]);
      for (const Way& out : sends_[size_t(i)]) {
        after(out.first, t.way.first, t.hops + part + k.until_first, 0);
        if (k.comes_first(o)) {
          after(out.first, t.way.last, t.hops + k.until_first_of_stays.value_or(k.until_first), 0);
          after(out.last, t.way.last, t.hops + k.until_first_of_stays.value_or(k.until_last), 0);
        } else {
          after(out.last, t.way.last, t.hops + k.until_last, 0);
        }
        after(out.last, out.first, k.sending, 0);
        if (k.holds[o] < k.words[o]) after(t.way.last, out.first, -t.hops, 0, {i, int(o)});
        last_taken(i, o, out);
        after(t.way.first, out.last, -t.hops - k.until_last, 1, {i, int(o)});
      }
    }
  }

  // The last part is taken when the last one but those under way has been sent, of this sample or of an earlier one.
  void last_taken(int i, size_t o, const Way& out) {
    const Skew& k = skews_[size_t(i)];
    const Taken& t = takes_[size_t(i)][o];
    const bool more = !k.comes_first(o) && k.parts_held > k.parts;
    const int64_t samples = more ? (k.parts_held + k.parts - 1) / k.parts : 1;
    const double parts = more ? double(samples * k.parts - k.parts_held) : 0;
    after(t.way.last, out.last, parts * k.interval / double(k.parts) - t.hops, int(samples), {i, int(o)});
  }

  struct Taken {
    Way way;
    double hops = 0, held = 0;  // words on the way of a stream that has stopped
  };

  const Parts& parts_;
  const Machine& machine_;
  bool placed_, walked_;
  std::vector<Skew> skews_;
  std::vector<Way> ways_;                     // by stream
  std::vector<std::vector<Taken>> takes_;     // by instance, by operand
  std::vector<std::vector<Way>> sends_;       // by instance, by result
  std::vector<int> sends_before_;  // by instance: 1 if what it makes of a sample is sent in the next one
  std::vector<std::vector<int64_t>> sent_words_;  // the same
  std::vector<std::vector<double>> sending_;  // by instance, by result: its cycles, as it is taken
  std::vector<std::vector<double>> room_;     // the same: words
};

}  // namespace

std::optional<NetworkInterval> network_interval(const Parts& parts, const Slack& slack, const Machine& machine,
                                                bool placed, double late, PlansBy plans) {
  return Events(parts, slack, machine, placed, late, plans).run();
}

}  // namespace cs::mapping
