// The frame of a tool's main: command line, one way out for every kind of failure, Ctrl-C.
//
//   Reply reply("cs-x");
//   CLI::App app{"..."};  app.add_option(...);
//   return run_tool(reply, app, argc, argv, [&] { ...; return kOk; });
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "tools/cli/reply.h"

namespace cs::cli {

// A command line that no option rejects but that makes no sense; exit code 2.
struct Usage {
  std::string message;
};

// How Ctrl-C and SIGTERM end a tool.
enum class Interrupt {
  ends,   // at once: exit code 130, temporaries are removed, children stopped (child_process.h)
  asked,  // the tool looks at interrupted() and ends by itself; a second one ends it at once
};

int run_tool(Reply&, CLI::App&, int argc, char** argv, Interrupt, const std::function<int()>& body);

// One of these words; another one is refused with the nearest.
CLI::Validator one_of(std::vector<std::string> words);
// "; did you mean 'WORD'?", or nothing.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& known);

}  // namespace cs::cli
