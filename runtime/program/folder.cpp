// The folder form of a Program: program.fb, weights.bin, machine.yaml and manifest.json.
//
// Writing: everything into a temporary folder, then one rename. Reading: the manifest gives format and hashes, so that
// any changed byte is a diagnostic before anything is interpreted; then unpack, read the machine, verify. machine.yaml
// is the machine that program.fb carries, for people and for -m.
#include "runtime/program/folder.h"

#include <filesystem>
#include <functional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/program/mapped_program.h"

namespace cs {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "wafersmith-program/1";
constexpr const char* kProgramFile = "program.fb";
constexpr const char* kWeightsFile = "weights.bin";
constexpr const char* kMachineFile = "machine.yaml";
constexpr const char* kManifestFile = "manifest.json";

std::string manifest_text(const Program& p, const Manifest& manifest, const std::string& program_hash,
                          const std::string& weights_hash, size_t weights) {
  Json options = Json::object();
  for (const auto& [key, value] : manifest.entries) options[key] = value;
  const Json json = {{"format", kFormat},
                     {"tool_version", manifest.tool_version},
                     {"command", manifest.command},
                     {"name", p.name},
                     {"machine", p.machine},
                     {"files",
                      {{kProgramFile, {{"xxh3", program_hash}}},
                       {kWeightsFile, {{"xxh3", weights_hash}, {"bytes", weights}}},
                       {kMachineFile, {{"xxh3", hash_text(p.machine_text)}}}}},
                     {"options", options}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string text_at(const Json& json, std::initializer_list<const char*> path) {
  const Json* node = &json;
  for (const char* key : path) {
    if (!node->is_object() || !node->contains(key)) return {};
    node = &node->at(key);
  }
  return node->is_string() ? node->get<std::string>() : std::string();
}

bool check_hash(const Json& manifest, const char* file, const std::string& path, std::string_view bytes,
                Diag& diag) {
  const std::string expected = text_at(manifest, {"files", file, "xxh3"}), actual = hash_text(bytes);
  if (expected == actual) return true;
  diag.error_at(path, fmt::format("the content has hash {}, the manifest says {}", actual,
                                  expected.empty() ? "nothing" : expected),
                "the file is damaged or from another compilation; compile again");
  return false;
}

}  // namespace

bool may_replace_program(const std::string& folder, Diag& diag) {
  std::error_code ec;
  if (!fs::exists(folder, ec)) return true;
  if (fs::is_directory(folder, ec) && (fs::is_empty(folder, ec) || fs::exists(folder + "/" + kManifestFile, ec))) {
    return true;
  }
  diag.error_at(folder, "exists and is no compiled program, so it is not replaced", "choose another name or remove it");
  return false;
}

bool write_program_files(FolderWriter& out, const std::string& below, const Program& p, const Weights& weights,
                         const Manifest& manifest) {
  const std::string program = program_bytes(p);
  ContentHash hash;
  const auto hashed = [&](const Weights::Take& take) {
    return weights.read([&](std::string_view bytes) {
      hash.add(bytes);
      return take(bytes);
    });
  };
  return out.write(below + kProgramFile, program) && out.write(below + kWeightsFile, hashed) &&
         out.write(below + kMachineFile, p.machine_text) &&
         out.write(below + kManifestFile, manifest_text(p, manifest, hash_text(program), hash.text(), weights.size()));
}

bool write_program(const std::string& folder, const Program& p, const std::vector<uint8_t>& weights,
                   const Manifest& manifest, Diag& diag) {
  if (!may_replace_program(folder, diag)) return false;
  FolderWriter out(folder, diag);
  return write_program_files(out, "", p, weights, manifest) && out.commit();
}

namespace {

// `open` gives the bytes of weights.bin.
std::optional<Program> read_folder(const std::string& folder,
                                   const std::function<std::optional<std::string_view>(const std::string&)>& open,
                                   Diag& diag) {
  std::error_code ec;
  if (!fs::is_directory(folder, ec)) {
    diag.error_at(folder, fs::exists(folder, ec) ? "is no folder of a compiled program" : "no such program",
                  "give the folder that cs-compile -o wrote");
    return std::nullopt;
  }
  const auto path = [&](const char* file) { return (fs::path(folder) / file).string(); };
  const auto manifest_bytes = read_file(path(kManifestFile), diag, 1 << 24);
  const auto program = read_file(path(kProgramFile), diag);
  const auto weights = open(path(kWeightsFile));
  const auto machine_text = read_file(path(kMachineFile), diag, 1 << 24);
  if (!manifest_bytes || !program || !weights || !machine_text) return std::nullopt;
  const Json manifest = Json::parse(*manifest_bytes, nullptr, false);
  if (manifest.is_discarded() || text_at(manifest, {"format"}) != kFormat) {
    diag.error_at(path(kManifestFile), fmt::format("is no manifest of the format {}", kFormat),
                  "compile again with these tools");
    return std::nullopt;
  }
  const bool program_ok = check_hash(manifest, kProgramFile, path(kProgramFile), *program, diag);
  const bool weights_ok = check_hash(manifest, kWeightsFile, path(kWeightsFile), *weights, diag);
  const bool machine_ok = check_hash(manifest, kMachineFile, path(kMachineFile), *machine_text, diag);
  if (!program_ok || !weights_ok || !machine_ok) return std::nullopt;
  auto p = parse_program_bytes(*program, path(kProgramFile), diag);
  if (!p) return std::nullopt;
  if (p->machine_text != *machine_text) {
    diag.error_at(path(kMachineFile), "is not the machine that program.fb carries", "compile again for this machine");
    return std::nullopt;
  }
  const auto machine = program_machine(*p, diag);
  if (!machine || !verify(*p, *machine, diag) || !verify_weights(*p, weights->size(), diag)) return std::nullopt;
  return p;
}

constexpr uint64_t kWorthMapping = 1 << 20;  // bytes

}  // namespace

std::optional<LoadedProgram> read_program(const std::string& folder, Diag& diag) {
  std::optional<std::string> bytes;
  const auto open = [&](const std::string& path) -> std::optional<std::string_view> {
    bytes = read_file(path, diag);
    return bytes ? std::optional<std::string_view>(*bytes) : std::nullopt;
  };
  auto p = read_folder(folder, open, diag);
  if (!p) return std::nullopt;
  return LoadedProgram{std::move(*p), {bytes->begin(), bytes->end()}};
}

std::optional<MapWeights> map_weights_from_name(std::string_view name) {
  if (name == "auto") return MapWeights::automatic;
  if (name == "on") return MapWeights::on;
  if (name == "off") return MapWeights::off;
  return std::nullopt;
}

std::optional<MappedProgram> map_program(const std::string& folder, MapWeights how, Diag& diag) {
  std::error_code ec;
  const uint64_t size = fs::file_size(fs::path(folder) / kWeightsFile, ec);
  if (how == MapWeights::off || (how == MapWeights::automatic && (ec || size < kWorthMapping))) {
    auto loaded = read_program(folder, diag);
    if (!loaded) return std::nullopt;
    MappedProgram read{std::move(loaded->program), {}, nullptr, std::move(loaded->weights)};
    read.weights = read.read;
    return read;
  }
  MappedProgram mapped;
  const auto open = [&](const std::string& path) -> std::optional<std::string_view> {
    mapped.file = MappedFile::open(path, diag);
    if (!mapped.file) return std::nullopt;
    mapped.weights = mapped.file->bytes();
    return std::string_view(reinterpret_cast<const char*>(mapped.weights.data()), mapped.weights.size());
  };
  auto p = read_folder(folder, open, diag);
  if (!p) return std::nullopt;
  mapped.program = std::move(*p);
  mapped.file->let_go();  // all of it was hashed
  return mapped;
}

}  // namespace cs
