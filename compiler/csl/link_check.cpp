// One role against the machine: do its ids, queues and colors exist, is nothing used twice, is nothing used
// that memcpy reserves. Messages name the task or color; positions are those of the tasks' functions, where
// there is one.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "compiler/csl/link.h"
#include "compiler/csl/warnings.h"
#include "runtime/isa/dsd.h"

namespace cs::csl::link {
namespace {

bool contains(const std::vector<int>& list, int value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

const char* kind_name(TaskKind kind) {
  return kind == TaskKind::data ? "data" : kind == TaskKind::control ? "control" : "local";
}

class RoleCheck {
 public:
  RoleCheck(const MirTile& tile, const Machine& machine, Diag& diag)
      : tile_(tile), m_(machine), diag_(diag) {}

  bool run() {
    for (const MirTask& task : tile_.tasks) check_task(task);
    for (const QueueBinding& q : tile_.queues) check_queue(q);
    check_shared_queues();
    for (const auto& [color, config] : tile_.routes) check_route(color, config);
    return ok_;
  }

 private:
  void fail(SourceLoc loc, std::string message, std::string help = {}) {
    ok_ = false;
    if (loc.valid())
      diag_.error(loc, std::move(message), std::move(help));
    else
      diag_.error_at(tile_.name, std::move(message), std::move(help));
  }

  void range(SourceLoc loc, const std::string& what, int id, int first, int last) {
    if (id < first || id > last)
      fail(loc,
           fmt::format("{} {} does not exist on {}: the ids are {} to {}", what, id, m_.name, first, last));
  }

  void check_task(const MirTask& task) {
    const MirFunction& f = tile_.functions[task.function];
    int id = task.id;
    bool clash = false;
    switch (task.kind) {
      case TaskKind::local:
        range(f.loc, "local task id", id, m_.task_ids.local_first, m_.task_ids.local_last);
        clash = contains(m_.memcpy.local_task_ids, id);
        break;
      case TaskKind::control:
        range(f.loc, "control task id", id, m_.task_ids.control_first, m_.task_ids.control_last);
        clash = contains(m_.memcpy.control_task_ids, id);
        break;
      case TaskKind::data:
        if (m_.queues.data_task_on_queue)
          range(f.loc, "input queue of a data task", id, 0, int(m_.queues.input_words.size()) - 1);
        else
          range(f.loc, "color of a data task", id, 0, m_.router.colors - 1);
        break;
    }
    if (clash && tile_.memcpy)
      fail(f.loc,
           fmt::format("{} task id {} of '{}' is reserved for memcpy", kind_name(task.kind), id, f.name),
           fmt::format("reserved are local {} and control {}", fmt::join(m_.memcpy.local_task_ids, ", "),
                       fmt::join(m_.memcpy.control_task_ids, ", ")));
    // One table of tasks for all kinds, unless the program asks for one of control tasks alone.
    const int table = task.kind == TaskKind::control && tile_.separate_control;
    auto [it, is_new] = tasks_.try_emplace({table, id}, &task);
    if (!is_new)
      fail(f.loc,
           fmt::format("'{}' is bound to {} task id {}, which {} task '{}' has already", f.name,
                       kind_name(task.kind), id, kind_name(it->second->kind),
                       tile_.functions[it->second->function].name),
           "give one of them another id");
  }

  SourceLoc loc_of(const QueueBinding& q) const {
    const size_t i = size_t(&q - tile_.queues.data());
    return i < tile_.queue_locs.size() ? tile_.queue_locs[i] : SourceLoc{};
  }

  void check_queue(const QueueBinding& q) {
    const char* name = q.output ? "output queue" : "input queue";
    const std::vector<int>& words = q.output ? m_.queues.output_words : m_.queues.input_words;
    range(loc_of(q), name, q.queue, 0, int(words.size()) - 1);
    range(loc_of(q), fmt::format("color of {} {}:", name, q.queue), q.color, 0, m_.router.colors - 1);
    auto [it, is_new] = queues_.try_emplace({q.output, q.queue}, q.color);
    if (!is_new && it->second != q.color)
      fail(loc_of(q),
           fmt::format("{} {} is initialised twice, with colors {} and {}", name, q.queue, it->second,
                       q.color),
           "use one queue for each color");
  }

  void check_shared_queues() {
    std::map<int, int> queue_of_color;
    for (const QueueBinding& q : tile_.queues) {
      if (q.output) continue;
      auto [it, is_new] = queue_of_color.try_emplace(q.color, q.queue);
      if (!is_new && it->second != q.queue)
        // Public programs park unused queues on one color that no route brings here.
        diag_.warning(loc_of(q),
                      named("color-on-two-queues",
                            fmt::format("color {} is bound to input queues {} and {}; its wavelets go to {}",
                                        q.color, it->second, q.queue, q.queue)),
                      "a color feeds one input queue");
    }
  }

  void check_route(int color, const RouteConfig& config) {
    if (color >= m_.router.colors)
      fail({}, fmt::format("color {} cannot be routed: the colors are 0 to {}", color, m_.router.colors - 1));
    bool switches = false;
    for (size_t p = 1; p < config.positions.size(); ++p) {
      switches |= config.positions[p].valid;
      if (config.positions[p].valid && int(p) >= m_.router.switch_positions)
        fail({}, fmt::format("color {} has a switch position {}; {} has {}, from 0", color, p, m_.name,
                             m_.router.switch_positions));
    }
    if (switches && !m_.router.switchable_colors.empty() && !contains(m_.router.switchable_colors, color))
      fail({}, fmt::format("color {} has switch positions, which {} allows only for {}", color, m_.name,
                           fmt::join(m_.router.switchable_colors, ", ")));
  }

  const MirTile& tile_;
  const Machine& m_;
  Diag& diag_;
  bool ok_ = true;
  std::map<std::pair<int, int>, const MirTask*> tasks_;
  std::map<std::pair<bool, int>, int> queues_;
};

}  // namespace

bool check_role(const MirTile& tile, const Machine& machine, Diag& diag) {
  return RoleCheck(tile, machine, diag).run();
}

void check_queues(State& state) {
  for (const Global& g : state.globals) {
    if (!g.live || !g.mir.is_dsd || g.mir.init.size() < size_t(isa::kDsdBytes)) continue;
    std::array<uint16_t, isa::kDsd4dBytes / 2> words{};
    for (size_t i = 0; i < g.mir.init.size() / 2 && i < words.size(); ++i)
      words[i] = uint16_t(g.mir.init[2 * i] | g.mir.init[2 * i + 1] << 8);
    const isa::Dsd d = isa::decode(words);
    const bool output = d.kind == isa::DsdKind::fabout;
    if (!d.is_fabric() || (output && !state.machine.queues.output_queue_per_color)) continue;
    const auto& queues = state.tile.queues;
    if (std::any_of(queues.begin(), queues.end(),
                    [&](const QueueBinding& q) { return q.output == output && q.queue == d.queue; }))
      continue;
    const char* name = output ? "output" : "input";
    state.diag.warning(
        g.mir.loc,
        named("queue-uninitialised",
              fmt::format("{} queue {} is used here but never initialised", name, d.queue)),
        fmt::format("@initialize_queue(@get_{}_queue({}), .{{ .color = … }}) in a comptime block", name,
                    d.queue));
  }
}

}  // namespace cs::csl::link
