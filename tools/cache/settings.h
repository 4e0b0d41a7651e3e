// What a user says of a cache: on the command line, else in the environment; without either there is none,
// and nothing of it is opened or asked.
//
//   --cache-dir DIR      WAFERSMITH_CACHE_DIR      a folder near by
//   --remote-cache URL   WAFERSMITH_REMOTE_CACHE   dir:FOLDER that others share, redis://HOST:PORT/DB,
//   redis+unix:PATH
//   --cache-size SIZE    WAFERSMITH_CACHE_SIZE     of the folder near by: 500M, 5G (without a word), 0: no
//   limit
//   --no-cache                                     none, whatever the environment says
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "tools/cache/cache.h"

namespace cs::cache {

struct Settings {
  std::string dir, remote, size;
  bool off = false;
};
void declare_cache_flags(CLI::App&, Settings&);
// The environment counts where nothing is given.
void add_environment(Settings&);

// "5G" are 5,000,000,000 bytes, "5Gi" 5 x 2^30; k, M, G, T; a B behind it changes nothing. Nothing: it is no
// size.
std::optional<uint64_t> parse_size(const std::string&);
// A folder as --cache-dir and --remote-cache name it: "dir:" before it is left out.
std::string folder_of(const std::string&);

// Null if there is to be none; of settings that make no sense too, with the reason in `why`.
std::unique_ptr<Cache> open_cache(const Settings&, std::string& why);

}  // namespace cs::cache
