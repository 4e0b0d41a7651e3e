// Inputs that are programs already: CSL layouts and Program texts. Internal to tools/api.
#pragma once

#include "tools/api/api.h"

namespace cs::api {

bool compile_layout(const CompileOptions&, Compiled&, Diag&);
bool compile_text(const CompileOptions&, Compiled&, Diag&);

// Gives the Program its name (the model's, else the layout's) and makes the paths in it relative to the
// layout's folder, so that the same sources give the same bytes wherever they lie.
void name_program(Program&, const std::string& layout);

}  // namespace cs::api
