// A thread for the work, one that waits and looks.
#include "interruptible.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace py = pybind11;

namespace wafersmith::python {
namespace {

constexpr auto kLook = std::chrono::milliseconds(50), kPatience = std::chrono::milliseconds(900);

struct Work {
  std::function<void()> call;
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  std::exception_ptr error;

  void run() {
    std::exception_ptr thrown;
    try {
      call();
    } catch (...) {
      thrown = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    error = thrown;
    done = true;
    ended.notify_all();
  }
  bool wait_for(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex);
    return ended.wait_for(lock, time, [&] { return done; });
  }
};

std::vector<std::thread>& abandoned() {
  static auto* list = new std::vector<std::thread>;  // touched with Python's lock held
  return *list;
}

bool in_main_thread() {
  const py::module_ threading = py::module_::import("threading");
  return threading.attr("current_thread")().is(threading.attr("main_thread")());
}

}  // namespace

void run_interruptibly(std::function<void()> work, std::atomic<bool>& stop) {
  if (!in_main_thread()) {
    const py::gil_scoped_release release;
    return work();
  }
  const auto shared = std::make_shared<Work>();
  shared->call = std::move(work);
  std::thread thread([shared] { shared->run(); });
  const auto waited = [&](std::chrono::milliseconds time) {
    const py::gil_scoped_release release;
    return shared->wait_for(time);
  };
  while (!waited(kLook)) {
    if (PyErr_CheckSignals() == 0) continue;
    py::error_already_set raised;  // takes it, so that others may run meanwhile
    stop = true;
    if (waited(kPatience)) {
      thread.join();
    } else {
      abandoned().push_back(std::move(thread));
    }
    throw raised;
  }
  thread.join();
  if (shared->error) std::rethrow_exception(shared->error);
}

void wait_for_abandoned() {
  std::vector<std::thread> list = std::move(abandoned());
  abandoned().clear();
  const py::gil_scoped_release release;
  for (std::thread& t : list) t.join();
}

}  // namespace wafersmith::python
