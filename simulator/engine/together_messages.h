// Messages between ranks as bytes: what stands in them, and one call to write and to read them.
#pragma once

#include <string>
#include <string_view>

#include "simulator/engine/engine_impl.h"
#include "simulator/engine/state_fields.h"

namespace cs::sim {

template <class A>
void state(A& a, Rect& r) {
  auto& [x, y, w, h] = r;
  a(x, y, w, h);
}

template <class A>
void state(A& a, PortEvent& x) {
  auto& [data, cycle, control] = x;
  a(data, cycle, control);
}

template <class A>
void state(A& a, PeStats& x) {
  a(static_cast<CoreStats&>(x), x.first_arrival, x.sent, x.blocked);
}
static_assert(sizeof(PeStats) == sizeof(CoreStats) + sizeof(Cycle) + 2 * kPorts * sizeof(uint64_t));

template <class A>
void state(A& a, MemoryUse& x) {
  auto& [working_pes, idle_pes, data, fabric, cores, registers, operations, ahead, growth, idle, shared] = x;
  a(working_pes, idle_pes, data, fabric, cores, registers, operations, ahead, growth, idle, shared);
}

template <class A>
void state(A& a, Affairs& x) {
  auto& [next, commands, stream_words] = x;
  a(next, commands, stream_words);
}

template <class A>
void state(A& a, Sums& x) {
  auto& [hops, instructions, passed, memory, blocked] = x;
  a(hops, instructions, passed, memory, blocked);
}

template <class A>
void state(A& a, StripTotals& x) {
  auto& [printed, pending, instructions, passed, tallies] = x;
  a(printed, pending, instructions, passed, tallies);
}

template <class A>
void state(A& a, StripState& x) {
  auto& [totals, places, ports] = x;
  a(totals, places, ports);
}

template <class... T>
std::string packed(const T&... values) {
  std::string bytes;
  {
    StateWriter out([&](std::string_view more) { bytes += more; });
    out(values...);
  }
  return bytes;
}

template <class... T>
void unpack(StateReader& in, T&... values) {
  in(values...);
  CS_CHECK(in.done(), "ranks write and read the same messages");
}

template <class Answer>
Answer received(Ranks& ranks, int from) {
  const std::string bytes = ranks.receive(from);
  StateReader in(bytes);
  Answer value{};
  unpack(in, value);
  return value;
}

template <class... T>
void Together::tell(int rank, Asked asked, const T&... what) {
  ranks_.send(rank, packed(asked, what...));
}

template <class... T>
void Together::tell_all(Asked asked, const T&... what) {
  const std::string bytes = packed(asked, what...);
  for (int rank = 1; rank < ranks_.count(); ++rank) ranks_.send(rank, bytes);
  changed();
}

template <class Answer, class... T>
Answer Together::ask(int rank, Asked asked, const T&... what) {
  tell(rank, asked, what...);
  return received<Answer>(ranks_, rank);
}

template <class Answer, class... T>
std::vector<Answer> Together::ask_all(Asked asked, const T&... what) {
  const std::string bytes = packed(asked, what...);
  for (int rank = 1; rank < ranks_.count(); ++rank) ranks_.send(rank, bytes);
  std::vector<Answer> answers;
  for (int rank = 1; rank < ranks_.count(); ++rank) answers.push_back(received<Answer>(ranks_, rank));
  return answers;
}

template <class... T>
void Together::answer(const T&... what) {
  ranks_.send(0, packed(what...));
}

}  // namespace cs::sim
