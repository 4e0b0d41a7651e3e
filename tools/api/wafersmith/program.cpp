// A Program read, written and described.
#include "wafersmith/program.h"

#include <algorithm>

#include "runtime/host/exports.h"
#include "runtime/program/folder.h"
#include "runtime/support/files.h"
#include "wafersmith/internal.h"

namespace wafersmith {
namespace {

std::vector<TensorInfo> infos_of(const std::vector<cs::HostTensor>& tensors) {
  std::vector<TensorInfo> out;
  for (const cs::HostTensor& t : tensors) out.push_back({t.name, DType(t.type), t.shape, t.sample_dim});
  return out;
}

}  // namespace

Program Program::load(const std::string& folder) {
  cs::Diag diag;
  auto loaded = cs::read_program(folder, diag);
  if (!loaded) refuse(diag);
  auto data = std::make_shared<Data>();
  data->program = std::move(loaded->program);
  data->weights = std::move(loaded->weights);
  cs::Diag none;
  data->compile_report = cs::read_file(folder + "/compile_report.json", none).value_or("");
  return Program(std::move(data));
}

void Program::save(const std::string& folder) const {
  cs::Diag diag;
  cs::Manifest manifest = data_->manifest;
  if (manifest.tool_version.empty()) manifest.tool_version = cs::version();
  if (!cs::may_replace_program(folder, diag)) refuse(diag);
  cs::FolderWriter out(folder, diag);
  bool ok = cs::write_program_files(out, "", data_->program, data_->weights, manifest);
  for (const auto& [name, text] : data_->more_files) ok = ok && out.write(name, text);
  if (!data_->compile_report.empty()) ok = ok && out.write("compile_report.json", data_->compile_report);
  if (!ok || !out.commit()) refuse(diag);
}

const std::string& Program::compile_report() const { return data_->compile_report; }

const std::string& Program::name() const { return data_->program.name; }
const std::string& Program::machine() const { return data_->program.machine; }
Rectangle Program::rectangle() const { return from_rect(data_->program.user); }
int Program::fabric_width() const { return data_->program.fabric_width; }
int Program::fabric_height() const { return data_->program.fabric_height; }

uint32_t Program::bytes_per_pe() const {
  uint32_t most = 0;
  for (const cs::TileProgram& tile : data_->program.tiles) {
    uint32_t bytes = 0;
    for (const cs::Section& s : tile.sections) bytes += s.bytes;
    most = std::max(most, bytes);
  }
  return most;
}

bool Program::is_model() const { return data_->program.host && !data_->program.host->steps.empty(); }

std::vector<TensorInfo> Program::inputs() const {
  return data_->program.host ? infos_of(data_->program.host->inputs) : std::vector<TensorInfo>{};
}
std::vector<TensorInfo> Program::outputs() const {
  return data_->program.host ? infos_of(data_->program.host->outputs) : std::vector<TensorInfo>{};
}

std::vector<KernelInfo> Program::kernels() const {
  std::vector<KernelInfo> out;
  if (!data_->program.host) return out;
  for (const cs::KernelRow& k : data_->program.host->kernels)
    out.push_back({k.name, k.op, std::string(cs::origin_name(k.origin)), k.reason, from_rect(k.rect),
                   k.ideal_cycles, k.estimated_cycles, k.bytes_per_pe});
  return out;
}

std::vector<VariableInfo> Program::variables() const {
  std::vector<VariableInfo> out;
  for (const cs::ExportedName& e : data_->program.exports) {
    const auto extent = e.is_function ? std::nullopt : cs::extent_of_export(data_->program, e.name);
    if (extent)
      out.push_back({e.name, DType(extent->type), from_rect(extent->rect), extent->elements, e.is_mutable});
  }
  return out;
}

std::vector<FunctionInfo> Program::functions() const {
  std::vector<FunctionInfo> out;
  for (const cs::ExportedName& e : data_->program.exports) {
    if (!e.is_function) continue;
    FunctionInfo info{e.name, {}};
    for (const cs::TileProgram& tile : data_->program.tiles)
      if (const cs::Function* f = tile.function(e.name)) {
        for (const cs::Parameter& p : f->parameters) info.parameters.push_back(DType(p.type));
        break;
      }
    out.push_back(std::move(info));
  }
  return out;
}

}  // namespace wafersmith
