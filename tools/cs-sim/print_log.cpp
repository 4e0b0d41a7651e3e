// Lines are written as they come, so that they are there when a program hangs.
#include "tools/cs-sim/print_log.h"

namespace cs {

sim::Engine::PrintSink PrintLog::sink() {
  return [this](Cycle cycle, Coord, const std::string& text) {
    if (!file_.empty() && !out_) out_.reset(std::fopen(file_.c_str(), "w"));
    std::FILE* out = out_ ? out_.get() : stderr;  // a file that cannot be opened: better here than nowhere
    std::fprintf(out, "@%llu %s\n", static_cast<unsigned long long>(cycle), text.c_str());
    std::fflush(out);
  };
}

}  // namespace cs
