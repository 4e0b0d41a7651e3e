// Scans: running sums along lines, cut over a row of PEs that hand a carry on (scan.csl). Forward sums pass
// in rounds of parts, of which PEs have two at a time, however long the lines are; backward sums need all of
// a line on the PEs.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "compiler/kernels/match_parts.h"
#include "compiler/kernels/role_parts.h"

namespace cs::kernels {

namespace {

// Of the elements of a stretch's step: as many sums at least are between one of an element and the next of
// it.
constexpr int64_t kApart = 8;
// Rows of PEs that send late have at least so many, else the first one would wait for its own part.
constexpr int kLateWidth = 4;
// Of a part, beside its words: its task and the starts of its instructions, what each stretch takes, and of a
// whole number the two loops that it goes through. A word is summed and gets its carry, one and two at a time
// as banks allow.
constexpr double kPartCycles = 300, kStretchCycles = 15, kNumberCycles = 32, kWordCycles = 1.1;
// Starts of instructions beside which nothing arrives.
constexpr double kStartCycles = 62;
// Of a feeder: a part, and a round; and what the first PE holds it up that sends while it takes.
constexpr double kFedPart = 3.5, kFedRound = 40, kLateCycles = 160;
// From the carry of one PE to that of the next, beside its words.
constexpr double kCarryCycles = 15;
// Words of a part that are tried.
constexpr int64_t kParts[] = {64, 128, 256, 512, 1024, 2048, 4096};
constexpr int kMostParts = 0xffff;

bool is_late(const Scan& s, const Cut& cut) {
  return !s.reverse && cut.w >= kLateWidth && s.lines * cut.rounds > 1 && cut.n_last > 1;
}

// So many PEs, each with so many parts of every line.
std::optional<Cut> cut_scan(const Scan& s, int w, int64_t rounds) {
  const int64_t parts = w * rounds;
  if (w < 1 || rounds < 1 || parts > s.steps || s.lines * rounds > kMostParts || (s.reverse && rounds > 1))
    return std::nullopt;
  const int64_t longest = ceil_div(s.steps, parts), needed = longest + (s.exclusive ? 1 : 0);
  const int64_t groups = s.integer ? 1 : std::min(needed, ceil_div(kApart, s.inner));
  // Stretches of an odd number of words begin in both halves of eight bytes.
  int64_t steps = ceil_div(needed, groups);
  if (groups > 1 && steps % 2 == 0) ++steps;
  if (groups * steps * s.inner > kMostInSlice) return std::nullopt;
  Cut cut;
  cut.w = w;
  cut.rounds = int(rounds);
  cut.n_slice = cut.m_slice = int(longest * s.inner);
  cut.n_last = cut.m_last = int(s.steps / parts * s.inner);
  cut.groups = int(groups);
  cut.steps = int(steps);
  return cut;
}

int64_t room(const Scan& s, const Cut& cut) { return int64_t(cut.groups) * cut.steps * s.inner; }

// Parts of a line that are longer than the others: these come first.
int64_t long_parts(const Scan& s, const Cut& cut) {
  const int64_t parts = int64_t(cut.w) * cut.rounds, longer = s.steps % parts;
  return longer == 0 ? parts : longer;
}
int64_t long_rounds(const Scan& s, const Cut& cut, int column) {
  return std::clamp<int64_t>(ceil_div(long_parts(s, cut) - column, cut.w), 0, cut.rounds);
}

class Scans final : public Kind {
 public:
  std::string_view name() const override { return "scan"; }

  std::span<const Row> library() const override {
    static const Row list[] = {
        {"scan", "scan.csl", this, {"cum_sum"}, "running sums, cut over a row of PEs that hand a carry on"}};
    return list;
  }

  // ---- match

  bool takes(const graph::Graph& g, graph::NodeId id) const override { return g.node(id).op == "cum_sum"; }
  bool reads_numbers() const override { return true; }
  bool makes_numbers() const override { return true; }

  std::optional<Work> match(const graph::Graph& g, graph::NodeId id, std::string& why) const override {
    const graph::Node& node = g.node(id);
    const ops::TensorType& x = operand(g, node, 0).type;
    const int rank = x.rank();
    int64_t axis = ops::attr_int(g.op(id), node.attrs, "axis");
    if (axis < 0) axis += rank;
    if (operand(g, node, 0).is_constant() || rank == 0 || axis < 0 || axis >= rank) {
      why = "the library's scan takes a stream and one of its dimensions";
      return std::nullopt;
    }
    Scan s;
    s.integer = !data_type_is_float(x.dtype);
    if (s.integer && x.dtype != DataType::i32 && x.dtype != DataType::i64) {
      why = fmt::format("the library's scan adds f32, 16-bit floats, i32 and i64, not {}", ops::type_text(x));
      return std::nullopt;
    }
    for (int d = 0; d < rank; ++d) (d < axis ? s.lines : d == axis ? s.steps : s.inner) *= x.shape[size_t(d)];
    s.exclusive = ops::attr_int(g.op(id), node.attrs, "exclusive") != 0;
    s.reverse = ops::attr_int(g.op(id), node.attrs, "reverse") != 0;
    Work work;
    work.kind = this;
    work.n = work.m = x.elements();
    work.scan = s;
    return work;
  }

  // Streams may be in 16 bits, or of whole numbers.
  const Row* choose(const graph::Graph& g, graph::NodeId id, std::string& why) const override {
    return work_of(g, id, why) ? &library()[0] : nullptr;
  }

  bool may_become_region() const override { return true; }
  std::string_view apart_from_reductions() const override {
    return "the scan's line is cut over PEs that hand a carry on, a reduction's over PEs that hand on "
           "partial results; one "
           "kernel of both is a region, whose PEs hand nothing on";
  }

  // ---- footprints

  bool rounds() const override { return true; }
  bool same_slices() const override { return true; }

  Footprint footprint(const Work& work, const Cut& cut) const override {
    Footprint f = Kind::footprint(work, cut);
    f.partial_sums = cut.w > 1;
    f.sums_west = work.scan.reverse;
    f.sums_back = cut.w > 1 && cut.rounds > 1;
    return f;
  }
  int64_t turns(const Choice& choice, const Cut& cut, int) const override {
    return choice.work.scan.lines * cut.rounds * cut.w;
  }

  std::optional<std::vector<Plan>> plans(const Choice& choice, const Extent& limit, const Extent& forced,
                                         const Costing& by) const override {
    const Scan& s = choice.work.scan;
    std::vector<int> widths;
    if (forced.width > 0) {
      if (forced.height <= 1) widths.push_back(forced.width);
    } else {
      for (int w = 1; w <= limit.width - 2; w = w % 3 == 0 ? w / 3 * 4 : w % 2 == 0 ? w / 2 * 3 : w + 1)
        widths.push_back(w);
    }
    std::vector<Plan> list;
    for (const int w : widths) {
      int64_t before = 0;
      for (auto words = std::rbegin(kParts); words != std::rend(kParts); ++words) {
        const int64_t rounds = s.reverse ? 1 : std::max<int64_t>(1, ceil_div(s.steps * s.inner, w * *words));
        if (rounds == before) continue;
        before = rounds;
        if (const auto cut = cut_scan(s, w, rounds)) list.push_back(plan(choice.work, *cut, by.machine));
      }
    }
    return list;
  }
  // Formulas count the rounds, of which a walk sees one.
  Plan plan_by_walk(const Choice& choice, const Cut& cut, const PeRound&, const Costing& by) const override {
    return plan(choice.work, cut, by.machine);
  }

  // A round of parts is on the PEs, another one arrives. Late ones leave when that has begun.
  Skew skew(const Choice& choice, const Plan& plan, const Layout*) const override {
    const Scan& s = choice.work.scan;
    Skew skew = whole_samples(choice, plan, 1);
    const int64_t rounds = s.lines * plan.cut.rounds;
    if (rounds < 2) return skew;
    take_in_parts(skew, rounds, 2, plan.latency_cycles);
    if (is_late(s, plan.cut)) skew.first.front() = std::min(skew.words.front(), skew.first.front() + 1);
    return skew;
  }

  // ---- costs of streamed operands

  double words_kept(const Work&, const Cut& cut) const override { return cut.n_slice; }

  void add_memory(const Work& work, const Cut& cut, Memory& memory) const override {
    add_user(memory, "parts of lines", 8 * std::max(room(work.scan, cut), int64_t(cut.n_slice)));
    add_user(memory, "carries", reserved(work.scan));
  }

  std::optional<Handed> handed(const Choice& choice, const Cut& cut) const override {
    const Scan& s = choice.work.scan;
    return Handed{reserved(s), 4 * s.inner * (2 + cut.groups)};
  }

  // ---- text

  void fill(const graph::Graph& g, const graph::Group& group, const Machine&, Choice& choice) const override {
    choice.row = &library()[0];
    choice.kernel = choice.row->name;
    choice.operands = {graph::source_of(g, g.node(group.nodes.front()).inputs[0])};
  }

  void write_roles(const Choice& choice, const Setting& at, InstanceRoles& out) const override {
    std::map<std::string, std::vector<int>> alike;
    for (int c = 0; c < at.cut.w; ++c) alike[role_name(choice.work.scan, at.cut, c)].push_back(c);
    for (const auto& [name, columns] : alike) {
      Role role;
      role.name = at.name + name;
      role.what = fmt::format("{}: {}", choice.title, sharding(choice.work, at.cut));
      std::vector<Coord> pes;
      for (const int c : columns) pes.push_back({at.rect.x + c, at.rect.y});
      role.runs = runs_of(pes);
      role.modules.push_back(module_of(choice, at, columns.front()));
      out.roles.push_back(std::move(role));
    }
  }

  Role feeder(const Choice& choice, const Setting& at, int k, Coord here) const override {
    const Scan& s = choice.work.scan;
    Role role = slice_feeder(choice, at, k, here);
    ModuleUse& use = role.modules.front();
    use.file = "scan_feeder.csl";
    const int64_t longer = long_parts(s, at.cut);
    use.parameters = {{"pes", number(at.cut.w)},
                      {"n", number(at.cut.n_slice)},
                      {"short_n", number(at.cut.n_last)},
                      {"rounds", number(at.cut.rounds)},
                      {"long_parts", number(longer % at.cut.w)},
                      {"long_rounds", number(longer / at.cut.w)}};
    return role;
  }

  std::string sharding(const Work& work, const Cut& cut) const override {
    const Scan& s = work.scan;
    return fmt::format("{} of {} steps of {} on {} PEs, in {} of at most {} words each",
                       s.lines == 1 ? "a line" : fmt::format("{} lines", s.lines), s.steps, s.inner, cut.w,
                       cut.rounds == 1 ? "one part" : fmt::format("{} parts", cut.rounds), cut.n_slice);
  }

  // ---- bound

  int64_t flops(const Work& work) const override { return work.n - work.scan.lines * work.scan.inner; }

 private:
  // Whatever the cut will be: a carry, the sum of a part, and what stretches begin with.
  static int64_t reserved(const Scan& s) {
    const int64_t stretches = s.integer ? s.inner : ceil_div(kApart, s.inner) * s.inner;
    return 4 * (2 * s.inner + stretches);
  }

  // Of the words of a part, and of what comes to them.
  struct Part {
    double words = 0, starts = 0;
  };
  static Part part_cycles(const Scan& s, const Cut& cut, const Machine& m) {
    const auto words = double(room(s, cut));
    if (s.integer) return {kNumberCycles * words, m.core.task_start_cycles + kStartCycles};
    // Whether a step and the one before it begin in one bank.
    const int64_t apart = 4 * s.inner / m.core.bank_bytes % m.core.bank_conflict_modulo;
    const double conflict = apart == 0 ? m.core.bank_conflict_factor - 1 : 0;
    return {(kWordCycles + conflict) * words,
            m.core.task_start_cycles + kPartCycles + kStretchCycles * cut.groups};
  }

  static Plan plan(const Work& work, const Cut& cut, const Machine& m) {
    const Scan& s = work.scan;
    Plan plan;
    plan.cut = cut;
    work.kind->add_memory(work, cut, plan.memory);
    add_user(plan.memory, "code", kCodeBytes);
    finish_memory(plan.memory);
    const double n = cut.n_slice, words = n * cut.w;
    const Part part = part_cycles(s, cut, m);
    // From the last word of a part to the first one that leaves; words arrive beside what are no vector
    // instructions.
    const double compute = part.words + part.starts;
    const double pe = std::max(compute + n, part.words + 2 * n + kStartCycles);
    const bool late = is_late(s, cut);
    double feed = cut.w > 1 ? words + kFedPart * cut.w + kFedRound : words;
    if (late) feed += n + kLateCycles;
    const double loop = cut.w > 1 && cut.rounds > 1 ? cut.w * (kCarryCycles + double(s.inner)) : 0;
    double round = std::max({feed, pe, loop});
    // Beyond what the first PE takes by itself, parts that come share links with those that leave; of late
    // ones this is so in the last round alone.
    const double shared = cut.w > 1 ? std::max(0.0, words - n - compute) : 0;
    if (!late) round += shared;
    plan.interval_cycles = double(s.lines) * cut.rounds * round + (late ? shared : 0);
    const double chain = kCarryCycles * (s.reverse ? cut.w : 1);
    plan.latency_cycles = plan.interval_cycles + compute + n + chain + (s.reverse ? words - shared : 0);
    return plan;
  }

  // PEs with equal names run the same program.
  static std::string role_name(const Scan& s, const Cut& cut, int column) {
    const Span one{column, 1, 1};
    const bool fewer = long_rounds(s, cut, column) < long_rounds(s, cut, 0);
    return column_name(column_place(one, cut)) + (fewer ? "_shorter" : "");
  }

  static ModuleUse module_of(const Choice& choice, const Setting& at, int c) {
    const Scan& s = choice.work.scan;
    const Cut& cut = at.cut;
    Place p = column_place({c, 1, 1}, cut);
    p.turn = p.first ? 0 : p.last ? cut.w - 1 : 1;
    p.turns = cut.w;
    const bool alone = cut.w == 1, around = cut.rounds > 1;
    const bool head = s.reverse ? p.last : p.first, tail = s.reverse ? p.first : p.last;
    const int64_t longer = long_rounds(s, cut, c);
    const int n = longer == 0 ? cut.n_last : cut.n_slice;
    ModuleUse use{"scan.csl", "kernel", {}, {}};
    use.parameters = {{"n", number(n)},
                      {"short_n", number(cut.n_last)},
                      {"inner", number(s.inner)},
                      {"groups", number(cut.groups)},
                      {"steps", number(cut.steps)},
                      {"rounds", number(cut.rounds)},
                      {"long_rounds", number(longer)},
                      {"parts", number(s.lines * cut.rounds)},
                      {"exclusive", flag(s.exclusive)},
                      {"reverse", flag(s.reverse)},
                      {"integer", flag(s.integer)},
                      {"half", flag(choice.work.half)},
                      {"head", flag(head)},
                      {"tail", flag(tail)},
                      {"alone", flag(alone)},
                      {"around", flag(around)},
                      {"late", flag(p.first && is_late(s, cut))},
                      {"send_control", flag(!alone)},
                      {"control", alone ? "0" : control(p)}};
    use.needs = {queue(false, "x", at.in[0]), queue(true, "y", at.out)};
    // The chain's colours are those of two neighbours, by the western one.
    const int west = at.chain[(c + 1) % 2], east = at.chain[c % 2];
    if (!alone && (!head || around))
      use.needs.push_back(queue(false, "before", head ? at.back : s.reverse ? east : west));
    if (!alone && (!tail || around))
      use.needs.push_back(queue(true, "behind", tail ? at.back : s.reverse ? west : east));
    add_tasks(use, {"compute", "start", "arrived"});
    return use;
  }

  static constexpr uint32_t kCodeBytes = 1800;
};

}  // namespace

const Kind* scan_kind() {
  static const Scans kind;
  return &kind;
}

}  // namespace cs::kernels
