// Runs another program to its end and keeps what it printed.
#pragma once

#include <atomic>
#include <string>
#include <vector>

namespace cs {

struct ChildResult {
  int exit_code = -1;  // 128 + signal when a signal ended it; -1 if it could not be started
  bool timed_out = false;
  std::string out, err;
  double seconds = 0;
};

// argv[0] is the program (a path, no search). After `timeout_seconds` it is killed; 0: no limit. Once `stop`
// is true it gets SIGINT, and is killed if it does not end.
ChildResult run_child(const std::vector<std::string>& argv, double timeout_seconds = 0,
                      const std::atomic<bool>* stop = nullptr);

// Children that others have started and wait for: stop_children() ends these too, at once.
void register_child(int pid);
void forget_child(int pid);

// For a process that is about to end by a signal: ends all children, and no new one can be started.
void stop_children();

// The folder that holds the running executable: sibling tools lie there, in the build tree and when
// installed.
std::string executable_folder();

}  // namespace cs
