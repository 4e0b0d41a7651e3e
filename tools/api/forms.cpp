// Which form of a network is tried, and which is taken.
#include "tools/api/forms.h"

#include <fmt/format.h>

namespace cs::api {

namespace {

constexpr size_t kMostKernels = 128;
constexpr int64_t kMostPes = 16'384;
constexpr double kWorth = 1.15;  // estimates of networks err by as much

}  // namespace

bool tries_forms(const CompileOptions& o) {
  return o.policy == passes::Policy::medium && o.rect_width == 0 && !o.resident && o.pace == 1 &&
         o.pipeline.without.empty();
}

bool tries_forms(const mapping::Mapped& m) {
  const size_t kernels = m.host.kernels.size();
  return kernels > 1 && kernels <= kMostKernels && int64_t(m.fabric_width) * m.fabric_height <= kMostPes &&
         m.estimate.interval_cycles > 0;
}

FormChoice choose_form(double joined_cycles, const std::function<std::optional<double>(passes::Form)>& estimate) {
  FormChoice choice;
  double best = joined_cycles;
  for (passes::Form form : {passes::Form::apart, passes::Form::generated}) {
    const std::optional<double> cycles = estimate(form);
    if (!cycles || *cycles <= 0 || *cycles * kWorth >= joined_cycles || *cycles >= best) continue;
    best = *cycles;
    choice = {form, fmt::format("beneficial by {:.0f} cycles: {:.0f} against {:.0f} of the network with every choice "
                                "made for itself",
                                joined_cycles - best, best, joined_cycles)};
  }
  return choice;
}

}  // namespace cs::api
