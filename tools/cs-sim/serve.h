// --serve: the simulator for another process, which asks for memory, launches and time over stdin and stdout.
#pragma once

#include <atomic>

#include "tools/cs-sim/options.h"

namespace cs {

// Until stdin closes. Everything but frames goes to stderr.
int serve(const SimOptions&, const std::atomic<bool>& interrupted);

}  // namespace cs
