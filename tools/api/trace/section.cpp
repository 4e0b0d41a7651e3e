// A stack of sections, and taps as results of graphs.
#include "tools/api/trace/section.h"

#include <algorithm>

#include <fmt/format.h>

#include "tools/api/trace/section_state.h"

namespace cs {

namespace {

std::vector<std::shared_ptr<tracing::SectionState>>& open() {
  static std::vector<std::shared_ptr<tracing::SectionState>> sections;
  return sections;
}

}  // namespace

namespace tracing {

std::shared_ptr<SectionState> current_section() { return open().empty() ? nullptr : open().back(); }

void SectionState::cross(const std::string& name, bool to_wafer, const ops::Tensor& value) {
  if (backend->is_host()) return;
  const Transfer t{name, to_wafer, value.bytes.size()};
  const bool known = std::any_of(transfers.begin(), transfers.end(), [&](const Transfer& other) {
    return other.name == t.name && other.to_wafer == t.to_wafer;
  });
  if (!known) transfers.push_back(t);
}

}  // namespace tracing

void Tap::operator()(const Tensor& value, CallSite where) const {
  if (!state_->to) return;
  tracing::Tracer* tracer = tracing::Tracer::active();
  if (tracer == nullptr) {
    state_->give(state_->calls++, value);
  } else {
    const graph::ValueId id = tracer->result(value, place_of(where));
    tracer->taps.emplace_back(state_, tracer->graph.value(id).name);
  }
}

BackendSection::BackendSection(const Backend& backend) : state_(std::make_shared<tracing::SectionState>()) {
  state_->backend = backend.state();
  open().push_back(state_);
}

// Not always the innermost one: of sections in a container the first may go first.
BackendSection::~BackendSection() { open().erase(std::find(open().begin(), open().end(), state_)); }

Tap BackendSection::tap(const std::string& name, int64_t every, TapReceiver to) const {
  if (every < 1) throw TraceError(fmt::format("tap '{}': every is {}, it must be from 1 on", name, every));
  return Tap(std::make_shared<tracing::TapState>(tracing::TapState{name, every, std::move(to)}));
}

const std::vector<Transfer>& BackendSection::transfers() const { return state_->transfers; }

Backend current_backend() {
  static const Backend host = backend("host");
  const auto section = tracing::current_section();
  return section ? Backend(section->backend) : host;
}

Backend latest_wafer() {
  auto state = tracing::latest_backend();
  if (!state) throw BackendError("there is no wafer: make one with cs::backend()");
  return Backend(std::move(state));
}

}  // namespace cs
