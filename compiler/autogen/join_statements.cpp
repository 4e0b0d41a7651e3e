// One temporary after the other, until none is left that can go.
#include "compiler/autogen/join_statements.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace cs::autogen {

namespace {

using ops::BufferKind;
using ops::LoopAccess;
using ops::LoopBlock;
using ops::LoopProgram;
using ops::LoopStatement;

bool is_plain(const LoopAccess& a) { return a.buffer >= 0 && a.offset == 0 && a.step == 0 && a.index < 0; }

// Every element once, in C order.
bool walks_all(const LoopStatement& s, const LoopAccess& a) {
  int64_t stride = 1;
  for (size_t k = s.extents.size(); k-- > 0; stride *= s.extents[k])
    if (s.extents[k] != 1 && a.strides[k] != stride) return false;
  return is_plain(a);
}

int64_t product(const std::vector<int64_t>& extents) {
  return std::accumulate(extents.begin(), extents.end(), int64_t(1), std::multiplies<>());
}

class Joiner {
 public:
  Joiner(LoopProgram& program, LoopBlock& block, bool in_memory = false)
      : p_(program), list_(block.statements), in_memory_(in_memory) {}

  bool join_one() {
    for (size_t w = 0; w < list_.size(); ++w) {
      const LoopStatement& writer = list_[w];
      if (!makes_temporary(writer)) continue;
      const std::vector<size_t> readers = readers_of(writer.out.buffer);
      const bool constant =
          writer.loads.empty() && p_.buffers[size_t(writer.out.buffer)].type.elements() == 1;
      const bool several = constant || is_mask(writer.out.buffer);
      if (readers.empty() || readers.front() <= w || (readers.size() > 1 && !several)) continue;
      if (in_memory_ && !constant) split_axes(w, readers);
      if (!std::all_of(readers.begin(), readers.end(), [&](size_t r) { return can_take(r, w, constant); }))
        continue;
      const LoopStatement gone = writer;
      for (size_t r : readers) take(list_[r], gone);
      list_.erase(list_.begin() + int64_t(w));
      return true;
    }
    return false;
  }

 private:
  bool is_mask(int buffer) const {
    return in_memory_ && buffer >= 0 && p_.buffers[size_t(buffer)].type.dtype == DataType::boolean;
  }
  bool is_float(int buffer) const {
    return buffer >= 0 && (data_type_is_float(p_.buffers[size_t(buffer)].type.dtype) || is_mask(buffer));
  }

  void split_axes(size_t w, const std::vector<size_t>& readers) {
    for (size_t r : readers) {
      split_like(list_[w], list_[r].extents);
      split_like(list_[r], list_[w].extents);
    }
  }

  bool makes_temporary(const LoopStatement& s) const {
    const ops::LoopBuffer& made = p_.buffers[size_t(s.out.buffer)];
    if (made.kind != BufferKind::temporary || s.combine != ops::Combine::assign || !walks_all(s, s.out))
      return false;
    const bool floats = is_float(s.out.buffer) &&
                        std::all_of(s.loads.begin(), s.loads.end(),
                                    [&](const LoopAccess& a) { return is_float(a.buffer) && a.index < 0; });
    return floats && product(s.extents) == made.type.elements() && writers_of(s.out.buffer) == 1;
  }

  size_t writers_of(int buffer) const {
    size_t n = 0;
    for (const LoopBlock& b : p_.blocks)
      for (const LoopStatement& s : b.statements) n += s.out.buffer == buffer ? 1 : 0;
    return n;
  }

  // Statements of this block; one that cannot take it if there are others.
  std::vector<size_t> readers_of(int buffer) const {
    const auto reads = [&](const LoopStatement& s) {
      return std::any_of(s.loads.begin(), s.loads.end(),
                         [&](const LoopAccess& a) { return a.buffer == buffer; });
    };
    std::vector<size_t> readers;
    for (const LoopBlock& b : p_.blocks)
      for (size_t k = 0; k < b.statements.size(); ++k)
        if (reads(b.statements[k])) readers.push_back(&b.statements == &list_ ? k : 0);
    std::sort(readers.begin(), readers.end());
    return readers;
  }

  bool can_take(size_t reader, size_t writer, bool constant) const {
    const LoopStatement &r = list_[reader], &w = list_[writer];
    if (!is_float(r.out.buffer)) return false;
    if (in_memory_ && !constant && r.combine != ops::Combine::assign) return false;
    const auto fits = [&](const LoopAccess& a) {
      if (a.index >= 0 || (a.buffer != w.out.buffer && !is_float(a.buffer))) return false;
      return a.buffer != w.out.buffer || constant || (r.extents == w.extents && walks_all(r, a));
    };
    if (!std::all_of(r.loads.begin(), r.loads.end(), fits)) return false;
    // What the writer reads is still the same.
    for (size_t k = writer + 1; k < reader; ++k)
      for (const LoopAccess& a : w.loads)
        if (a.buffer == list_[k].out.buffer) return false;
    return true;
  }

  static size_t load(LoopStatement& s, const LoopAccess& a) {
    const auto it = std::find(s.loads.begin(), s.loads.end(), a);
    if (it != s.loads.end()) return size_t(it - s.loads.begin());
    s.loads.push_back(a);
    return s.loads.size() - 1;
  }

  static void take(LoopStatement& reader, const LoopStatement& writer) {
    LoopStatement out = reader;
    out.loads.clear();
    const auto operands = [&](const LoopStatement& from) {
      std::vector<ops::Expr> inner(from.loads.size());
      for (size_t k = 0; k < from.loads.size(); ++k)
        if (from.loads[k].buffer != writer.out.buffer)
          inner[k].root = inner[k].input(int(load(out, from.loads[k])));
      return inner;
    };
    std::vector<ops::Expr> inner = operands(reader);
    const ops::Expr made = ops::substitute(writer.value, operands(writer));
    for (size_t k = 0; k < reader.loads.size(); ++k)
      if (reader.loads[k].buffer == writer.out.buffer) inner[k] = made;
    out.value = ops::substitute(reader.value, inner);
    reader = std::move(out);
  }

  LoopProgram& p_;
  std::vector<LoopStatement>& list_;
  bool in_memory_;
};

void drop_unused_temporaries(LoopProgram& p) {
  std::vector<bool> used(p.buffers.size(), false);
  const auto each = [&](auto&& f) {
    for (LoopBlock& b : p.blocks)
      for (LoopStatement& s : b.statements) {
        f(s.out);
        for (LoopAccess& a : s.loads) f(a);
      }
  };
  each([&](const LoopAccess& a) {
    if (a.buffer >= 0) used[size_t(a.buffer)] = true;
  });
  std::vector<int> to(p.buffers.size(), -1);
  std::vector<ops::LoopBuffer> kept;
  for (size_t k = 0; k < p.buffers.size(); ++k) {
    if (p.buffers[k].kind == BufferKind::temporary && !used[k]) continue;
    to[k] = int(kept.size());
    kept.push_back(p.buffers[k]);
  }
  p.buffers = std::move(kept);
  each([&](LoopAccess& a) { a.buffer = a.buffer < 0 ? a.buffer : to[size_t(a.buffer)]; });
}

}  // namespace

void join_statements(LoopProgram& p) {
  for (LoopBlock& block : p.blocks)
    while (block.steps == 1 && Joiner(p, block).join_one()) {
    }
  drop_unused_temporaries(p);
}

void split_like(LoopStatement& s, const std::vector<int64_t>& extents) {
  if (s.extents.size() != 1 || extents.size() < 2 || product(extents) != s.extents[0]) return;
  const auto split = [&](LoopAccess& a) {
    int64_t stride = a.strides[0];
    a.strides.assign(extents.size(), 0);
    for (size_t k = extents.size(); k-- > 0; stride *= extents[k]) a.strides[k] = stride;
  };
  split(s.out);
  for (LoopAccess& a : s.loads) split(a);
  s.extents = extents;
}

void join_in_memory(LoopProgram& p) {
  for (LoopBlock& block : p.blocks)
    while (block.steps == 1 && Joiner(p, block, true).join_one()) {
    }
}

void share_temporaries(LoopProgram& p) {
  if (p.blocks.size() != 1 || p.blocks.front().steps != 1) return;
  std::vector<LoopStatement>& list = p.blocks.front().statements;
  std::vector<int> last(p.buffers.size(), -1);
  const auto each = [](LoopStatement& s, auto&& f) {
    f(s.out);
    for (LoopAccess& a : s.loads) f(a);
  };
  for (size_t k = 0; k < list.size(); ++k)
    each(list[k], [&](LoopAccess& a) {
      if (a.buffer >= 0) last[size_t(a.buffer)] = int(k);
    });
  const auto alike = [&](int a, int b) {
    const ops::TensorType &x = p.buffers[size_t(a)].type, &y = p.buffers[size_t(b)].type;
    return x.elements() == y.elements() && data_type_is_float(x.dtype) == data_type_is_float(y.dtype);
  };
  std::vector<int> free;
  std::vector<int> place(p.buffers.size(), -1);
  for (size_t k = 0; k < list.size(); ++k) {
    each(list[k], [&](LoopAccess& a) {
      if (a.buffer < 0 || p.buffers[size_t(a.buffer)].kind != BufferKind::temporary) return;
      int& at = place[size_t(a.buffer)];
      if (at >= 0) return;
      const auto it = std::find_if(free.begin(), free.end(), [&](int b) { return alike(a.buffer, b); });
      at = it == free.end() ? a.buffer : *it;
      if (it != free.end()) free.erase(it);
    });
    for (size_t b = 0; b < place.size(); ++b)
      if (place[b] >= 0 && last[b] == int(k)) free.push_back(place[b]);
  }
  for (LoopStatement& s : list)
    each(s, [&](LoopAccess& a) {
      if (a.buffer >= 0 && place[size_t(a.buffer)] >= 0) a.buffer = place[size_t(a.buffer)];
    });
}

}  // namespace cs::autogen
