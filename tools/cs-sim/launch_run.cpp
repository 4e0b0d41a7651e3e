// Host program of a fixed shape over a Session: copy in, launch, wait.
#include "tools/cs-sim/launch_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

#include "runtime/host/exports.h"
#include "runtime/host/session.h"

namespace cs {
namespace {

std::string export_list(const Program& p) {
  std::string list;
  for (const ExportedName& e : p.exports)
    if (!e.is_function) list += (list.empty() ? "" : ", ") + e.name;
  return list.empty() ? "the program exports no variable" : "the program exports " + list;
}

bool copy_in(Session& session, const Program& p, const NamedArray& a, Diag& diag) {
  const auto extent = extent_of_export(p, a.name);
  if (!extent) {
    diag.error_at(a.name, "no exported symbol of this name", export_list(p));
    return false;
  }
  const ops::TensorType& type = a.tensor.type;
  const int width = data_type_bytes(type.dtype);
  if (width != data_type_bytes(extent->type)) {
    diag.error_at(a.name, fmt::format("the array has {}-byte elements ({}), the symbol {}-byte ones ({})",
                                      width, data_type_name(type.dtype), data_type_bytes(extent->type),
                                      data_type_name(extent->type)));
    return false;
  }
  const Rect& r = extent->rect;
  if (type.rank() != 3 || type.shape[0] != r.h || type.shape[1] != r.w) {
    diag.error_at(
        a.name,
        fmt::format("the array is {}, the symbol lies on {} x {} PEs", ops::type_text(type), r.w, r.h),
        fmt::format("give it the shape [{}, {}, n]: height, width, elements per PE", r.h, r.w));
    return false;
  }
  std::vector<uint32_t> words(size_t(a.tensor.elements()));
  for (size_t i = 0; i < words.size(); ++i)
    std::memcpy(&words[i], &a.tensor.bytes[i * size_t(width)], size_t(width));
  return session.copy_to(a.name, r, uint32_t(type.shape[2]), words, HostOrder::row_major, diag);
}

// One number, whole.
std::optional<uint32_t> read_argument(const std::string& text) {
  const char *begin = text.data(), *end = begin + text.size();
  if (text.find_first_of(".eE") == std::string::npos) {
    int64_t i = 0;
    const auto [at, error] = std::from_chars(begin, end, i);
    const bool fits = i >= INT32_MIN && i <= int64_t(UINT32_MAX);
    return error == std::errc() && at == end && fits ? std::optional(uint32_t(i)) : std::nullopt;
  }
  float f = 0;
  const auto [at, error] = std::from_chars(begin, end, f);
  return error == std::errc() && at == end ? std::optional(std::bit_cast<uint32_t>(f)) : std::nullopt;
}

// Pieces between commas that stand outside of parentheses, without blanks.
std::vector<std::string> pieces_of(const std::string& text) {
  std::vector<std::string> out(1);
  int depth = 0;
  for (char c : text) {
    if (c == ' ') continue;
    depth += (c == '(') - (c == ')');
    if (c == ',' && depth == 0)
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

}  // namespace

std::optional<std::vector<Launch>> read_launches(const std::vector<std::string>& texts, Diag& diag) {
  std::vector<Launch> out;
  for (const std::string& text : texts)
    for (const std::string& piece : pieces_of(text)) {
      const size_t open = piece.find('(');
      Launch launch{piece.substr(0, open), {}};
      bool good = !launch.function.empty() && (open == std::string::npos || piece.back() == ')');
      if (good && open != std::string::npos && piece.size() > open + 2)
        for (const std::string& arg : pieces_of(piece.substr(open + 1, piece.size() - open - 2))) {
          const auto value = read_argument(arg);
          good = good && value;
          launch.args.push_back(value.value_or(0));
        }
      if (!good) {
        diag.error_at("--launch", fmt::format("'{}' is no function with numbers as arguments", piece),
                      "write FUNCTION or FUNCTION(1,-2,0.5), with commas between several");
        return std::nullopt;
      }
      out.push_back(std::move(launch));
    }
  return out;
}

std::optional<LaunchRun> run_launches(Device& device, const std::vector<Launch>& functions, int rounds,
                                      const std::vector<NamedArray>& inputs, Cycle max_cycles, Diag& diag) {
  Session session(device);
  session.set_max_cycles(max_cycles);
  LaunchRun run;
  for (const NamedArray& a : inputs) {
    if (copy_in(session, device.program(), a, diag)) continue;
    if (!diag.ok()) return std::nullopt;
    run.status = session.status();
    return run;
  }
  if (functions.empty()) {
    run.status = device.run({});
    return run;
  }
  for (int round = 0; round < rounds; ++round) {
    for (const Launch& launch : functions) {
      if (!session.launch(launch.function, launch.args, diag)) return std::nullopt;
      if (session.wait(diag)) continue;
      run.status = session.status();
      run.spans = session.launches();
      run.host_seconds = session.host_seconds();
      return run;
    }
    ++run.rounds;
    run.end.push_back(device.now());
  }
  // What the last function has started and not waited for belongs to the run.
  constexpr Cycle kRest = 100'000;
  if (session.status().fault.empty()) session.rest(kRest);
  run.status = session.status();
  run.spans = session.launches();
  run.host_seconds = session.host_seconds();
  return run;
}

std::string launchable(const Program& p) {
  std::string list;
  for (const ExportedName& e : p.exports) {
    const auto tile = std::find_if(p.tiles.begin(), p.tiles.end(),
                                   [&](const TileProgram& t) { return t.function(e.name) != nullptr; });
    if (!e.is_function || tile == p.tiles.end()) continue;
    std::string types;
    for (const auto& parameter : tile->function(e.name)->parameters)
      types += (types.empty() ? "" : ", ") + std::string(data_type_name(parameter.type));
    list += (list.empty() ? "" : ", ") + e.name + (types.empty() ? "" : "(" + types + ")");
  }
  return list;
}

}  // namespace cs
