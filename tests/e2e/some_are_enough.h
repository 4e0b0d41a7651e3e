// How much of it tests do that go through many steps, sizes or machines.
#pragma once

namespace cs::e2e {

// Under the thread sanitizer tools take twenty times as long: some are enough there, since the same threads meet.
#ifdef __SANITIZE_THREAD__
inline constexpr bool kSomeAreEnough = true;
#else
inline constexpr bool kSomeAreEnough = false;
#endif

}  // namespace cs::e2e
