// One graph after the other; the placer's starts use the threads.
#include "tools/cs-regress/kgraph.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "compiler/mapping/kgraph.h"
#include "runtime/support/files.h"
#include "runtime/support/progress.h"

namespace cs {
namespace {

namespace kgraph = mapping::kgraph;

struct Row {
  std::string file;
  kgraph::Graph graph;
  double bound = 0, seconds = 0;
  kgraph::Score score;
  bool placed = false;
  std::string message;
  bool ok() const { return placed && score.violations.empty(); }
  double gap() const { return score.delta_t / bound - 1; }
};

// Where deltaT counts no less than a unit of wire, the pace comes first: it stays near the bound, and wires
// get what is left. Where wires count more, it pays to be slower.
constexpr double kPaceFirst = 0.05, kWiresFirst = 0.5;

kgraph::SolveOptions solve_options(const KgraphOptions& o, const kgraph::Graph& g) {
  kgraph::SolveOptions s;
  s.floorplan.seed = o.seed;
  s.floorplan.threads = o.threads;
  s.floorplan.starts = 2;
  s.floorplan.moves =
      o.moves > 0 ? o.moves : std::max<int64_t>(1'500'000, 20'000 * int64_t(g.kernels.size()));
  s.largest_gap = g.wlength <= g.wdeltat ? kPaceFirst : kWiresFirst;
  return s;
}

Row run_one(const std::filesystem::path& file, const KgraphOptions& o, Diag& diag) {
  Row row;
  row.file = file.filename().string();
  const auto text = read_file(file.string(), diag, 1 << 24);
  auto graph = text ? kgraph::read_graph(*text, file.string(), diag) : std::nullopt;
  if (!graph) return row;
  row.graph = std::move(*graph);
  const auto start = std::chrono::steady_clock::now();
  Diag reasons;
  const auto solved = kgraph::solve(row.graph, file.string(), solve_options(o, row.graph), reasons);
  row.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!solved) {
    row.message = reasons.to_string();
    return row;
  }
  row.placed = true;
  row.bound = solved->bound;
  row.score = kgraph::check(row.graph, solved->solution);
  for (const std::string& v : row.score.violations) row.message += (row.message.empty() ? "" : "; ") + v;
  if (!o.paint.empty()) {
    std::error_code ec;
    std::filesystem::create_directories(o.paint, ec);
    const auto out = std::filesystem::path(o.paint) / file.stem();
    write_file_atomic(out.string() + ".paint", kgraph::paint_text(row.graph, solved->solution), diag);
  }
  return row;
}

std::string text_of(const std::vector<Row>& rows) {
  std::string out = fmt::format("{:<16} {:>7} {:>10} {:>10} {:>7} {:>10} {:>12} {:>8}  {}\n", "graph",
                                "kernels", "bound", "deltaT", "gap", "length", "sum", "seconds", "legal");
  for (const Row& r : rows) {
    out += fmt::format("{:<16} {:>7} ", r.file, r.graph.kernels.size());
    if (!r.placed) {
      out += "no placement: " + r.message + "\n";
      continue;
    }
    out += fmt::format("{:>10.8g} {:>10.8g} {:>5.2f} % {:>10.8g} {:>12.8g} {:>8.1f}  {}\n", r.bound,
                       r.score.delta_t, 100 * r.gap(), r.score.length, r.score.sum, r.seconds,
                       r.ok() ? "yes" : "NO: " + r.message);
    if (r.graph.wadapter != 0)
      out += fmt::format("{:<16} its weight of adapters, {:g}, is left out: their cost was never published\n",
                         "", r.graph.wadapter);
  }
  return out;
}

nlohmann::json json_of(const std::vector<Row>& rows) {
  nlohmann::json list = nlohmann::json::array();
  for (const Row& r : rows) {
    nlohmann::json row{{"file", r.file}, {"ok", r.ok()}, {"message", r.message}, {"seconds", r.seconds}};
    if (r.placed)
      row.update({{"kernels", r.graph.kernels.size()},
                  {"bound", r.bound},
                  {"delta_t", r.score.delta_t},
                  {"gap", r.gap()},
                  {"length", r.score.length},
                  {"sum", r.score.sum}});
    list.push_back(std::move(row));
  }
  return {{"schema", "wafersmith-kgraph/1"}, {"rows", list}};
}

}  // namespace

int run_kgraphs(const KgraphOptions& o, std::string& out, Diag& diag) {
  namespace fs = std::filesystem;
  std::vector<fs::path> files;
  std::error_code ec;
  for (fs::directory_iterator it(o.folder, ec), end; !ec && it != end; it.increment(ec))
    if (it->path().extension() == ".kgraph") files.push_back(it->path());
  std::sort(files.begin(), files.end());
  if (files.empty()) {
    diag.error_at(o.folder, "no .kgraph file in this folder");
    return 1;
  }
  std::vector<Row> rows;
  progress::stage("", 0, 1);
  for (const fs::path& file : files) {
    rows.push_back(run_one(file, o, diag));
    progress::part("", rows.size(), files.size());
  }
  if (!diag.ok()) return 1;
  out = o.json ? json_of(rows).dump(1) : text_of(rows);
  return std::all_of(rows.begin(), rows.end(), [](const Row& r) { return r.ok(); }) ? 0 : 4;
}

}  // namespace cs
