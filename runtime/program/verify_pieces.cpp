// Checks of tensors in pieces: each piece is there and as large as its place, no element is in two of them,
// and every element of an output is in one. What nobody takes of an input need not be sent.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "runtime/program/verify_parts.h"

namespace cs {
namespace {

// Of a shape that verify_host() found usable, else 0.
int64_t elements_of(const HostTensor& t) {
  constexpr double kMost = double(int64_t(1) << 31);
  double n = 1;
  for (const int64_t d : t.shape) n *= double(d);
  return n >= 0 && n <= kMost ? int64_t(n) : 0;
}

std::string range_text(int64_t first, int64_t end, int64_t stride) {
  return end - first == 1 ? fmt::format("element {} of every {}", first, stride)
                          : fmt::format("elements {} to {} of every {}", first, end - 1, stride);
}

class Checker {
 public:
  explicit Checker(const Verifier& v) : v_(v), h_(*v.program.host) {
    for (const auto* list : {&h_.inputs, &h_.outputs})
      for (const HostTensor& t : *list)
        if (!t.pieces.empty()) in_pieces_.insert(t.name);
    for (const auto* list : {&h_.inputs, &h_.outputs, &h_.values})
      for (const HostTensor& t : *list) by_name_.emplace(t.name, &t);
  }

  void run() const {
    for (const HostTensor& t : h_.inputs) tensor(t, false);
    for (const HostTensor& t : h_.outputs) tensor(t, true);
    for (const HostTensor& t : h_.values) whole(t);
    for (const HostConstant& c : h_.host_constants) whole(c.tensor);
    const auto copies = [](const HostStep& s) { return s.kind == HostStep::Kind::launch; };
    if (!in_pieces_.empty() && std::any_of(h_.steps.begin(), h_.steps.end(), copies))
      v_.error(fmt::format("tensor '{}'", *in_pieces_.begin()),
               "is in pieces, which only streams bring and take");
  }

 private:
  void whole(const HostTensor& t) const {
    if (!t.pieces.empty())
      v_.error(fmt::format("tensor '{}'", t.name),
               "is in pieces, as only inputs and outputs of the model can be");
  }

  void tensor(const HostTensor& t, bool all) const {
    if (t.pieces.empty()) return;
    const std::string where = fmt::format("tensor '{}'", t.name);
    const int64_t n = elements_of(t);
    if (t.stride < 1 || n < 1 || n % t.stride != 0)
      return v_.error(
          where,
          fmt::format("its {} elements are not blocks of {} each, of which pieces have parts", n, t.stride));
    for (const Piece& p : t.pieces)
      if (!piece(where, t, p, n / t.stride) || (!all && !is_value(where, p))) return;
    places(where, t, all);
  }

  bool piece(const std::string& where, const HostTensor& t, const Piece& p, int64_t blocks) const {
    const auto it = by_name_.find(p.tensor);
    const auto wrong = [&](const std::string& what) {
      v_.error(where, fmt::format("piece '{}' {}", p.tensor, what));
      return false;
    };
    if (it == by_name_.end()) return wrong("is no tensor");
    if (in_pieces_.contains(p.tensor)) return wrong("is in pieces itself");
    if (p.first < 0 || p.length < 1 || p.length > t.stride || p.first > t.stride - p.length)
      return wrong(fmt::format("has {} elements from {} on, of every {}", p.length, p.first, t.stride));
    const HostTensor& own = *it->second;
    if (own.type != t.type)
      return wrong(fmt::format("is {}, the tensor {}", data_type_name(own.type), data_type_name(t.type)));
    if (const int64_t have = elements_of(own); have != p.length * blocks)
      return wrong(fmt::format("has {} elements, its place {}", have, p.length * blocks));
    return true;
  }

  // What is cut from an input goes to the wafer.
  bool is_value(const std::string& where, const Piece& p) const {
    const auto named = [&](const HostTensor& t) { return t.name == p.tensor; };
    if (std::any_of(h_.values.begin(), h_.values.end(), named)) return true;
    v_.error(where, fmt::format("piece '{}' is an input or output itself, not a value that a stream takes",
                                p.tensor));
    return false;
  }

  void places(const std::string& where, const HostTensor& t, bool all) const {
    std::vector<const Piece*> order;
    for (const Piece& p : t.pieces) order.push_back(&p);
    std::stable_sort(order.begin(), order.end(),
                     [](const Piece* a, const Piece* b) { return a->first < b->first; });
    int64_t end = 0;
    const Piece* before = nullptr;
    for (const Piece* p : order) {
      if (p->first < end)
        return v_.error(where,
                        fmt::format("pieces '{}' and '{}' both have {}", before->tensor, p->tensor,
                                    range_text(p->first, std::min(end, p->first + p->length), t.stride)));
      if (all && p->first > end)
        return v_.error(where, fmt::format("no piece has {}", range_text(end, p->first, t.stride)));
      end = p->first + p->length;
      before = p;
    }
    if (all && end < t.stride)
      v_.error(where, fmt::format("no piece has {}", range_text(end, t.stride, t.stride)));
  }

  const Verifier& v_;
  const HostPart& h_;
  std::set<std::string> in_pieces_;
  std::map<std::string, const HostTensor*> by_name_;
};

}  // namespace

void verify_pieces(const Verifier& v) { Checker(v).run(); }

}  // namespace cs
