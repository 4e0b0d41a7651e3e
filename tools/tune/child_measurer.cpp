// A thread watches the children that run: their time, their memory, and whether anybody still waits for them.
#include "tools/tune/child_measurer.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "runtime/host/child_device.h"
#include "runtime/program/folder.h"
#include "runtime/support/temporaries.h"
#include "tools/api/trial.h"
#include "tools/cli/child_process.h"

namespace cs::tune {

namespace {

using Clock = std::chrono::steady_clock;
using api::MeasureStatus;

// "N:WORD,..." in the environment: the candidate of that number does what tests want of it.
constexpr const char* kFaults = "WAFERSMITH_TEST_CANDIDATES";

std::map<int, std::string> faults_for_tests() {
  std::map<int, std::string> faults;
  const char* text = std::getenv(kFaults);
  std::string_view rest = text == nullptr ? "" : text;
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    const size_t colon = one.find(':');
    int number = 0;
    if (colon == std::string_view::npos) continue;
    std::from_chars(one.data(), one.data() + colon, number);
    faults[number] = std::string(one.substr(colon + 1));
  }
  return faults;
}

uint64_t resident_bytes(int pid) {
  unsigned long all = 0, resident = 0;
  std::FILE* file = std::fopen(fmt::format("/proc/{}/statm", pid).c_str(), "r");
  if (file == nullptr) return 0;
  const int read = std::fscanf(file, "%lu %lu", &all, &resident);
  std::fclose(file);
  return read == 2 ? uint64_t(resident) * uint64_t(sysconf(_SC_PAGESIZE)) : 0;
}

bool write_program(const std::string& folder, const Program& program, const Weights& weights, Diag& diag) {
  FolderWriter out(folder, diag);
  return write_program_files(out, "", program, weights, {}) && out.commit();
}

}  // namespace

class ChildMeasurer::Watch {
 public:
  Watch(const ChildLimits& limits, const std::atomic<bool>* stop)
      : limits_(limits), stop_(stop), thread_([this] { watch(); }) {}
  ~Watch() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void begin(int pid) {
    const std::lock_guard lock(mutex_);
    children_[pid] = {Clock::now(), {}};
    register_child(pid);
  }
  // Kills it, if it still lives, and says why it was told to end, if it was. To be called before it is waited
  // for.
  std::optional<MeasureStatus> end(int pid) {
    const std::lock_guard lock(mutex_);
    const auto child = children_.find(pid);
    if (child == children_.end()) return std::nullopt;
    const auto why = child->second.why;
    kill(pid, SIGKILL);
    children_.erase(child);
    forget_child(pid);
    return why;
  }

 private:
  struct Child {
    Clock::time_point begin;
    std::optional<MeasureStatus> why;
  };

  void watch() {
    std::unique_lock lock(mutex_);
    while (!done_) {
      changed_.wait_for(lock, std::chrono::milliseconds(20));
      for (auto& [pid, child] : children_) look_at(pid, child);
    }
  }
  void look_at(int pid, Child& child) const {
    const double seconds = std::chrono::duration<double>(Clock::now() - child.begin).count();
    const auto end_by = [&](MeasureStatus why, int signal) {
      child.why = why;
      kill(pid, signal);
    };
    if (stop_ != nullptr && *stop_) return end_by(MeasureStatus::stopped, SIGKILL);
    if (resident_bytes(pid) > limits_.memory_bytes) return end_by(MeasureStatus::memory, SIGKILL);
    if (seconds > limits_.hard_seconds) return end_by(MeasureStatus::killed, SIGKILL);
    if (seconds > limits_.soft_seconds && !child.why) end_by(MeasureStatus::slow, SIGTERM);
  }

  const ChildLimits limits_;
  const std::atomic<bool>* stop_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int, Child> children_;
  bool done_ = false;
  std::thread thread_;
};

ChildMeasurer::ChildMeasurer(int workers, const ChildLimits& limits, const std::atomic<bool>* stop)
    : workers_(std::max(1, workers)),
      stop_(stop),
      watch_(std::make_unique<Watch>(limits, stop)),
      scratch_((std::filesystem::temp_directory_path() / "wafersmith-candidate").string()),
      simulator_(executable_folder() + "/cs-sim"),
      faults_(faults_for_tests()) {}

ChildMeasurer::~ChildMeasurer() = default;

std::string ChildMeasurer::fault_of(int number) const {
  const auto fault = faults_.find(number);
  return fault == faults_.end() ? "" : fault->second;
}

api::Measurement ChildMeasurer::run(const Program& program, const Weights& weights, const Machine& machine,
                                    double most_cycles) {
  api::Measurement m;
  if (stop_ != nullptr && *stop_) return m;
  const int number = ++number_;
  const auto begin = Clock::now();
  Diag diag;
  const Temporary folder(scratch_);
  const std::string program_folder = folder.path() + "/this.csp";
  std::error_code ec;
  std::filesystem::create_directories(folder.path(), ec);
  if (!write_program(program_folder, program, weights, diag)) {
    m.status = MeasureStatus::crashed;
    m.why = diag.to_string();
    return m;
  }
  int pid = -1;
  ChildOptions options{simulator_, program_folder, {"-q"}};
  if (const std::string fault = fault_of(number); !fault.empty()) {
    options.arguments.emplace_back("--misbehave");
    options.arguments.push_back(fault);
  }
  options.own_group = true;
  options.started = [&](int child) { watch_->begin(pid = child); };
  std::unique_ptr<ChildDevice> device = ChildDevice::open(options, diag);
  RunStatus status;
  if (device) m.trial = api::trial_on(*device, weights.bytes(), machine, most_cycles, &status);
  const bool lost = !device || !device->failure().empty();
  const auto why = pid > 0 ? watch_->end(pid) : std::nullopt;
  device.reset();
  m.wall_ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  if (why) {
    m.status = *why;
    m.trial.reset();
  } else if (lost) {
    m.status = MeasureStatus::crashed;
    m.trial.reset();
    m.why = diag.all().empty() ? "the simulator's process ended" : diag.all().front().message;
  } else {
    m.status = m.trial ? MeasureStatus::ok : MeasureStatus::no_end;
    if (!m.trial) m.why = status.fault;
  }
  return m;
}

}  // namespace cs::tune
