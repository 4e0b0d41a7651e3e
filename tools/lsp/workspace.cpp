// Documents and files; resolve.cpp has the names.
#include "tools/lsp/workspace.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "compiler/csl/inspect.h"
#include "runtime/support/files.h"

namespace cs {
const std::vector<std::pair<std::string_view, std::string_view>>& embedded_csl_lib_files();
}

namespace cs::lsp {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostFiles = 4000;         // of a workspace that are looked at
constexpr uint64_t kMostBytes = 16u << 20;  // of one file
constexpr long long kOpen = -1;             // in place of a time: the client has it open

std::string normal(const fs::path& path) { return path.lexically_normal().generic_string(); }

void find_imports(ParsedFile& file) {
  const auto add = [&](const csl::ast::Builtin& b, size_t at, bool module) {
    if (at >= b.args.size() || !b.args[at] || b.args[at]->kind != csl::ast::ExprKind::string) return;
    const auto& name = static_cast<const csl::ast::String&>(*b.args[at]);
    file.imports.push_back({name.value, name.loc, &b, module});
  };
  for (const csl::ast::Builtin* b : file.index.builtins) {
    if (b->name == "import_module") add(*b, 0, true);
    if (b->name == "set_tile_code") add(*b, 2, false);
  }
}

void collect(const std::string& folder, std::set<std::string>& out) {
  std::error_code error;
  fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, error), end;
  for (; !error && it != end && out.size() < kMostFiles; it.increment(error)) {
    const std::string name = it->path().filename().string();
    std::error_code ignored;
    if (it->is_directory(ignored) && (name.starts_with(".") || name == "build")) {
      it.disable_recursion_pending();
    } else if (name.ends_with(".csl") && it->is_regular_file(ignored)) {
      out.insert(normal(it->path()));
    }
  }
}

size_t common_prefix(const std::string& a, const std::string& b) {
  return size_t(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

}  // namespace

void Workspace::open(const std::string& path, std::string text, bool utf8) {
  open_[path] = Text(std::move(text), utf8);
  retire(path);
  files_on_disk_.clear();
}

bool Workspace::change(const std::string& path, const std::optional<Range>& range, std::string_view by) {
  const auto it = open_.find(path);
  if (it == open_.end()) return false;
  if (range)
    it->second.replace(*range, by);
  else
    it->second = Text(std::string(by), it->second.utf8());
  retire(path);
  return true;
}

void Workspace::retire(const std::string& path) {
  const auto it = parsed_.find(path);
  if (it == parsed_.end()) return;
  std::unique_ptr<ParsedFile> old = std::move(it->second);
  parsed_.erase(it);
  if (old->syntax.file) std::swap(old, good_[path]);
  if (old) retired_.push_back(std::move(old));
}

const ParsedFile* Workspace::last_good(const std::string& path) {
  const ParsedFile* now = file(path);
  if (now && now->syntax.file) return now;
  const auto it = good_.find(path);
  return it == good_.end() ? nullptr : it->second.get();
}

void Workspace::close(const std::string& path) {
  open_.erase(path);
  retire(path);
}

std::unique_ptr<ParsedFile> Workspace::parse(const std::string& path, Text text) {
  auto out = std::make_unique<ParsedFile>();
  out->path = path;
  out->text = std::move(text);
  const uint32_t source = out->diag.sources.add(path, out->text.str());
  out->syntax = csl::parse_syntax(source, out->diag);
  if (out->tree()) out->index = csl::index_names(*out->tree(), out->syntax.tokens);
  find_imports(*out);
  if (out->tree())
    for (const csl::ast::Decl* d : out->tree()->decls)
      out->has_layout |= d->kind == csl::ast::DeclKind::layout;
  return out;
}

const ParsedFile* Workspace::file(const std::string& path) {
  const auto document = open_.find(path);
  std::error_code error;
  const long long time =
      document != open_.end()
          ? kOpen
          : static_cast<long long>(fs::last_write_time(path, error).time_since_epoch().count());
  if (error || (document == open_.end() && !fs::is_regular_file(path, error))) return nullptr;
  const auto known = parsed_.find(path);
  if (known != parsed_.end() && times_[path] == time) return known->second.get();
  Text text;
  if (document != open_.end()) {
    text = document->second;
  } else {
    Diag unread;
    std::optional<std::string> bytes = read_file(path, unread, kMostBytes);
    if (!bytes) return nullptr;
    text = Text(std::move(*bytes), utf8_);
  }
  retire(path);
  times_[path] = time;
  return (parsed_[path] = parse(path, std::move(text))).get();
}

std::vector<std::string> Workspace::paths() {
  if (files_on_disk_.empty()) {
    for (const std::string& root : roots_) collect(root, files_on_disk_);
    // Beside the documents, for clients that name no folder. A folder is not searched further down.
    for (const auto& [path, text] : open_) {
      std::error_code error;
      for (fs::directory_iterator it(fs::path(path).parent_path(), error), end; !error && it != end;
           it.increment(error))
        if (it->path().extension() == ".csl") files_on_disk_.insert(normal(it->path()));
      files_on_disk_.insert(path);
    }
  }
  return {files_on_disk_.begin(), files_on_disk_.end()};
}

// Libraries are in the program; editors want files.
std::string Workspace::library_file(const std::string& name) {
  if (cache_.empty()) return {};
  std::string inner = name.substr(1, name.size() - 2);
  if (inner.ends_with(".csl")) inner.resize(inner.size() - 4);
  for (const auto& [file, text] : embedded_csl_lib_files()) {
    if (file != inner + ".csl") continue;
    std::string path = normal(fs::path(cache_) / std::string(file));
    std::error_code error;
    fs::create_directories(fs::path(path).parent_path(), error);
    Diag diag;
    const std::optional<std::string> present =
        fs::exists(path, error) ? read_file(path, diag, kMostBytes) : std::optional<std::string>();
    if (present != std::string(text) && !write_file_atomic(path, text, diag)) return {};
    return path;
  }
  return {};
}

std::string Workspace::resolve(const std::string& name, const std::string& from) {
  if (name.size() > 2 && name.front() == '<' && name.back() == '>') return library_file(name);
  if (name.empty()) return {};
  std::vector<fs::path> folders{fs::path(from).parent_path()};
  for (const std::string& folder : import_paths_) folders.emplace_back(folder);
  for (const fs::path& folder : folders) {
    std::string path = normal(folder / name);
    std::error_code error;
    if (open_.count(path) || fs::is_regular_file(path, error)) return path;
  }
  // Some programs name all their files from the layout's folder.
  for (fs::path folder = folders[0].parent_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    bool inside = false;
    for (const std::string& root : roots_) inside |= normal(folder).starts_with(root);
    std::error_code error;
    if (!inside) break;
    if (std::string path = normal(folder / name); fs::is_regular_file(path, error)) return path;
  }
  return {};
}

std::set<std::string> Workspace::closure(const std::string& path) {
  std::set<std::string> seen;
  std::vector<std::string> todo{path};
  while (!todo.empty() && seen.size() < kMostFiles) {
    const std::string next = todo.back();
    todo.pop_back();
    if (!seen.insert(next).second) continue;
    const ParsedFile* f = file(next);
    if (!f) continue;
    for (const ParsedFile::Import& import : f->imports)
      if (const std::string to = resolve(import.name, next); !to.empty()) todo.push_back(to);
  }
  return seen;
}

std::string Workspace::layout_of(const std::string& path) {
  const ParsedFile* self = file(path);
  if (self && self->has_layout) return path;
  std::vector<std::string> all = paths();
  std::stable_sort(all.begin(), all.end(), [&](const std::string& a, const std::string& b) {
    return common_prefix(a, path) > common_prefix(b, path);
  });
  for (const std::string& candidate : all) {
    const ParsedFile* f = file(candidate);
    if (f && f->has_layout && closure(candidate).count(path)) return candidate;
  }
  return {};
}

}  // namespace cs::lsp
