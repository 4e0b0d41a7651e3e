// What a thread has computed already on a machine, by the bytes of what it was computed from (LoopKey).
//
// Networks repeat the same few chains and statements thousands of times. Values are functions of their key and the
// machine, so a thread that computes one again gets the same.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "runtime/machine/machine.h"

namespace cs::autogen {

template <class Value>
class Memo {
 public:
  template <class Make>
  Value of(const Machine& machine, std::string key, Make make) {
    if (!machine_ || !(*machine_ == machine) || known_.size() >= kMost) {
      known_.clear();
      machine_ = machine;
    }
    const auto found = known_.find(key);
    if (found != known_.end()) return found->second;
    Value value = make();
    return known_.emplace(std::move(key), std::move(value)).first->second;
  }

 private:
  static constexpr size_t kMost = 1'000;  // of some kilobytes
  std::optional<Machine> machine_;
  std::unordered_map<std::string, Value> known_;
};

}  // namespace cs::autogen
