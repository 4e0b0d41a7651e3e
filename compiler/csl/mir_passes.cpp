// The table of passes, and what runs them.
#include "compiler/csl/mir_passes.h"

#include <fmt/format.h>

#include <algorithm>

namespace cs::csl::mir {

const std::vector<Pass>& pass_table() {
  static const std::vector<Pass> kPasses{
      {"values", "literals, copies, common expressions, loads of what is known", 1, number_values},
      {"dead", "code that is not reached, values and stores that nobody reads", 1, drop_dead},
      {"unroll", "innermost loops of few known trips become straight code", 2, unroll_loops},
      {"values", "the same again, over unrolled loops", 2, number_values},
      {"dead", "the same again", 2, drop_dead},
      {"thread", "tests of what is known on the way to them are passed by", 2, thread_jumps},
      {"predicate", "short branches choose between values instead", 2, predicate_branches},
      {"invariants", "what a loop computes or loads with the same result is done before it", 2,
       hoist_invariants},
      {"values", "the same again, over chosen values", 2, number_values},
      {"bits", "halves of pairs where one is wanted, bits instead of selections", 2, use_bits},
      {"dead", "the same again", 2, drop_dead},
      {"trips", "what the trip of a loop before has loaded or stored stays in its register", 2,
       keep_over_trips},
      {"values", "the same again, over trips", 2, number_values},
      {"dead", "the same again", 2, drop_dead},
      {"bases", "an access beside a register whose offset is an address gets a register for the sum", 2,
       add_bases, true},
      {"literals", "a literal or an address that is stored is moved to a register first", 2, move_literals, true},
  };
  return kPasses;
}

Context context_of(const MirTile& tile, const Machine& machine) {
  Context c{tile, machine, Reached(tile), {}};
  c.settled = find_settled(tile, c.reached);
  return c;
}

namespace {

// Registers that may be read before they are written, and those that nothing writes: code that is not reached
// may read them.
RegisterSet read_undefined(const MirFunction& f, const Code& code) {
  RegisterSet undefined = find_live(f, code, find_blocks(code)).in.front(), written(code.next_virtual);
  const auto each = [&](const auto& see) {
    for (const Line& line : code.lines)
      for_each_register(f, line,
                        [&](const isa::Operand& o, bool, bool writes) { see(int(o.value), writes); });
  };
  each([&](int r, bool writes) {
    if (writes) written.add(r);
  });
  each([&](int r, bool) {
    if (!written.has(r)) undefined.add(r);
  });
  return undefined;
}

// One round over all passes. The code of every function stays open between them.
class Round {
 public:
  Round(MirTile& tile, const Options& options, Context& context)
      : tile_(tile), options_(options), context_(context) {
    for (const MirFunction& f : tile.functions) {
      codes_.push_back(open(f));
      undefined_.push_back(read_undefined(f, codes_.back()));
    }
  }

  uint32_t run(bool at_the_end = false) {
    uint32_t unrolled = 0;
    for (const Pass& pass : pass_table()) {
      if (pass.level > options_.level || pass.once != at_the_end) continue;
      bool changed = false;
      for (size_t i = 0; i < codes_.size(); ++i) {
        const size_t before = codes_[i].lines.size();
        if (!pass.run(context_, tile_.functions[i], codes_[i])) continue;
        changed = true;
        if (pass.run == unroll_loops && codes_[i].lines.size() > before)
          unrolled += uint32_t(codes_[i].lines.size() - before) * kInstructionBytes;
        const std::string wrong = verify(tile_, tile_.functions[i], codes_[i], &undefined_[i]);
        CS_CHECK(wrong.empty(),
                 fmt::format("after pass {}: '{}': {}", pass.name, tile_.functions[i].name, wrong));
      }
      if (changed && options_.after) show(pass.name);
    }
    for (size_t i = 0; i < codes_.size(); ++i) close(std::move(codes_[i]), tile_.functions[i]);
    return unrolled;
  }

 private:
  void show(std::string_view pass) {
    MirTile now = tile_;
    for (size_t i = 0; i < codes_.size(); ++i) close(Code(codes_[i]), now.functions[i]);
    options_.after(pass, now);
  }

  MirTile& tile_;
  const Options& options_;
  Context& context_;
  std::vector<Code> codes_;
  // By function: what may be read before it is written, from the beginning on. No pass adds to it.
  std::vector<RegisterSet> undefined_;
};

}  // namespace

Result optimise(MirTile& tile, const Machine& machine, const Options& options) {
  Result result;
  if (options.level <= 0) return result;
  constexpr int kRounds = 3;
  Settled known;
  uint32_t budget = options.code_budget;
  for (int round = 0; round < kRounds; ++round) {
    Context c = context_of(tile, machine);
    // What one round makes plain may let the next one see more variables that have one value.
    if (round > 0 && c.settled == known) break;
    known = c.settled;
    c.code_budget = budget;
    result.unrolled_bytes += Round(tile, options, c).run();
    budget = c.code_budget;
    result.not_unrolled = std::move(c.not_unrolled);
  }
  Context c = context_of(tile, machine);
  Round(tile, options, c).run(true);
  return result;
}

}  // namespace cs::csl::mir
