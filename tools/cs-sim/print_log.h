// What PEs print with <simprint>: "@cycle text" per line, to stderr or a file that is made with the first line.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "simulator/engine/engine.h"

namespace cs {

class PrintLog {
 public:
  explicit PrintLog(std::string file) : file_(std::move(file)) {}  // empty: stderr
  // Keeps a reference to this.
  sim::Engine::PrintSink sink();

 private:
  struct Close {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  std::string file_;
  std::unique_ptr<std::FILE, Close> out_;
};

}  // namespace cs
