// Ranks by MPI. Every call starts what it has to send and to receive and looks after it until all is through: MPI
// itself would wait for ever for a rank that is gone, so now and then it looks whether the others of this computer
// still live. (mpirun ends all ranks when one ends without a word, on other computers too.)
#include <mpi.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <thread>

#include "simulator/mpi/module.h"

namespace cs::sim {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMessage = 1, kBorder = 2;  // tags
constexpr size_t kPiece = size_t(1) << 30;  // bytes of one MPI message
constexpr size_t kValues = 8;               // at most, in front of a border

struct Process {
  std::array<char, 64> host{};
  std::array<char, 96> computer{};  // the same where process numbers mean the same
  int64_t pid = 0;
};

Process this_process() {
  Process p;
  gethostname(p.host.data(), p.host.size() - 1);
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  struct stat space = {};
  if (stat("/proc/self/ns/pid", &space) == 0) boot += " " + std::to_string(space.st_ino);
  std::memcpy(p.computer.data(), boot.data(), std::min(boot.size(), p.computer.size() - 1));
  p.pid = getpid();
  return p;
}

class MpiRanks : public Ranks {
 public:
  MpiRanks() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &count_);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    processes_.resize(size_t(count_));
    const Process mine = this_process();
    check(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, processes_.data(), sizeof mine, MPI_BYTE, MPI_COMM_WORLD));
    const auto here = std::count_if(processes_.begin(), processes_.end(),
                                    [&](const Process& p) { return p.computer == mine.computer; });
    if (here > int64_t(std::thread::hardware_concurrency())) busy_ = 0;
  }
  ~MpiRanks() override { MPI_Finalize(); }

  int rank() const override { return rank_; }
  int count() const override { return count_; }

  void send(int to, std::string_view bytes) override {
    uint64_t size = bytes.size();
    transfer([&](MPI_Request* r) { return MPI_Isend(&size, 1, MPI_UINT64_T, to, kMessage, MPI_COMM_WORLD, r); });
    for (; !bytes.empty(); bytes.remove_prefix(std::min(kPiece, bytes.size())))
      transfer([&](MPI_Request* r) {
        return MPI_Isend(bytes.data(), int(std::min(kPiece, bytes.size())), MPI_BYTE, to, kMessage, MPI_COMM_WORLD, r);
      });
  }

  std::string receive(int from) override {
    uint64_t size = 0;
    transfer([&](MPI_Request* r) { return MPI_Irecv(&size, 1, MPI_UINT64_T, from, kMessage, MPI_COMM_WORLD, r); });
    std::string bytes(size, '\0');
    for (size_t at = 0; at < bytes.size(); at += kPiece)
      transfer([&](MPI_Request* r) {
        const int part = int(std::min(kPiece, bytes.size() - at));
        return MPI_Irecv(bytes.data() + at, part, MPI_BYTE, from, kMessage, MPI_COMM_WORLD, r);
      });
    return bytes;
  }

  void least(std::span<uint64_t> values) override {
    transfer([&](MPI_Request* r) {
      return MPI_Iallreduce(MPI_IN_PLACE, values.data(), int(values.size()), MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD, r);
    });
  }

  void most_words(size_t words) override { most_ = words; }

  // Two ranks agree by what stands in front of the border, so that one message each way is all.
  void round(std::array<Border, 2>& borders, std::span<uint64_t> values) override {
    std::array<MPI_Request, 5> requests{};
    requests.fill(MPI_REQUEST_NULL);
    const size_t head = 2 * values.size();
    std::array<int, 2> got{};
    for (size_t side = 0; side < 2; ++side) {
      const int other = side == 0 ? rank_ - 1 : rank_ + 1;
      if (other < 0 || other >= count_) continue;
      std::vector<uint32_t>&in = in_[side], &out = out_[side];
      in.resize(2 * kValues + most_);
      out.resize(head);
      std::memcpy(out.data(), values.data(), values.size_bytes());
      out.insert(out.end(), borders[side].out.begin(), borders[side].out.end());
      check(MPI_Irecv(in.data(), int(in.size()), MPI_UINT32_T, other, kBorder, MPI_COMM_WORLD, &requests[2 * side]));
      check(MPI_Isend(out.data(), int(out.size()), MPI_UINT32_T, other, kBorder, MPI_COMM_WORLD,
                      &requests[2 * side + 1]));
    }
    std::array<uint64_t, kValues> folded{};
    std::copy(values.begin(), values.end(), folded.begin());
    if (count_ > 2)
      check(MPI_Iallreduce(values.data(), folded.data(), int(values.size()), MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD,
                           &requests[4]));
    std::array<MPI_Status, 5> statuses{};
    wait(requests, statuses.data());
    for (size_t side = 0; side < 2; ++side) {
      const int other = side == 0 ? rank_ - 1 : rank_ + 1;
      if (other < 0 || other >= count_) continue;
      check(MPI_Get_count(&statuses[2 * side], MPI_UINT32_T, &got[side]));
      const auto first = in_[side].begin();
      borders[side].in.assign(first + ptrdiff_t(head), first + got[side]);
      std::array<uint64_t, kValues> its{};
      std::memcpy(its.data(), in_[side].data(), values.size_bytes());
      for (size_t i = 0; i < values.size() && count_ == 2; ++i) folded[i] = std::min(folded[i], its[i]);
    }
    std::copy_n(folded.begin(), values.size(), values.begin());
  }

 private:
  static void check(int code) {
    if (code == MPI_SUCCESS) return;
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(code, text.data(), &length);
    throw RankLost("MPI: " + std::string(text.data(), size_t(length)));
  }

  template <class Start>
  void transfer(Start&& start) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(start(&request));
    wait(std::span(&request, 1), MPI_STATUSES_IGNORE);
  }

  // At first without pause, since the others are mostly as fast and have processors of their own; then others may have
  // the processor. Where somebody takes it there are too few: who waits sleeps, so that those who are waited for run,
  // and for some waits it is not tried again.
  void wait(std::span<MPI_Request> requests, MPI_Status* statuses) {
    using namespace std::chrono_literals;
    constexpr auto kLong = 20ms, kLook = 50ms;
    constexpr Clock::duration kTaken = 1500us;  // about half of what a scheduler gives at once; ranks work shorter
    constexpr int kWaits = 256;
    if (crowded_ > 0) --crowded_;
    Clock::time_point begin{}, looked{};
    const int busy = crowded_ > 0 ? 0 : busy_;
    for (int turn = 0;; ++turn) {
      int done = 0;
      check(MPI_Testall(int(requests.size()), requests.data(), &done, statuses));
      if (done != 0) return;
      if (turn < busy) continue;
      const auto now = Clock::now();
      if (turn == busy) begin = looked = now;
      if (now - looked > kLook) {
        look_for_the_dead();
        looked = now;
      }
      if (crowded_ > 0 || now - begin > kLong) {
        std::this_thread::sleep_for(50us);
      } else {
        sched_yield();
        if (Clock::now() - now > kTaken) crowded_ = kWaits;
      }
    }
  }

  void look_for_the_dead() const {
    const Process& mine = processes_[size_t(rank_)];
    for (int rank = 0; rank < count_; ++rank) {
      const Process& p = processes_[size_t(rank)];
      if (p.computer != mine.computer || kill(pid_t(p.pid), 0) == 0 || errno != ESRCH) continue;
      throw RankLost("rank " + std::to_string(rank) + " has ended without a word (process " + std::to_string(p.pid) +
                     " on " + p.host.data() + ")");
    }
  }

  int rank_ = 0, count_ = 1;
  std::vector<Process> processes_;
  int busy_ = 2000;  // looks without pause
  int crowded_ = 0;  // waits for which the processor is taken to be another's as soon as it is given away
  size_t most_ = 0;
  std::array<std::vector<uint32_t>, 2> in_, out_;
};

}  // namespace

extern "C" Ranks* wafersmith_mpi(int version, std::string* why) {
  if (version != kMpiModule) {
    *why = "it is of another build: its version is " + std::to_string(kMpiModule) + ", not " + std::to_string(version);
    return nullptr;
  }
  int provided = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) {
    *why = "MPI does not start";
    return nullptr;
  }
  return new MpiRanks;
}

}  // namespace cs::sim
