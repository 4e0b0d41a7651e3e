// Walks over the tile programs of a Program, as text and as JSON.
#include "tools/cs-objdump/cycles.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <functional>
#include <numeric>
#include <set>

#include <fmt/format.h>

namespace cs::objdump {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kExact = 1e-6;  // of a quotient that is whole

Coord first_pe(const Program& p, uint32_t tile) {
  for (const TileRect& r : p.rects)
    if (r.tile == tile) return {r.rect.x, r.rect.y};
  return {};
}

std::string task_line(const csl::WalkedTask& t) {
  return fmt::format("    {:<48} {:6} x {:10.1f} cycles, datapath {:10.1f}\n", t.name.empty() ? "-" : t.name,
                     t.times, double(t.cycles) / double(std::max<uint64_t>(1, t.times)),
                     double(t.datapath) / double(std::max<uint64_t>(1, t.times)));
}

std::string total_line(const PeCycles& c) {
  const csl::Walked& w = c.walked;
  if (!w.ended) return "  given up\n";
  const std::string marks = w.guessed() ? " (?: with guesses)" : "";
  if (w.repeats)
    return fmt::format(
        "  {:.1f} cycles from one round to the next{}; of these {:.1f} of the datapath for what comes and "
        "goes beside "
        "the main thread\n",
        w.per_round(), marks, double(w.moved) / double(w.rounds));
  return fmt::format("  {} cycles from beginning to end{}\n", w.cycles, marks);
}

// Null if there are several; what mapping inserts implements no node.
const KernelRow* only_kernel(const Input& in) {
  const KernelRow* only = nullptr;
  if (!in.program.host) return nullptr;
  for (const KernelRow& k : in.program.host->kernels) {
    if (k.nodes.empty()) continue;
    if (only != nullptr || k.origin == Origin::host) return nullptr;
    only = &k;
  }
  return only;
}

// Words of a sample that the host sends in over this color; 0: none.
int64_t words_in(const Input& in, int color) {
  for (const HostPort& p : in.program.ports) {
    if (!p.input || p.color != color) continue;
    for (const HostStep& step : in.program.host->steps)
      if (step.kind == HostStep::Kind::send && step.port == p.name)
        if (const HostTensor* t = in.program.host->tensor(step.tensor))
          return std::accumulate(t->shape.begin(), t->shape.end(), int64_t(1), std::multiplies<>());
  }
  return 0;
}

}  // namespace

std::string walked_function(const TileProgram& tile, const CycleOptions& options) {
  if (!options.function.empty()) return tile.function(options.function) != nullptr ? options.function : "";
  return tile.activated.empty() && !tile.functions.empty() ? tile.functions.front().name : "";
}

PeCycles cycles_of_pe(const Input& in, Coord pe, const CycleOptions& options) {
  PeCycles out;
  out.pe = pe;
  out.tile = tile_at(in.program, pe);
  if (out.tile == nullptr) return out;
  csl::WalkOptions walk = csl::walk_options(in.program, *out.tile, pe, in.weights);
  walk.function = walked_function(*out.tile, options);
  walk.trips = options.trips;
  out.walked = csl::walk_tile(*out.tile, in.machine, walk);
  return out;
}

KernelCycles kernel_cycles(const Input& in, const CycleOptions& options) {
  KernelCycles out;
  const KernelRow* kernel = only_kernel(in);
  if (kernel == nullptr) return out;
  out.name = kernel->name;
  const bool one = kernel->rect.area() == 1;
  const std::vector<int64_t> pes = pes_of_tiles(in.program);
  double rounds = 1;
  for (size_t i = 0; i < in.program.tiles.size(); ++i) {
    const PeCycles c = cycles_of_pe(in, first_pe(in.program, uint32_t(i)), options);
    if (c.tile == nullptr || !c.walked.ended) continue;
    const bool relay = c.tile->name.find("_relay") != std::string::npos;
    out.per_sample = out.per_sample || (c.walked.repeats && !relay);
    if (!relay) out.alone = std::max(out.alone, c.walked.repeats ? c.walked.per_round() : double(c.walked.cycles));
    // Those who take all that the host sends say how many rounds a sample is. Several take parts that may overlap.
    const bool feeds = c.tile->name.find("_feeder") != std::string::npos;
    for (const auto& [color, words] : c.walked.received)
      if ((feeds || one) && c.walked.repeats && words > 0 && !relay)
        rounds = std::max(rounds, std::ceil(double(words_in(in, color)) * double(c.walked.rounds) /
                                                (double(words) * double(feeds ? pes[i] : 1)) -
                                            kExact));
  }
  if (out.per_sample) out.alone *= rounds;
  const auto expected = in.intervals.find(out.name);
  out.cycles = out.per_sample && expected != in.intervals.end() && expected->second > 0 ? expected->second : out.alone;
  return out;
}

namespace {

// Where an instruction's line begins: what it is reached by.
std::string heading(const TileProgram& t, uint32_t at) {
  std::string text;
  for (const TaskBinding& k : t.tasks)
    if (k.entry == at) text += fmt::format("{} task {} '{}':\n", task_kind_name(k.kind), k.id, k.name);
  for (const Function& f : t.functions)
    if (f.entry == at) text += fmt::format("fn {}:\n", f.name);
  return text;
}

// First instructions of blocks: what is jumped to, and what follows a jump.
std::set<uint32_t> blocks_of(const TileProgram& t) {
  std::set<uint32_t> first = {0};
  for (uint32_t i = 0; i < t.code.size(); ++i) {
    const isa::Row& row = isa::row(t.code[i].op);
    if (row.cost != isa::Cost::jump && t.code[i].op != isa::Op::yield) continue;
    first.insert(i + 1);
    for (size_t k = 0; k < row.form.size(); ++k)
      if (row.form[k] == 'L' || row.form[k] == 'F') first.insert(uint32_t(t.code[i].args[k].value));
  }
  return first;
}

// Cycles of the instructions [from, next block) in the window.
uint64_t block_cycles(const csl::Walked& w, const std::set<uint32_t>& blocks, uint32_t from) {
  const auto next = blocks.upper_bound(from);
  const size_t end = next == blocks.end() ? w.code.size() : std::min<size_t>(*next, w.code.size());
  uint64_t sum = 0;
  for (size_t i = from; i < end; ++i) sum += w.code[i].cycles;
  return sum;
}

}  // namespace

std::string cycles_text(const Input& in, const CycleOptions& options) {
  std::string text;
  for (size_t i = 0; i < in.program.tiles.size(); ++i) {
    const PeCycles c = cycles_of_pe(in, first_pe(in.program, uint32_t(i)), options);
    if (c.tile == nullptr) continue;
    text += fmt::format("tile program '{}', PE ({}, {})\n", c.tile->name, c.pe.x, c.pe.y) + total_line(c);
    for (const csl::WalkedTask& t : c.walked.tasks) text += task_line(t);
  }
  const KernelCycles kernel = kernel_cycles(in, options);
  if (kernel.cycles > 0)
    text += fmt::format("kernel '{}': {:.1f} cycles {}; its slowest PE alone {:.1f}\n", kernel.name, kernel.cycles,
                        kernel.per_sample ? "from one sample to the next" : "from its launch to its end",
                        kernel.alone);
  return text;
}

Json cycles_json(const Input& in, const CycleOptions& options) {
  Json tiles = Json::array();
  for (size_t i = 0; i < in.program.tiles.size(); ++i) {
    const PeCycles c = cycles_of_pe(in, first_pe(in.program, uint32_t(i)), options);
    if (c.tile == nullptr) continue;
    Json tasks = Json::array();
    for (const csl::WalkedTask& t : c.walked.tasks)
      tasks.push_back({{"name", t.name}, {"times", t.times}, {"cycles", t.cycles}, {"datapath", t.datapath}});
    tiles.push_back({{"tile", i},
                     {"name", c.tile->name},
                     {"pe", {c.pe.x, c.pe.y}},
                     {"repeats", c.walked.repeats},
                     {"ended", c.walked.ended},
                     {"guessed", c.walked.guessed()},
                     {"cycles", c.walked.cycles},
                     {"rounds", c.walked.rounds},
                     {"moved", c.walked.moved},
                     {"tasks", tasks}});
  }
  Json out = {{"tiles", tiles}, {"kernel", nullptr}};
  const KernelCycles kernel = kernel_cycles(in, options);
  if (kernel.cycles > 0)
    out["kernel"] = {{"name", kernel.name},
                     {"cycles", kernel.cycles},
                     {"alone", kernel.alone},
                     {"per_sample", kernel.per_sample}};
  return out;
}

std::string listing_text(const Input& in, Coord pe, const CycleOptions& options) {
  const PeCycles c = cycles_of_pe(in, pe, options);
  if (c.tile == nullptr) return fmt::format("PE ({}, {}) only routes\n", pe.x, pe.y);
  const TileProgram& t = *c.tile;
  const std::set<uint32_t> blocks = blocks_of(t);
  std::string text = fmt::format("PE ({}, {}), tile program '{}'\n", pe.x, pe.y, t.name) + total_line(c);
  for (const csl::WalkedTask& k : c.walked.tasks) text += task_line(k);
  text += "\n   times    cycles    block\n";
  for (uint32_t i = 0; i < t.code.size(); ++i) {
    text += heading(t, i);
    const csl::WalkedInstruction& w = c.walked.code[i];
    const uint64_t block = blocks.contains(i) ? block_cycles(c.walked, blocks, i) : 0;
    text += w.times == 0 ? std::string(18, ' ') : fmt::format("{:8} {:9}", w.times, w.cycles);
    text += block == 0 ? std::string(9, ' ') : fmt::format("{:9}", block);
    text += fmt::format(" {} {:4}: {}\n", w.marked ? '?' : ' ', i, isa::print(t.code[i]));
  }
  return text;
}

Json listing_json(const Input& in, Coord pe, const CycleOptions& options) {
  const PeCycles c = cycles_of_pe(in, pe, options);
  Json code = Json::array();
  for (size_t i = 0; c.tile != nullptr && i < c.tile->code.size(); ++i)
    code.push_back({{"text", isa::print(c.tile->code[i])},
                    {"times", c.walked.code[i].times},
                    {"cycles", c.walked.code[i].cycles},
                    {"guessed", c.walked.code[i].marked}});
  return {{"pe", {pe.x, pe.y}}, {"cycles", c.walked.cycles}, {"rounds", c.walked.rounds}, {"code", code}};
}

}  // namespace cs::objdump
