// What is wrong with a command is said when it is given, in the terms of whoever gave it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/host/session_rects.h"
#include "runtime/support/yaml.h"

namespace cs {
namespace {

using Kind = HostCommand::Kind;

std::string rect_text(Rect r) { return fmt::format("({}, {}) {}x{}", r.x, r.y, r.w, r.h); }

// What can be launched instead.
std::string function_help(const Program& p, const std::string& wrong) {
  std::vector<std::string> names;
  for (const ExportedName& e : p.exports)
    if (e.is_function) names.push_back(e.name);
  if (names.empty())
    return "@export_symbol in the PE's program and @export_name in the layout make it visible";
  const std::string near = nearest(wrong, names);
  return (near.empty() ? "" : "did you mean '" + near + "'? ") +
         fmt::format("it exports {}", fmt::join(names, ", "));
}

bool is_stream(Kind k) { return k == Kind::stream_to || k == Kind::stream_from; }
bool brings_data(Kind k) { return k == Kind::stream_from || k == Kind::copy_from; }

std::string subject(const HostCommand& c) {
  return is_stream(c.kind) ? fmt::format("stream on color {}", c.color) : c.name;
}

}  // namespace

bool Session::check_rect(Rect pes, const std::string& what, Diag& diag) const {
  const Rect user = device_.program().user;
  if (pes.w > 0 && pes.h > 0 && pes.x >= 0 && pes.y >= 0 && pes.x <= user.w - pes.w &&
      pes.y <= user.h - pes.h)
    return true;
  diag.error_at(what, fmt::format("rectangle {} does not lie in the program's {}x{} PEs", rect_text(pes),
                                  user.w, user.h));
  return false;
}

// Programs of the vendor's do copy a little more out than a symbol has; what lies behind it is what they get.
bool Session::may_read_beyond(const HostCommand& c, const Symbol& s) const {
  const uint64_t bytes = uint64_t(c.elements_per_pe) * uint64_t(data_type_bytes(s.type));
  return brings_data(c.kind) && s.address + bytes <= uint64_t(device_.machine().core.memory_bytes);
}

const Symbol* Session::symbol_at(const HostCommand& c, Coord fabric, Diag& diag) const {
  const std::string& name = c.name;
  const uint32_t elements = c.elements_per_pe;
  const TileProgram* tile = tile_at(device_.program(), fabric);
  const Symbol* s = tile != nullptr ? tile->symbol(name) : nullptr;
  if (s == nullptr) {
    diag.error_at(name, fmt::format("PE ({}, {}) exports no such symbol", fabric.x, fabric.y),
                  "@export_symbol in the PE's program and @export_name in the layout make it visible");
    return nullptr;
  }
  // A pointer that was exported without its array has an unknown length (0 elements).
  if (s->elements != 0 && elements > s->elements && !may_read_beyond(c, *s)) {
    diag.error_at(name, fmt::format("{} elements per PE asked for, the symbol has {} on PE ({}, {})",
                                    elements, s->elements, fabric.x, fabric.y));
    return nullptr;
  }
  return s;
}

bool Session::check_symbol(const HostCommand& c, Diag& diag) const {
  const Symbol* s = nullptr;
  bool good = true;
  for_pes(c, device_.program().user, [&](Coord pe, size_t, size_t) {
    if (good) good = (s = symbol_at(c, pe, diag)) != nullptr;
  });
  if (good && s != nullptr && s->elements != 0 && c.elements_per_pe > s->elements)
    diag.warning(
        {}, fmt::format("'{}': {} elements per PE asked for, the symbol has {}; the others are what lies "
                        "behind it",
                        c.name, c.elements_per_pe, s->elements));
  return good;
}

bool Session::check_stream(const HostCommand& c, Diag& diag) const {
  const Program& p = device_.program();
  const bool input = c.kind == Kind::stream_to;
  std::string known;
  for (const HostStream& s : p.streams) {
    if (s.color == c.color && s.input == input) return true;
    known += fmt::format("{}{} ({} the host)", known.empty() ? "" : ", ", s.color, s.input ? "from" : "to");
  }
  diag.error_at(subject(c),
                fmt::format("the program streams nothing {} the host on this color", input ? "from" : "to"),
                known.empty() ? "name the color in <memcpy/get_params>, as MEMCPYH2D_1 or MEMCPYD2H_1"
                              : "colors that it streams on: " + known);
  return false;
}

bool Session::check(const HostCommand& c, Diag& diag) const {
  if (c.kind == Kind::launch) {
    for (const ExportedName& e : device_.program().exports)
      if (e.is_function && e.name == c.name) return true;
    if (device_.program().exports.empty()) return true;  // the device reports it by its own table
    diag.error_at(c.name, "the program exports no function of this name",
                  function_help(device_.program(), c.name));
    return false;
  }
  if (!check_rect(c.pes, subject(c), diag)) return false;
  if (c.step_x < 1 || c.step_y < 1) {
    diag.error_at(subject(c), fmt::format("strides {} and {} must be positive", c.step_x, c.step_y));
    return false;
  }
  if (!brings_data(c.kind) && c.data.size() != words_of(c)) {
    diag.error_at(subject(c), fmt::format("{} words given, {} PEs with {} elements need {}", c.data.size(),
                                          array_rect(c).area(), c.elements_per_pe, words_of(c)));
    return false;
  }
  return is_stream(c.kind) ? check_stream(c, diag) : check_symbol(c, diag);
}

}  // namespace cs
