// The CSL half as one function: layout file to the machine part of a Program.
//
//  1. analyse: names, types, comptime, MIR (sema.h).
//  2. Where the user rectangle lies in the fabric; does it fit.
//  3. link_tile for every tile program, in parallel; diagnostics are collected per tile and merged in order.
//  4. tile_of_pe to rectangles: runs of equal tiles in a row, stretched downwards while the next row has the
//  same run.
//  5. Routes: those of the layout, then what each tile program sets for itself at all its PEs; two for one PE
//  and color
//     are an error.
//  6. verify: what every consumer relies on.
#include "compiler/csl/csl.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>

#include "compiler/csl/loader.h"
#include "compiler/csl/mir.h"
#include "compiler/csl/mir_passes.h"
#include "compiler/csl/mir_text.h"
#include "compiler/csl/placement.h"
#include "compiler/csl/route_check.h"
#include "compiler/csl/warnings.h"
#include "runtime/support/parallel.h"
#include "runtime/support/progress.h"

namespace cs::csl {
namespace {

std::optional<Placement> place(const CslOptions& options, const MirLayout& layout, const Machine& m,
                               Diag& diag) {
  bool memcpy = layout.memcpy;
  int west = memcpy ? m.memcpy.margin_west : 0, east = memcpy ? m.memcpy.margin_east : 0;
  int north = memcpy ? m.memcpy.margin_north : 0, south = memcpy ? m.memcpy.margin_south : 0;
  Placement out = placement_of(options, m, layout.width, layout.height, memcpy);
  const int need_width = out.need_width, need_height = out.need_height;
  size_t errors = diag.errors();
  if (out.x < west || out.y < north)
    diag.error_at("--fabric-offsets",
                  fmt::format("need at least {},{} for memcpy, have {},{}", west, north, out.x, out.y),
                  "leave the option out to get the smallest offset");
  if (out.fabric_width < need_width || out.fabric_height < need_height)
    diag.error_at(
        "--fabric-dims",
        fmt::format("the program does not fit on the fabric: need {} x {} (rectangle {} x {} at {},{}{}), "
                    "have {} x {}",
                    need_width, need_height, layout.width, layout.height, out.x, out.y,
                    memcpy ? fmt::format(", {} columns and {} rows behind it for memcpy", east, south) : "",
                    out.fabric_width, out.fabric_height),
        "give larger --fabric-dims, or leave the option out");
  if (out.fabric_width > m.fabric.width || out.fabric_height > m.fabric.height)
    diag.error_at(m.name,
                  fmt::format("the fabric is too small: need {} x {} PEs, have {} x {}", out.fabric_width,
                              out.fabric_height, m.fabric.width, m.fabric.height),
                  "use a smaller rectangle or another machine");
  return diag.errors() == errors ? std::optional(out) : std::nullopt;
}

void merge(const Diag& from, Diag& to) {
  for (const Diagnostic& d : from.all()) {
    if (d.severity == Severity::note)
      to.note(d.loc, d.message);
    else if (d.severity == Severity::warning)
      to.warning(d.loc, d.message, d.help);
    else if (d.loc.valid())
      to.error(d.loc, d.message, d.help);
    else
      to.error_at(d.where, d.message, d.help);
  }
}

// The file of a tile program, whose name has its parameters behind it.
std::string file_of(const MirTile& tile) { return tile.name.substr(0, tile.name.find(" (")); }

// Optimises and links. If the code does not fit into the memory of a PE, loops are unrolled as far as it does.
bool build_tile(const CslOptions& options, size_t number, const MirTile& mir, const Machine& machine, TileProgram& out,
                const Sources& sources, Diag& diag, uint32_t& too_many, std::vector<mir::NotUnrolled>& stays) {
  size_t step = 0;
  if (options.dump) options.dump(number, step, "lowered", mir::print(mir));
  if (options.opt_level <= 0) return link_tile(mir, machine, out, sources, diag, &too_many);
  mir::Options passes{.level = options.opt_level};
  if (options.dump)
    passes.after = [&](std::string_view pass, const MirTile& tile) {
      options.dump(number, ++step, pass, mir::print(tile));
    };
  for (;;) {
    MirTile tile = mir;
    const mir::Result result = mir::optimise(tile, machine, passes);
    Diag attempt;
    too_many = 0;
    TileProgram linked;
    const bool ok = link_tile(tile, machine, linked, sources, attempt, &too_many);
    if (!ok && too_many > 0 && result.unrolled_bytes > 0 && passes.code_budget > 0) {
      const uint32_t fits = result.unrolled_bytes > 2 * too_many ? result.unrolled_bytes - 2 * too_many : 0;
      passes.code_budget = std::min(fits, passes.code_budget / 2);
      continue;
    }
    merge(attempt, diag);
    for (const mir::NotUnrolled& n : result.not_unrolled) stays.push_back(n);
    out = std::move(linked);
    return ok;
  }
}

// Each loop once, however many tile programs have it.
void note_loops(const std::vector<std::vector<mir::NotUnrolled>>& stays, const Machine& machine, Diag& diag) {
  std::vector<SourceLoc> seen;
  for (const std::vector<mir::NotUnrolled>& loops : stays)
    for (const mir::NotUnrolled& n : loops) {
      if (std::find(seen.begin(), seen.end(), n.loc) != seen.end()) continue;
      seen.push_back(n.loc);
      diag.note(n.loc, fmt::format("this loop of {} trips is not unrolled: {} instructions more are beyond {} bytes",
                                   n.trips, n.instructions, machine.core.memory_bytes));
    }
}

bool link_all(const CslOptions& options, const MirLayout& layout, const Machine& machine, Program& out, Diag& diag,
              std::vector<TileFailure>& failures) {
  size_t count = layout.tiles.size();
  out.tiles.resize(count);
  std::vector<Diag> diags(count);
  std::vector<uint8_t> ok(count, 0);
  std::vector<uint32_t> too_many(count, 0);
  std::vector<std::vector<mir::NotUnrolled>> stays(count);
  std::atomic<size_t> done = count;  // they have been evaluated
  Workers(options.threads).for_each(count, [&](size_t i) {
    ok[i] = build_tile(options, i, layout.tiles[i], machine, out.tiles[i], diag.sources, diags[i], too_many[i],
                       stays[i]);
    progress::part("csl", ++done, 2 * count);
  });
  for (const Diag& d : diags) merge(d, diag);
  note_loops(stays, machine, diag);
  for (size_t i = 0; i < count; ++i)
    if (ok[i] == 0) failures.push_back({file_of(layout.tiles[i]), too_many[i]});
  return std::find(ok.begin(), ok.end(), 0) == ok.end();
}

// Step 4, in coordinates of the user rectangle.
std::vector<TileRect> rectangles(const MirLayout& layout) {
  std::vector<TileRect> out;
  std::vector<size_t> above, current;  // rectangles that reach the row above, this row
  for (int y = 0; y < layout.height; ++y) {
    current.clear();
    for (int x = 0; x < layout.width;) {
      const uint32_t* row = &layout.tile_of_pe[size_t(y) * size_t(layout.width)];
      int end = x + 1;
      while (end < layout.width && row[end] == row[x]) ++end;
      if (row[x] != ~0u) {
        auto same = std::find_if(above.begin(), above.end(), [&](size_t r) {
          return out[r].rect.x == x && out[r].rect.w == end - x && out[r].tile == row[x];
        });
        if (same != above.end()) {
          ++out[*same].rect.h;
          current.push_back(*same);
        } else {
          current.push_back(out.size());
          out.push_back({{x, y, end - x, 1}, row[x]});
        }
      }
      x = end;
    }
    std::swap(above, current);
  }
  return out;
}

// Adds the routes that tile programs set for themselves, and finds PEs with two configurations of a color.
class Routes {
 public:
  Routes(const MirLayout& layout, Program& out, Diag& diag) : layout_(layout), out_(out), diag_(diag) {}

  void run() {
    out_.routes.reserve(layout_.routes.size());
    locs_.reserve(layout_.routes.size());
    for (size_t i = 0; i < layout_.routes.size(); ++i) {
      add(layout_.routes[i], nullptr);
      locs_.resize(out_.routes.size(), layout_.route_locs[i]);
    }
    for (const TileRect& r : out_.rects)
      for (const auto& [color, config] : layout_.tiles[r.tile].routes) {
        add({r.rect, color, config}, &layout_.tiles[r.tile]);
        const auto& known = layout_.tiles[r.tile].route_locs;  // those of streams are set by no program
        const auto loc = known.find(color);
        locs_.resize(out_.routes.size(), loc == known.end() ? SourceLoc{} : loc->second);
      }
    if (out_.routes.size() == locs_.size()) check_routes(layout_, out_.routes, locs_, diag_);
  }

 private:
  void add(const RouteRun& run, const MirTile* tile) {
    std::vector<bool>& taken = taken_[run.color];
    taken.resize(size_t(layout_.width) * size_t(layout_.height));
    for (int y = run.rect.y; y < run.rect.y + run.rect.h; ++y) {
      for (int x = run.rect.x; x < run.rect.x + run.rect.w; ++x) {
        CS_CHECK(x >= 0 && y >= 0 && x < layout_.width && y < layout_.height,
                 "route outside of the rectangle");
        size_t at = size_t(y) * size_t(layout_.width) + size_t(x);
        if (taken[at]) return clash(run.color, x, y, tile);
        taken[at] = true;
      }
    }
    out_.routes.push_back(run);
  }

  void clash(int color, int x, int y, const MirTile* tile) {
    diag_.error_at(
        tile ? tile->name : "layout", fmt::format("color {} of PE ({}, {}) is configured twice", color, x, y),
        tile ? "use either @set_color_config in the layout or @set_local_color_config in the PE's program"
             : "call @set_color_config once for each PE and color");
  }

  const MirLayout& layout_;
  Program& out_;
  Diag& diag_;
  std::vector<SourceLoc> locs_;  // of the routes in out_
  std::map<int, std::vector<bool>> taken_;
};

// Colors that the host streams on, over all tile programs.
void collect_streams(const MirLayout& layout, Program& out, Diag& diag) {
  std::map<uint8_t, bool> inputs;
  for (const MirTile& tile : layout.tiles)
    for (const HostStream& s : tile.streams)
      if (const auto [it, added] = inputs.emplace(s.color, s.input); !added && it->second != s.input)
        diag.error_at(tile.name, fmt::format("color {} streams both to and from the host", s.color),
                      "give each stream of <memcpy/get_params> a color of its own");
  for (const auto& [color, input] : inputs) out.streams.push_back({color, input});
}

void warn_of_missing_functions(const Program& p, Diag& diag) {
  for (const ExportedName& e : p.exports)
    if (e.is_function && std::none_of(p.tiles.begin(), p.tiles.end(),
                                      [&](const TileProgram& t) { return t.function(e.name) != nullptr; }))
      diag.warning({},
                   named("export-missing",
                         fmt::format("the layout exports function '{}', which no PE program has", e.name)),
                   "use @export_symbol in the PE program, or remove the @export_name");
}

// Positions in artefacts do not depend on where the sources lie: paths are relative to the layout's folder.
void shorten_paths(const std::string& layout, Program& out) {
  std::string folder = std::filesystem::path(layout).parent_path().lexically_normal().generic_string();
  if (folder.empty() || folder == ".") return;
  folder += "/";
  for (TileProgram& tile : out.tiles)
    for (std::string& file : tile.files)
      if (file.starts_with(folder)) file.erase(0, folder.size());
}

std::optional<Program> compile(const CslOptions& options, const Machine& machine, Diag& diag,
                               std::vector<TileFailure>* failures) {
  FileLoader loader(options);
  MirLayout layout;
  std::vector<TileFailure> failed;
  if (!analyse(options, machine, loader, layout, diag)) {
    for (const std::string& file : layout.failed) failed.push_back({file, 0});
    if (failures) *failures = std::move(failed);
    return std::nullopt;
  }
  CS_CHECK(layout.tile_of_pe.size() == size_t(layout.width) * size_t(layout.height), "one entry per PE");
  std::optional<Placement> placement = place(options, layout, machine, diag);
  Program out;
  bool linked = link_all(options, layout, machine, out, diag, failed);
  if (failures) *failures = std::move(failed);
  if (!linked || !placement) return std::nullopt;

  out.name = std::filesystem::path(options.layout).stem().string();
  set_program_machine(out, machine);
  out.fabric_width = placement->fabric_width;
  out.fabric_height = placement->fabric_height;
  out.user = {placement->x, placement->y, layout.width, layout.height};
  out.memcpy = layout.memcpy;
  out.exports = layout.exports;
  out.ports = options.ports;
  out.rects = rectangles(layout);
  size_t errors = diag.errors();
  Routes(layout, out, diag).run();
  collect_streams(layout, out, diag);
  for (TileRect& r : out.rects) r.rect.x += placement->x, r.rect.y += placement->y;
  for (RouteRun& r : out.routes) r.rect.x += placement->x, r.rect.y += placement->y;
  shorten_paths(options.layout, out);
  warn_of_missing_functions(out, diag);
  if (diag.errors() != errors || !verify(out, machine, diag)) return std::nullopt;
  return out;
}

}  // namespace

std::optional<Program> compile_csl(const CslOptions& options, const Machine& machine, Diag& to,
                                   std::vector<TileFailure>* failures) {
  Diag diag;
  diag.sources = std::move(to.sources);
  std::optional<Program> out = compile(options, machine, diag, failures);
  to.sources = std::move(diag.sources);
  const size_t errors = to.errors();
  settle(diag, options.warnings, to);
  return to.errors() == errors ? std::move(out) : std::nullopt;
}

}  // namespace cs::csl
