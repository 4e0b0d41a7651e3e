// Numbers take as many bytes as they have groups of seven bits, so small ones one; lists begin with their length.
#include "compiler/autogen/loop_key.h"

#include <cstring>

namespace cs::autogen {

void LoopKey::number(int64_t n) {
  uint64_t rest = (uint64_t(n) << 1) ^ uint64_t(n >> 63);  // small negative numbers are small, too
  for (; rest >= 0x80; rest >>= 7) bytes_.push_back(char(rest | 0x80));
  bytes_.push_back(char(rest));
}

void LoopKey::numbers(std::span<const int64_t> list) {
  number(int64_t(list.size()));
  for (int64_t n : list) number(n);
}

void LoopKey::real(double value) {
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  bytes_.append(raw, sizeof value);
}

void LoopKey::text(std::string_view t) {
  number(int64_t(t.size()));
  bytes_ += t;
}

void LoopKey::expression(const ops::Expr& e) {
  number(e.root);
  number(int64_t(e.nodes.size()));
  for (const ops::ExprNode& n : e.nodes) {
    number(int64_t(n.kind));
    for (int operand : {n.a, n.b, n.c, n.index}) number(operand);
    text(n.name);
    if (n.kind == ops::ExprKind::constant) real(n.value);
  }
}

void LoopKey::access(const ops::LoopAccess& a, int64_t buffer) {
  for (int64_t n : {buffer, a.offset, a.step, int64_t(a.index), a.index_stride, a.index_extent}) number(n);
  numbers(a.strides);
}

void LoopKey::region(const Region& r) {
  number(int64_t(r.program.buffers.size()));
  for (const ops::LoopBuffer& b : r.program.buffers) {
    number(int64_t(b.kind));
    number(int64_t(b.type.dtype));
    numbers(b.type.shape);
  }
  number(int64_t(r.program.blocks.size()));
  for (const ops::LoopBlock& block : r.program.blocks) {
    number(block.steps);
    number(int64_t(block.statements.size()));
    for (const ops::LoopStatement& s : block.statements) statement(s, [](int buffer) { return buffer; });
  }
  for (const std::vector<int>* list : {&r.operand_buffer, &r.result_buffer, &r.constant_buffer}) {
    number(int64_t(list->size()));
    for (int b : *list) number(b);
  }
  number(int64_t(r.bytes.size()));
  for (const auto& [buffer, rows] : r.bytes)
    for (const int64_t n : {int64_t(buffer), rows.row, rows.at_once, rows.rows}) number(n);
  number(int64_t(r.may_wait) * 2 + int64_t(r.by_library));
}

}  // namespace cs::autogen
