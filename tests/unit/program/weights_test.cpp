// Weights of which parts are made when they are read.
#include "runtime/program/weights.h"

#include <gmock/gmock.h>

#include <stdexcept>
#include <string>

namespace cs {
namespace {

std::string text_of(const Weights& w) {
  const std::vector<uint8_t> bytes = w.bytes();
  return {bytes.begin(), bytes.end()};
}

TEST(Weights, AreTheirPartsInOrderAsOftenAsTheyAreRead) {
  int made = 0;
  Weights w;
  w.append("ab");
  w.append("c");
  w.append(4, [&](const Weights::Take& take) {
    ++made;
    return take("12") && take("34");
  });
  w.append("d");
  EXPECT_EQ(w.size(), 8u);
  EXPECT_EQ(made, 0);
  EXPECT_EQ(text_of(w), "abc1234d");
  EXPECT_EQ(text_of(w), "abc1234d");
  EXPECT_EQ(made, 2);
}

TEST(Weights, NothingIsMadeForWhoWantsNoMore) {
  Weights w(std::vector<uint8_t>{'x'});
  w.append(1, [](const Weights::Take& take) { return take("y"); });
  w.append(1, [](const Weights::Take&) -> bool { throw std::logic_error("nobody wants it"); });
  std::string taken;
  EXPECT_FALSE(w.read([&](std::string_view bytes) {
    taken += bytes;
    return taken.size() < 2;
  }));
  EXPECT_EQ(taken, "xy");
}

TEST(Weights, APartOfAnotherSizeThanSaidIsABugOfOurs) {
  Weights w;
  w.append(2, [](const Weights::Take& take) { return take("abc"); });
  EXPECT_THROW(w.bytes(), std::exception);
}

}  // namespace
}  // namespace cs
