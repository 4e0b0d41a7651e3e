// Loads the program, says hello, answers requests, writes traces when the other side has closed its end.
#include "tools/cs-sim/serve.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/host/device_server.h"
#include "tools/cs-sim/print_log.h"
#include "tools/cs-sim/run_machine.h"
#include "tools/cs-sim/served_report.h"
#include "tools/cs-sim/sim_device.h"
#include "tools/cs-sim/traces.h"

namespace cs {
namespace {

// The frames' own descriptor for replies: whatever else this process prints to stdout goes to stderr.
int take_stdout() {
  const int replies = dup(1);
  dup2(2, 1);
  return replies;
}

// What tests want a candidate to do instead of running.
void misbehave(const std::string& how, const std::atomic<bool>& interrupted) {
  using std::chrono::milliseconds;
  if (how == "crash") raise(SIGSEGV);
  if (how == "deaf") signal(SIGTERM, SIG_IGN);
  std::vector<std::vector<char>> eaten;
  for (;;) {
    if (how == "memory") {
      auto* bytes = static_cast<volatile char*>(eaten.emplace_back(size_t(64) << 20).data());
      for (size_t i = 0; i < eaten.back().size(); i += 4096) bytes[i] = 1;  // pages that are there
    }
    if (how == "endless" && interrupted) return;
    std::this_thread::sleep_for(milliseconds(how == "memory" ? 1 : 20));
  }
}

// Whoever asked is gone while it is being answered: nobody wants the answer. Requests themselves notice that too
// (Server::load), but not while something goes wrong.
class Orphan {
 public:
  Orphan() : thread_([this] { watch(); }) {}
  ~Orphan() {
    done_ = true;
    thread_.join();
  }
  std::atomic<bool> answering = false;

 private:
  void watch() const {
    int gone = 0;
    while (!done_) {
      pollfd requests{0, 0, 0};
      const bool closed = poll(&requests, 1, 0) > 0 && (requests.revents & (POLLHUP | POLLERR)) != 0;
      gone = closed && answering ? gone + 1 : 0;
      if (gone > 20) _exit(kInterrupted);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
  std::atomic<bool> done_ = false;
  std::thread thread_;
};

class Server {
 public:
  Server(const SimOptions& o, const std::atomic<bool>& interrupted, std::string& usage_error)
      : o_(o), interrupted_(interrupted), traces_(o, usage_error), print_(o.print), report_(o) {}

  int run(int replies) {
    if (!load()) {
      wire::write_frame(replies, wire::Op::error, wire::pack(diag_));
      return kInputError;
    }
    const int code = answer(replies);
    device_->engine().set_trace(nullptr);
    device_->shell().close_waveform();
    std::string notes;
    traces_.add_launches(device_->engine().launches());
    const bool written = traces_.write(diag_, notes);
    const bool reported = report_.write(*device_, diag_);
    if (!o_.quiet) std::cerr << notes;
    diag_.print(std::cerr, isatty(2) != 0);
    return written && reported ? code : kInputError;
  }

 private:
  bool load();
  int answer(int replies);

  const SimOptions& o_;
  const std::atomic<bool>& interrupted_;
  std::atomic<bool> stop_ = false;
  Diag diag_;
  MappedProgram loaded_;  // traces and profile refer to it to the end
  Traces traces_;
  PrintLog print_;
  ServedReport report_;
  std::unique_ptr<SimDevice> device_;
};

bool Server::load() {
  Machine machine;
  if (!load_to_run(o_, loaded_, machine, diag_)) return false;
  SimDeviceOptions options;
  options.engine = {o_.block_width, o_.block_height, o_.threads};
  options.engine.allow = o_.allow;
  if (!traces_.prepare(loaded_.program, machine, options.shell, diag_)) return false;
  if (o_.max_cycles > 0) options.max_cycles = o_.max_cycles;
  options.max_seconds = o_.max_seconds;
  options.interrupted = &stop_;
  // Nobody waits for the end of this run any more: stop as well.
  options.progress = [this](Cycle) {
    pollfd requests{0, 0, 0};
    if (interrupted_ || (poll(&requests, 1, 0) > 0 && (requests.revents & (POLLHUP | POLLERR)) != 0))
      stop_ = true;
  };
  report_.listen(loaded_.program, traces_);
  device_ = std::make_unique<SimDevice>(machine, options);
  device_->engine().set_trace(traces_.sink());
  device_->engine().set_print(print_.sink());
  if (!device_->load(loaded_.program, loaded_.weights, diag_)) return false;
  report_.attach(*device_, traces_);
  return true;
}

int Server::answer(int replies) {
  DeviceServer server(*device_);
  const wire::Frame hello = server.hello();
  if (!wire::write_frame(replies, hello.op, hello.payload)) return kOk;
  wire::Frame request;
  std::string why;
  wire::Received got;
  Orphan orphan;
  while ((got = wire::read_frame(0, request, why)) == wire::Received::frame) {
    orphan.answering = true;
    if (request.op == wire::Op::run && !o_.misbehave.empty()) misbehave(o_.misbehave, interrupted_);
    const auto reply = server.handle(request);
    orphan.answering = false;
    if (reply && !wire::write_frame(replies, reply->op, reply->payload)) break;
    if (server.broken()) return kUsage;
  }
  if (got == wire::Received::broken) {
    diag_.error_at("--serve", why, "stdin takes frames of the protocol of runtime/host/wire.h");
    wire::write_frame(replies, wire::Op::error, wire::pack(diag_));
    return kUsage;
  }
  return kOk;
}

}  // namespace

int serve(const SimOptions& o, const std::atomic<bool>& interrupted) {
  const int replies = take_stdout();
  std::string usage_error;
  Server server(o, interrupted, usage_error);
  if (usage_error.empty()) return server.run(replies);
  Diag diag;
  diag.error_at("cs-sim", usage_error);
  wire::write_frame(replies, wire::Op::error, wire::pack(diag));
  return kUsage;
}

}  // namespace cs
