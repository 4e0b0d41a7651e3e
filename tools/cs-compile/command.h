// The command line as something to recommend.
#pragma once

#include <string>

namespace cs {

// The command without what decides where results go, what is said and what is cached: for commands that
// recommend more options. The same for everybody who compiles the same thing in the same way.
std::string bare_command(int argc, char** argv);

}  // namespace cs
