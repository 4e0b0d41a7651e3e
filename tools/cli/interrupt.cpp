// The signal is blocked in every thread and taken by one that waits for it: what it does then is ordinary
// code, which may lock, allocate and remove files.
#include "tools/cli/interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <thread>

namespace cs::cli {
namespace {

std::atomic<bool> flag = false;

void set_flag(int) { flag = true; }

std::atomic<int> cut_short_users = 0;
std::atomic<bool> cut_short = false;

}  // namespace

const std::atomic<bool>& interrupted() { return flag; }

void ask_for_interrupts() {
  struct sigaction action = {};
  action.sa_handler = set_flag;
  action.sa_flags = int(SA_RESETHAND);  // a second one ends the process at once
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

CutShort::CutShort() { ++cut_short_users; }
CutShort::~CutShort() { --cut_short_users; }
const std::atomic<bool>& CutShort::asked() const { return cut_short; }

void end_on_interrupt(std::function<void()> last_words) {
  signal(SIGINT, SIG_DFL);  // a shell starts background jobs with SIGINT ignored
  signal(SIGTERM, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::thread([set, last_words = std::move(last_words)] {
    int received = 0;
    do sigwait(&set, &received);
    while (cut_short_users > 0 && !cut_short.exchange(true));
    last_words();
    _exit(130);
  }).detach();
}

}  // namespace cs::cli
