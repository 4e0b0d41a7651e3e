// Exit codes of all tools.
#pragma once

namespace cs {

enum ExitCode {
  kOk = 0,
  kInputError = 1,
  kUsage = 2,
  kSimulatedFailure = 3,
  kDiffers = 4,
  kInternal = 70,
  kInterrupted = 130
};

}  // namespace cs
