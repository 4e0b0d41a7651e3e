// Figures of training as JSON.
#include "simulator/report/training_json.h"

#include <algorithm>
#include <cmath>

namespace cs::sim {

using Json = nlohmann::ordered_json;

// Null for what is no number, and for runs that train nothing.
Json curves_json(const RunReport& r) {
  if (!r.training) return nullptr;
  Json out = Json::array();
  for (const Curve& c : r.curves) {
    Json values = Json::array();
    for (const double v : c.values) values.push_back(std::isfinite(v) ? Json(v) : Json(nullptr));
    out.push_back({{"name", c.name}, {"values", std::move(values)}});
  }
  return out;
}

// Null for runs that evaluate nothing.
Json evaluations_json(const RunReport& r) {
  if (r.evaluations.empty()) return nullptr;
  Json out = Json::array();
  for (const Evaluation& e : r.evaluations) {
    Json round = {{"after_steps", e.after_steps}, {"batches", e.batches}};
    for (const auto& [name, mean] : e.means) round[name] = std::isfinite(mean) ? Json(mean) : Json(nullptr);
    out.push_back(std::move(round));
  }
  return out;
}

Json training_json(const RunReport& r) {
  if (!r.training) return nullptr;
  const double steps = std::max(1, r.iterations);
  Json phases = Json::array(), memory = Json::object(), edge = Json::array();
  for (const StepPhase& p : r.steps.phases)
    phases.push_back({{"name", p.name},
                      {"kernels", p.kernels},
                      {"cycles", p.cycles ? Json(*p.cycles) : Json(nullptr)},
                      {"busy", p.busy}});
  for (const PurposeBytes& b : r.steps.memory) memory[b.purpose] = b.bytes;
  for (const EdgeTraffic& t : r.steps.edge)
    edge.push_back({{"tensor", t.tensor},
                    {"what", t.what},
                    {"to", t.to_wafer ? "wafer" : "host"},
                    {"words", t.words},
                    {"bytes_per_step", double(4 * t.words) / steps}});
  return {{"phases", phases},
          {"memory_by_purpose", memory},
          {"edge", edge},
          {"edge_bytes_per_step", double(4 * r.steps.edge_words()) / steps}};
}

}  // namespace cs::sim
