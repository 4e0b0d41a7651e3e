// The candidates, those that change most first:
//
//   unroll      a recurrence bounds the network: its steps as kernels take as many samples at once
//   regions     operators that were joined to one kernel, as kernels of their own
//   pace        all kernels but the slowest get more PEs than they need to keep up with it
//   policy      the other policy that generates kernels
//
// and two of them together. Estimates choose between kernels, but know little of what waiting where paths meet
// costs; so candidates are simulated.
#include "tools/api/advice.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "runtime/support/files.h"
#include "runtime/support/progress.h"

namespace cs::api {

namespace {

constexpr size_t kMost = 3;
constexpr double kPace = 0.5;
// Compiling a candidate takes as long as compiling the program (placing takes most of it, in proportion to the
// square of the kernels), and simulating it as long as simulating that: larger programs have no advice.
constexpr int64_t kMostSteps = 32;  // of all recurrences, that are worth a kernel each
constexpr size_t kMostKernels = 192;
constexpr int64_t kMostPes = 16'384;

struct Candidate {
  std::string options, why;
  CompileOptions compile;
};

class Adviser {
 public:
  Adviser(const CompileOptions& options, const Compiled& compiled) : base_(options), compiled_(compiled) {
    base_.baselines = false;
    base_.command.clear();
    base_.host_ops = options.host_ops == passes::HostOps::warn ? passes::HostOps::allow : options.host_ops;
  }

  std::vector<CompiledAdvice> run(const std::string& command) {
    std::vector<CompiledAdvice> list;
    std::set<std::string> seen{hash_of(*compiled_.program, compiled_.weights)};
    const std::vector<Candidate> all = candidates();
    for (size_t i = 0; i < all.size() && list.size() < kMost; ++i) {
      const Candidate& c = all[i];
      const progress::Within turn(double(i) / double(all.size()), double(i + 1) / double(all.size()));
      Diag ignored;
      std::optional<Compiled> made = compile(c.compile, ignored);
      if (!made || !made->program || !seen.insert(hash_of(*made->program, made->weights)).second) continue;
      const std::string name = std::filesystem::path(base_.input).stem().string();
      list.push_back({c.options, c.why,
                      fmt::format("{} {} -o {}.advice{}.csp", command, c.options, name, list.size() + 1),
                      std::move(*made->program), std::move(made->weights), std::move(made->manifest)});
    }
    return list;
  }

 private:
  static std::string hash_of(const Program& p, const Weights& weights) {
    ContentHash hash;
    weights.read([&](std::string_view bytes) {
      hash.add(bytes);
      return true;
    });
    return hash_text(program_bytes(p)) + hash.text();
  }

  std::vector<Candidate> candidates() const {
    std::vector<Candidate> list;
    const auto add = [&](std::vector<Candidate> parts) {
      Candidate all{"", "", base_};
      for (const Candidate& p : parts) {
        all.options += (all.options.empty() ? "" : " ") + p.options;
        all.why += (all.why.empty() ? "" : "; ") + p.why;
        if (p.compile.unroll) all.compile.unroll = p.compile.unroll;
        if (p.compile.pace != 1) all.compile.pace = p.compile.pace;
        all.compile.pipeline.without.insert(all.compile.pipeline.without.end(),
                                            p.compile.pipeline.without.begin(),
                                            p.compile.pipeline.without.end());
      }
      list.push_back(std::move(all));
    };
    const std::optional<Candidate> steps = unrolled(), apart = regions_apart(), sooner = pace(),
                                   policy = other_policy();
    if (steps) {
      // Nothing else matters beside them.
      add({*steps});
      if (apart) add({*steps, *apart});
      return list;
    }
    if (apart) add({*apart});
    if (sooner) add({*sooner});
    if (apart && sooner) add({*apart, *sooner});
    if (policy) list.push_back(*policy);
    return list;
  }

  // The steps of all recurrences in the slowest kernel.
  std::optional<Candidate> unrolled() const {
    if (base_.unroll) return std::nullopt;
    const graph::Graph& g = *compiled_.graph;
    int64_t most = 0, all = 0;
    bool slowest = false;
    for (const KernelRow& row : compiled_.program->host->kernels) {
      for (const std::string& name : row.nodes) {
        const std::optional<int64_t> steps = graph_steps(g, name);
        if (!steps || *steps < 2) continue;
        most = std::max(most, *steps);
        all += *steps;
        slowest = slowest || row.name == compiled_.mapped->estimate.slowest;
      }
    }
    if (!slowest || all > kMostSteps) return std::nullopt;
    Candidate c{fmt::format("--unroll {}", most),
                fmt::format("{} computes {} steps one after the other; as kernels they have as many samples "
                            "under way",
                            compiled_.mapped->estimate.slowest, most),
                base_};
    c.compile.unroll = most;
    return c;
  }
  static std::optional<int64_t> graph_steps(const graph::Graph& g, const std::string& node) {
    const std::optional<graph::NodeId> id = g.find_node(node);
    return id ? passes::steps_of_recurrence(g, *id) : std::nullopt;
  }

  std::optional<Candidate> regions_apart() const {
    constexpr const char* kPass = "regions";
    const std::vector<std::string>& without = base_.pipeline.without;
    if (std::find(without.begin(), without.end(), kPass) != without.end()) return std::nullopt;
    size_t joined = 0;
    for (const KernelRow& row : compiled_.program->host->kernels)
      joined += row.origin == Origin::autogen && row.nodes.size() > 1 ? row.nodes.size() : 0;
    if (joined == 0) return std::nullopt;
    Candidate c{fmt::format("--without {}", kPass),
                "operators that were joined to one kernel are kernels of their own, and compute at the same time",
                base_};
    c.compile.pipeline.without.push_back(kPass);
    return c;
  }

  std::optional<Candidate> pace() const {
    if (base_.pace != 1 || compiled_.program->host->kernels.size() < 2) return std::nullopt;
    Candidate c{fmt::format("--pace {}", kPace),
                fmt::format("kernels get the PEs that {} % of the slowest one's interval takes, where PEs help; "
                            "where paths meet they wait less for each other",
                            100 * kPace),
                base_};
    c.compile.pace = kPace;
    return c;
  }

  std::optional<Candidate> other_policy() const {
    if (base_.policy != passes::Policy::medium) return std::nullopt;
    Candidate c{"--autogen-policy aggressive", "kernels are generated where the library has one too", base_};
    c.compile.policy = passes::Policy::aggressive;
    c.compile.policy_name = passes::policy_name(c.compile.policy);
    return c;
  }

  CompileOptions base_;
  const Compiled& compiled_;
};

}  // namespace

std::vector<CompiledAdvice> make_advice(const CompileOptions& options, const Compiled& c) {
  if (!c.program->host || !c.mapped) return {};
  const Program& p = *c.program;
  if (p.host->kernels.size() > kMostKernels || int64_t(p.fabric_width) * p.fabric_height > kMostPes) return {};
  return Adviser(options, c).run(options.command);
}

}  // namespace cs::api
