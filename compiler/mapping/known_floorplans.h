// Where the placer put kernels before: a model is placed again in other forms, down the ladder of its fallbacks, for
// its advice and in copies, and most problems are ones that were solved.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "compiler/mapping/floorplan.h"

namespace cs::mapping {

// May be used by several threads.
class KnownFloorplans {
 public:
  using Rects = std::optional<std::vector<Rect>>;  // of the kernels; nothing: no placement was found
  // What `search` finds, which is asked once for all problems and options of which rectangles do not depend on the
  // difference. Two threads that miss the same rectangles both search, and find the same.
  Rects rects(const FloorplanProblem&, const FloorplanOptions&, const std::function<Rects()>& search);

 private:
  std::mutex mutex_;
  std::map<std::string, Rects> known_;  // by key_of() in the .cpp
};

}  // namespace cs::mapping
