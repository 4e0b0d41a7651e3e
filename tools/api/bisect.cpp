// Of the operators that joined a kernel, in the order of the dataflow, the first so many may: halving finds
// how many the network needs to differ.
#include "tools/api/bisect.h"

#include <cstdlib>
#include <map>

#include <fmt/format.h>

#include "compiler/frontend/frontend.h"
#include "compiler/graph/evaluate.h"
#include "runtime/host/compare.h"
#include "runtime/host/model_run.h"
#include "simulator/engine/engine_device.h"
#include "tools/api/ladder.h"

namespace cs::api {

namespace {

constexpr uint64_t kSeed = 1;
// Of tests: the operator of this name computes something else wherever it joined a kernel.
constexpr const char* kWrongFusion = "WAFERSMITH_TEST_WRONG_FUSION";

struct Fusions {
  std::vector<std::string> nodes;              // that joined a kernel
  std::map<std::string, std::string> kernels;  // the operators of that
};
Fusions fusions_of(const graph::Graph& g) {
  Fusions f;
  for (const graph::Group& group : graph::groups(g)) {
    std::string all;
    for (const graph::NodeId id : group.nodes) all += (all.empty() ? "" : ", ") + g.node(id).name;
    for (size_t i = 1; i < group.nodes.size(); ++i) f.kernels[g.node(group.nodes[i]).name] = all;
  }
  for (const graph::NodeId id : g.topological())
    if (f.kernels.contains(g.node(id).name)) f.nodes.push_back(g.node(id).name);
  return f;
}

class Bisection {
 public:
  Bisection(const CompileOptions& options, const Compiled& compiled, graph::Graph model, Diag& diag)
      : options_(options), machine_(compiled.machine), model_(std::move(model)), diag_(diag) {
    options_.tuning = {};
    options_.host_ops = passes::HostOps::allow;
    form_ = passes::form_from_name(compiled.plan.form).value_or(passes::Form::joined);
    if (compiled.plan.pace > 0) pace_ = compiled.plan.pace;
  }

  bool expect(const HostPart& host) {
    inputs_ = random_inputs(host, 1, kSeed);
    std::map<std::string, ops::Tensor> given;
    for (const NamedArray& a : inputs_) {
      ops::Tensor& t = given[a.name] = a.tensor;
      if (const auto v = model_.find_value(a.name)) t.type.shape = model_.value(*v).type.shape;
    }
    auto results = graph::evaluate_graph(model_, given, diag_);
    if (!results) return false;
    for (auto& [name, tensor] : *results) expected_.push_back({name, std::move(tensor)});
    return true;
  }

  // With the first `count` fusions.
  std::optional<CheckResult> run(const Fusions& all, size_t count) {
    options_.not_fused.assign(all.nodes.begin() + std::ptrdiff_t(count), all.nodes.end());
    ++tried;
    std::optional<Formed> made = compile(model_);
    const char* wrong = std::getenv(kWrongFusion);
    if (made && wrong != nullptr && fusions_of(*made->out.graph).kernels.contains(wrong)) {
      graph::Graph other = model_;
      if (const auto id = other.find_node(wrong)) other.node(*id).op = "neg", other.node(*id).attrs.clear();
      made = compile(other);
    }
    if (!made) return std::nullopt;
    const std::vector<uint8_t> weights = made->out.mapped->weights.bytes();
    sim::EngineDevice device(machine_, {});
    if (!device.load(*made->out.program, weights, diag_)) return std::nullopt;
    const auto ran = run_model(device, weights, inputs_, {.samples = 1}, diag_);
    if (!ran) return std::nullopt;
    if (ran->status.reason == StopReason::condition)
      return compare_outputs(ran->outputs, expected_, made->out.program->host->dtype);
    CheckResult failed;
    failed.ok = false;
    failed.mismatch = ran->status.message.empty() ? ran->status.fault : ran->status.message;
    return failed;
  }
  int tried = 0;

 private:
  std::optional<Formed> compile(const graph::Graph& model) {
    const Start start{model, {}, {}};
    Formed f = begin_form(form_, start, machine_, pace_);
    if (compile_form(options_, {}, start, f) && f.out.program) return f;
    for (const Diagnostic& d : f.diag.all()) diag_.error_at(d.where, d.message, d.help);
    return std::nullopt;
  }

  CompileOptions options_;
  const Machine machine_;
  graph::Graph model_;
  Diag& diag_;
  passes::Form form_;
  std::optional<double> pace_;
  std::vector<NamedArray> inputs_, expected_;
};

}  // namespace

std::string Bisected::text() const {
  const std::string head = fmt::format("fusions: {} operators joined another kernel; ", fusions);
  if (agrees) return head + "the network computes what the host does\n";
  if (node.empty()) return head + "the network differs without any of them too: " + mismatch + "\n";
  return fmt::format(
      "{}the first with which the network differs is {}, in the kernel of {}: {}\n{} networks were run\n",
      head, node, kernel, mismatch, tried);
}

std::optional<Bisected> bisect_fusion(const CompileOptions& options, const Compiled& compiled, Diag& diag) {
  if (!compiled.graph || !compiled.program || !compiled.program->host || options.resident ||
      !compiled.graph->states.empty()) {
    diag.error_at("--bisect-fusion",
                  "only networks whose operands are streamed, and that keep nothing, are compared");
    return std::nullopt;
  }
  std::optional<graph::Graph> model =
      frontend::load_model(options.input, {options.dims, options.set_config}, diag);
  if (!model) return std::nullopt;
  Bisection bisection(options, compiled, std::move(*model), diag);
  if (!bisection.expect(*compiled.program->host)) return std::nullopt;
  const Fusions all = fusions_of(*compiled.graph);
  Bisected b;
  b.fusions = int(all.nodes.size());
  std::optional<CheckResult> check = bisection.run(all, all.nodes.size());
  if (!check) return std::nullopt;
  b.agrees = check->ok;
  b.mismatch = check->mismatch;
  if (!check->ok) {
    check = bisection.run(all, 0);
    if (!check) return std::nullopt;
    b.without = check->ok;
    size_t good = 0, bad = all.nodes.size();  // so many fusions, and the results agree; or not
    while (b.without && bad - good > 1) {
      const size_t middle = good + (bad - good) / 2;
      check = bisection.run(all, middle);
      if (!check) return std::nullopt;
      (check->ok ? good : bad) = middle;
      if (!check->ok) b.mismatch = check->mismatch;
    }
    if (b.without) b.node = all.nodes[bad - 1], b.kernel = all.kernels.at(b.node);
  }
  b.tried = bisection.tried;
  return b;
}

}  // namespace cs::api
