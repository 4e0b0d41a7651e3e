// The module of MPI: libwafersmith_mpi.so, which a program loads at run time (dlopen) and which alone is linked with
// MPI. Programs run without it, and are built without MPI.
#pragma once

#include <string>

#include "simulator/engine/ranks.h"

namespace cs::sim {

// Changes with Ranks or this page: a module of another build is refused.
inline constexpr int kMpiModule = 1;
inline constexpr const char* kMpiModuleFile = "libwafersmith_mpi.so";

// `wafersmith_mpi`: joins the processes that mpirun has started; once in a process. Null and the reason if `version` is
// another one than the module's, or MPI cannot start. Deleting it, by all ranks, ends MPI.
using JoinRanks = Ranks* (*)(int version, std::string* why);
inline constexpr const char* kJoinRanks = "wafersmith_mpi";

}  // namespace cs::sim
