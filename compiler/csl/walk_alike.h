// Walks of many programs, of which most are alike. Kernels of one form have the same code with other colors, and with
// data that no walk looks at: of programs with the same code that agree in all that a walk has asked of their memory
// one is walked for all.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "compiler/csl/walk.h"

namespace cs::csl {

class AlikeWalks {
 public:
  explicit AlikeWalks(const Machine& machine);
  ~AlikeWalks();
  // What walk_tile gives; `received` may name the colors of another program. By any thread at any time.
  std::shared_ptr<const Walked> walk(const TileProgram&, const WalkOptions&);
  size_t walked() const;  // programs that have been walked themselves

 private:
  struct Known;
  struct Group;
  Group& group(const std::string& key);

  const Machine& machine_;
  mutable std::mutex mutex_;  // of groups_, not of what a group has
  std::map<std::string, std::unique_ptr<Group>> groups_;
};

}  // namespace cs::csl
