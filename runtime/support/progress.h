// How far long work is: told by whoever does it, shown by whoever talks to the user. One work per process.
//
//   progress::stage("map", 0.1, 0.5);      from here to there of the whole; any thread
//   progress::round("map");                its next part of a number that nobody knows: a quarter of what is left
//   progress::part("map", done, total);    how far within the stage, or its round; of no effect in another one
//   progress::Within half(0, 0.5);         until its end, stages are of this part of the whole
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cs::progress {

void stage(std::string_view name, double from, double to);
void round(std::string_view stage);
void part(std::string_view stage, size_t done, size_t total);
void note(std::string text);  // figures beside the percentage

class Within {
 public:
  Within(double from, double to);
  ~Within();
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;

 private:
  double from_, to_;  // as it was
};

struct State {
  std::string stage, note;
  double fraction = 0;  // 0: nothing is known
};
State now();

}  // namespace cs::progress
