// Skews of kernels, from their plans: what most kinds do alike.
#include "compiler/kernels/skew.h"

#include <algorithm>

#include "compiler/kernels/choice.h"

namespace cs::kernels {

void take_in_parts(Skew& s, int64_t rounds, int64_t parts_held, double latency,
                   const std::vector<int64_t>& stays) {
  s.whole = false;
  s.parts = rounds;
  s.parts_held = parts_held;
  s.first.clear();
  s.holds.clear();
  size_t lead = 0;  // an operand that comes in all rounds
  for (size_t o = 0; o < s.words.size(); ++o) {
    const int64_t parts = rounds / (stays.empty() ? 1 : stays[o]);
    s.first.push_back(s.words[o] / parts);
    s.holds.push_back(s.words[o] / parts * parts_held);
    if (!stays.empty() && stays[lead] > 1) lead = o;
  }
  const double round = s.interval / double(rounds), words = double(s.first[lead]);
  s.sending = s.interval - round;
  // Parts that it holds come at once, each of the others when a round has ended.
  const auto held = double(std::min(rounds, parts_held));
  s.taking = std::max(double(s.words[lead]), s.interval - held * (round - words));
  // What the last part takes from its first word on, behind which it ends.
  const double last = latency - round * double(rounds - 1);
  s.until_last = std::max(0.0, last - words);
  s.until_first = s.until_last;
}

bool Skew::comes_first(std::size_t operand) const {
  if (whole || first[operand] < words[operand]) return false;
  for (std::size_t o = 0; o < words.size(); ++o)
    if (first[o] < words[o]) return true;
  return false;
}

void pass_words(Skew& s, double latency) {
  s.whole = false;
  s.first.assign(s.words.size(), 1);
  s.holds.assign(s.words.size(), 0);
  s.taking = s.interval;
  s.until_first = s.until_last = std::max(0.0, latency - s.interval);
}

Skew Kind::whole_samples(const Choice& choice, const Plan& plan, int64_t parts_sent) const {
  const Work& work = choice.work;
  Skew s;
  for (int k = 0; k < work.operands; ++k) s.words.push_back(operand_words(choice, k));
  s.first = s.holds = s.words;
  const double in = double(*std::max_element(s.words.begin(), s.words.end()));
  s.interval = plan.interval_cycles;
  s.taking = in;
  s.until_last = std::max(0.0, plan.latency_cycles - in);
  s.until_first = std::max(0.0, s.until_last - double(work.words_out())) / double(parts_sent);
  s.busy_sending = 1 / (double(plan.cut.w) * plan.cut.h);
  return s;
}

// One round is computed while the next one comes.
Skew Kind::skew(const Choice& choice, const Plan& plan, const Layout*) const {
  Skew s = whole_samples(choice, plan, 1);
  if (choice.work.rows > 1) take_in_parts(s, choice.work.rows, 2, plan.latency_cycles);
  return s;
}

}  // namespace cs::kernels
