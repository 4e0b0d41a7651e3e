// Forms of a network: the same operators as other kernels. Choices for single kernels know little of what
// waiting costs where paths meet, of what could be joined if it were generated, and of what the CSL half
// makes of a kernel's text; so the network is compiled in each form, and the fastest one is taken.
//
//   joined      operators as policy and fusion choose them, one by one
//   apart       no regions: what they joined computes at the same time
//   generated   no kernels of the library where they can be generated: more can be joined
//   library     kernels of the library where it has them, a kernel for every operator
//   streamed    no products from their loops: those send their first row while further ones come
//
// Formulas say which forms are near enough to the best to be compiled. Of those a small network is tried out
// for some samples (trial.h); where that would take long, walks over the tile code
// (compiler/mapping/refine.cpp) decide.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/api/api.h"
#include "tools/api/ladder.h"
#include "tools/api/trial.h"

namespace cs::api {

// Is the choice left to the compiler? Only medium weighs; who asks for a rectangle, a pace or less fusion has
// chosen.
bool tries_forms(const CompileOptions&);
// Is the network small enough? Compiling it in another form takes as long as compiling it.
bool tries_forms(const mapping::Mapped&);

// The network's interval: by formulas; by walks, which several copies of a network have none of; as it was
// tried out.
struct FormCycles {
  double planned = 0;
  std::optional<double> walked = {};
  std::optional<Trial> tried = {};
  int64_t pes = 0;         // in its rectangles
  bool as_policy = false;  // it is the network under policy aggressive or disabled
};
// How forms are compared: all of them were tried out, all were walked, or there are only formulas.
enum class Judge : uint8_t { formulas, walks, trials };
// A form that takes so many cycles by the formulas, or more, is not worth to be compiled.
double too_slow(const FormCycles& best, Judge);

struct FormChoice {
  passes::Form form = passes::Form::joined;
  std::string why;  // empty: nothing is better
};
// Of these, one of which is joined.
FormChoice choose_form(const std::map<passes::Form, FormCycles>&);

// Which one of the taken form at other paces (MapOptions::pace) replaces it, as all were tried out: an interval that is
// no longer and 1 % less weight; where the taken one is slower than a form of another policy, one that is not, for at
// most 7 % more weight. Nothing: none.
std::optional<size_t> choose_pace(const std::map<passes::Form, FormCycles>&, passes::Form taken,
                                  const std::vector<FormCycles>& paced);

// `taken` is the one with every choice for itself, and then the one that is best by estimate.
void take_best_form(const CompileOptions&, const passes::PipelineOptions&, const Start&, Formed& taken);

}  // namespace cs::api
