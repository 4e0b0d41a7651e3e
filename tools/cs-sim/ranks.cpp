// The module of MPI is beside the program, in ../lib/wafersmith.
#include "tools/cs-sim/ranks.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "runtime/support/temporaries.h"
#include "simulator/engine/engine.h"
#include "simulator/mpi/module.h"
#include "tools/cli/child_process.h"
#include "tools/cs-sim/run_machine.h"

namespace cs {
namespace {

int number_of(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

int rank_from_mpirun() { return number_of("OMPI_COMM_WORLD_RANK", 0); }
int count_from_mpirun() { return number_of("OMPI_COMM_WORLD_SIZE", 1); }

int spoken_to = STDERR_FILENO;  // where a rank that must not speak reports a bug

// A rank that is lost leaves nothing to go on with: the process ends, wherever it is.
class EndingRanks : public sim::Ranks {
 public:
  EndingRanks(std::unique_ptr<sim::Ranks> ranks, cli::Reply& reply) : ranks_(std::move(ranks)), reply_(reply) {}
  int rank() const override { return ranks_->rank(); }
  int count() const override { return ranks_->count(); }
  void send(int to, std::string_view bytes) override {
    guarded([&] { ranks_->send(to, bytes); });
  }
  std::string receive(int from) override {
    return guarded([&] { return ranks_->receive(from); });
  }
  void least(std::span<uint64_t> values) override {
    guarded([&] { ranks_->least(values); });
  }
  void round(std::array<sim::Border, 2>& borders, std::span<uint64_t> values) override {
    guarded([&] { ranks_->round(borders, values); });
  }
  void most_words(size_t words) override { ranks_->most_words(words); }

 private:
  template <class Call>
  auto guarded(Call&& call) -> decltype(call()) {
    try {
      return call();
    } catch (const sim::RankLost& lost) {
      if (rank() == 0) {
        reply_.end_progress();
        reply_.error(lost.what(), "what a rank says before it ends is in the output of mpirun; a checkpoint "
                                  "(--checkpoint-every) lets a long run go on");
        reply_.end(kInputError);
      }
      std::cout.flush();
      remove_temporaries();
      _exit(kInputError);
    }
  }

  std::unique_ptr<sim::Ranks> ranks_;
  cli::Reply& reply_;
};

// Its own words, or empty.
std::string cannot_load(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return "this build of cs-sim has no " + std::string(sim::kMpiModuleFile);
  return dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr ? dlerror() : std::string();
}

int follow(const SimOptions& o, sim::Ranks& ranks) {
  signal(SIGUSR1, SIG_IGN);  // mpirun hands it on to all; rank 0 shows the progress
  Diag diag;
  MappedProgram loaded;
  Machine machine;
  if (!load_to_run(o, loaded, machine, diag)) {
    sim::cannot_follow(ranks, diag.to_string());
    return kInputError;
  }
  sim::EngineOptions options{o.block_width, o.block_height, o.threads};
  options.allow = o.allow;
  options.ranks = &ranks;
  sim::Engine engine(machine, options);
  engine.load(loaded.program, loaded.weights, diag);
  engine.follow();
  return kOk;
}

}  // namespace

bool runs_in_ranks(const SimOptions& o) {
  if (o.ranks == "auto") return count_from_mpirun() > 1 && !o.serve && !o.child;
  return o.ranks == "mpi";
}

std::string beyond_ranks(const SimOptions& o) {
  if (!runs_in_ranks(o)) return "";
  if (count_from_mpirun() < 2)
    return "--ranks mpi: this process is alone; start several with mpirun -n 2 cs-sim ... (Open MPI)";
  const std::string several = ": not with several ranks (--ranks off lets every process run alone)";
  if (!o.traces.empty()) return "--trace" + several;
  if (o.model != "engine") return "--model " + o.model + several;
  if (o.serve) return "--serve" + several;
  if (!o.report.empty() && !o.no_waits)
    return "--report: several ranks do not record who waits for whom; add --no-waits";
  return "";
}

std::unique_ptr<sim::Ranks> join_ranks(cli::Reply& reply) {
  const auto file = std::filesystem::path(executable_folder()) / "../lib/wafersmith" / sim::kMpiModuleFile;
  std::string why = cannot_load(file);
  void* const join = why.empty() ? dlsym(dlopen(file.c_str(), RTLD_NOW), sim::kJoinRanks) : nullptr;
  if (why.empty() && join == nullptr) why = dlerror();
  sim::Ranks* ranks = nullptr;
  if (join != nullptr) ranks = reinterpret_cast<sim::JoinRanks>(join)(sim::kMpiModule, &why);
  if (ranks != nullptr) return std::make_unique<EndingRanks>(std::unique_ptr<sim::Ranks>(ranks), reply);
  if (rank_from_mpirun() == 0)
    reply.error("several ranks need MPI, which is missing: " + why,
                "Debian's package libopenmpi3 has it, libopenmpi-dev lets cs-sim be built with it; --ranks off lets "
                "every process run alone");
  return nullptr;
}

int simulate_in_ranks(const SimOptions& o, cli::Reply& reply, const std::function<int(sim::Ranks&)>& work) {
  const auto ranks = join_ranks(reply);
  if (!ranks) return kInputError;
  if (ranks->rank() != 0) {
    try {
      return follow(o, *ranks);
    } catch (const std::exception& bug) {
      dprintf(spoken_to, "cs-sim: internal error of rank %d: %s\n", ranks->rank(), bug.what());
      _exit(kInternal);  // the others notice
    }
  }
  const int code = work(*ranks);
  sim::end_followers(*ranks);
  return code;
}

// Before anybody has read the options, so by the words themselves.
void be_silent_but_as_rank_0(const std::vector<std::string>& arguments) {
  if (rank_from_mpirun() == 0) return;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& a = arguments[i];
    if (a == "--serve" || a == "--child" || a == "--ranks=off") return;
    if (a == "--ranks" && i + 1 < arguments.size() && arguments[i + 1] == "off") return;
  }
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere < 0) return;
  spoken_to = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  dup2(nowhere, STDOUT_FILENO);
  dup2(nowhere, STDERR_FILENO);
  close(nowhere);
}

}  // namespace cs
