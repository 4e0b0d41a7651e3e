// Reading a manifest: nlohmann's exceptions become diagnostics that name the case.
#include "tools/cs-regress/golden_collection.h"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>

#include "runtime/support/files.h"
#include "tools/cs-regress/sha256.h"

namespace cs::golden {
namespace {

using nlohmann::json;
using Files = std::map<std::string, std::string>;

// A name below the folder and nothing else.
bool plain_name(const std::string& name) {
  const std::filesystem::path p(name);
  return !name.empty() && p.filename() == p && name != "." && name != "..";
}

bool read_files(const json& manifest, const std::string& folder, Files& files, Diag& diag) {
  for (const auto& [name, info] : manifest.at("files").items()) {
    const std::string path = folder + "/" + name;
    if (!plain_name(name)) {
      diag.error_at(folder + "/manifest.json", "'" + name + "' is not the name of a file in this folder");
      continue;
    }
    auto bytes = read_file(path, diag);
    if (!bytes) continue;
    if (bytes->size() != info.at("nbytes").get<size_t>()) {
      diag.error_at(path, fmt::format("has {} bytes, the manifest says {}", bytes->size(),
                                      info.at("nbytes").get<size_t>()));
    } else if (sha256_text(*bytes) != info.at("sha256").get<std::string>()) {
      diag.error_at(path, "its SHA-256 is not that of the manifest", "copy the collection again");
    }
    files[name] = std::move(*bytes);
  }
  return diag.ok();
}

std::optional<DataType> element_type(const std::string& name) {
  if (name == "f32" || name == "f64" || name == "i64" || name == "u8") return data_type_from_name(name);
  return std::nullopt;
}

// Fills in `out`; says what is wrong, empty if nothing.
std::string read_tensor(const json& t, const std::string& bytes, CaseTensor& out) {
  out.role = t.at("role").get<std::string>();
  const auto type = element_type(t.at("dtype").get<std::string>());
  if (!type) return "unknown dtype '" + t.at("dtype").get<std::string>() + "'";
  const auto shape = t.at("shape").get<ops::Shape>();
  const auto elements = ops::checked_elements(shape);
  const auto offset = t.at("offset").get<uint64_t>(), n = t.at("nbytes").get<uint64_t>();
  if (!elements || uint64_t(*elements) * uint64_t(data_type_bytes(*type)) != n)
    return fmt::format("{} bytes do not make {} of this shape", n, data_type_name(*type));
  if (offset > bytes.size() || n > bytes.size() - offset)
    return fmt::format("bytes {} to {} of a file of {}", offset, offset + n, bytes.size());
  out.tensor = ops::Tensor(ops::TensorType{*type, shape});
  if (n > 0) std::memcpy(out.tensor.bytes.data(), bytes.data() + offset, n);
  return "";
}

Floor read_floor(const json& f) {
  Floor floor{f.at(0).get<double>(), f.at(1).get<double>(), false};
  floor.nonfinite_differs = f.size() > 2 && f.at(2) == "nonfinite-differs";
  return floor;
}

void read_case(const json& c, const Files& files, const std::string& where, Collection& out, Diag& diag) {
  Case one;
  one.id = c.at("id").get<std::string>();
  one.group = one.id.substr(0, one.id.find('/'));
  one.op = c.at("op").get<std::string>();
  one.quant = c.at("quant").get<std::string>();
  one.edge = c.value("edge", false);
  one.options = c.at("options");
  const auto file = files.find(c.at("file").get<std::string>());
  if (file == files.end()) {
    diag.error_at(where, one.id + ": its file is not in the list 'files'");
    return;
  }
  for (const auto& [name, t] : c.at("tensors").items()) {
    const std::string problem = read_tensor(t, file->second, one.tensors[name]);
    if (!problem.empty()) diag.error_at(where, one.id + ", tensor '" + name + "': " + problem);
  }
  for (const auto& [name, f] : c.at("f32_err").items()) one.floors[name] = read_floor(f);
  out.cases.push_back(std::move(one));
}

}  // namespace

std::optional<Collection> read_collection(const std::string& folder, Diag& diag) {
  const std::string path = folder + "/manifest.json";
  const auto text = read_file(path, diag);
  if (!text) return std::nullopt;
  Collection out;
  Files files;
  std::string at = "the manifest";
  try {
    const json manifest = json::parse(*text);
    const std::string format = manifest.at("format").get<std::string>();
    if (format != "golden-v1") {
      diag.error_at(path, "the format is '" + format + "', not golden-v1");
      return std::nullopt;
    }
    out.kind = manifest.at("kind").get<std::string>();
    if (!read_files(manifest, folder, files, diag)) return std::nullopt;
    for (const json& c : manifest.at("cases")) {
      at = "case " + c.value("id", fmt::format("number {}", out.cases.size()));
      read_case(c, files, path, out, diag);
      if (diag.full()) break;
    }
  } catch (const json::exception& e) {
    diag.error_at(path, fmt::format("{}: {}", at, e.what()));
  }
  if (!diag.ok()) return std::nullopt;
  return out;
}

}  // namespace cs::golden
