// The candidates, those that change most first:
//
//   copies      the network twice as often, which takes twice as many samples at once
//   pace        all kernels but the slowest get more PEs than they need to keep up with it
//   regions     operators that were joined to one kernel, as kernels of their own
//   policy      the other policy that generates kernels
//
// and pace and regions together, before either. Estimates choose between kernels, but know little of what waiting
// where paths meet costs; so candidates are simulated.
#include "tools/api/advice.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "runtime/support/files.h"
#include "runtime/support/progress.h"
#include "tools/api/all_copies.h"

namespace cs::api {

namespace {

constexpr size_t kMost = 3;
constexpr double kSooner = 0.5;  // --pace
// Compiling a candidate takes as long as compiling the program (placing takes most of it, in proportion to the
// square of the kernels; copies of a network are placed as one), and simulating it as long as simulating that: larger
// programs have no advice.
constexpr size_t kMostKernels = 192, kMostOperators = 2000;
constexpr int64_t kMostPes = 16'384;
constexpr double kWorth = 0.95;  // of the interval: what the host's network may take, if copies are to gain anything

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
    const auto add = [&](const std::vector<Candidate>& parts) {
      Candidate all{"", "", base_};
      for (const Candidate& p : parts) {
        all.options += (all.options.empty() ? "" : " ") + p.options;
        all.why += (all.why.empty() ? "" : "; ") + p.why;
        if (p.compile.pace != mapping::kPace) all.compile.pace = p.compile.pace;
        all.compile.pipeline.without.insert(all.compile.pipeline.without.end(),
                                            p.compile.pipeline.without.begin(),
                                            p.compile.pipeline.without.end());
      }
      list.push_back(std::move(all));
    };
    const std::optional<Candidate> apart = regions_apart(), sooner = pace(), more = copies(), policy = other_policy();
    if (more) list.push_back(*more);
    if (apart && sooner) add({*apart, *sooner});
    if (sooner) add({*sooner});
    if (apart) add({*apart});
    if (policy) list.push_back(*policy);
    return list;
  }

  // Samples do not depend on each other, so twice as many copies of the network take them twice as fast, unless the
  // host does not bring them so fast.
  std::optional<Candidate> copies() const {
    const HostPart& host = *compiled_.program->host;
    const mapping::NetworkEstimate& e = compiled_.mapped->estimate;
    const int next = 2 * host.copies;
    if (base_.resident || next > most_copies(base_, compiled_) || e.host_cycles > kWorth * e.interval_cycles)
      return std::nullopt;
    Candidate c{fmt::format("--copies {}", next),
                fmt::format("{} copies of the network take the samples in turn; host and fabric have room for up to {}",
                            next, most_copies(base_, compiled_)),
                base_};
    c.compile.copies = next;
    return c;
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
    if (base_.pace != mapping::kPace || compiled_.program->host->kernels.size() < 2) return std::nullopt;
    Candidate c{
        fmt::format("--pace {}", kSooner),
        fmt::format("kernels get the PEs that {} % of the slowest one's interval takes, where PEs help; "
                    "where paths meet they wait less for each other",
                    100 * kSooner),
        base_};
    c.compile.pace = kSooner;
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
  const int64_t pes = int64_t(p.fabric_width) * p.fabric_height;
  if (p.host->ops.size() > kMostOperators || p.host->kernels.size() > kMostKernels || pes > kMostPes) return {};
  return Adviser(options, c).run(options.command);
}

}  // namespace cs::api
