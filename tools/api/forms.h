// Forms of a network: the same operators as other kernels. Choices for single kernels know little of what waiting
// costs where paths meet, and of what could be joined if it were generated; so the network is mapped in each form,
// and the one with the least estimated interval is taken.
//
//   joined      operators as policy and fusion choose them, one by one
//   apart       no regions: what they joined computes at the same time
//   generated   no kernels of the library where they can be generated: more can be joined
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "tools/api/api.h"
#include "tools/api/ladder.h"

namespace cs::api {

// Is the choice left to the compiler? Only medium weighs; who asks for a rectangle, a pace or less fusion has chosen.
bool tries_forms(const CompileOptions&);
// Is the network small enough? Mapping it in another form takes as long as mapping it.
bool tries_forms(const mapping::Mapped&);

struct FormChoice {
  passes::Form form = passes::Form::joined;
  std::string why;  // empty: nothing is faster
};
// Maps the network in another form: its estimated interval. Nothing if it has no place, or may be known before it has
// one to take `too_slow` cycles.
using EstimateForm = std::function<std::optional<double>(passes::Form, double too_slow)>;
FormChoice choose_form(double joined_cycles, const EstimateForm& estimate);

// `taken` is the one with every choice for itself, and then the one that is fastest by estimate.
void take_best_form(const CompileOptions&, const passes::PipelineOptions&, const Start&, Formed& taken);

}  // namespace cs::api
