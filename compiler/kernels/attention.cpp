// Attention on streams: softmax(scale Q Kᵀ + mask) V, no score of which leaves a PE (attention_row.csl). Keys
// and values of a head stay, a part on each column; queries are dealt out to the rows in blocks, each to all
// PEs of its row; maxima, sums and results pass from column to column.
//
// Operands are keys, values and queries: their feeders stand in this order to the west, and what goes to the
// first ones passes the last, whose part of a row is small.
//
// In numbers: `rows` heads of `row` elements; n of them in the keys of a head, m in its queries. Of a cut
// n_slice are keys of a column, m_slice queries of a block, `rounds` blocks of a head on each row.
#include <algorithm>
#include <numbers>
#include <set>

#include <fmt/format.h>

#include "compiler/autogen/vector_code.h"
#include "compiler/kernels/attention_cost.h"
#include "compiler/kernels/attention_mask.h"
#include "compiler/kernels/match_parts.h"
#include "compiler/kernels/role_parts.h"
#include "compiler/kernels/row_streams.h"

namespace cs::kernels {

namespace {

// Queries of a block that are tried; what comes from the west is slow where a PE computes with many.
constexpr int kBlocks[] = {2, 4, 8, 16, 32};
constexpr int kMostOfFloats = 16;  // where products are of f32
constexpr int kQueries = 2;        // which operand
constexpr uint32_t kWalkWords = 9, kTurnWords = 4, kPlaceWords = 3;

using attention::element_bytes, attention::keys, attention::queries;

class AttentionLayout final : public Layout {
 public:
  AttentionLayout(const Work& work, const Cut& cut) : work_(work), cut_(cut) {}
  // Of keys and values a column's part; queries are dealt out by feeders.
  StreamFilter filter(size_t operand, int x, int) const override {
    if (operand == kQueries || x < 0 || cut_.w == 1) return {};
    const int64_t n = x + 1 == cut_.w ? cut_.n_last : cut_.n_slice,
                  before = int64_t(x) * cut_.n_slice * work_.row;
    return {uint32_t((work_.n - before) % work_.n), uint32_t(n * work_.row), uint32_t(work_.n)};
  }

 private:
  const Work work_;
  const Cut cut_;
};

class Attention final : public Kind {
 public:
  std::string_view name() const override { return "attention"; }

  std::span<const Row> library() const override {
    static const Row list[] = {
        {"streamed_attention",
         "attention_row.csl",
         this,
         {"attention"},
         "softmax(Q Kᵀ) V on a rectangle that keeps keys and values, queries in blocks"}};
    return list;
  }

  // ---- match

  bool takes(const graph::Graph& g, graph::NodeId id) const override { return g.node(id).op == "attention"; }

  std::optional<Work> match(const graph::Graph& g, graph::NodeId id, std::string& why) const override {
    const graph::Node& node = g.node(id);
    const graph::Value &q = operand(g, node, 0), &k = operand(g, node, 1), &v = operand(g, node, 2);
    for (const graph::Value* value : {&q, &k, &v})
      if (!is_computed(g, *value) || value->is_constant()) why = "it takes streams of floats";
    if (std::set<graph::ValueId>{graph::source_of(g, node.inputs[0]), graph::source_of(g, node.inputs[1]),
                                 graph::source_of(g, node.inputs[2])}
            .size() < 3)
      why = "queries, keys and values are not three streams";
    Work work;
    work.kind = this;
    work.row = q.type.shape.back();
    const int64_t heads =
        q.type.elements() / std::max<int64_t>(1, q.type.shape[q.type.shape.size() - 2] * work.row);
    work.rows = heads;
    work.operands = 3;
    work.flops_per_element = 0;
    if (heads < 1 || work.row < 1 || v.type.shape.back() != work.row) why = "values are as long as keys";
    if (!why.empty()) return std::nullopt;
    work.m = q.type.elements() / heads;
    work.n = k.type.elements() / heads;
    if (work.n > autogen::kMostCounted)
      why = fmt::format("keys of a head have {} words, filters count {}", work.n, autogen::kMostCounted);
    const ops::Tensor* mask = mask_of(g, node);
    const double scale = ops::attr_real(g.op(id), node.attrs, "scale");
    // A largest score is that of the largest product.
    work.native = data_type_bytes(q.type.dtype) == 2 && k.type.dtype == q.type.dtype &&
                  v.type.dtype == q.type.dtype && scale > 0;
    if (mask != nullptr) {
      const std::optional<ScoreMask> what = read_score_mask(*mask, heads, queries(work), keys(work));
      if (!what) why = "its mask has another number of queries and keys";
      work.constants = what ? what->heads : 0;
      if (work.constants > 0 && !keeps_in_halves(*mask, scale)) work.native = false;
    } else if (has_mask(node)) {
      why = "its mask is no constant";
    }
    if (!why.empty()) return std::nullopt;
    return work;
  }

  // Streams may be in 16 bits.
  const Row* choose(const graph::Graph& g, graph::NodeId id, std::string& why) const override {
    return work_of(g, id, why) ? &library()[0] : nullptr;
  }

  // ---- footprints

  bool several_rows() const override { return true; }

  Footprint footprint(const Work& work, const Cut& cut) const override {
    Footprint f;
    f.in.assign(size_t(work.operands), {.distribution = Distribution::selected});
    f.by_rows = true;
    f.feeders = work.operands;
    f.collectors = 1;
    f.partial_sums = cut.w > 1;
    f.out = {{.distribution = Distribution::selected, .turns = true, .down = true}};
    return f;
  }
  int64_t operand_words(const Choice& choice, int k) const override {
    return choice.work.rows * (k == kQueries ? choice.work.m : choice.work.n);
  }
  int64_t turns(const Choice& choice, const Cut& cut, int) const override {
    return choice.work.rows * cut.h * cut.rounds;
  }

  std::optional<std::vector<Plan>> plans(const Choice& choice, const Extent& limit, const Extent& forced,
                                         const Costing& by) const override {
    const Work& work = choice.work;
    std::vector<Plan> list;
    for (const int block : kBlocks) {
      if (block > kMostOfFloats && !work.native) continue;
      if (block > kBlocks[0] && block / 2 >= queries(work)) continue;
      const int64_t blocks = ceil_div(queries(work), block);
      for (int64_t h = 1; h <= std::min<int64_t>(blocks, limit.height); ++h) {
        // A shorter block is the only one of its row.
        if (blocks % h != 0 || (queries(work) % block != 0 && h != blocks)) continue;
        for (const int w : extents(keys(work), limit.width - work.operands - 1)) {
          if (forced.width > 0 && (w != forced.width || h != std::max(1, forced.height))) continue;
          if (const auto p = attention::plan(work, cut_of(work, block, w, int(h)), by.machine)) list.push_back(*p);
        }
      }
    }
    return list;
  }
  Plan plan_by_walk(const Choice& choice, const Cut& cut, const PeRound&, const Costing& by) const override {
    return *attention::plan(choice.work, cut, by.machine);
  }

  // Keys and values come first, and stay for all blocks of a head. Blocks of queries wait on the PEs, and one
  // at the feeder of each row.
  Skew skew(const Choice& choice, const Plan& plan, const Layout*) const override {
    const Work& work = choice.work;
    Skew s = whole_samples(choice, plan, 1);
    const int64_t rounds = plan.cut.rounds;
    if (work.rows * rounds == 1) return s;
    const double from_last_word = plan.latency_cycles - 2 * double(work.n);
    take_in_parts(s, work.rows * rounds, plan.cut.waiting + 1, from_last_word, {rounds, rounds, 1});
    s.holds[kQueries] = std::min(s.holds[kQueries], s.words[kQueries]);
    for (const size_t o : {0, 1}) s.holds[o] = s.first[o];
    // The last column has its keys last, and joins what the others have computed before.
    s.until_first_of_stays = plan.interval_cycles / double(work.rows * rounds);
    return s;
  }

  // ---- costs of streamed operands

  void add_memory(const Work& work, const Cut& cut, Memory& memory) const override {
    const int64_t tile = work.row * cut.m_slice, scores = int64_t(cut.n_slice) * cut.m_slice;
    const int64_t element = element_bytes(work);
    add_user(memory, "keys and values", 2 * element * work.row * cut.n_slice);
    add_user(memory, "queries", element * (1 + cut.waiting) * tile);
    add_user(memory, "scores and powers", 4 * (4 * scores + 2) + (work.native ? 2 * scores : 0));
    if (work.constants > 0) add_user(memory, "first scores", score_bytes(work, cut));
    add_user(memory, "results", 8 * tile);
    add_user(memory, "maxima, sums and factors",
             4 * ((work.native ? 14 : 13) * cut.m_slice + kPlaceWords + 2));
  }

  // ---- text

  void fill(const graph::Graph& g, const graph::Group& group, const Machine&, Choice& choice) const override {
    const graph::Node& node = g.node(group.nodes.front());
    choice.row = &library()[0];
    choice.kernel = choice.row->name;
    choice.operands.clear();
    for (const size_t k : {1, 2, 0}) choice.operands.push_back(graph::source_of(g, node.inputs[k]));
    const double scale = ops::attr_real(g.op(group.nodes.front()), node.attrs, "scale");
    choice.scale = float(scale);
    choice.constants.clear();
    const ops::Tensor* mask = mask_of(g, node);
    if (mask == nullptr) return;
    const Work& work = choice.work;
    const ScoreMask what = *read_score_mask(*mask, work.rows, queries(work), keys(work));
    choice.hidden_behind = what.hidden_behind;
    if (what.heads == 0) return;
    const DataType type = work.native ? operand(g, node, 0).type.dtype : DataType::f32;
    const double factor = work.native ? 1 / scale : std::numbers::log2e;
    choice.constants.push_back({"bias", ConstantView(first_scores(*mask, what, factor, type)), work.native});
  }
  double constant_words(const Work& work) const override {
    return double(work.constants) * double(queries(work) * keys(work));
  }

  std::shared_ptr<const Layout> lay_out(const Choice& choice, const Cut& cut) const override {
    return std::make_shared<AttentionLayout>(choice.work, cut);
  }

  void write_roles(const Choice& choice, const Setting& at, InstanceRoles& out) const override {
    const int64_t block = at.cut.m_slice * choice.work.row;
    for (int k = 0; k < choice.work.operands; ++k)
      out.roles.push_back(row_feeders(choice, at, k, kWalkWords, k == kQueries ? block : 0));
    out.roles.push_back(block_collectors(choice, at, kTurnWords, block));
    const int h = at.cut.h, last = last_queries(choice.work, at.cut);
    const int full = last < at.cut.m_slice ? h - 1 : h;
    for (const Span& s : columns(at.cut)) {
      const Place p = column_place(s, at.cut);
      if (full > 0) role(choice, at, s, p, 0, full, at.cut.m_slice, out);
      if (full < h) role(choice, at, s, p, full, 1, last, out);
    }
  }

  std::vector<PackedPart> pack(const Choice& choice, const Cut& cut, const Layout*) const override {
    std::vector<PackedPart> list;
    const auto put = [&](const std::string& name, const Rect& rect, auto words_of) {
      const uint32_t bytes = uint32_t(4 * words_of(0).size());
      list.push_back({name, rect, bytes, [words_of](size_t pe, std::vector<uint32_t>& words) {
                        const std::vector<uint32_t> here = words_of(int(pe));
                        words.insert(words.end(), here.begin(), here.end());
                      }});
    };
    const Work work = choice.work;
    const auto whole = [words = uint32_t(work.n)](int) {
      return std::vector<uint32_t>{0, words, 0, 1, 0, 1, 0, 1, 0};
    };
    put("walk0", {-1, 0, 1, cut.h}, whole);
    put("walk1", {-2, 0, 1, cut.h}, whole);
    put("walk2", {-1 - kQueries, 0, 1, cut.h}, [work, cut](int y) { return walk_of_queries(work, cut, y); });
    put("turns0", {cut.w, 0, 1, cut.h}, [work, cut](int y) {
      return std::vector<uint32_t>{uint32_t(queries_of(work, cut, y) * work.row), 1, 0, turn_word(y, cut.h)};
    });
    if (choice.hidden_behind)
      put("place", {0, 0, cut.w, cut.h}, [cut, behind = *choice.hidden_behind](int pe) {
        const int64_t x = pe % cut.w, y = pe / cut.w;
        return std::vector<uint32_t>{uint32_t(y * cut.m_slice + behind), uint32_t(cut.h * cut.m_slice),
                                     uint32_t(x * cut.n_slice)};
      });
    for (const PackedConstant& c : choice.constants)
      put(c.name, {0, 0, cut.w, cut.h}, [values = c.values, work, cut](int pe) {
        return words_of_scores(values, work, cut, pe % cut.w, pe / cut.w);
      });
    return list;
  }
  std::vector<Exported> exported(const Choice& choice, const Layout*) const override {
    std::vector<Exported> list = {{"walk0", true}, {"walk1", true}, {"walk2", true}, {"turns0", true}};
    if (choice.hidden_behind) list.push_back({"place", true});
    for (const PackedConstant& c : choice.constants) list.push_back({c.name, c.integer});
    return list;
  }

  std::string sharding(const Work& work, const Cut& cut) const override {
    return fmt::format(
        "{} of {} queries in blocks of {} on each of {} rows, {} of {} keys on each of {} columns",
        int64_t(cut.m_slice) * cut.rounds, queries(work), cut.m_slice, cut.h, cut.n_slice, keys(work), cut.w);
  }

  // ---- bound

  // Two products, and what a softmax takes for each score.
  int64_t flops(const Work& work) const override {
    return work.rows * queries(work) * keys(work) * (4 * work.row + int64_t(ops::find_op("softmax")->flops));
  }

 private:
  static bool has_mask(const graph::Node& node) { return node.inputs.size() > 3 && node.inputs[3].valid(); }
  static const ops::Tensor* mask_of(const graph::Graph& g, const graph::Node& node) {
    return has_mask(node) ? g.constant_of(graph::source_of(g, node.inputs[3])) : nullptr;
  }

  static Cut cut_of(const Work& work, int block, int w, int h) {
    Cut cut;
    const int64_t n = ceil_div(keys(work), w);
    cut.w = int(ceil_div(keys(work), n));
    cut.h = h;
    cut.n_slice = int(n);
    cut.n_last = int(keys(work) - n * (cut.w - 1));
    cut.m_slice = cut.m_last = block;
    cut.rounds = int(ceil_div(queries(work), block) / h);
    return cut;
  }
  // Of a block of row y of the rectangle.
  static int queries_of(const Work& work, const Cut& cut, int y) {
    return y + 1 < cut.h ? cut.m_slice : last_queries(work, cut);
  }
  static int last_queries(const Work& work, const Cut& cut) {
    return int(queries(work) - int64_t(cut.m_slice) * (int64_t(cut.rounds) * cut.h - 1));
  }
  // As row_feeder.csl reads it.
  static std::vector<uint32_t> walk_of_queries(const Work& work, const Cut& cut, int y) {
    const auto block = uint32_t(cut.m_slice * work.row);
    const auto run = uint32_t(queries_of(work, cut, y) * work.row), gap = block * uint32_t(cut.h - 1);
    const uint32_t before = uint32_t(y) * block;
    const auto behind = uint32_t(work.m) - before - run - uint32_t(cut.rounds - 1) * (run + gap);
    return {before, run, behind, uint32_t(cut.rounds), gap, 1, 0, 1, 0};
  }

  static void role(const Choice& choice, const Setting& at, const Span& s, const Place& p, int row, int rows,
                   int queries, InstanceRoles& out) {
    const Work& work = choice.work;
    const Cut& cut = at.cut;
    Role role;
    role.name = at.name + column_name(p) + (queries < cut.m_slice ? "_south" : "");
    role.what = fmt::format("{}: {}", choice.title, work.kind->sharding(work, cut));
    role.runs = {{at.rect.x + s.first, at.rect.y + row, s.count, s.step, rows}};
    role.buffers.push_back(
        {"place", int(kPlaceWords), false, choice.hidden_behind ? at.name + "_place" : "",
         "the first query and how far behind it keys are seen, queries to the next block, the first key",
         "i32"});
    ModuleUse use{"attention_row.csl", "kernel", {}, {}};
    use.parameters = {{"B", number(cut.m_slice)},
                      {"D", number(work.row)},
                      {"S", number(n_here(p, cut))},
                      {"queries", number(queries)},
                      {"blocks", number(cut.rounds)},
                      {"waiting", number(cut.waiting)},
                      {"first", flag(p.first)},
                      {"last", flag(p.last)},
                      {"half", flag(work.half)},
                      {"native", flag(work.native)},
                      {"scale", autogen::float_literal(double(choice.scale) * std::numbers::log2e)},
                      {"causal", flag(choice.hidden_behind.has_value())},
                      {"place", "&place"}};
    for (const PackedConstant& c : choice.constants) {
      role.buffers.push_back({c.name, int(score_bytes(work, cut) / 4), false, at.name + "_" + c.name,
                              "what is added to scores, head by head, block by block, key by key",
                              c.integer ? "i32" : "f32"});
      use.parameters.push_back({"biased", number(work.constants)});
      use.parameters.push_back({"bias", c.integer ? "@ptrcast([*]f16, &bias)" : "&bias"});
    }
    use.needs = {queue(false, "k", at.in[0]), queue(false, "v", at.in[1]),
                 queue(false, "q", at.in[kQueries])};
    if (!p.first) use.needs.push_back(queue(false, "before", at.chain[1 - p.parity]));
    use.needs.push_back(queue(true, "behind", p.last ? at.gathered[0] : at.chain[p.parity]));
    add_tasks(use, {"q", "k", "v", "west", "sent", "compute", "start"});
    role.modules.push_back(use);
    out.roles.push_back(std::move(role));
  }
};

}  // namespace

const Kind* attention_kind() {
  static const Attention kind;
  return &kind;
}

}  // namespace cs::kernels
