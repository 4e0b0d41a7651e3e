// Walks the folder in sorted order, so that the table does not depend on the file system.
#include "tools/cs-regress/model_dir.h"

#include <algorithm>
#include <filesystem>

#include "compiler/frontend/onnx_sets.h"
#include "runtime/host/npz.h"
#include "runtime/support/files.h"

namespace cs {
namespace {

// A recorded ONNX set becomes what the tools read: a model with its constants bound and two .npz files.
bool prepare_onnx_set(const std::string& recorded, Job& job, const std::string& folder, std::string& error) {
  Diag diag;
  const auto write = [&](const auto& tensors, const std::string& path) {
    std::vector<NamedArray> arrays;
    for (const auto& [name, tensor] : tensors) arrays.push_back({name, tensor});
    return write_npz(path, arrays, diag);
  };
  const auto set = frontend::read_onnx_set(job.program, recorded, diag);
  std::filesystem::create_directories(folder);
  job.program = folder + "/model.onnx";
  job.inputs = folder + "/inputs.npz";
  job.check = folder + "/expected.npz";
  if (set && write_file_atomic(job.program, set->model, diag) && write(set->inputs, job.inputs) &&
      write(set->outputs, job.check)) {
    job.dims = set->dims;
    return true;
  }
  error = diag.to_string();
  return false;
}

}  // namespace

std::vector<Job> find_model_jobs(const std::string& folder, const std::string& machine,
                                 const std::string& policy) {
  namespace fs = std::filesystem;
  std::vector<fs::path> models;
  std::error_code ec;
  for (fs::recursive_directory_iterator it(folder, ec), end; !ec && it != end; it.increment(ec))
    if (it->is_regular_file() && it->path().extension() == ".onnx") models.push_back(it->path());
  std::sort(models.begin(), models.end());
  std::vector<Job> jobs;
  // A policy that generates kernels is tried on whether it does.
  const bool wafer_only = policy != "disabled";
  for (const fs::path& model : models) {
    const auto job_of = [&](const std::string& set) {
      Job job;
      job.name = fs::relative(model, folder).replace_extension().string() + "/" + set + "/" +
                 fs::path(machine).stem().string() + "/" + policy;
      job.program = model.string();
      job.machine = machine;
      job.policy = policy;
      job.wafer_only = wafer_only;
      return job;
    };
    for (int set = 0;; ++set) {
      const fs::path inputs = model.parent_path() / ("inputs_" + std::to_string(set) + ".npz");
      const fs::path expected = model.parent_path() / ("expected_" + std::to_string(set) + ".npz");
      if (!fs::exists(inputs) || !fs::exists(expected)) break;
      Job job = job_of(std::to_string(set));
      job.inputs = inputs.string();
      job.check = expected.string();
      jobs.push_back(std::move(job));
    }
    for (int set = 0;; ++set) {
      const fs::path recorded = model.parent_path() / ("test_data_set_" + std::to_string(set));
      if (!fs::is_directory(recorded)) break;
      Job job = job_of(std::to_string(set));
      job.prepare = [set = recorded.string()](Job& own, const std::string& work, std::string& error) {
        return prepare_onnx_set(set, own, work, error);
      };
      jobs.push_back(std::move(job));
    }
  }
  return jobs;
}

}  // namespace cs
