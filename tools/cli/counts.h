// The values of --copies and --shards: a number or `auto`.
#pragma once

#include <string>

namespace cs::cli {

// Transforms for CLI::App::add_option: a number from 1 to kMostCopies or kMostShards as it is, `auto` as 0. Everything
// else is an error of the command line.
std::string copies_of_text(const std::string&);
std::string shards_of_text(const std::string&);

}  // namespace cs::cli
