// Kernels of a network, measured alone: what the passes ask for (passes/measured.h). Internal to tools/api.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compiler/mapping/alone.h"
#include "compiler/passes/measured.h"
#include "tools/api/bench.h"

namespace cs::api {

class KernelTuner : public passes::Measured {
 public:
  // `off` says where kernels lie and how long they take, as far as estimates know.
  KernelTuner(const CompileOptions&, const Compiled& off, Bench&, TuneReport&);

  std::vector<std::vector<std::optional<double>>> plain(const graph::Graph&, std::span<const Plain>) override;
  bool counts(const graph::Graph&, graph::NodeId) const override;
  std::vector<Result> together(const graph::Graph&, const std::vector<graph::NodeId>& nodes,
                               std::span<const passes::KernelCandidate>) override;
  Result alone(const graph::Graph&, const std::vector<graph::NodeId>& nodes) override;
  int most_with_epilogue() const override { return options_.tuning.epilogue_choices; }
  void decided(std::string_view kernel, std::string_view epilogue, bool fused, std::string_view by) override;
  void footprints(const graph::Graph&) override;
  std::shared_ptr<const mapping::MeasuredPlans> plans() const override { return plans_; }

 private:
  struct Home {  // of a kernel without tuning
    Rect rect;
    double interval = 0;
  };
  mapping::MapOptions map_options() const;
  TuneJob job(const graph::Graph& kernel, const std::string& phase, const Rect&, bool exact, double estimated) const;
  std::vector<mapping::RectChoice> near_rectangles(const graph::Graph& kernel, const Home&) const;
  void remember(const std::string& node, Origin, const mapping::RectChoice&, double cycles);
  const Home* home_of(const graph::Graph&, graph::NodeId) const;

  const CompileOptions& options_;
  const Machine& machine_;
  Bench& bench_;
  TuneReport& report_;
  std::map<std::string, Home> homes_;  // by the first node of a kernel
  double slowest_ = 0;
  std::map<std::pair<std::string, std::string>, Rect> best_;  // by node and kernel
  std::pair<std::string, std::vector<mapping::MeasuredPlans::Of>> fused_;  // of the last kernel with an epilogue
  std::shared_ptr<mapping::MeasuredPlans> plans_ = std::make_shared<mapping::MeasuredPlans>();
};

}  // namespace cs::api
