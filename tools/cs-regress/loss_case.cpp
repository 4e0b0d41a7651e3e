// Resident: the plan of the fused form says which operators are a kernel; each kernel becomes a graph of its
// own, whose operands and results the host computes.
#include "tools/cs-regress/loss_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "compiler/graph/expand.h"
#include "compiler/graph/graph_yaml.h"
#include "runtime/host/npz.h"
#include "runtime/ops/losses.h"
#include "runtime/support/files.h"
#include "tools/cli/child_process.h"

namespace cs {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;
using nlohmann::json;

// `judged`: it is large enough for its bound to mean something.
void add_kernel(const json& k, bool judged, KernelFigures& f) {
  const double cycles = k.value("cycles", 0.0), ideal = k.value("ideal_cycles", 0.0);
  ++f.kernels;
  if (judged && ideal > 0 && cycles / ideal > f.worst) {
    f.worst = cycles / ideal;
    f.kernel = k.value("op", "");
  }
}

constexpr int64_t kLeastPerPe = 16;  // elements of the largest operand: fewer are for fewer PEs

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// The plan with all that is computed on the way: losses that are one kernel are groups of their primitives.
struct Plan {
  Graph g;
  std::map<ValueId, ops::Tensor> values;
};

bool expand_losses(Graph& g, std::string& error) {
  Diag diag;
  for (NodeId id : g.nodes()) {
    if (!g.node(id).alive || !ops::is_loss(g.op(id))) continue;
    const std::string name = g.node(id).name;
    const size_t before = g.node_slots();
    if (!graph::expand(g, id, diag)) {
      error = diag.to_string();
      return false;
    }
    for (size_t k = before; k < g.node_slots(); ++k) {
      graph::Node& n = g.node(NodeId{int32_t(k)});
      if (n.alive && g.op(NodeId{int32_t(k)}).kind != ops::OpKind::view)
        n.assignment = {Origin::autogen, {}, "", name, {}};
    }
  }
  return true;
}

bool evaluate_all(Plan& p, const std::string& inputs, std::string& error) {
  Diag diag;
  const auto arrays = read_npz(inputs, diag);
  for (ValueId v : p.g.inputs) {
    const NamedArray* a = arrays ? find_array(*arrays, p.g.value(v).name) : nullptr;
    if (a != nullptr) p.values[v] = a->tensor;
  }
  for (NodeId id : p.g.topological()) {
    std::vector<const ops::Tensor*> operands;
    for (ValueId v : p.g.node(id).inputs) {
      const ops::Tensor* constant = v.valid() ? p.g.constant_of(v) : nullptr;
      operands.push_back(!v.valid() ? nullptr : constant != nullptr ? constant : &p.values.at(v));
    }
    std::vector<ops::Tensor> results;
    if (!ops::evaluate(p.g.op(id), p.g.node(id).attrs, operands, results, diag)) {
      error = diag.to_string();
      return false;
    }
    const std::vector<ValueId>& outputs = p.g.node(id).outputs;
    for (size_t k = 0; k < outputs.size(); ++k) p.values[outputs[k]] = std::move(results[k]);
  }
  return true;
}

// Every operator for itself. Only a truth value stands with what selects by it, since PEs give the host
// numbers.
void take_apart(Graph& g) {
  std::vector<NodeId> order = g.topological();
  for (NodeId id : order) g.node(id).assignment.group.clear();
  for (size_t i = order.size(); i-- > 0;) {
    const std::string own = g.node(order[i]).assignment.group;
    for (ValueId v : g.node(order[i]).inputs) {
      const NodeId from = v.valid() ? g.value(v).producer : NodeId{};
      if (!from.valid() || g.value(v).type.dtype != DataType::boolean) continue;
      const std::string name = own.empty() ? g.node(order[i]).name : own;
      g.node(order[i]).assignment.group = g.node(from).assignment.group = name;
    }
  }
}

std::optional<Plan> read_plan(const Job& job, const std::string& file, std::string& error) {
  Diag diag;
  const auto doc = YamlDoc::parse_file(file, diag);
  std::vector<uint8_t> weights;
  const std::string beside = std::filesystem::path(file).replace_extension(".bin").string();
  if (std::filesystem::exists(beside)) {
    const std::string bytes = read_file(beside, diag).value_or("");
    weights.assign(bytes.begin(), bytes.end());
  }
  auto g = doc ? graph::graph_from_yaml(*doc, weights, diag) : std::nullopt;
  if (!g) {
    error = diag.to_string();
    return std::nullopt;
  }
  Plan p{std::move(*g), {}};
  if (!expand_losses(p.g, error) || !evaluate_all(p, job.inputs, error)) return std::nullopt;
  if (!*job.kernel_case->fused) take_apart(p.g);
  return p;
}

// A kernel alone: its operators, the views between them, and what it takes as inputs.
class Part {
 public:
  Part(const Plan& plan, const graph::Group& group) : plan_(plan), group_(group) {
    part_.name = group.name;
    for (ValueId v : group.outputs) part_.set_output(copy(v));
    for (size_t k = 0; k < group.outputs.size(); ++k)
      expected_.push_back({part_.value(part_.outputs[k]).name, plan.values.at(group.outputs[k])});
  }

  bool write(const std::string& folder, std::string& error) {
    Diag diag;
    std::filesystem::create_directories(folder);
    const graph::GraphText text = graph::graph_text(part_, "model.bin");
    const std::string_view weights(reinterpret_cast<const char*>(text.weights.data()), text.weights.size());
    if (write_file_atomic(folder + "/model.yaml", text.yaml, diag) &&
        (weights.empty() || write_file_atomic(folder + "/model.bin", weights, diag)) &&
        write_npz(folder + "/inputs.npz", inputs_, diag) &&
        write_npz(folder + "/expected.npz", expected_, diag))
      return true;
    error = diag.to_string();
    return false;
  }
  // Of its largest operand.
  int64_t elements() const {
    int64_t most = 0;
    for (ValueId v : part_.inputs) most = std::max(most, part_.value(v).type.elements());
    return most;
  }

 private:
  bool mine(NodeId id) const {
    return std::find(group_.nodes.begin(), group_.nodes.end(), id) != group_.nodes.end();
  }
  ValueId copy(ValueId v) {
    if (!v.valid()) return v;
    if (const auto it = copies_.find(v); it != copies_.end()) return it->second;
    const graph::Value& value = plan_.g.value(v);
    if (value.is_constant())
      return copies_[v] = part_.add_constant(value.name, plan_.g.shared_constant_of(v));
    const NodeId from = value.producer;
    const bool is_view = from.valid() && plan_.g.op(from).kind == ops::OpKind::view;
    if (!from.valid() || (!mine(from) && !is_view)) {
      inputs_.push_back({value.name, plan_.values.at(v)});
      return copies_[v] = part_.add_input(value.name, value.type);
    }
    graph::Node node = plan_.g.node(from);
    node.assignment = {};
    node.from.clear();
    node.from_op.clear();
    for (ValueId& input : node.inputs) input = copy(input);
    const std::vector<ValueId> outputs = std::exchange(node.outputs, {});
    const NodeId made = part_.add_node(std::move(node));
    for (ValueId o : outputs) copies_[o] = part_.add_result(made, plan_.g.value(o).name);
    Diag diag;
    graph::infer_node(part_, made, diag);
    return copies_.at(v);
  }

  const Plan& plan_;
  const graph::Group& group_;
  Graph part_;
  std::map<ValueId, ValueId> copies_;
  std::vector<NamedArray> inputs_, expected_;
};

// Compiles and runs one kernel; the reason where it fails.
bool run_part(const Job& job, const RunOptions& o, const std::string& folder, bool on_rect, KernelFigures& f,
              double& seconds, std::string& error) {
  std::vector<std::string> argv{
      o.tools + "/cs-compile", folder + "/model.yaml", "-m",         job.machine, "-o",
      folder + ".csp",         "--no-baselines",       "--operands", "resident"};
  if (!job.policy.empty()) argv.insert(argv.end(), {"--autogen-policy", job.policy});
  if (on_rect) argv.insert(argv.end(), {"--rect", job.kernel_case->rect()});
  const ChildResult compiled = run_child(argv, o.timeout_seconds);
  seconds += compiled.seconds;
  if (compiled.exit_code != 0) {
    error = first_line(compiled.err);
    return false;
  }
  const ChildResult ran =
      run_child({o.tools + "/cs-sim", folder + ".csp", "--json", "--outputs", folder + "/outputs.npz",
                 "--inputs", folder + "/inputs.npz", "--expect", folder + "/expected.npz"},
                o.timeout_seconds);
  seconds += ran.seconds;
  const json stats = json::parse(ran.out, nullptr, false);
  if (ran.exit_code != 0 || !stats.is_object()) {
    error = "cs-sim: " + first_line(ran.err);
    return false;
  }
  for (const json& k : stats.value("kernels", json::array())) {
    add_kernel(k, on_rect, f);
    f.cycles += k.value("cycles", 0.0);
    f.ideal += k.value("ideal_cycles", 0.0);
    f.bytes_per_pe = std::max(f.bytes_per_pe, k.value("bytes_per_pe", 0.0));
  }
  return true;
}

}  // namespace

bool is_loss_case(const KernelCase& c) {
  const ops::OpDef* row = ops::find_op(c.op);
  return row != nullptr && ops::is_loss(*row);
}

std::optional<KernelFigures> read_loss_figures(const std::string& stats_json, std::string& error) {
  const json stats = json::parse(stats_json, nullptr, false);
  KernelFigures f;
  f.cycles = stats.value("latency_cycles", 0.0);
  f.origin = stats.value("ops", json::array()).empty() ? "" : stats["ops"][0].value("origin", "");
  for (const json& k : stats.value("kernels", json::array())) {
    if (k.value("origin", "") == "host") {
      error = fmt::format("{} runs on the host: {}", k.value("op", "?"), k.value("reason", ""));
      return std::nullopt;
    }
    if (k.value("nodes", json::array()).empty()) continue;
    add_kernel(k, true, f);
    f.ideal = std::max(f.ideal, k.value("ideal_cycles", 0.0));
  }
  return f;
}

std::optional<KernelFigures> run_resident_loss(const Job& job, const RunOptions& o, const std::string& folder,
                                               double& seconds, std::string& error) {
  const std::string plan = folder + "/plan.yaml";
  const ChildResult planned =
      run_child({o.tools + "/cs-compile", job.program, "-m", job.machine, "--autogen-policy", job.policy,
                 "--rect", job.kernel_case->rect(), "--no-baselines", "--stop-after", "regions", "-o", plan},
                o.timeout_seconds);
  seconds += planned.seconds;
  if (planned.exit_code != 0) {
    error = first_line(planned.err);
    return std::nullopt;
  }
  const std::optional<Plan> p = read_plan(job, plan, error);
  if (!p) return std::nullopt;
  KernelFigures f;
  f.origin = *job.kernel_case->fused ? "autogen" : "primitive";
  int number = 0;
  const int64_t pes = int64_t(job.kernel_case->width) * job.kernel_case->height;
  for (const graph::Group& group : graph::groups(p->g)) {
    Part part(*p, group);
    const std::string own = fmt::format("{}/part{}", folder, number++);
    // What follows the sums of parts is for few PEs.
    const bool on_rect = part.elements() >= kLeastPerPe * pes;
    if (!part.write(own, error)) return std::nullopt;
    if (run_part(job, o, own, on_rect, f, seconds, error)) continue;
    error = fmt::format("kernel {}: {}", group.name, error);
    return std::nullopt;
  }
  return f;
}

}  // namespace cs
