// Which kinds compute nodes whose operands lie on the PEs (resident.h), and kernels that are apart only as
// streams, which such operands are not.
#pragma once

#include "compiler/mapping/instances.h"

namespace cs::mapping {

// Whether the policy lets kernels be generated.
bool may_generate(const Parts&);

// The choices of all kinds but that of `from`, which names what is computed; `why` becomes the last reason of
// a kind that nearly has a form.
std::vector<kernels::Choice> resident_forms(const graph::Graph&, const graph::Group&, const Machine&,
                                            const kernels::Choice& from, std::string& why);

// Makes one kernel of all instances where a kind has a resident form for their nodes together: a chain of
// 16-bit floats, which is a region per operator where it is streamed; an activation behind a convolution; the
// products, factors and softmax of an attention. Not
// where nothing may be generated. False: nothing is changed, with the reason if there is one.
bool merge_resident(const graph::Graph&, const Machine&, Parts&, std::string& why);

}  // namespace cs::mapping
