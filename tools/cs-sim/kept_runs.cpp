// The file is read at the start and written at the end; one that cannot be read or written only costs time.
#include "tools/cs-sim/kept_runs.h"

#include <filesystem>

#include "runtime/support/files.h"

namespace cs {

using Json = nlohmann::json;

KeptRuns::KeptRuns(const SimOptions& o, std::string file) : options_(o), file_(std::move(file)) {
  Diag diag;
  if (const auto text = std::filesystem::exists(file_) ? read_file(file_, diag) : std::nullopt)
    rows_ = Json::parse(*text, nullptr, false);
  if (!rows_.is_object()) rows_ = Json::object();
}

KeptRuns::~KeptRuns() {
  Diag diag;
  if (changed_) write_file_atomic(file_, rows_.dump(1) + "\n", diag);
}

std::optional<std::string> KeptRuns::key_of(const std::string& program, const std::string& arguments) const {
  std::string bytes = version() + "\n" + options_.machine + "\n" + arguments;
  for (const std::string& set : options_.set) bytes += "\n" + set;
  for (const char* name : {"program.fb", "weights.bin"}) {
    Diag diag;
    const auto part = read_file(program + "/" + name, diag);
    if (!part) return std::nullopt;
    bytes += "\n" + hash_text(*part);
  }
  return hash_text(bytes);
}

const Json* KeptRuns::find(const std::string& key) const {
  const auto row = rows_.find(key);
  return row == rows_.end() || !row->is_object() ? nullptr : &*row;
}

const Json& KeptRuns::keep(const std::string& key, Json row) {
  changed_ = true;
  return rows_[key] = std::move(row);
}

}  // namespace cs
