// See row_streams.h.
#include "compiler/kernels/row_streams.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/kernels/role_parts.h"

namespace cs::kernels {

namespace {

Need task(const std::string& name) { return {Resource::local_task, name, -1, -1}; }

Role column(const Choice& choice, const Setting& at, const std::string& what, int x) {
  Role role;
  role.name = fmt::format("{}_{}", at.name, what);
  role.what = fmt::format("{}: {} of each of {} rows", choice.title, what, at.rect.h);
  role.runs = {{x, at.rect.y, 1, 1, at.rect.h}};
  return role;
}

void add_stream(const Setting& at, Role& role, const char* file, const char* data, size_t i, int words,
                int in, int out) {
  const std::string name = fmt::format("{}{}", data, i);
  role.buffers.push_back({name, words, false, at.name + "_" + name, "", "i32"});
  ModuleUse use{file, fmt::format("stream{}", i), {{data, "&" + name}}, {}};
  use.needs = {queue(false, "in", in), queue(true, "out", out), task("next")};
  role.modules.push_back(use);
}

// Begins behind another stream, and tells the next one.
void add_gated(int color, ModuleUse& use) {
  use.parameters.push_back({"gated", flag(true)});
  use.needs.push_back(queue(false, "before", color));
}
void add_gates(const Setting& at, int k, ModuleUse& use) {
  const auto turn = std::ranges::find(at.operand_turns, k);
  if (turn == at.operand_turns.end()) return;
  const size_t place = size_t(turn - at.operand_turns.begin());
  if (place < at.gates.size()) {
    use.parameters.push_back({"gates", flag(true)});
    use.needs.push_back(queue(true, "after", at.gates[place]));
  }
  if (place > 0) return add_gated(at.gates[place - 1], use);
  if (at.gates.size() < at.operand_turns.size()) return;
  add_gated(at.gates.back(), use);
  use.parameters.push_back({"ahead", "1"});
}

}  // namespace

Role row_feeders(const Choice& choice, const Setting& at, int k, int words, int64_t kept) {
  Role feeder = column(choice, at, k > 0 ? fmt::format("feeder{}", k) : "feeder", at.rect.x - 1 - k);
  add_stream(at, feeder, kept > 0 ? "block_feeder.csl" : "row_feeder.csl", "walk", size_t(k), words,
             at.arriving[size_t(k)], at.in[size_t(k)]);
  ModuleUse& use = feeder.modules.back();
  use.needs.push_back(task("start"));
  if (kept == 0) add_gates(at, k, use);
  if (kept > 0) {
    use.needs.push_back(task("sent"));
    use.parameters.push_back({"kept", number(kept)});
  }
  return feeder;
}

Role row_collectors(const Choice& choice, const Setting& at, const std::vector<int>& words) {
  Role collector = column(choice, at, "collector", at.rect.x + at.rect.w);
  for (size_t j = 0; j < words.size(); ++j) {
    add_stream(at, collector, "row_collector.csl", "turns", j, words[j], at.gathered[j], at.leaving[j]);
    collector.modules.back().parameters.push_back({"thread", std::to_string(j)});
    collector.modules.back().parameters.push_back({"alone", flag(words.size() == 1)});
    if (at.gates.empty() || at.gates.size() < at.operand_turns.size()) continue;
    ModuleUse& use = collector.modules.back();
    add_gated(at.gates[at.operand_turns.size() - 1], use);
    use.needs.push_back(queue(true, "after", at.gates.back()));
  }
  return collector;
}

Role block_collectors(const Choice& choice, const Setting& at, int words, int64_t kept, bool several_turns) {
  Role collector = column(choice, at, "collector", at.rect.x + at.rect.w);
  add_stream(at, collector, "block_collector.csl", "turns", 0, words, at.gathered[0], at.leaving[0]);
  collector.modules.back().parameters.push_back({"kept", number(kept)});
  if (several_turns) collector.modules.back().parameters.push_back({"several", flag(true)});
  return collector;
}

}  // namespace cs::kernels
