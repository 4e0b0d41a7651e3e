// The walk back: over chains on the wafer, over ports, spans of operators and tensors on the host.
#include "simulator/report/critical_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "runtime/host/port_rates.h"
#include "runtime/host/samples.h"
#include "runtime/ops/ops.h"

namespace cs::sim {
namespace {

constexpr size_t kMaxSteps = 1000;
constexpr double kNearlyAll = 0.7, kWorthNaming = 0.05;

bool is_view(const HostStep& step) {
  const ops::OpDef* op = ops::find_op(step.op);
  return op != nullptr && op->kind == ops::OpKind::view;
}

class Walk {
 public:
  Walk(const PathInput& in, CriticalPath& path)
      : in_(in), host_(*in.program.host), path_(path), crossing_(host_crossing_cycles(in.machine)) {
    for (const double period : port_periods(in.program, in.machine)) periods_.push_back(Cycle(std::ceil(period)));
  }

  // From the end of the samples before `end`: that of the last one, or of another copy of the network, which it had to
  // wait for. Says which sample it is.
  int run(int end) {
    const HostTensor* last = nullptr;
    Cycle latest = 0;
    sample_ = end - 1;
    for (int sample = end - 1; sample >= std::max(0, end - host_.copies); --sample)
      for (const HostTensor& t : host_.outputs)
        if (const Cycle at = ready_at_edge(t.name, sample); last == nullptr || at > latest) {
          last = &t;
          latest = at;
          sample_ = sample;
        }
    const int sample = sample_;
    if (last != nullptr) at_tensor(last->name, sample);
    return sample;
  }

 private:
  const HostStep* maker(const std::string& tensor, int sample) const {
    for (const HostStep& step : host_.steps) {
      if (!host_.handles(step, sample)) continue;
      if (step.kind == HostStep::Kind::receive && step.tensor == tensor) return &step;
      if (step.kind == HostStep::Kind::op &&
          std::find(step.outputs.begin(), step.outputs.end(), tensor) != step.outputs.end())
        return &step;
    }
    return nullptr;  // an input of the model, or a constant
  }
  int port_of(const HostStep& step) const {
    const auto& ports = in_.program.ports;
    for (size_t i = 0; i < ports.size(); ++i)
      if (ports[i].name == step.port) return int(i);
    return -1;
  }
  // An operator over the whole batch works at its first sample.
  const HostSpan* span_of(const HostStep& step, int sample) const {
    const HostSpan* found = nullptr;
    for (const HostSpan& s : in_.run.host_spans)
      if (&host_.steps[s.step] == &step && s.sample <= sample && (found == nullptr || s.sample > found->sample))
        found = &s;
    return found;
  }
  const WaitTracker::Arrival* arrival(const HostStep& step, int sample) const {
    const int port = port_of(step);
    const size_t turn = size_t(host_.turn_of(sample));
    if (port < 0 || turn >= in_.tracker.received(port).size()) return nullptr;
    return &in_.tracker.received(port)[turn];
  }

  // An output in pieces has those instead of a maker.
  std::vector<std::string> pieces_of(const std::string& tensor) const {
    std::vector<std::string> pieces;
    for (const HostTensor& t : host_.outputs)
      if (t.name == tensor)
        for (const Piece& p : t.pieces) pieces.push_back(p.tensor);
    return pieces;
  }

  // When the tensor of this sample had come to the edge of the wafer, or out of its operator on the host.
  Cycle ready_at_edge(const std::string& tensor, int sample) const {
    if (const auto pieces = pieces_of(tensor); !pieces.empty()) return ready_of(pieces, sample, false);
    const HostStep* step = maker(tensor, sample);
    if (step == nullptr) return 0;
    if (step->kind == HostStep::Kind::receive) {
      const WaitTracker::Arrival* a = arrival(*step, sample);
      return a != nullptr ? a->at + 1 : 0;
    }
    if (is_view(*step)) return ready_of(step->inputs, sample, false);
    const HostSpan* span = span_of(*step, sample);
    return span != nullptr ? span->end : 0;
  }
  // When an operator on the host could take it.
  Cycle ready_at_host(const std::string& tensor, int sample) const {
    if (const auto pieces = pieces_of(tensor); !pieces.empty()) return ready_of(pieces, sample, true);
    const HostStep* step = maker(tensor, sample);
    if (step == nullptr) return 0;
    if (step->kind == HostStep::Kind::op && is_view(*step)) return ready_of(step->inputs, sample, true);
    return ready_at_edge(tensor, sample) + (step->kind == HostStep::Kind::receive ? crossing_ : 0);
  }
  Cycle ready_of(const std::vector<std::string>& tensors, int sample, bool at_host) const {
    Cycle latest = 0;
    for (const std::string& t : tensors)
      latest = std::max(latest, at_host ? ready_at_host(t, sample) : ready_at_edge(t, sample));
    return latest;
  }
  std::string latest_of(const std::vector<std::string>& tensors, int sample) const {
    std::string name;
    Cycle latest = 0;
    for (const std::string& t : tensors)
      if (const Cycle at = ready_at_host(t, sample); name.empty() || at > latest) {
        name = t;
        latest = at;
      }
    return name;
  }

  void add(PathStep step) {
    step.last_sample = std::max(sample_, step.sample);
    sample_ = step.sample;
    path_.steps.push_back(std::move(step));
  }

  void at_tensor(const std::string& tensor, int sample) {
    if (const auto pieces = pieces_of(tensor); !pieces.empty()) return at_tensor(latest_of(pieces, sample), sample);
    const HostStep* step = maker(tensor, sample);
    if (step == nullptr) return;
    if (step->kind == HostStep::Kind::receive) {
      if (const WaitTracker::Arrival* a = arrival(*step, sample)) follow(a->chain, a->left);
    } else if (is_view(*step)) {
      at_tensor(latest_of(step->inputs, sample), sample);
    } else if (const HostSpan* span = span_of(*step, sample)) {
      at_span(span);
    }
  }

  // An operator starts when its operands are there, or when its core is free.
  void at_span(const HostSpan* span) {
    while (span != nullptr) {
      const HostStep& step = host_.steps[span->step];
      const std::string operand = latest_of(step.inputs, span->sample);
      const bool waited = operand.empty() || ready_at_host(operand, span->sample) >= span->begin;
      const HostSpan* before = nullptr;
      for (const HostSpan& s : in_.run.host_spans)
        if (s.core == span->core && s.end <= span->begin && (before == nullptr || s.end > before->end)) before = &s;
      PathStep row{.name = host_name(step), .sample = span->sample, .begin = span->begin, .end = span->end};
      row.cause = waited ? Cause::input : Cause::host;
      row.from = waited || before == nullptr ? operand : host_name(host_.steps[before->step]);
      add(row);
      if (waited) return at_tensor(operand, span->sample);
      span = before;
    }
  }

  std::string host_name(const HostStep& step) const {
    return fmt::format("host {} ({})", step.op, step.outputs.empty() ? "" : step.outputs.front());
  }

  // A wavelet of a host port: back to the first of those that entered one behind the other at the rate of the port.
  void at_port(int port, size_t word) {
    const HostStep* step = nullptr;
    for (const HostStep& s : host_.steps)
      if (s.kind == HostStep::Kind::send && s.port == in_.program.ports[size_t(port)].name) step = &s;
    const uint64_t words = std::max<uint64_t>(1, in_.tracker.words_per_sample(port));
    const int copy = step != nullptr ? step->copy : 0;
    const bool made = step != nullptr && maker(step->tensor, copy) != nullptr;
    const Cycle end = in_.entered(port, word);
    size_t first = word;
    while (first > 0 && !(made && first % words == 0) &&
           in_.entered(port, first) - in_.entered(port, first - 1) <= periods_[size_t(port)])
      --first;
    const Cycle begin = in_.entered(port, first);
    const int sample = copy + int(first / words) * host_.copies;
    const Chain blocked = in_.tracker.blocked(port, begin);
    const bool fresh = made && first % words == 0 &&
                       begin <= ready_at_host(step->tensor, sample) + crossing_ + periods_[size_t(port)];
    PathStep row{.name = in_.tracker.parties()[size_t(in_.tracker.party_of_port(port))], .sample = sample};
    row.begin = begin;
    row.end = end + 1;
    row.cause = fresh ? Cause::host : first == 0 || !blocked ? Cause::start : Cause::output;
    row.from = fresh ? step->tensor : row.cause == Cause::output ? party(blocked->who) : "";
    add(row);
    if (fresh) return at_tensor(step->tensor, sample);
    if (row.cause == Cause::output) follow(blocked, begin);
  }

  std::string party(int who) const { return who >= 0 ? in_.tracker.parties()[size_t(who)] : ""; }

  // On the wafer the path stays in a copy of the network, whose samples its PEs count.
  int sample_of(const ChainLink& link) const {
    const int copy = host_.copy_of(sample_), samples = host_.samples_of(copy, in_.run.samples);
    const auto in_turn = [&](uint64_t turn) {
      return copy + int(std::min<uint64_t>(turn, uint64_t(std::max(1, samples) - 1))) * host_.copies;
    };
    if (link.cause == Cause::host && link.from >= 0) {
      const int port = in_.tracker.port_of_party(link.from);
      const uint64_t words = port >= 0 ? in_.tracker.words_per_sample(port) : 0;
      return words > 0 ? in_turn(link.number / words) : sample_;
    }
    const uint64_t total = in_.tracker.total(link.counter);
    if (link.counter == 0 || total == 0) return link.cause == Cause::start ? copy : sample_;
    return in_turn(link.number * uint64_t(samples) / total);
  }

  void follow(Chain chain, Cycle until) {
    while (chain) {
      const ChainLink& link = *chain.get();
      PathStep row{.name = party(link.who), .kernel = link.who < in_.tracker.kernels() ? link.who : -1};
      row.sample = sample_of(link);
      row.begin = std::min(link.begin, until);
      row.end = until;
      row.cause = link.cause;
      row.from = party(link.from);
      add(row);
      if (link.cause == Cause::host && link.from >= 0)
        if (const int port = in_.tracker.port_of_party(link.from); port >= 0) return at_port(port, link.number);
      until = std::min(link.left, row.begin);
      chain = Chain(link.before);
    }
  }

  const PathInput& in_;
  const HostPart& host_;
  CriticalPath& path_;
  Cycle crossing_;
  std::vector<Cycle> periods_;
  int sample_ = 0;  // of the step that comes after, on the way back
};

// ---- sums and words

void sum_up(CriticalPath& path) {
  Cycle all = 0;
  for (const PathStep& s : path.steps) {
    const Cycle begin = std::max(s.begin, path.begin), end = std::min(s.end, path.end);
    if (end <= begin) continue;
    auto it = std::find_if(path.shares.begin(), path.shares.end(), [&](const auto& p) { return p.name == s.name; });
    if (it == path.shares.end()) it = path.shares.insert(it, {s.name, 0});
    it->cycles += end - begin;
    all += end - begin;
  }
  path.ways = path.end - path.begin - std::min(all, path.end - path.begin);
  std::stable_sort(path.shares.begin(), path.shares.end(),
                   [](const PathShare& a, const PathShare& b) { return a.cycles > b.cycles; });
}

// On its way back the path comes to earlier samples where something had to end with one before it took the next: that
// recurs. What the last sample goes through behind the last such place it goes through once, however deep the pipeline
// is. So the part that counts ends there, and begins as many cycles earlier as `length` says. False if there is no such
// place, or the path does not reach so far.
bool keep_what_recurs(CriticalPath& path, Cycle length, int last_sample) {
  const auto is_last = [&](const PathStep& s) { return s.sample >= last_sample; };
  const auto once = std::find_if(path.steps.begin(), path.steps.end(), is_last);
  if (once == path.steps.begin()) return false;
  const Cycle end = std::prev(once)->end;
  if (end < length || end > path.end) return false;
  path.end = end;
  path.begin = end - length;
  return true;
}

// The commonest pair of steps of which one waits for the other with this cause; of steps called `name` if it is given.
const PathStep* commonest(const CriticalPath& path, Cause cause, const std::string& name) {
  std::map<std::pair<std::string, std::string>, std::pair<int, const PathStep*>> pairs;
  const PathStep* best = nullptr;
  int most = 0;
  for (const PathStep& s : path.steps) {
    if (s.cause != cause || (!name.empty() && s.name != name) || s.begin < path.begin) continue;
    auto& [times, step] = pairs[{s.name, s.from}];
    step = &s;
    if (++times <= most) continue;
    most = times;
    best = &s;
  }
  return best;
}

std::string in_words(const CriticalPath& path) {
  const std::string what = path.steady ? "the interval" : "the time of the run";
  if (path.shares.empty()) return "";
  const auto percent = [&](Cycle cycles) { return fmt::format("{:.0f} %", 100 * path.share(cycles)); };
  const PathShare& top = path.shares.front();
  if (path.share(top.cycles) >= kNearlyAll)
    return fmt::format("{} is set by {}: {} of the critical path", what, top.name, percent(top.cycles));
  std::string list;
  for (const PathShare& s : path.shares)
    if (path.share(s.cycles) >= kWorthNaming)
      list += fmt::format("{}{} {}", list.empty() ? "" : ", ", s.name, percent(s.cycles));
  if (path.share(path.ways) >= kWorthNaming) list += fmt::format(", the ways between them {}", percent(path.ways));
  std::string out = fmt::format("{} is set by several in turn: {}", what, list);
  if (const PathStep* held = commonest(path, Cause::output, "")) {
    const PathStep* waits = commonest(path, Cause::input, held->from);
    if (waits != nullptr && waits->from != held->name)
      out += fmt::format("; {} has no room until {} goes on, which waits for {}", held->name, held->from, waits->from);
  }
  return out;
}

}  // namespace

CriticalPath critical_path(const PathInput& in) {
  CriticalPath path;
  const ModelRunResult& run = in.run;
  const int samples = run.samples;
  if (samples == 0) return path;
  const size_t round = size_t(run.copies), rounds = size_t(samples) / round;
  path.steady = run.interval_cycles.has_value() && rounds >= 4;
  const size_t last = path.steady ? rounds * round : size_t(samples);
  path.end = run.sample_end[last - 1];
  const int from = Walk(in, path).run(int(last));
  std::reverse(path.steps.begin(), path.steps.end());
  if (path.steady)
    path.steady = keep_what_recurs(path, path.end - run.sample_end[rounds / 2 * round - 1], from);
  std::erase_if(path.steps, [&](const PathStep& s) { return s.end <= path.begin; });
  sum_up(path);
  path.text = in_words(path);
  if (path.steps.size() > kMaxSteps) {
    path.left_out = path.steps.size() - kMaxSteps;
    path.steps.erase(path.steps.begin(), path.steps.end() - kMaxSteps);
  }
  return path;
}

}  // namespace cs::sim
