// How far long work is: told by whoever does it, shown by whoever talks to the user. One work per process.
//
//   progress::stage("map", 0.1, 0.5);      from here to there of the whole; any thread
//   progress::part("map", done, total);    how far within the stage; of no effect in another one
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cs::progress {

void stage(std::string_view name, double from, double to);
void part(std::string_view stage, size_t done, size_t total);
void note(std::string text);  // figures beside the percentage

struct State {
  std::string stage, note;
  double fraction = 0;  // 0: nothing is known
};
State now();

}  // namespace cs::progress
