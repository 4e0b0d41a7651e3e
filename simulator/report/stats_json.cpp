// RunReport -> JSON. Absent figures are null, never left out, so that scripts need not test for keys.
#include "simulator/report/stats_json.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "simulator/report/cycle_classes.h"
#include "simulator/report/insights.h"
#include "simulator/report/training_json.h"

namespace cs::sim {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kListedTiles = 2000;  // a layout may have a tile program for every PE

template <typename T>
Json or_null(const std::optional<T>& v) {
  return v ? Json(*v) : Json(nullptr);
}

Json rect_json(const Rect& r) { return r.area() == 0 ? Json(nullptr) : Json{r.x, r.y, r.w, r.h}; }

Json stalls_json(const std::array<uint64_t, kStalls>& stalls) {
  Json out = Json::object();
  for (int i = 0; i < kStalls; ++i) out[stall_name(Stall(i))] = stalls[size_t(i)];
  return out;
}
Json stalls_json(const PeTime& t) { return stalls_json(t.stalls); }

Json counterpart_json(const KernelReport& k) {
  if (!k.counterpart) return nullptr;
  const Counterpart& c = *k.counterpart;
  return {{"name", c.name},
          {"origin", origin_name(c.origin)},
          {"cycles", c.cycles},
          {"ratio", c.ratio},
          {"this_cycles", c.this_cycles},
          {"interval_cycles", or_null(c.interval_cycles)},
          {"this_interval_cycles", or_null(c.this_interval_cycles)}};
}

Json kernel_json(const KernelReport& k) {
  return {{"name", k.row.name},
          {"op", k.row.op},
          {"kernel", k.row.kernel},
          {"origin", origin_name(k.row.origin)},
          {"reason", k.row.reason},
          {"copy", k.row.copy},
          {"rect", rect_json(k.row.rect)},
          {"cycles", or_null(k.cycles)},
          {"first_task", or_null(k.first_task)},
          {"last_task_end", or_null(k.last_task_end)},
          {"busy", k.time.busy},
          {"stalls", stalls_json(k.time)},
          {"idle", k.time.idle},
          {"flops", k.flops},
          {"ideal_cycles", k.row.ideal_cycles},
          {"estimated_cycles", k.row.estimated_cycles},
          {"estimate_ratio", or_null(k.estimate_ratio())},
          {"bytes_per_pe", k.row.bytes_per_pe},
          {"colours", k.row.colors},
          {"nodes", k.row.nodes},
          {"counterpart", counterpart_json(k)}};
}

Json op_json(const OpRow& op) {
  return {{"name", op.name},     {"op", op.op},           {"origin", origin_name(op.origin)},
          {"reason", op.reason}, {"kernels", op.kernels}, {"where", op.where}};
}

// Of a launch that is not over, what has not happened is null.
Json launches_json(const RunReport& r) {
  Json out = Json::array();
  for (const LaunchSpan& l : r.launches) {
    const Json none;
    out.push_back({{"function", l.function},
                   {"issued", l.issued},
                   {"begin", l.begin == kNever ? none : Json(l.begin)},
                   {"end", l.done() ? Json(l.end) : none},
                   {"cycles", l.done() ? Json(l.cycles()) : none},
                   {"pes", l.pes},
                   {"pes_ended", l.ended},
                   {"last_begin", l.begin == kNever ? none : Json(l.last_begin)},
                   {"first_end", l.ended > 0 ? Json(l.first_end) : none},
                   {"last_pe", l.ended > 0 ? Json{l.last_pe.x, l.last_pe.y} : none},
                   {"pe_cycles", l.pe_cycles}});
  }
  return out;
}

Json functions_json(const RunReport& r) {
  Json out = Json::array();
  for (const FunctionCost& f : r.functions)
    out.push_back({{"function", f.name},
                   {"kind", f.kind},
                   {"where", f.where},
                   {"runs", f.runs},
                   {"pes", f.pes},
                   {"pe_cycles", f.cycles},
                   {"longest", f.longest},
                   {"longest_pe", {f.longest_pe.x, f.longest_pe.y}}});
  return out;
}

Json lines_json(const RunReport& r) {
  Json out = Json::array();
  for (const LineCost& l : r.lines)
    out.push_back({{"file", l.file},
                   {"line", l.line > 0 ? Json(l.line) : Json(nullptr)},
                   {"pe_cycles", l.cycles()},
                   {"busy", l.busy},
                   {"stalls", stalls_json(l.stalls)}});
  return out;
}

Json tiles_json(const RunReport& r) {
  Json out = Json::array();
  for (const TileUse& t : std::span(r.tiles).first(std::min(kListedTiles, r.tiles.size())))
    out.push_back({{"name", t.name},
                   {"functions", t.functions},
                   {"pes", t.pes},
                   {"bytes", t.bytes},
                   {"busy", t.time.busy},
                   {"stalls", stalls_json(t.time.stalls)},
                   {"idle", t.time.idle}});
  return out;
}

Json waits_json(const RunReport& r) {
  Json out = Json::array();
  for (const WaitRow& w : r.waits)
    out.push_back({{"kernel", w.kernel}, {"for", w.what_for}, {"cause", w.cause}, {"cycles", w.cycles}});
  return out;
}

Json path_json(const CriticalPath& path) {
  Json out = Json::array();
  for (const PathStep& s : path.steps)
    out.push_back({{"kernel", s.name},
                   {"sample", s.sample},
                   {"last_sample", s.last_sample},
                   {"begin", s.begin},
                   {"end", s.end},
                   {"cause", cause_name(s.cause)},
                   {"from", s.from.empty() ? Json(nullptr) : Json(s.from)}});
  return out;
}

// Shares of kernels, host and ways add up to the part of the run that the path explains.
Json limit_json(const CriticalPath& path) {
  if (path.shares.empty()) return nullptr;
  Json shares = Json::array();
  for (const PathShare& s : path.shares)
    shares.push_back({{"kernel", s.name}, {"cycles", s.cycles}, {"share", path.share(s.cycles)}});
  return {{"text", path.text}, {"steady", path.steady}, {"begin", path.begin},       {"end", path.end},
          {"shares", shares},  {"ways", path.ways},     {"left_out", path.left_out}};
}

Json advice_json(const RunReport& r) {
  Json out = Json::array();
  for (const Advice& a : r.advice)
    out.push_back({{"command", a.command},
                   {"why", a.why},
                   {"figure", a.figure},
                   {"this", a.base},
                   {"advised", a.value},
                   {"gain", a.gain()},
                   {"pes_used", a.pes_used}});
  return out;
}

Json check_json(const RunReport& r) {
  if (!r.check) return nullptr;
  Json out{{"tensors", r.check->tensors},
           {"max_abs", r.check->max_abs},
           {"max_rel", r.check->max_rel},
           {"tolerance", r.check->tolerance},
           {"ok", r.check->ok}};
  // JSON has no inf and no nan; they would become null. A difference without bound is told in words.
  if (!r.check->mismatch.empty()) out["mismatch"] = r.check->mismatch;
  return out;
}

// Bytes of state, counted from the engine's tables. `data` is what the programs of working PEs declare.
Json memory_json(const MemoryUse& m) {
  return {{"working_pes", m.working_pes},
          {"idle_pes", m.idle_pes},
          {"bytes_per_working_pe", m.bytes_per_working_pe()},
          {"bytes_per_idle_pe", m.bytes_per_idle_pe()},
          {"data", m.data},
          {"fabric", m.fabric},
          {"cores", m.cores}, {"registers", m.registers}, {"operations", m.operations},
          {"ahead", m.ahead},
          {"growth", m.growth},
          {"shared", m.shared}};
}

Json simulator_json(const RunReport& r) {
  const SimulatorFigures& s = r.simulator;
  const double wall = std::max(s.wall_s, 1e-9);
  const double active = double(r.time.total() - r.time.idle);
  return {{"wall_s", s.wall_s},
          {"cycles_per_s", double(r.cycles) / wall},
          {"wavelet_hops_per_s", double(r.wavelet_hops) / wall},
          {"tile_cycles_per_s", active / wall},
          {"peak_rss_mb", s.peak_rss_mb},
          {"threads", s.threads},
          {"memory", memory_json(s.memory)}};
}

Json host_json(const RunReport& r) {
  const HostUse& h = r.host;
  if (h.cores == 0) return nullptr;
  const double core_cycles = double(h.cores) * double(r.cycles);
  return {{"cores", h.cores},
          {"crossing_cycles", h.crossing_cycles},
          {"operators_run", h.work.size()},
          {"busy", h.busy()},
          {"utilisation", core_cycles > 0 ? double(h.busy()) / core_cycles : 0}};
}

const char* reason_name(StopReason r) {
  switch (r) {
    case StopReason::condition:
      return "done";
    case StopReason::idle:
      return "idle";
    case StopReason::deadlock:
      return "deadlock";
    case StopReason::fault:
      return "fault";
    case StopReason::max_cycles:
      return "limit";
    case StopReason::interrupted:
      return "interrupted";
  }
  return "";
}

Json energy_json(const Energy& e) {
  return {{"total", e.total()},     {"hops", e.hops},
          {"memory", e.memory},     {"operations", e.operations},
          {"instructions", e.instructions}, {"idle", e.idle}};
}

Json status_json(const RunStatus& s) {
  return {{"reason", reason_name(s.reason)}, {"cycle", s.now}, {"fault", s.fault}, {"message", s.message}};
}

Json stats(const RunReport& r) {
  Json out{{"schema", "wafersmith-stats/1"},
           {"program", r.program},
           {"model", r.model}, {"policy", r.policy}, {"dtype", r.dtype},
           {"machine", r.machine},
           {"fabric", {r.fabric_width, r.fabric_height}},
           {"clock_mhz", r.clock_mhz},
           {"status", status_json(r.status)},
           {"iterations", r.iterations},
           {"copies", r.copies},
           {"cycles", r.cycles},
           {"latency_cycles", or_null(r.latency_cycles)},
           {"interval_cycles", or_null(r.interval_cycles)},
           {"samples_per_second", or_null(r.samples_per_second)},
           {"sample_end", r.sample_end},
           {"curves", curves_json(r)},
           {"evaluations", evaluations_json(r)},
           {"training", training_json(r)},
           {"flops", r.flops},
           {"utilisation", r.utilisation},
           {"roof_cycles", r.roof.cycles() > 0 ? Json(r.roof.cycles()) : Json(nullptr)},
           {"roof", {{"operations", r.roof.operations}, {"memory", r.roof.memory}, {"host", r.roof.host}}},
           {"efficiency", or_null(r.efficiency())},
           {"wavelet_hops", r.wavelet_hops},
           {"instructions", r.instructions},
           {"memory_bytes", r.memory_bytes},
           {"energy_uj", energy_json(r.energy)},
           {"pes_used", r.pes_used},
           {"busy", r.time.busy}, {"stalls", stalls_json(r.time)},
           {"idle", r.time.idle},
           {"classes", classes_json(r)}, {"expected_error_percent", or_null(expected_error(r.classes))},
           {"memory_bytes_max", r.memory_bytes_max}, {"memory_bytes_have", r.memory_bytes_have},
           {"host", host_json(r)}};
  out["launches"] = launches_json(r);
  out["launched_cycles"] = r.launches.empty() ? Json(nullptr) : Json(r.launched_cycles());
  out["host_call_us"] = r.host_call_seconds * 1e6;
  out["aligned_clones"] = r.aligned_clones, out["clone_cycles"] = r.clone_cycles;
  out["loading"] = {{"constant_bytes", r.constant_bytes}, {"permuted_words", r.permuted_words}};
  out["functions"] = functions_json(r);
  out["lines"] = lines_json(r);
  out["tiles"] = tiles_json(r);
  out["kernels"] = Json::array();
  for (const KernelReport& k : r.kernels) out["kernels"].push_back(kernel_json(k));
  out["waits"] = waits_json(r);
  out["set_by"] = limit_json(r.path);
  out["critical_path"] = path_json(r.path);
  const Estimates e = estimates_of(r.kernels);
  out["estimates"] = {{"kernels", e.kernels}, {"within", e.within}, {"tolerance", kEstimateTolerance}};
  out["ops"] = Json::array();
  for (const OpRow& op : r.ops) out["ops"].push_back(op_json(op));
  out["against"] = Json::array();
  for (const Comparison& c : r.comparisons)
    out["against"].push_back(
        {{"name", c.name}, {"this", c.this_value}, {"base", c.base}, {"ratio", c.ratio()}});
  out["advice"] = advice_json(r);
  out["allowed"] = Json::object();
  for (const auto& [fault, count] : r.allowed) out["allowed"][fault] = count;
  out["simulator"] = simulator_json(r);
  out["check"] = check_json(r);
  return out;
}

Json timeline_json(const Timeline& t) {
  Json bins = Json::array();
  for (const TimelineBin& b : t.bins) {
    Json bin{b.time.busy};
    for (const uint64_t s : b.time.stalls) bin.push_back(s);
    bin.push_back(b.time.idle);
    bins.push_back({{"pe", bin}, {"kernels", b.kernel_busy}});
  }
  return {{"bin_cycles", t.bin_cycles}, {"bins", bins}};
}

// Of a layout with more rectangles than a picture can show, the first ones of each tile program.
Json tile_rects_json(const RunReport& r) {
  constexpr size_t kShown = 20000;
  const auto tiles = std::span(r.tiles).first(std::min(kListedTiles, r.tiles.size()));
  const size_t each = tiles.empty() ? 0 : std::max<size_t>(1, kShown / tiles.size());
  Json out = Json::array();
  for (const TileUse& t : tiles) {
    Json rects = Json::array();
    for (size_t i = 0; i < std::min(each, t.rects.size()); ++i) rects.push_back(rect_json(t.rects[i]));
    out.push_back(rects);
  }
  return out;
}

Json host_work_json(const HostUse& h) {
  Json work = Json::array();
  for (const HostWork& w : h.work)
    work.push_back({{"op", w.op},
                    {"makes", w.makes},
                    {"sample", w.sample},
                    {"core", w.core},
                    {"begin", w.begin},
                    {"end", w.end}});
  return work;
}

Json maps_json(const WaferMaps& m) {
  Json maps = Json::array();
  for (const WaferMap& map : m.maps) {
    Json values = Json::array();
    // Four significant digits are more than a colour or a tooltip shows, and keep the page small.
    for (const double v : map.values) values.push_back(std::round(v * 100) / 100);
    maps.push_back({{"name", map.name}, {"unit", map.unit}, {"values", values}});
  }
  return {{"area", rect_json(m.area)},
          {"cell", m.cell},
          {"columns", m.columns},
          {"rows", m.rows},
          {"maps", maps}};
}

}  // namespace

std::string stats_json(const RunReport& r, int indent) {
  return stats(r).dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string page_json(const RunReport& r) {
  Json found = Json::array();
  for (const Insight& i : insights(r)) found.push_back({{"title", i.title}, {"advice", i.advice}});
  const Json out{{"stats", stats(r)},
                 {"insights", found},
                 {"maps", maps_json(r.maps)},
                 {"timeline", timeline_json(r.timeline)},
                 {"host_work", host_work_json(r.host)},
                 {"tile_rects", tile_rects_json(r)},
                 {"against", r.against},
                 {"against_note", r.against_note},
                 {"baselines_note", r.baselines_note},
                 {"advice_note", r.advice_note},
                 {"config", r.config}};
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string run_json(const RunRecord& record, const RunReport& r) {
  const Json out{{"schema", "wafersmith-run/1"},    {"tool", record.tool_version},
                 {"program", record.program},       {"program_hash", record.program_hash},
                 {"command", record.command},       {"seed", record.seed},
                 {"status", status_json(r.status)}, {"exit_code", record.exit_code},
                 {"wall_s", record.wall_s},         {"stats", "stats.json"},
                 {"report", "report.html"},         {"config", "config.yaml"}};
  return out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace cs::sim
