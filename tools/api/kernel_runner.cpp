// Kernels of copies are those of the first one, and what mapping inserts has nothing to compute.
#include "tools/api/kernel_runner.h"

#include <sys/stat.h>

#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "compiler/graph/evaluate.h"
#include "compiler/mapping/alone.h"
#include "runtime/host/model_run.h"
#include "runtime/program/folder.h"
#include "tools/api/ladder.h"

namespace cs::api {

namespace {

namespace fs = std::filesystem;
constexpr const char* kList = "runners.json";
constexpr const char* kCommand =
    "#!/bin/sh\n"
    "# Runs the kernel alone and compares with what the host computes.\n"
    "cd \"$(dirname \"$0\")\" && exec cs-sim kernel.csp --inputs inputs.npz --expect expected.npz \"$@\"\n";
constexpr uint64_t kSeed = 1;

struct Runner {
  Program program;
  Weights weights;
  std::vector<NamedArray> inputs, expected;
};

// Numbers that an operand of integers can be: an index into the smallest extent that there is.
void make_indices(const graph::Graph& g, NamedArray& a) {
  if (data_type_is_float(a.tensor.type.dtype)) return;
  int64_t below = 2;
  for (const graph::NodeId id : g.topological())
    for (const graph::ValueId v : g.node(id).inputs)
      if (v.valid() && g.value(v).is_constant() && g.value(v).type.rank() > 0)
        below = std::max<int64_t>(below, std::min<int64_t>(g.value(v).type.shape[0], 1000));
  for (int64_t i = 0; i < a.tensor.elements(); ++i) a.tensor.set_int(i, (i * 7 + 1) % below);
}

std::optional<Runner> make_runner(const CompileOptions& options, const Compiled& c, const KernelRow& row,
                                  Diag& diag) {
  std::vector<graph::NodeId> nodes;
  for (const std::string& name : row.nodes) {
    const auto id = c.graph->find_node(name);
    if (!id) return std::nullopt;
    nodes.push_back(*id);
  }
  const graph::Graph kernel = mapping::copy_alone(*c.graph, nodes, row.name);
  mapping::MapOptions map = map_options(options, *c.graph);
  map.copies = {};
  map.fabric_width = map.fabric_height = 0;
  std::optional<mapping::Mapped> mapped = mapping::map_inside(kernel, row.rect, c.machine, map, diag);
  if (!mapped) return std::nullopt;
  std::optional<Program> program =
      build_program(*mapped, c.machine, options.threads, options.csl.opt_level, diag);
  if (!program) return std::nullopt;
  Runner r{std::move(*program), std::move(mapped->weights), {}, {}};
  r.inputs = random_inputs(*r.program.host, 1, kSeed);
  std::map<std::string, ops::Tensor> given;
  for (NamedArray& a : r.inputs) {
    make_indices(kernel, a);
    ops::Tensor& t = given[a.name] = a.tensor;
    if (const auto v = kernel.find_value(a.name)) t.type.shape = kernel.value(*v).type.shape;
  }
  const auto results = graph::evaluate_graph(kernel, given, diag);
  if (!results) return std::nullopt;
  for (const HostTensor& t : r.program.host->outputs)
    if (const auto found = results->find(t.name); found != results->end())
      r.expected.push_back({t.name, found->second});
  return r;
}

bool may_replace(const std::string& folder, Diag& diag) {
  std::error_code ec;
  if (!fs::exists(folder, ec) || fs::is_empty(folder, ec) || fs::exists(fs::path(folder) / kList, ec))
    return true;
  diag.error_at(
      folder,
      fmt::format("has no {}, so --emit-kernel-runner did not write it and does not replace it", kList),
      "choose another name or remove it");
  return false;
}

}  // namespace

bool write_kernel_runners(const CompileOptions& options, const Compiled& c, const std::string& folder,
                          Diag& diag) {
  if (!c.graph || !c.program || !c.program->host || options.resident) {
    diag.error_at("--emit-kernel-runner",
                  "only models whose operands are streamed have kernels that run alone");
    return false;
  }
  if (!may_replace(folder, diag)) return false;
  FolderWriter out(folder, diag);
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const KernelRow& row : c.program->host->kernels) {
    if (row.copy > 0 || row.rect.area() == 0 || row.nodes.empty()) continue;
    const std::optional<Runner> r = make_runner(options, c, row, diag);
    if (!r) {
      if (diag.ok()) diag.error_at(row.name, "this kernel cannot be mapped alone");
      return false;
    }
    const std::string below = row.name + "/";
    if (!write_program_files(out, below + "kernel.csp/", r->program, r->weights, c.manifest) ||
        !out.write(below + "inputs.npz", npz_bytes(r->inputs)) ||
        !out.write(below + "expected.npz", npz_bytes(r->expected)) || !out.write(below + "command", kCommand))
      return false;
    list.push_back({{"kernel", row.name},
                    {"op", row.op},
                    {"family", row.kernel},
                    {"origin", std::string(origin_name(row.origin))},
                    {"nodes", row.nodes},
                    {"command", below + "command"}});
  }
  const nlohmann::ordered_json all{
      {"schema", "wafersmith-runners/1"}, {"model", c.program->host->model}, {"runners", list}};
  return out.write(kList, all.dump(2) + "\n") && out.commit();
}

}  // namespace cs::api
