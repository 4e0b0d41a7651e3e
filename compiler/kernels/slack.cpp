// Slack: PEs that keep words of a stream until the other operand of its taker is there. Each passes on to the next one,
// in a row or a snake, over colours that alternate along it; mapping inserts them.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/kernels/role_parts.h"

namespace cs::kernels {

namespace {

constexpr int64_t kCodeBytes = 1024;   // of slack.csl, with descriptors and what the PE keeps for itself
constexpr int kRow = 16;               // PEs: more are given a rectangle, since a long row lies beside nothing
constexpr double kMostWaste = 1.1;     // of PEs, for a rectangle
constexpr int64_t kMostWords = 16383;  // of one FIFO, and of one instruction, which count halves of words in 15 bits

class Slack final : public Kind {
 public:
  std::string_view name() const override { return "slack"; }
  bool passes_any() const override { return true; }

  Footprint footprint(const Work&, const Cut&) const override {
    Footprint f;
    f.in.resize(1);
    f.out.resize(1);
    f.snake = true;
    return f;
  }

  // Two words a cycle on their way in, and on their way out.
  Skew skew(const Choice& choice, const Plan& plan, const Layout*) const override {
    Skew s = whole_samples(choice, plan, 1);
    s.interval = double(s.words.front());
    pass_words(s, s.interval + 8);
    s.holds.front() = choice.slack;
    return s;
  }

  void write_roles(const Choice& choice, const Setting& at, InstanceRoles& out) const override {
    const int pes = at.rect.w * at.rect.h;
    const auto add = [&](const std::string& suffix, int first, int count) {
      if (count < 1) return;
      Role role;
      role.name = at.name + suffix;
      role.what = fmt::format("{}: {}", at.name, choice.reason);
      std::vector<Coord> there;
      for (int i = 0; i < count; ++i) there.push_back(snake_at(at.rect, first + 2 * i));
      role.runs = runs_of(there);
      ModuleUse use{"slack.csl", "kernel", {}, {}};
      use.parameters = {{"n", number(choice.work.m)}, {"size", number((choice.slack + pes - 1) / pes)}};
      use.needs = {queue(false, "in", first == 0 ? at.in[0] : at.chain[(first - 1) % 2]),
                   queue(true, "out", first == pes - 1 ? at.out : at.chain[first % 2])};
      add_tasks(use, {"fill", "drain"});
      role.modules.push_back(use);
      out.roles.push_back(role);
    };
    add("", 0, 1);
    add("_odd", 1, (pes - 1) / 2);
    add("_even", 2, (pes - 2) / 2);
    if (pes > 1) add("_last", pes - 1, 1);
  }
};

}  // namespace

Coord snake_at(const Rect& r, int i) {
  const int x = i / r.h, down = i % r.h;
  return {r.x + x, r.y + (x % 2 == 0 ? down : r.h - 1 - down)};
}

Choice slack_choice(int64_t words, int64_t size) {
  Choice c;
  c.op = c.kernel = "slack";
  c.origin = Origin::handwritten;
  c.reason = fmt::format("holds {} words until the other operand is there", size);
  c.slack = size;
  c.work.kind = slack_kind();
  c.work.n = c.work.m = std::min(words, kMostWords);
  return c;
}

int64_t slack_words_per_pe(const Machine& machine) {
  return std::clamp<int64_t>((machine.core.memory_bytes - kCodeBytes) / 4, 1, kMostWords);
}

std::vector<Plan> slack_plans(const Choice& choice, int64_t words, const Machine& machine) {
  const int64_t per_pe = slack_words_per_pe(machine);
  const int least = int((choice.slack + per_pe - 1) / per_pe);
  std::vector<Plan> plans;
  const auto add = [&](int w, int h) {
    const int pes = w * h;
    Plan& p = plans.emplace_back();
    p.cut.w = w, p.cut.h = h;
    p.memory.users = {{"buffer", uint32_t(4 * ((choice.slack + pes - 1) / pes))}, {"code", uint32_t(kCodeBytes)}};
    p.memory.total = p.memory.users[0].second + p.memory.users[1].second;
    p.interval_cycles = double(words);
    p.latency_cycles = double(words) + 8 * pes;
  };
  add(least, 1);
  for (int w = 1; least > kRow && w < least; w += 2)
    if (const int h = (least + w - 1) / w; w * h <= least * kMostWaste) add(w, h);
  return plans;
}

const Kind* slack_kind() {
  static const Slack kind;
  return &kind;
}

}  // namespace cs::kernels
