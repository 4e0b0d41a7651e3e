// Finds, reads and parses modules. See loader.h for the order of places.
#include "compiler/csl/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "runtime/support/workarounds.h"

namespace cs {
const std::vector<std::pair<std::string_view, std::string_view>>& embedded_csl_lib_files();
}

namespace cs::csl {
namespace {

namespace fs = std::filesystem;

std::string normal(const fs::path& path) { return path.lexically_normal().generic_string(); }

void report(SourceLoc where, Diag& diag, std::string message, std::string help) {
  if (where.valid())
    diag.error(where, std::move(message), std::move(help));
  else
    diag.error_at("cslc", std::move(message), std::move(help));
}

}  // namespace

const LoadedModule* FileLoader::found(const std::string& path) const {
  const Entry& entry = *entries_.at(path);
  return entry.file ? &entry.module : nullptr;
}

const LoadedModule* FileLoader::keep(const std::string& path, bool library, uint32_t source, Diag& diag) {
  auto entry = std::make_unique<Entry>();
  entry->file = parse(source, diag);
  entry->module = {path, library, entry->file.get()};
  entries_[path] = std::move(entry);
  return found(path);
}

const LoadedModule* FileLoader::load_library(const std::string& name, SourceLoc where, Diag& diag) {
  std::string inner = name.substr(1, name.size() - 2);
  if (inner.ends_with(".csl")) inner.resize(inner.size() - 4);
  std::string path = "<" + inner + ">";
  if (entries_.count(path)) return found(path);
  std::vector<std::string> known;
  for (const auto& [file, text] : embedded_csl_lib_files()) {
    if (file == inner + ".csl") return keep(path, true, diag.sources.add(path, std::string(text)), diag);
    known.push_back(fmt::format("<{}>", file.substr(0, file.size() - 4)));
  }
  report(where, diag, fmt::format("there is no library {}", path),
         fmt::format("known are {}", fmt::join(known, " ")));
  return nullptr;
}

const LoadedModule* FileLoader::load(const std::string& name, const LoadedModule* from, SourceLoc where,
                                     Diag& diag) {
  if (name.size() > 2 && name.front() == '<' && name.back() == '>') return load_library(name, where, diag);
  if (name.empty()) {
    report(where, diag, "the file name is empty", "write \"FILE.csl\" or \"<LIBRARY>\"");
    return nullptr;
  }
  const std::vector<std::string> candidates = places(name, from);
  for (const std::string& path : candidates) {
    if (entries_.count(path) && options_.files.count(path)) return found(path);
    auto shadow = options_.files.find(path);
    if (shadow != options_.files.end())
      return keep(path, false, diag.sources.add(path, shadow->second), diag);
  }
  // The name alone is a place on the disk only for the layout: imports are relative to the importing file.
  for (size_t i = from && candidates.size() > 1 ? 1 : 0; i < candidates.size(); ++i) {
    const std::string& path = candidates[i];
    if (entries_.count(path)) return found(path);
    std::error_code ignored;
    if (fs::is_regular_file(path, ignored)) {
      uint32_t source = diag.sources.add_file(path);
      constexpr size_t kBesideLayout = 2;  // places()
      const bool from_layout = from && !from->library && i == kBesideLayout &&
                               path == normal(fs::path(options_.layout).parent_path() / name);
      if (from_layout) note_workaround(Workaround::csl_import_beside_layout);
      if (source != 0) return keep(path, false, source, diag);
    }
  }
  not_found(name, from, candidates, where, diag);
  return nullptr;
}

std::vector<std::string> FileLoader::places(const std::string& name, const LoadedModule* from) const {
  std::vector<std::string> out{normal(name)};
  if (from && !from->library) {
    out.push_back(normal(fs::path(from->path).parent_path() / name));
    // Some programs name all their files from the layout's folder.
    const std::string beside_layout = normal(fs::path(options_.layout).parent_path() / name);
    if (std::find(out.begin() + 1, out.end(), beside_layout) == out.end()) out.push_back(beside_layout);
  }
  for (const std::string& directory : options_.import_paths)
    out.push_back(normal(fs::path(directory) / name));
  return out;
}

void FileLoader::not_found(const std::string& name, const LoadedModule* from,
                           const std::vector<std::string>& candidates, SourceLoc where, Diag& diag) {
  const size_t first = from && candidates.size() > 1 ? 1 : 0;
  report(where, diag, fmt::format("cannot read '{}'", name),
         fmt::format("looked for {}; --import-path adds folders",
                     fmt::join(candidates.begin() + long(first), candidates.end(), ", ")));
}

uint32_t FileLoader::read(const std::string& name, const LoadedModule* from, SourceLoc where, Diag& diag) {
  const std::vector<std::string> candidates = places(name, from);
  for (const std::string& path : candidates) {
    if (auto it = texts_.find(path); it != texts_.end()) return it->second;
    auto shadow = options_.files.find(path);
    if (shadow != options_.files.end()) return texts_[path] = diag.sources.add(path, shadow->second);
  }
  for (size_t i = from && candidates.size() > 1 ? 1 : 0; i < candidates.size(); ++i) {
    std::error_code ignored;
    if (!fs::is_regular_file(candidates[i], ignored)) continue;
    if (const uint32_t source = diag.sources.add_file(candidates[i]); source != 0)
      return texts_[candidates[i]] = source;
  }
  not_found(name, from, candidates, where, diag);
  return 0;
}

std::vector<std::string> FileLoader::paths() const {
  std::vector<std::string> out;
  for (const auto& [path, entry] : entries_)
    if (!entry->module.library) out.push_back(path);
  return out;
}

}  // namespace cs::csl
