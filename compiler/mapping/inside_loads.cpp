// What kernels and buffers send inside, link by link: streams that lie on the same links wait for it.
#include <algorithm>
#include <map>
#include <vector>

#include "compiler/mapping/link_loads.h"

namespace cs::mapping {

namespace {

class Inside {
 public:
  Inside(const Parts& parts, const FlowPlan& plan, LinkLoads& loads)
      : parts_(parts), plan_(plan), loads_(loads), made_(parts.instances.size()) {
    for (const Stream& s : parts.streams)
      if (s.producer >= 0) made_[size_t(s.producer)][s.result] = double(s.words);
  }

  void run() {
    for (size_t i = 0; i < plan_.of_instance.size(); ++i) {
      operands(parts_.instances[i], plan_.of_instance[i]);
      results(parts_.instances[i], plan_.of_instance[i], made_[i]);
    }
  }

 private:
  const Flow& flow(int f) const { return plan_.flows[size_t(f)]; }

  void operands(const Instance& inst, const InstanceFlows& flows) {
    for (size_t k = 0; k < flows.scatter.size(); ++k) {
      const bool rows = inst.in_rows();
      const auto all = double(inst.work.kind->operand_words(inst, int(k)));
      loads_.add(flow(flows.scatter[k]), [&](Coord from, Port link) {
        return rows ? double(inst.layout->row_words(k, from.y - inst.rect.y)) : all * columns_behind(inst, from, link);
      });
    }
  }
  // Each column takes an equal part of the stream and sends it down.
  static double columns_behind(const Instance& inst, Coord from, Port link) {
    const int columns = link == Port::south ? 1 : inst.rect.x + inst.rect.w - std::max(from.x + 1, inst.rect.x);
    return double(columns) / inst.rect.w;
  }

  // On each row an equal part, which grows from PE to PE where they send in turns.
  void results(const Instance& inst, const InstanceFlows& flows, std::map<int, double>& made) {
    const kernels::Footprint footprint = inst.footprint();
    double all = 0;
    for (const auto& [result, words] : made) all += words;
    for (size_t j = 0; j < flows.gather.size(); ++j)
      loads_.add(flow(flows.gather[j]), [&](Coord from, Port) {
        const double senders = footprint.partial_sums ? inst.rect.w : from.x + 1 - inst.rect.x;
        return made[int(j)] / inst.rect.h * senders / inst.rect.w;
      });
    for (const int f : flows.chain)
      if (f >= 0) loads_.add(flow(f), footprint.snake ? all : all / inst.rect.h);
    if (flows.back >= 0) loads_.add(flow(flows.back), all / inst.rect.h);
  }

  const Parts& parts_;
  const FlowPlan& plan_;
  LinkLoads& loads_;
  std::vector<std::map<int, double>> made_;  // words of a sample, by instance, by result
};

}  // namespace

LinkLoads inside_loads(const Parts& parts, const FlowPlan& plan, const Extent& fabric) {
  LinkLoads loads(fabric);
  Inside(parts, plan, loads).run();
  return loads;
}

}  // namespace cs::mapping
