// Kernels that compute nothing, on one PE between streams: broadcast repeats every element, relay leaves
// control wavelets behind. Mapping inserts them.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/kernels/role_parts.h"

namespace cs::kernels {

namespace {

class Broadcast final : public Kind {
 public:
  std::string_view name() const override { return "broadcast"; }
  std::span<const Row> library() const override {
    static const Row list[] = {
        {"broadcast", "broadcast.csl", this, {"expand"}, "every element n times, on one PE"}};
    return list;
  }
  bool several_columns() const override { return false; }
  Skew skew(const Choice& choice, const Plan& plan, const Layout*) const override {
    Skew s = whole_samples(choice, plan, 1);
    pass_words(s, s.interval);
    return s;
  }
  PeCycles pe_cycles(const Work& work, const Cut&, const Machine& m) const override {
    return {m.core.task_start_cycles + 8 + vector_cycles(double(work.m), 1, m), 0};
  }
  void write_roles(const Choice& choice, const Setting& at, InstanceRoles& out) const override {
    ModuleUse use{"broadcast.csl", "kernel", {{"n", number(choice.work.m)}}, {}};
    use.needs = {queue(false, "x", at.arriving[0]), queue(true, "y", at.out)};
    add_tasks(use, {"compute", "start"});
    single_role(choice, at, use, out);
  }
};

class Relay final : public Kind {
 public:
  std::string_view name() const override { return "relay"; }
  bool passes_any() const override { return true; }
  Skew skew(const Choice& choice, const Plan& plan, const Layout*) const override {
    Skew s = whole_samples(choice, plan, 1);
    s.interval = double(s.words.front());
    pass_words(s, s.interval + 8);
    return s;
  }
  bool several_columns() const override { return false; }
  PeCycles pe_cycles(const Work& work, const Cut&, const Machine& m) const override {
    return {m.core.task_start_cycles + 8 + vector_cycles(double(work.n), 1, m), 0};
  }
  // Results leave while operands arrive.
  double last_row_cycles(const Work&, const Cut&, double feed, double pe, const Machine&) const override {
    return std::max(feed, pe);
  }
  void write_roles(const Choice& choice, const Setting& at, InstanceRoles& out) const override {
    ModuleUse use{"relay.csl", "kernel", {{"n", number(choice.work.m)}}, {}};
    use.needs = {queue(false, "in", at.arriving[0]), queue(true, "out", at.out)};
    add_tasks(use, {"send"});
    single_role(choice, at, use, out);
  }
};

}  // namespace

Choice broadcast_choice(int64_t elements, int64_t copies) {
  Choice c;
  c.row = &broadcast_kind()->library()[0];
  c.op = c.kernel = c.row->name;
  c.origin = Origin::handwritten;
  c.reason = fmt::format("each of {} elements is needed {} times", elements, copies);
  c.work.kind = broadcast_kind();
  c.work.rows = elements;
  c.work.m = copies;
  return c;
}

Choice relay_choice(int64_t words) {
  Choice c;
  c.op = c.kernel = "relay";
  c.origin = Origin::handwritten;
  c.reason = "the host counts wavelets, so control wavelets stay on the wafer";
  c.work.kind = relay_kind();
  c.work.n = c.work.m = words;
  return c;
}

const Kind* broadcast_kind() {
  static const Broadcast kind;
  return &kind;
}

const Kind* relay_kind() {
  static const Relay kind;
  return &kind;
}

}  // namespace cs::kernels
