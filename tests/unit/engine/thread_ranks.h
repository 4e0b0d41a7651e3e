// Ranks that are threads of one process, so that the protocol between engines can be tested without MPI.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "simulator/engine/ranks.h"

namespace cs::sim::test {

// What the threads share. One that ends early makes all waiting of the others end with RankLost.
class Hub {
 public:
  explicit Hub(int count) : count_(count), mail_(size_t(count * count)), borders_(size_t(2 * count)) {}

  int count() const { return count_; }
  size_t most = 0;  // words of a border

  void send(int from, int to, std::string_view bytes) {
    const std::lock_guard lock(mutex_);
    box(from, to).emplace_back(bytes);
    changed_.notify_all();
  }
  std::string receive(int from, int to) {
    std::unique_lock lock(mutex_);
    wait(lock, [&] { return !box(from, to).empty(); });
    std::string bytes = std::move(box(from, to).front());
    box(from, to).pop_front();
    return bytes;
  }
  void least(std::span<uint64_t> values) {
    std::unique_lock lock(mutex_);
    meet(lock, values);
  }
  void round(int rank, std::array<Border, 2>& borders, std::span<uint64_t> values) {
    std::unique_lock lock(mutex_);
    for (size_t side = 0; side < 2; ++side) borders_[size_t(rank) * 2 + side] = borders[side].out;
    meet(lock, values);
    if (rank > 0) borders[0].in = borders_[size_t(rank - 1) * 2 + 1];
    if (rank + 1 < count_) borders[1].in = borders_[size_t(rank + 1) * 2];
    uint64_t none = 0;
    meet(lock, std::span(&none, 1));  // nobody writes before all have read
  }
  void lose(const std::string& why) {
    const std::lock_guard lock(mutex_);
    if (lost_.empty()) lost_ = why;
    changed_.notify_all();
  }

 private:
  std::deque<std::string>& box(int from, int to) { return mail_[size_t(from * count_ + to)]; }
  template <class F>
  void wait(std::unique_lock<std::mutex>& lock, F&& ready) {
    changed_.wait(lock, [&] { return !lost_.empty() || ready(); });
    if (!lost_.empty()) throw RankLost(lost_);
  }
  void meet(std::unique_lock<std::mutex>& lock, std::span<uint64_t> values) {
    if (here_ == 0) least_.assign(values.begin(), values.end());
    for (size_t i = 0; i < values.size(); ++i) least_[i] = std::min(least_[i], values[i]);
    const size_t turn = turn_;
    if (++here_ == count_) {
      here_ = 0;
      ++turn_;
      agreed_ = least_;
      changed_.notify_all();
    } else {
      wait(lock, [&] { return turn_ != turn; });
    }
    std::copy(agreed_.begin(), agreed_.end(), values.begin());
  }

  int count_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::deque<std::string>> mail_;
  std::vector<std::vector<uint32_t>> borders_;
  std::vector<uint64_t> least_, agreed_;
  int here_ = 0;
  size_t turn_ = 0;
  std::string lost_;
};

class ThreadRanks : public Ranks {
 public:
  ThreadRanks(Hub& hub, int rank) : hub_(hub), rank_(rank) {}
  int rank() const override { return rank_; }
  int count() const override { return hub_.count(); }
  void send(int to, std::string_view bytes) override { hub_.send(rank_, to, bytes); }
  std::string receive(int from) override { return hub_.receive(from, rank_); }
  void least(std::span<uint64_t> values) override { hub_.least(values); }
  void round(std::array<Border, 2>& borders, std::span<uint64_t> values) override {
    for (const Border& b : borders)
      if (b.out.size() > most_) throw std::logic_error("a border is longer than was said");
    hub_.round(rank_, borders, values);
  }
  void most_words(size_t words) override { most_ = words; }

 private:
  Hub& hub_;
  int rank_;
  size_t most_ = 0;
};

// Runs `lead` as rank 0 and `follow` as each of the others. What a follower throws is thrown here.
inline void run_as_ranks(int count, const std::function<void(Ranks&)>& lead,
                         const std::function<void(Ranks&)>& follow) {
  Hub hub(count);
  std::vector<std::thread> threads;
  for (int rank = 1; rank < count; ++rank)
    threads.emplace_back([&hub, &follow, rank] {
      ThreadRanks ranks(hub, rank);
      try {
        follow(ranks);
      } catch (const std::exception& e) {
        hub.lose("rank " + std::to_string(rank) + ": " + e.what());
      }
    });
  std::exception_ptr thrown;
  try {
    ThreadRanks ranks(hub, 0);
    lead(ranks);
  } catch (const std::exception& e) {
    hub.lose("rank 0: " + std::string(e.what()));
    thrown = std::current_exception();
  }
  for (std::thread& t : threads) t.join();
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace cs::sim::test
