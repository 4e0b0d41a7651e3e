// Who waits for whom when nothing can happen any more.
//
//   1. collect what waits: operations (for wavelets or room), launches that found no ready command stream,
//   host
//      inputs that could not enter
//   2. an operation that waits for room follows its color downstream, over full lanes, to the PE whose queue
//   is full;
//      one that waits for wavelets follows its color upstream to the PEs that could send them
//   3. from PE to PE that is a graph; a cycle in it is the deadlock, else the chains are printed from the
//   lowest PE on

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "simulator/engine/engine_impl.h"
#include "simulator/engine/together_messages.h"
#include "simulator/engine/waiting.h"

namespace cs::sim {
namespace {

constexpr size_t kMaxLines = 12;
constexpr size_t kMaxSteps = 4096;  // of a route that is followed

class Report {
 public:
  explicit Report(const Engine::Impl& m) : m_(m), grid_(m.grid), world_(m.world) {}

  std::string text() {
    for (const auto& b : grid_.blocks)
      if (b) {
        for (const auto& p : b->pes)
          if (p) collect(*b, *p);
        for (const PortState& p : b->ports)
          if (p.program_port < 0) add_stream(*b, p);
      }
    std::stable_sort(waiters_.begin(), waiters_.end(),
                     [](const Waiter& a, const Waiter& b) { return key(a.pe) < key(b.pe); });
    std::string out = fmt::format("nothing can happen after cycle {}\n", m_.now == 0 ? 0 : m_.now - 1);
    const std::vector<Coord> cycle = find_cycle();
    if (!cycle.empty()) out += circle(cycle);
    add_ports();
    std::set<Key> first;
    for (Coord c : cycle) first.insert(key(c));
    const std::vector<Alike> groups = alike(waiters_, first);
    size_t others = 0;
    for (size_t i = 0; i < groups.size(); ++i) {
      if (i < kMaxLines)
        out += "  " + groups[i].first->text + others_like(groups[i]) + "\n";
      else
        others += groups[i].count;
    }
    if (others > 0) out += fmt::format("  and {} more\n", others);
    return out;
  }

 private:
  void collect(const Block& b, const Pe& p) {
    for (uint32_t rest = p.active; rest != 0; rest &= rest - 1) {
      int thread = std::countr_zero(rest);
      waiters_.push_back(operation(b, p, *p.ops[size_t(thread)], thread));
    }
    if (p.next_command < p.commands.size())
      waiters_.push_back(
          {p.at,
           fmt::format("{}: {} launched function{} wait{} ('{}' first); the command stream is {}",
                       pe_name(p.at), p.commands.size() - p.next_command,
                       p.commands.size() - p.next_command == 1 ? "" : "s",
                       p.commands.size() - p.next_command == 1 ? "s" : "",
                       world_.launches[p.commands[p.next_command]].name,
                       p.command_ready ? "ready" : "not given back by the function before"),
           {}});
    else if (!p.command_ready && p.active != 0)
      waiters_.back().text += fmt::format("; the command stream is taken by{} until then", launched_name(p));
    else if (!p.command_ready)
      waiters_.push_back({p.at,
                          fmt::format("{}: the launched function{} never gave the command stream back "
                                      "(unblock_cmd_stream), and nothing runs that could",
                                      pe_name(p.at), launched_name(p)),
                          {}});
  }

  std::string launched_name(const Pe& p) const {
    if (p.launched < 0) return "";
    return fmt::format(" '{}'", p.tile->program->functions[size_t(p.launched)].name);
  }

  Waiter operation(const Block& b, const Pe& p, const VectorOp& op, int thread) {
    Waiter w{p.at, {}, {}};
    std::string where = p.tile->program->where(op.inst);
    std::string head =
        fmt::format("{}: {}{}{}, {} of {} elements done, ", pe_name(p.at), thread_name(p, thread),
                    where.empty() ? "" : " at ", where, op.done, op.total);
    if (thread < kMainThread && (p.threads_blocked >> thread & 1)) {
      w.text = head + "is blocked";
    } else if (op.waits_fifo >= 0) {
      const FifoBinding& f = p.tile->program->fifos[size_t(op.waits_fifo)];
      w.text = head + fmt::format("waits for {} a FIFO ({} of {} bytes are filled)",
                                  op.why == Stall::output ? "room in" : "an element of",
                                  p.fifos[size_t(op.waits_fifo)].fill, f.bytes);
    } else if (op.why == Stall::output) {
      int color = op.dst.color;
      std::string end;
      w.on = downstream(p.at, color, end);
      const Lane& l = b.lanes[op.dst.lane()];
      w.text = head + fmt::format("waits for room on color {} ({} wavelets wait at its router); {}", color,
                                  l.count, end);
    } else {
      const InputQueue& q = p.inputs[awaited(p, op).queue];
      w.on = upstream(p.at, q.color);
      w.text =
          head + fmt::format("waits for wavelets of color {}{} ({} of {} words)", q.color,
                             q.id == 0xFF ? "" : fmt::format(" on input queue {}", q.id), q.count, q.depth);
      w.text += could_send(w.on);
    }
    return w;
  }

  // The PEs that a receiver waits for, and what has become of what they ran.
  std::string could_send(const std::vector<Coord>& senders) const {
    if (senders.empty()) return "; no PE has a route that sends there";
    constexpr size_t kShown = 3;
    std::string out = ";";
    for (size_t i = 0; i < std::min(senders.size(), kShown); ++i) out += (i ? ", " : " ") + pe_name(senders[i]);
    if (senders.size() > kShown) out += fmt::format(" and {} more", senders.size() - kShown);
    out += " could send it";
    const bool busy = std::any_of(senders.begin(), senders.end(), [&](Coord c) {
      const Block* b = grid_.block_at(c);
      const Pe* p = b ? b->find_pe(b->index_of(c)) : nullptr;
      return p != nullptr && (p->active != 0 || p->running);
    });
    if (busy) return out;
    return out + (senders.size() == 1 ? ", but has nothing more to do" : ", but none has anything more to do");
  }

  const ColorNode* node_at(Coord c, int color, const Block*& b) const {
    b = grid_.block_at(c);
    return b ? b->find_node(b->index_of(c), color) : nullptr;
  }

  // Follows full lanes to what blocks them; `end` says what it is.
  std::vector<Coord> downstream(Coord from, int color, std::string& end) const {
    static constexpr const char* kNames[] = {"EAST", "WEST", "SOUTH", "NORTH", "RAMP"};
    Coord c = from;
    Port in = Port::ramp;
    for (size_t step = 0; step < kMaxSteps; ++step) {
      const Block* b = nullptr;
      const ColorNode* n = node_at(c, color, b);
      if (n == nullptr || b->lane_of(*n, in) == ~0u) {
        end = fmt::format("{} has no route for it from {}", pe_name(c), kNames[int(in)]);
        return {c};
      }
      if (!(n->rx & port_bit(in))) {
        end = fmt::format("the switch at {} is in position {}, which does not accept {}", pe_name(c),
                          n->position, kNames[int(in)]);
        return upstream(c, color);
      }
      if (n->teardown) {
        end = pe_name(c) + " has the color in teardown";
        return {c};
      }
      if (n->tx & port_bit(Port::ramp)) {
        const Pe* p = b->find_pe(n->pe);
        if (p && n->queue != 0xFF && p->inputs[n->queue].full()) {
          const InputQueue& q = p->inputs[n->queue];
          end = fmt::format("input queue{} of {} is full ({} words) and {}",
                            q.id == 0xFF ? "" : fmt::format(" {}", q.id), pe_name(c), q.count,
                            q.readers ? "its reader waits too" : "nothing reads it");
          return {c};
        }
      }
      int out = -1;
      for (int p = 0; p < 4 && out < 0; ++p)
        if ((n->tx & port_bit(Port(p))) && full(c, *n, p)) out = p;
      if (out < 0) {
        end = fmt::format("it stands at {}", pe_name(c));
        return {c};
      }
      Coord next = neighbour(c, Port(out));
      if (grid_.block_at(next) == nullptr) {
        end = fmt::format("{} sends it off the fabric to the {}", pe_name(c), kNames[out]);
        return {};
      }
      c = next;
      in = opposite(Port(out));
    }
    end = "its route has no end";
    return {};
  }

  bool full(Coord c, const ColorNode& n, int out) const {
    Coord next = neighbour(c, Port(out));
    const Block* b = nullptr;
    const ColorNode* t = node_at(next, n.color, b);
    if (t == nullptr) return ref_kind(n.down[size_t(out)]) == RefKind::none;
    uint32_t lane = b->lane_of(*t, opposite(Port(out)));
    return lane == ~0u || b->lanes[lane].count >= b->lanes[lane].capacity;
  }

  // PEs that can inject into the color's route towards `at`.
  std::vector<Coord> upstream(Coord at, int color) const {
    std::vector<Coord> sources, stack{at};
    std::set<Key> seen;
    while (!stack.empty() && seen.size() < kMaxSteps) {
      Coord c = stack.back();
      stack.pop_back();
      if (!seen.insert(key(c)).second) continue;
      const Block* b = nullptr;
      const ColorNode* n = node_at(c, color, b);
      if (n == nullptr) continue;
      for (PortSet rest = n->inputs; rest != 0; rest &= PortSet(rest - 1)) {
        Port p = Port(std::countr_zero(rest));
        if (p == Port::ramp) {
          if (!(c == at)) sources.push_back(c);
        } else {
          stack.push_back(neighbour(c, p));
        }
      }
    }
    std::sort(sources.begin(), sources.end(), [](Coord a, Coord b) { return key(a) < key(b); });
    return sources;
  }

  std::vector<Coord> find_cycle() const {
    std::map<Key, std::vector<Key>> edges;
    for (const Waiter& w : waiters_)
      for (Coord c : w.on) edges[key(w.pe)].push_back(key(c));
    std::map<Key, int> state;  // 1 on the path, 2 done
    std::vector<Key> path;
    for (const auto& [start, unused] : edges) {
      if (state[start] != 0) continue;
      std::vector<std::pair<Key, size_t>> stack{{start, 0}};
      state[start] = 1;
      path = {start};
      while (!stack.empty()) {
        Key at = stack.back().first;
        auto found = edges.find(at);
        if (found == edges.end() || stack.back().second == found->second.size()) {
          state[at] = 2;
          stack.pop_back();
          path.pop_back();
          continue;
        }
        Key to = found->second[stack.back().second++];
        if (state[to] == 1) {
          std::vector<Coord> cycle;
          for (auto i = std::find(path.begin(), path.end(), to); i != path.end(); ++i)
            cycle.push_back({i->second, i->first});
          return cycle;
        }
        if (state[to] == 2) continue;
        state[to] = 1;
        stack.push_back({to, 0});
        path.push_back(to);
      }
    }
    return {};
  }

  void add_ports() {
    for (const PortHome& home : m_.ports) {
      if (home.block == nullptr) continue;
      const PortState& p = home.block->ports[home.index];
      size_t left = 0;
      for (size_t i = p.chunk; i < p.chunks.size(); ++i) left += p.chunks[i].data.size();
      left -= std::min(left, p.offset);
      if (!p.input || left == 0) continue;
      const HostPort& port = world_.program.ports[size_t(p.program_port)];
      Coord at = home.block->coord_of(home.block->nodes[home.block->lanes[p.lane].node].pe);
      std::string end;
      waiters_.push_back({at,
                          fmt::format("host input '{}': {} wavelets of color {} cannot enter at {}",
                                      port.name, left, port.color, pe_name(at)),
                          {}});
    }
  }

  // What the host has asked for and the PE has not taken or sent.
  void add_stream(const Block& b, const PortState& p) {
    size_t left = p.input ? 0 : p.limit - p.received.size(), all = p.limit;
    for (size_t i = p.chunk; p.input && i < p.chunks.size(); ++i) left += p.chunks[i].data.size();
    if (p.input) left -= std::min(left, p.offset), all = left + p.entered.size();
    if (left == 0) return;
    const ColorNode& n = b.nodes[p.input ? b.lanes[p.lane].node : p.lane];
    const Coord at = b.coord_of(n.pe);
    waiters_.push_back({at,
                        fmt::format("{}: host stream on color {}: {} of {} wavelets have {}", pe_name(at), n.color,
                                    all - left, all,
                                    p.input ? "entered, the rest find no room" : "left, the host waits for the rest"),
                        {}});
  }

  const Engine::Impl& m_;
  const Grid& grid_;
  const World& world_;
  std::vector<Waiter> waiters_;
};

}  // namespace

bool Engine::blocked() const {
  if (leads() && impl_->together->others().blocked) return true;
  if (impl_->stream_words_pending() != 0) return true;
  for (const PortHome& home : impl_->ports) {
    if (home.block == nullptr || !impl_->grid.owns(*home.block)) continue;
    const PortState& p = home.block->ports[home.index];
    for (size_t i = p.chunk; p.input && i < p.chunks.size(); ++i)
      if (i > p.chunk || p.offset < p.chunks[i].data.size()) return true;
  }
  for (const auto& b : impl_->grid.own()) {
    if (!b) continue;
    if (b->commands_waiting + b->streams_not_ready != 0) return true;
    for (const auto& p : b->pes)
      if (p && p->active != 0) return true;
  }
  return false;
}

std::string Engine::deadlock_report() const {
  return leads() ? impl_->together->whole().deadlock_report() : Report(*impl_).text();
}

std::vector<PrintLine> own_leftovers(const Engine::Impl& m) {
  static constexpr const char* kNames[] = {"EAST", "WEST", "SOUTH", "NORTH", "RAMP"};
  std::vector<PrintLine> found;
  for (const auto& b : m.grid.own()) {
    if (!b) continue;
    for (const Lane& l : b->lanes)
      if (l.count != 0) {
        Coord c = b->coord_of(b->nodes[l.node].pe);
        found.push_back({0, c, fmt::format("{}: color {} from {}: {} wavelet{}", pe_name(c), l.color,
                                           kNames[int(l.port)], l.count, l.count == 1 ? "" : "s")});
      }
    for (const auto& p : b->pes) {
      if (!p) continue;
      for (const InputQueue& q : p->inputs)
        if (q.count != 0)
          found.push_back({0, p->at,
                           fmt::format("{}: input queue{}, color {}: {} wavelet{}", pe_name(p->at),
                                       q.id == 0xFF ? "" : fmt::format(" {}", q.id), q.color, q.count,
                                       q.count == 1 ? "" : "s")});
    }
  }
  return found;
}

std::vector<std::string> Engine::leftovers() const {
  std::vector<PrintLine> found = own_leftovers(*impl_);
  if (leads())
    for (auto& more : impl_->together->ask_all<std::vector<PrintLine>>(Asked::leftovers))
      std::move(more.begin(), more.end(), std::back_inserter(found));
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return key(a.pe) < key(b.pe); });
  std::vector<std::string> lines;
  for (PrintLine& l : found) lines.push_back(std::move(l.text));
  return lines;
}

}  // namespace cs::sim
