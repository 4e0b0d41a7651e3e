// A compilation through a cache: the folder that it would write is written from what an equal one wrote
// before; what is compiled is kept, and what is measured on the way too.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tools/api/api.h"
#include "tools/api/trial.h"
#include "tools/cache/cache.h"

namespace cs {

class CachedCompile {
 public:
  // `not_used`: why whole programs are neither looked for nor kept; empty: they are.
  CachedCompile(std::unique_ptr<cache::Cache>, const api::CompileOptions&, std::string not_used);
  ~CachedCompile();

  struct Hit {
    std::string summary;  // for people, as the compilation printed it
    std::string report;   // compile_report.json of this run
  };
  // Writes the folder `output` if the program is in the cache. What the compilation warned of goes to `diag`;
  // nothing is written where `check`, which is called then, or writing itself leaves an error there.
  std::optional<Hit> take(const std::string& output, Diag& diag, const std::function<void()>& check);
  // After a compilation whose folder is `output`: keeps the folder with what `diag` has of it, and writes the
  // counters into its compile_report.json. Returns that.
  std::string keep(const api::Compiled&, const std::string& output, const Diag& diag, Diag& problems);

  api::TrialRecords* trials() const;
  // "hit", "miss", or why the cache was not used; for people.
  std::string line() const;
  // What went wrong, as warnings.
  void report(Diag& diag) { cache_->report(diag); }

 private:
  class Trials;
  void keep_program(const api::Compiled&, const std::string& output, const Diag&);
  std::string with_counters(std::string_view report, bool hit) const;

  std::unique_ptr<cache::Cache> cache_;
  std::unique_ptr<Trials> trials_;
  std::string not_used_, result_, model_, label_;
  std::optional<cache::Key> key_;
  double began_ = 0;
};

}  // namespace cs
