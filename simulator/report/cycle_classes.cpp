// Classes of cycles from counters; their errors from the table that is built in.
#include "simulator/report/cycle_classes.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

namespace cs {
const std::vector<std::pair<std::string_view, std::string_view>>& embedded_class_errors();
}

namespace cs::sim {
namespace {

// PE cycles of the classes that counters tell apart.
struct Cycles {
  uint64_t fabric = 0, vector = 0, scalar = 0, task = 0;
  Cycles(uint64_t busy, uint64_t memory_groups, uint64_t fabric_groups,
         const std::array<uint64_t, kStalls>& stalls) {
    const auto stalled = [&](Stall s) { return stalls[size_t(s)]; };
    fabric = fabric_groups + stalled(Stall::input) + stalled(Stall::output);
    vector = memory_groups + stalled(Stall::memory);
    scalar = busy - fabric_groups - memory_groups + stalled(Stall::dependency);
    task = stalled(Stall::dispatch);
  }
  uint64_t sum() const { return fabric + vector + scalar + task; }
  Cycles& operator-=(const Cycles& o) {
    fabric -= o.fabric;
    vector -= o.vector;
    scalar -= o.scalar;
    task -= o.task;
    return *this;
  }
};

// PEs stand still from a command to the first instruction of its function.
uint64_t launch_cycles(const RunReport& r) {
  uint64_t sum = 0;
  for (const LaunchSpan& l : r.launches)
    if (l.begin != kNever) sum += (l.begin - l.issued) * uint64_t(l.pes);
  return std::min(sum, r.time.idle);
}

// Of the classes that were measured.
void add_errors(std::vector<CycleClass>& classes) {
  const auto& [file, text] = embedded_class_errors().at(0);
  Diag diag;
  const auto errors = read_class_errors(std::string(text), std::string(file), diag);
  CS_CHECK(errors.has_value(), "the errors of classes cannot be read");
  for (CycleClass& c : classes)
    for (const ClassError& e : *errors)
      if (e.name == c.name) c.error = e;
}

bool has_foreign_code(const Program& p) {
  return std::any_of(p.tiles.begin(), p.tiles.end(), [](const TileProgram& t) {
    return std::any_of(t.lines.begin(), t.lines.end(), [&](const LineEntry& e) {
      return e.file < t.files.size() && is_foreign_library(t.files[e.file]);
    });
  });
}

uint64_t sum_of(const std::vector<CycleClass>& classes) {
  uint64_t sum = 0;
  for (const CycleClass& c : classes) sum += c.pe_cycles.value_or(0);
  return sum;
}

}  // namespace

bool is_foreign_library(const std::string& file) { return file.starts_with("<collectives_2d/"); }

void add_classes(RunReport& r, const Program& program) {
  Cycles all(r.time.busy, r.memory_groups, r.fabric_groups, r.time.stalls);
  std::optional<uint64_t> foreign = 0;
  for (const LineCost& l : r.lines) {
    if (!is_foreign_library(l.file)) continue;
    const Cycles cycles(l.busy, l.memory_groups, l.fabric_groups, l.stalls);
    all -= cycles;
    *foreign += cycles.sum();
  }
  if (r.lines.empty() && has_foreign_code(program)) foreign = std::nullopt;
  const std::optional<uint64_t> cycles[] = {all.fabric, all.vector,       all.scalar,
                                            all.task,   launch_cycles(r), foreign};
  for (size_t i = 0; i < std::size(cycles); ++i)
    r.classes.push_back({std::string(error_classes()[i]), cycles[i]});
  add_errors(r.classes);
}

std::optional<double> expected_error(const std::vector<CycleClass>& classes) {
  double sum = 0;
  const uint64_t all = sum_of(classes);
  for (const CycleClass& c : classes) {
    if (!c.pe_cycles) return std::nullopt;
    if (*c.pe_cycles == 0) continue;
    if (!c.error) return std::nullopt;
    sum += double(*c.pe_cycles) * c.error->mean;
  }
  return all > 0 ? std::optional(sum / double(all)) : std::nullopt;
}

std::string classes_line(const RunReport& r) {
  const uint64_t all = sum_of(r.classes);
  std::string out;
  for (const CycleClass& c : r.classes) {
    if (all == 0 || c.pe_cycles == 0) continue;
    const std::string error = c.error ? fmt::format(" ({:.1f} %)", c.error->mean) : " (not measured)";
    const std::string share =
        c.pe_cycles ? fmt::format("{:.1f} %", 100 * double(*c.pe_cycles) / double(all)) : "some";
    out += fmt::format("{}{} {}{}", out.empty() ? "" : ", ", c.name, share, error);
  }
  return out;
}

nlohmann::ordered_json classes_json(const RunReport& r) {
  using Json = nlohmann::ordered_json;
  const uint64_t all = sum_of(r.classes);
  Json out = Json::array();
  for (const CycleClass& c : r.classes) {
    Json row{{"class", c.name}};
    row["pe_cycles"] = c.pe_cycles ? Json(*c.pe_cycles) : Json(nullptr);
    row["share"] = c.pe_cycles && all > 0 ? Json(double(*c.pe_cycles) / double(all)) : Json(nullptr);
    row["mean_error_percent"] = c.error ? Json(c.error->mean) : Json(nullptr);
    row["worst_error_percent"] = c.error ? Json(c.error->worst) : Json(nullptr);
    row["points"] = c.error ? c.error->points : 0;
    out.push_back(row);
  }
  return out;
}

}  // namespace cs::sim
