// Streams that share links look for other ways, round after round, when all of them have one.
//
//   1. all of those on links with too many wavelets, each at the prices that the others made
//      (route_priced.h), until that is little help any more
//   2. those on the fullest links alone, so that the others do not take what they find
//   3. in colors, those round the fullest link together: one that has no other way there, since others have
//      its colors, has one when these look for theirs behind it
//
// What was the best stays: it is no worse than before. Streams of the host keep their places at the edge.
#pragma once

#include <compare>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/mapping/route_paths.h"

namespace cs::mapping {

class Rounds {
 public:
  // Another way of a stream at the prices as they are, in a color if the rounds are in colors; `far`: also
  // one that takes long to find.
  using Find = std::function<std::optional<Flow>(size_t stream, bool far)>;
  enum class Colors : uint8_t { none, given };
  // No way changes that a sample takes `anyway` cycles. All flows of the plan's streams were added to the
  // paths.
  Rounds(const Parts& parts, FlowPlan& plan, Paths& paths, double anyway, Colors colors, Find find)
      : parts_(parts), plan_(plan), paths_(paths), anyway_(anyway), colors_(colors), find_(std::move(find)) {}
  void run();

 private:
  enum class Who : uint8_t { all, fullest };
  // Of the links that some streams take: the wavelets of the fullest one, and those of the fullest one of
  // each stream together.
  struct Crowding {
    double worst = 0, all = 0;
    auto operator<=>(const Crowding&) const = default;
  };
  using Flows = std::map<size_t, Flow>;  // by stream

  void rounds(Who);
  std::vector<size_t> moving_of(const std::vector<size_t>& crowded, Who, const Crowding& now) const;
  void round_the_fullest();
  bool again_around(RouterKey, int reach, const Crowding& now);
  std::vector<size_t> streams_around(RouterKey, int reach) const;

  std::vector<size_t> crowded() const;
  std::vector<size_t> on_links_above(const std::vector<size_t>& streams, double wavelets) const;
  Crowding crowding_of(const std::vector<size_t>&) const;
  Wavelets wavelets(size_t stream) const { return wavelets_of(parts_, parts_.streams[stream]); }
  Flow& flow_of(size_t stream) const { return plan_.flows[size_t(plan_.of_stream[stream])]; }
  void set_way(size_t stream, Flow found);
  void route_again(size_t stream, bool far, Flows& before);
  void go_back(Flows& before);

  const Parts& parts_;
  FlowPlan& plan_;
  Paths& paths_;
  const double anyway_;
  const Colors colors_;
  const Find find_;
};

}  // namespace cs::mapping
