// A convolution in a region of the library's origin: the statement's extents and strides become parameters of
// conv.csl.
//
//   picture   axes that move y and x: rows and columns
//   out       the axis that moves y and w: output channels
//   taps      axes that move x and w: channels, rows and columns of the kernel, by their stride in x
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "compiler/autogen/region_writer.h"

namespace cs::autogen {

namespace {

using ops::LoopAccess;
using ops::LoopStatement;

constexpr double kChannel = 80, kColumn = 44, kTap = 2;  // cycles besides those of elements (conv.csl)

class Convolution : StatementWriter {
 public:
  using StatementWriter::StatementWriter;

  bool run() {
    if (!read() || x_->buffer == s_.out.buffer || w_->buffer == s_.out.buffer) return false;
    write();
    count();
    return true;
  }

 private:
  // An axis, or one of a single round in its place.
  struct Axis {
    int64_t extent = 1, y = 1, x = 1, w = 1;
  };

  bool read() {
    x_ = &s_.loads[size_t(s_.value.nodes[size_t(root().a)].index)];
    w_ = &s_.loads[size_t(s_.value.nodes[size_t(root().b)].index)];
    if (steps_ != 1 && (x_->step != 0 || w_->step != 0)) return false;
    for (size_t k = 0; k < s_.extents.size(); ++k) {
      if (extent(k) == 1) continue;
      const Axis axis{extent(k), s_.out.strides[k], x_->strides[k], w_->strides[k]};
      const bool y = axis.y != 0, in_x = axis.x != 0, in_w = axis.w != 0;
      if (int(y) + int(in_x) + int(in_w) != 2) return false;
      (!in_w ? picture_ : !in_x ? out_ : taps_).push_back(axis);
    }
    if (picture_.size() > 2 || out_.size() > 1 || taps_.size() > 3) return false;
    std::stable_sort(taps_.begin(), taps_.end(), [](const Axis& a, const Axis& b) { return a.x > b.x; });
    picture_.insert(picture_.begin(), 2 - picture_.size(), {});
    out_.resize(1);
    if (steps_ != 1 && out_[0].extent != 1) return false;
    if (taps_.size() == 2) taps_.insert(taps_.begin() + 1, Axis{});
    taps_.resize(3);
    // A step from the last element of a window to itself would count as absent (docs/timing.md §6).
    const int64_t span = (picture_[0].extent - 1) * picture_[0].x + (picture_[1].extent - 1) * picture_[1].x;
    return taps_[0].extent == 1 || taps_[0].x != span;
  }

  void write() {
    const Axis &rows = picture_[0], &columns = picture_[1], &out = out_[0];
    const Axis &channels = taps_[0], &down = taps_[1], &across = taps_[2];
    const std::pair<const char*, int64_t> numbers[] = {{"y_first", s_.out.offset},
                                                       {"x_first", x_->offset},
                                                       {"w_first", w_->offset},
                                                       {"out_channels", out.extent},
                                                       {"rows", rows.extent},
                                                       {"columns", columns.extent},
                                                       {"channels", channels.extent},
                                                       {"down", down.extent},
                                                       {"across", across.extent},
                                                       {"y_channel", out.y},
                                                       {"y_row", rows.y},
                                                       {"y_column", columns.y},
                                                       {"x_channel", channels.x},
                                                       {"x_row", rows.x},
                                                       {"x_column", columns.x},
                                                       {"x_down", down.x},
                                                       {"x_across", across.x},
                                                       {"w_out", out.w},
                                                       {"w_channel", channels.w},
                                                       {"w_down", down.w},
                                                       {"w_across", across.w}};
    std::string text =
        fmt::format("const s{}_conv = @import_module(\"conv.csl\", .{{\n  .y = {}, .x = {}, .w = {}", number_,
                    pointer(s_.out), pointer(*x_), pointer(*w_));
    for (const auto& [name, value] : numbers) text += fmt::format(",\n  .{} = {}", name, value);
    code_.declarations.push_back(text + " });");
    if (steps_ == 1) return line(fmt::format("s{}_conv.add_all();", number_));
    // A step is an output channel (byte_rows.h).
    line(fmt::format("s{}_conv.add_one({} * step);", number_, s_.out.step));
  }
  // Constants are parameters of the module, pointers already.
  std::string pointer(const LoopAccess& a) const {
    return c_.constants[size_t(a.buffer)] ? name(a) : "&" + name(a);
  }

  void count() {
    const double n = double(picture_[0].extent * picture_[1].extent);
    const double columns = double(taps_[1].extent * taps_[2].extent);
    // Banks within a column of the kernel.
    const bool turns = std::any_of(taps_.begin(), taps_.end() - 1,
                                   [](const Axis& a) { return a.extent > 1 && a.x % 2 != 0; });
    const double tap = n * (turns ? (1.0 + m_.core.bank_conflict_factor) / 2 : 1) / m_.simd("fmacs") + kTap;
    code_.cycles += double(steps_ * out_[0].extent) * (kChannel + 2 * n / m_.simd("fmovs") +
                                              columns * (kColumn + double(taps_[0].extent) * tap));
    code_.scratch_words += int64_t(n) + 1;
  }

  const LoopAccess *x_ = nullptr, *w_ = nullptr;
  std::vector<Axis> picture_, out_, taps_;
};

}  // namespace

bool append_convolution(const LoopStatement& s, int64_t steps, const StatementContext& context,
                        RegionCode& code) {
  return Convolution(s, steps, context, code).run();
}

}  // namespace cs::autogen
