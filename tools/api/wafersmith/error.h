// What goes wrong, as exceptions. what() is the text that the command-line tools print.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace wafersmith {

// One problem, as the tools print it.
struct Message {
  enum class Kind : uint8_t { error, warning, note } kind = Kind::error;
  std::string file;               // or what the message is about, where there is no file
  uint32_t line = 0, column = 0;  // from 1; 0: no position
  std::string text, help;
};

// Bad input: a model, a layout, an option, an array.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& text, std::vector<Message> messages = {})
      : std::runtime_error(text), messages_(std::move(messages)) {}
  const std::vector<Message>& messages() const { return messages_; }

 private:
  std::vector<Message> messages_;
};

// Whoever called asked for the end (`interrupted` of the options): nothing is wrong, and there is no result.
class Interrupted : public Error {
 public:
  using Error::Error;
};

// The simulated program failed: "deadlock", "out-of-bounds", "leftover-wavelets", "timeout", …
class SimulationError : public Error {
 public:
  SimulationError(const std::string& text, std::string fault, uint64_t cycle)
      : Error(text), fault_(std::move(fault)), cycle_(cycle) {}
  const std::string& fault() const { return fault_; }
  uint64_t cycle() const { return cycle_; }

 private:
  std::string fault_;
  uint64_t cycle_ = 0;
};

}  // namespace wafersmith
