// Skews as the kinds of the kernels say them.
#include "compiler/mapping/skew.h"

namespace cs::mapping {

Skew skew_of(const Instance& inst) { return inst.work.kind->skew(inst, inst.plan, inst.layout.get()); }

std::vector<Skew> skews_of(const Parts& parts) {
  std::vector<int64_t> passed(parts.instances.size(), 0);
  for (const Stream& s : parts.streams) {
    if (s.producer >= 0) passed[size_t(s.producer)] = s.words;
  }
  std::vector<Skew> list;
  list.reserve(parts.instances.size());
  for (size_t i = 0; i < parts.instances.size(); ++i) {
    if (!parts.instances[i].work.kind->passes_any()) {
      list.push_back(skew_of(parts.instances[i]));
      continue;
    }
    Instance inst;
    inst.work = parts.instances[i].work;
    inst.work.n = inst.work.m = passed[i];
    inst.slack = parts.instances[i].slack;
    list.push_back(skew_of(inst));
  }
  return list;
}

}  // namespace cs::mapping
