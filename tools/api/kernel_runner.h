// --emit-kernel-runner: every kernel of a model as a program of its own, to be run and looked at alone.
//
//   DIR/runners.json                       the kernels, with their folders
//   DIR/KERNEL/kernel.csp                  its program, on the rectangle that it has in the network
//   DIR/KERNEL/inputs.npz, expected.npz    seeded operands of a sample, and what the host computes of them
//   DIR/KERNEL/command                     a shell script that runs and compares: exit code 0 if they agree
#pragma once

#include <string>

#include "tools/api/api.h"

namespace cs::api {

// An existing folder is replaced only if it has a runners.json. All errors are in diag; nothing is written then.
bool write_kernel_runners(const CompileOptions&, const Compiled&, const std::string& folder, Diag&);

}  // namespace cs::api
