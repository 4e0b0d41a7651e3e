// Shares, bound and text of regions with resident operands.
#include "compiler/autogen/resident_region.h"

#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>

#include "compiler/autogen/least_cycles.h"
#include "compiler/autogen/scalar_code.h"

namespace cs::autogen {

namespace {

using ops::LoopStatement;

RegionCut cut_over(const ShardAxis& axis, int w, int h) {
  RegionCut cut;
  const int64_t of_row = axis.extent / h;
  if (h > 1) cut.axes.push_back({axis, h, of_row, true});
  if (w > 1) cut.axes.push_back({axis, w, of_row / w, false});
  return cut;
}

bool is_whole(const Region& r, const Runs& kept, int buffer) {
  return kept == interval(0, r.elements(buffer) - 1);
}

// PE number `pe` of `pes` keeps its part of the buffer, or all of it as all do.
bool lies_in_order(const Region& r, const Runs& kept, int buffer, int64_t pe, int64_t pes,
                   bool may_be_whole) {
  if (kept.empty()) return may_be_whole;
  if (may_be_whole && is_whole(r, kept, buffer)) return true;
  const int64_t elements = r.elements(buffer), part = elements / pes;
  return elements % pes == 0 && kept == interval(pe * part, (pe + 1) * part - 1);
}

bool lies_in_order(const Region& r, const RegionShare& share, int64_t pe, int64_t pes) {
  const auto all = [&](const std::vector<int>& buffers, bool may_be_whole) {
    return std::all_of(buffers.begin(), buffers.end(), [&](int b) {
      return lies_in_order(r, share.stored[size_t(b)], b, pe, pes, may_be_whole);
    });
  };
  if (!all(r.operand_buffer, true) || !all(r.constant_buffer, true) || !all(r.result_buffer, false))
    return false;
  for (size_t j = 0; j < r.results.size(); ++j)
    if (share.sent[j] != share.stored[size_t(r.result_buffer[j])]) return false;
  return true;
}

// What addresses are is affine in the number of a PE but at the edges: if the first ones and those at the
// edges have the same code, all have.
bool same_everywhere(const Region& r, const RegionCut& cut, const RegionShare& first, int w, int h) {
  const RegionShare local = local_share(first);
  const std::array<std::array<int, 2>, 6> places = {
      {{1, 0}, {0, 1}, {w - 1, 0}, {0, h - 1}, {w / 2, h / 2}, {w - 1, h - 1}}};
  return std::all_of(places.begin(), places.end(), [&](const std::array<int, 2>& at) {
    const auto [x, y] = at;
    if (x >= w || y >= h) return true;
    const RegionShare share = shard_region(r, cut, x, y);
    return lies_in_order(r, share, int64_t(y) * w + x, int64_t(w) * h) &&
           same_program(local_share(share), local);
  });
}

class Writer {
 public:
  Writer(const Region& r, const RegionShare& share, const RegionTitle& title, const Machine& machine)
      : r_(r), share_(share), title_(title), code_(region_code(r, share, machine)) {}

  std::string run() const {
    std::string out =
        fmt::format("// {}\n//\n// Generated. Sharding: {}. Expected: {:.0f} cycles of computing.\n",
                    title_.title, title_.sharding, code_.cycles);
    const std::string text = ops::loops_text(r_.program);
    for (size_t at = 0; at < text.size();) {
      const size_t end = text.find('\n', at);
      out += "//   " + text.substr(at, end - at) + "\n";
      at = end + 1;
    }
    out += "\n" + parameters() + "\n" + scalar_helpers(code_.uses_math, code_.uses_round, code_.uses_power) +
           arrays();
    for (const std::string& d : code_.declarations) out += d + "\n";
    out += "\nfn run() void {\n";
    for (const std::string& l : code_.lines) out += l + "\n";
    return out + "}\n";
  }

 private:
  const ops::LoopBuffer& buffer(int b) const { return r_.program.buffers[size_t(b)]; }
  const char* type(int b) const { return data_type_is_float(buffer(b).type.dtype) ? "f32" : "i32"; }

  std::string parameters() const {
    std::string out;
    for (const auto* list : {&r_.operand_buffer, &r_.result_buffer, &r_.constant_buffer})
      for (int b : *list) out += fmt::format("param {}: [*]{};\n", buffer(b).name, type(b));
    return out;
  }
  std::string arrays() const {
    const std::vector<bool> odd = odd_buffers(r_);
    std::string out;
    for (size_t b = 0; b < r_.program.buffers.size(); ++b) {
      const Runs& kept = share_.stored[b];
      if (buffer(int(b)).kind != ops::BufferKind::temporary || kept.empty()) continue;
      const std::string &name = buffer(int(b)).name, array = odd[b] ? name + "_words" : name;
      out += fmt::format("var {0}: [{1}]{2} align(8) = @zeros([{1}]{2});\n", array,
                         kept.words() + (odd[b] ? 1 : 0), type(int(b)));
      if (odd[b]) out += fmt::format("const {} = @ptrcast([*]{}, &{}[1]);\n", name, type(int(b)), array);
    }
    return out;
  }

  const Region& r_;
  const RegionShare& share_;
  const RegionTitle& title_;
  RegionCode code_;
};

}  // namespace

std::optional<ResidentShare> share_resident(const Region& r, int w, int h) {
  const int64_t pes = int64_t(w) * h;
  const ops::Shape& shape = r.program.buffers[size_t(r.result_buffer.front())].type.shape;
  std::vector<ShardAxis> axes = shard_axes(shape);
  for (const ShardAxis& axis : axes) {
    if (axis.extent % pes != 0) continue;
    const RegionCut cut = cut_over(axis, w, h);
    RegionShare first = shard_region(r, cut, 0, 0);
    if (lies_in_order(r, first, 0, pes) && same_everywhere(r, cut, first, w, h))
      return ResidentShare{cut, std::move(first)};
  }
  return std::nullopt;
}

int64_t words_kept(const RegionShare& share, int buffer) { return share.stored[size_t(buffer)].words(); }

bool keeps_all(const Region& r, const RegionShare& share, int buffer) {
  return is_whole(r, share.stored[size_t(buffer)], buffer);
}

std::string resident_region_module(const Region& r, const RegionShare& share, const RegionTitle& title,
                                   const Machine& machine) {
  return Writer(r, share, title, machine).run();
}

double least_cycles(const Region& r, const Machine& machine) {
  double cycles = 0;
  for (const ops::LoopBlock& block : r.program.blocks)
    for (const LoopStatement& s : block.statements) {
      const double points = double(std::accumulate(s.extents.begin(), s.extents.end(), int64_t(1),
                                                   [](int64_t n, int64_t e) { return n * e; }));
      const double combine = s.combine == ops::Combine::assign ? 0 : 1 / machine.simd("fadds");
      const bool moves = s.value.nodes[size_t(s.value.root)].kind == ops::ExprKind::input ||
                         s.value.nodes[size_t(s.value.root)].kind == ops::ExprKind::constant;
      cycles += double(block.steps) * points * (combine + (moves ? 0 : least_cycles(s.value, machine)));
    }
  return cycles;
}

}  // namespace cs::autogen
