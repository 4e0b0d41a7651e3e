// The folder form of a Program as part of a folder that has more in it; alone it is write_program
// (program.h).
#pragma once

#include "runtime/program/program.h"
#include "runtime/program/weights.h"
#include "runtime/support/files.h"

namespace cs {

// A folder that holds something else than a Program is never replaced.
bool may_replace_program(const std::string& folder, Diag&);
// The files of a Program under `below` ("", "baselines/k/this.csp/").
bool write_program_files(FolderWriter&, const std::string& below, const Program&,
                         const Weights&, const Manifest&);

}  // namespace cs
