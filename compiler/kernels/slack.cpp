// Slack: a row of PEs that keep words of a stream until the other operand of its taker is there. Each passes
// on to the next one, over colours that alternate along the row; mapping inserts them.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/kernels/role_parts.h"

namespace cs::kernels {

namespace {

constexpr int64_t kCodeBytes = 1024;   // of slack.csl, with descriptors and what the PE keeps for itself
constexpr int64_t kMostWords = 16383;  // of one FIFO, and of one instruction, which count halves of words in 15 bits

class Slack final : public Kind {
 public:
  std::string_view name() const override { return "slack"; }
  bool passes_any() const override { return true; }

  Footprint footprint(const Work&, const Cut&) const override {
    Footprint f;
    f.in.resize(1);
    f.out.resize(1);
    f.partial_sums = true;  // words pass from column to column as they do
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
    const int w = at.rect.w;
    const auto add = [&](const std::string& suffix, int first, int count) {
      if (count < 1) return;
      Role role;
      role.name = at.name + suffix;
      role.what = fmt::format("{}: {}", at.name, choice.reason);
      role.runs = {{at.rect.x + first, at.rect.y, count, 2, 1}};
      ModuleUse use{"slack.csl", "kernel", {}, {}};
      use.parameters = {{"n", number(choice.work.m)}, {"size", number((choice.slack + w - 1) / w)}};
      use.needs = {queue(false, "in", first == 0 ? at.in[0] : at.chain[(first - 1) % 2]),
                   queue(true, "out", first == w - 1 ? at.out : at.chain[first % 2])};
      add_tasks(use, {"fill", "drain"});
      role.modules.push_back(use);
      out.roles.push_back(role);
    };
    add("", 0, 1);
    add("_odd", 1, (w - 1) / 2);
    add("_even", 2, (w - 2) / 2);
    if (w > 1) add("_last", w - 1, 1);
  }
};

}  // namespace

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

Plan slack_plan(const Choice& choice, int64_t words, const Machine& machine) {
  const int64_t per_pe = slack_words_per_pe(machine);
  Plan p;
  p.cut.w = int((choice.slack + per_pe - 1) / per_pe);
  p.memory.users = {{"buffer", uint32_t(4 * ((choice.slack + p.cut.w - 1) / p.cut.w))},
                    {"code", uint32_t(kCodeBytes)}};
  p.memory.total = p.memory.users[0].second + p.memory.users[1].second;
  p.interval_cycles = double(words);
  p.latency_cycles = double(words) + 8 * p.cut.w;
  return p;
}

const Kind* slack_kind() {
  static const Slack kind;
  return &kind;
}

}  // namespace cs::kernels
