// Edit distance (insert, delete, replace, swap of neighbours) in one table row after the other; a name is
// close if at most a third of it differs. Ties go to the alphabetically first, so that messages do not depend
// on map order.
#include "compiler/csl/suggest.h"

#include <algorithm>

#include <fmt/format.h>

namespace cs::csl {
namespace {

constexpr size_t kLongestName = 64;

size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i)
    for (size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

}  // namespace

std::string did_you_mean(std::string_view name, const std::vector<std::string>& known) {
  if (name.size() > kLongestName) return {};
  size_t best = std::max<size_t>(1, name.size() / 3) + 1;
  std::string_view found;
  for (const std::string& k : known) {
    if (k.size() > kLongestName) continue;
    const size_t d = distance(name, k);
    if (d < best || (d == best && !found.empty() && k < found)) {
      best = d;
      found = k;
    }
  }
  return found.empty() ? std::string() : fmt::format("did you mean '{}'?", found);
}

}  // namespace cs::csl
