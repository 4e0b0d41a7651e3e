// Ctrl-C and SIGTERM.
#pragma once

#include <atomic>
#include <functional>

namespace cs::cli {

// Set by the signal where a tool asked for it (Interrupt::asked).
const std::atomic<bool>& interrupted();
void ask_for_interrupts();
// As long as it lives, the first signal only sets it, where a tool ends on one (end_on_interrupt): who does long work
// that can be cut short looks at it. A second signal ends the tool.
class CutShort {
 public:
  CutShort();
  ~CutShort();
  CutShort(const CutShort&) = delete;
  CutShort& operator=(const CutShort&) = delete;
  const std::atomic<bool>& asked() const;
};

// From now on a thread of its own waits for the signal, calls `last_words` and ends the process with 130.
// Before any other thread is started.
void end_on_interrupt(std::function<void()> last_words);

}  // namespace cs::cli
