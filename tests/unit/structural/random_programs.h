// How many random programs a test takes.
#pragma once

#include <cstdlib>

namespace cs::sim::test {

// WAFERSMITH_RANDOM_PROGRAMS=N: so many instead of the usual number.
inline int random_programs(int usual) {
  const char* wanted = std::getenv("WAFERSMITH_RANDOM_PROGRAMS");
  return wanted != nullptr ? std::atoi(wanted) : usual;
}

}  // namespace cs::sim::test
