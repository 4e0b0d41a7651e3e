// Forms of a network: the same operators as other kernels. Choices for single kernels know little of what
// waiting costs where paths meet, of what could be joined if it were generated, and of what the CSL half
// makes of a kernel's text; so the network is compiled in each form, and the one with the least estimated
// interval is taken.
//
//   joined      operators as policy and fusion choose them, one by one
//   apart       no regions: what they joined computes at the same time
//   generated   no kernels of the library where they can be generated: more can be joined
//
// Formulas say which forms are near enough to the best; of those there is tile code, and the walks over it
// (compiler/mapping/refine.cpp) decide.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "tools/api/api.h"
#include "tools/api/ladder.h"

namespace cs::api {

// Is the choice left to the compiler? Only medium weighs; who asks for a rectangle, a pace or less fusion has
// chosen.
bool tries_forms(const CompileOptions&);
// Is the network small enough? Compiling it in another form takes as long as compiling it.
bool tries_forms(const mapping::Mapped&);

// The network's interval, by formulas and by walks; several copies of a network are not walked.
struct FormCycles {
  double planned = 0;
  std::optional<double> walked = {};
};
struct FormChoice {
  passes::Form form = passes::Form::joined;
  std::string why;  // empty: nothing is better
};
// Compiles the network in another form. Nothing if it has no place, does not become a program, or takes
// `too_slow` cycles by the formulas.
using EstimateForm = std::function<std::optional<FormCycles>(passes::Form, double too_slow)>;
FormChoice choose_form(const FormCycles& joined, const EstimateForm& estimate);

// `taken` is the one with every choice for itself, and then the one that is best by estimate.
void take_best_form(const CompileOptions&, const passes::PipelineOptions&, const Start&, Formed& taken);

}  // namespace cs::api
