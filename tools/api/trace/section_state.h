// What is behind sections and taps; steps tell the innermost section what crosses its border.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tools/api/trace/backend_state.h"
#include "tools/api/trace/section.h"

namespace cs::tracing {

struct SectionState {
  std::shared_ptr<BackendState> backend;
  std::vector<Transfer> transfers;

  void cross(const std::string& name, bool to_wafer, const ops::Tensor& value);
};

struct TapState {
  std::string name;
  int64_t every = 1;
  TapReceiver to;
  int64_t calls = 0;  // outside of traces

  void give(int64_t step, const Tensor& value) const {
    if (step % every == 0) to(step, value);
  }
};

// The innermost one; null outside of sections.
std::shared_ptr<SectionState> current_section();

}  // namespace cs::tracing
