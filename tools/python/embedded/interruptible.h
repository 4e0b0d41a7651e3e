// Long calls of the library from Python: without Python's lock, and ended by Ctrl-C.
#pragma once

#include <atomic>
#include <functional>

#include <pybind11/pybind11.h>

namespace wafersmith::python {

// Runs `work` without the lock; what it throws is thrown here. `stop` is what ends it early, false at first.
//
// Python hears of a signal in its main thread alone, and only between two of its own steps. So there the work is done
// by another thread, while this one looks for signals. If there was one and its handler raised (KeyboardInterrupt),
// `stop` is set and the work has a second to end; then it is left to itself, keeps what it captured until it ends, and
// the end of Python waits for it. Other threads of Python work themselves.
void run_interruptibly(std::function<void()> work, std::atomic<bool>& stop);

// For the end of Python: until all that was left to itself has ended.
void wait_for_abandoned();

}  // namespace wafersmith::python
