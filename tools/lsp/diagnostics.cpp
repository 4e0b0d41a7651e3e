// What the client sees as problems: syntax errors at once, and the compiler's messages of the program to
// which a file belongs.
//
// The program is the nearest layout that imports the file. Its parameters are those of a cslc command in a
// script beside it or above it, else guessed from their types; then its errors are warnings, since the guess
// may be what is wrong. A file that no layout imports is compiled as the only program of a PE, if all its
// parameters can be guessed.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>

#include "runtime/support/files.h"
#include "tools/lsp/scripts.h"
#include "tools/lsp/server.h"
#include "tools/lsp/uri.h"

namespace cs::lsp {
namespace {

namespace fs = std::filesystem;
using csl::ast::Variable;
using csl::ast::VariableKind;

constexpr const char* kSyntheticLayout = "csl-lsp-layout.csl";

// A value for a parameter from its type; empty: no idea. `next` tells ids apart.
std::string guess(const std::string& type, bool for_layout, int& next) {
  const int id = next++;
  if (type == "bool") return "false";
  if (type == "f32" || type == "f16") return "1.0";
  if (type == "u16" || type == "i16" || type == "u32" || type == "i32" || type == "u8" || type == "i8")
    return "4";
  // The layout's own come from a command line, which has numbers alone.
  if (for_layout) return type == "color" ? fmt::format("{}", id % 20) : "";
  if (type == "color") return fmt::format("@get_color({})", id % 20);
  if (type == "input_queue") return fmt::format("@get_input_queue({})", 2 + id % 6);
  if (type == "output_queue") return fmt::format("@get_output_queue({})", 2 + id % 6);
  if (type == "local_task_id") return fmt::format("@get_local_task_id({})", 8 + id % 12);
  if (type == "control_task_id") return fmt::format("@get_control_task_id({})", 40 + id % 16);
  if (type == "ut_id") return fmt::format("@get_ut_id({})", id % 8);
  return "";
}

std::string type_text(const Variable& v) {
  const auto* name = csl::ast::try_as<csl::ast::Identifier>(v.type);
  return name ? name->name : v.type ? "other" : "";
}

std::vector<const Variable*> parameters(const ParsedFile& f) {
  std::vector<const Variable*> out;
  if (f.tree())
    for (const csl::ast::Decl* d : f.tree()->decls)
      if (const auto* v = csl::ast::try_as<Variable>(d); v && v->variable_kind == VariableKind::parameter)
        out.push_back(v);
  return out;
}

// A layout of one PE that runs this file; empty: a parameter cannot be guessed.
std::string layout_around(const ParsedFile& f) {
  std::string params;
  bool memcpy = false;
  int next = 0;
  for (const Variable* v : parameters(f)) {
    if (v->value) continue;
    std::string value = guess(type_text(*v), false, next);
    if (v->name == "memcpy_params" || v->name == "memcpyParams") {
      memcpy = true;
      value = "memcpy.get_params(0)";
    }
    if (value.empty()) return {};
    params += fmt::format(" .{} = {},", v->name, value);
  }
  return fmt::format(
      "{}layout {{ @set_rectangle(1, 1); @set_tile_code(0, 0, \"{}\", .{{{} }}); }}\n",
      memcpy ? "const memcpy = @import_module(\"<memcpy/get_params>\", .{ .width = 1, .height = 1 });\n" : "",
      fs::path(f.path).filename().generic_string(), params);
}

Json to_json(const ParsedFile* f, const Diagnostic& d, bool guessed) {
  uint32_t width = 1;
  Range range;
  if (f && d.loc.valid()) {
    const size_t t = csl::token_at(f->syntax.tokens, d.loc.line, d.loc.column);
    if (t < f->syntax.tokens.size() && f->syntax.tokens[t].loc.column == d.loc.column)
      width = csl::width_of(f->syntax.tokens[t]);
    range = range_of(*f, d.loc, width);
  }
  const int severity = d.severity == Severity::error     ? (guessed ? 2 : 1)
                       : d.severity == Severity::warning ? 2
                                                         : 3;
  std::string message = d.loc.valid() || d.where.empty() ? d.message : d.where + ": " + d.message;
  if (!d.help.empty()) message += "\nhelp: " + d.help.text();
  if (guessed && d.severity == Severity::error) message += "\nnote: with parameters that were guessed";
  return {
      {"range", cs::lsp::to_json(range)}, {"severity", severity}, {"source", "csl"}, {"message", message}};
}

}  // namespace

Json Server::diagnostics_of(const ParsedFile& f) const {
  Json out = Json::array();
  for (const Diagnostic& d : f.diag.all())
    if (d.severity != Severity::note) out.push_back(to_json(&f, d, false));
  return out;
}

// Syntax errors, else what the compiler last said about the file in any program.
void Server::publish(const std::string& path) {
  Json list = Json::array();
  const ParsedFile* f = workspace_.is_open(path) ? workspace_.file(path) : nullptr;
  if (f) list = diagnostics_of(*f);
  if (list.empty())
    for (const auto& [document, program] : programs_)
      if (const auto it = program.diagnostics.find(path); it != program.diagnostics.end())
        for (const Json& d : it->second)
          if (std::find(list.begin(), list.end(), d) == list.end()) list.push_back(d);
  if (list.empty() && !published_.count(path) && !f) return;
  if (list.empty())
    published_.erase(path);
  else
    published_.insert(path);
  const auto uri = uris_.find(path);
  send({{"jsonrpc", "2.0"},
        {"method", "textDocument/publishDiagnostics"},
        {"params",
         {{"uri", uri == uris_.end() ? uri_of_path(path) : uri->second}, {"diagnostics", std::move(list)}}}});
}

// All documents may see what this one has; those of other programs find that out quickly.
void Server::mark_stale(const std::string& path) {
  stale_.insert(path);
  for (const auto& [other, program] : programs_)
    if (workspace_.is_open(other) && program.diagnostics.count(path)) stale_.insert(other);
}

csl::CslOptions Server::options_for(const std::string& path, std::string& machine, bool& guessed) {
  csl::CslOptions out;
  out.comptime_step_limit = options_.step_limit;
  out.import_paths = workspace_.import_paths();
  for (const auto& [open, text] : workspace_.open_documents()) out.files[open] = text.str();
  machine = options_.machine;
  out.layout = workspace_.layout_of(path);
  const ParsedFile* f = workspace_.file(out.layout.empty() ? path : out.layout);
  if (!f) return out;
  if (out.layout.empty()) {
    guessed = true;
    const std::string text = layout_around(*f);
    if (text.empty()) return out;
    out.layout = (fs::path(path).parent_path() / kSyntheticLayout).generic_string();
    out.files[out.layout] = text;
    if (machine.empty()) machine = "wse2";
    return out;
  }
  const Command command = find_command(out.layout);
  if (machine.empty()) machine = command.machine.empty() ? "wse2" : command.machine;
  int next = 0;
  for (const Variable* v : parameters(*f)) {
    const auto given = options_.params.find(v->name);
    const auto found = command.params.find(v->name);
    std::string value;
    if (given != options_.params.end())
      value = given->second;
    else if (found != command.params.end())
      value = found->second;
    else if (!v->value && !(value = guess(v->type ? type_text(*v) : "i16", true, next)).empty())
      guessed = true;
    if (!value.empty()) out.params.emplace_back(v->name, value);
  }
  return out;
}

void Server::compile(const std::string& path) {
  const ParsedFile* self = workspace_.file(path);
  if (!self || !self->syntax.file) return;  // what was said of the last good version stays until it parses
  bool guessed = false;
  std::string machine_name;
  const csl::CslOptions options = options_for(path, machine_name, guessed);
  Program program;
  if (!options.layout.empty()) {
    Diag diag;
    Diag machine_problem;
    std::optional<Machine> machine = load_machine(machine_name, machine_problem);
    if (!machine) machine = load_machine("wse2", machine_problem);
    if (machine) program.inspected = csl::inspect(options, *machine, diag);
    std::string last;
    for (const Diagnostic& d : diag.all()) {
      if (d.message.starts_with("comptime evaluation does not end"))
        continue;  // our limit, not the language's
      const std::string where = d.loc.valid() ? diag.sources.path(d.loc.file) : options.layout;
      const ParsedFile* f = workspace_.file(where);
      if (d.severity == Severity::note) {
        if (last.empty() || !f || program.diagnostics[last].empty()) continue;
        Json& related = program.diagnostics[last].back()["relatedInformation"];
        related.push_back({{"location", location(*f, d.loc, 1)}, {"message", d.message}});
        continue;
      }
      last = f && !where.starts_with(options_.cache_folder + "/") ? where : path;
      program.diagnostics[last].push_back(to_json(f, d, guessed));
    }
  }
  std::set<std::string> touched{path};
  for (const auto& [old, list] : programs_[path].diagnostics) touched.insert(old);
  for (const auto& [now, list] : program.diagnostics) touched.insert(now);
  programs_[path] = std::move(program);
  for (const std::string& one : touched) publish(one);
}

void Server::idle() {
  if (stale_.empty()) return;
  const std::string path = *stale_.begin();
  stale_.erase(stale_.begin());
  if (!workspace_.is_open(path)) return;
  workspace_.begin_message();
  try {
    compile(path);
  } catch (const std::exception& e) {  // a bug of the compiler must not end the session
    std::cerr << "csl-lsp: " << path << ": " << e.what() << "\n";
  }
}

}  // namespace cs::lsp
