// The files that a client has open and those on the disk around them, each parsed once per version; which
// file an import means; where a name is declared, also in other files.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/csl/index.h"
#include "runtime/support/diag.h"
#include "tools/lsp/text.h"

namespace cs::lsp {

// One version of one file. Positions in it are the compiler's.
struct ParsedFile {
  std::string path;
  Text text;
  Diag diag;  // holds the source that the tokens are views of, and the syntax errors
  csl::Syntax syntax;
  csl::FileIndex index;
  struct Import {
    std::string name;  // as written
    SourceLoc loc;     // of the string
    const csl::ast::Builtin* builtin = nullptr;
    bool module = false;  // @import_module; else @set_tile_code
  };
  std::vector<Import> imports;
  bool has_layout = false;

  const csl::ast::File* tree() const { return syntax.file ? syntax.file.get() : syntax.rest.get(); }
};

// A declaration anywhere.
struct Target {
  const ParsedFile* file = nullptr;
  int name = -1;  // in its index; -1: the file itself
  bool valid() const { return file != nullptr; }
  bool operator==(const Target&) const = default;
  const csl::DeclaredName& declared() const { return file->index.names[size_t(name)]; }
};

// What an expression stands for, as far as the text alone says.
struct Shape {
  enum Kind : uint8_t { unknown, module, type, fields } kind = unknown;
  const ParsedFile* file = nullptr;      // the module, or where `expr` is
  const csl::ast::Expr* expr = nullptr;  // struct or enum type; fields: the .{…} that lists them
};

class Workspace {
 public:
  explicit Workspace(std::string cache_folder) : cache_(std::move(cache_folder)) {}

  // ---- documents
  void open(const std::string& path, std::string text, bool utf8);
  bool change(const std::string& path, const std::optional<Range>&,
              std::string_view by);  // no range: all of it
  void close(const std::string& path);
  bool is_open(const std::string& path) const { return open_.count(path) > 0; }
  const std::map<std::string, Text>& open_documents() const { return open_; }
  void add_root(const std::string& folder) { roots_.insert(folder); }
  void add_import_path(const std::string& folder) { import_paths_.push_back(folder); }
  const std::vector<std::string>& import_paths() const { return import_paths_; }
  void forget_disk() { files_on_disk_.clear(); }
  void use_bytes(bool utf8) { utf8_ = utf8; }

  // ---- files
  const ParsedFile* file(const std::string& path);       // null: there is none; good until the next message
  const ParsedFile* last_good(const std::string& path);  // its last version without syntax errors, or null
  void begin_message() { retired_.clear(); }
  // Files of the workspace: below the roots and beside open documents, by path.
  std::vector<std::string> paths();
  // The path that an import leads to, from the file that has it; empty: none.
  std::string resolve(const std::string& name, const std::string& from);
  // A layout whose tile programs are or import this file, or which is this file; empty: none.
  std::string layout_of(const std::string& path);
  // That file and all that it imports.
  std::set<std::string> closure(const std::string& path);

  // ---- names (resolve.cpp)
  Target resolve(const ParsedFile&, const csl::NameUse&);
  Shape shape_of(const ParsedFile&, const csl::ast::Expr*);
  Shape shape_of_type(const ParsedFile&, const csl::ast::Expr*);
  Shape shape_of_name(const ParsedFile&, int name);
  // The declaration or import at a place; invalid: none.
  Target at(const ParsedFile&, SourceLoc);
  struct Place {
    const ParsedFile* file = nullptr;
    SourceLoc loc;
    uint32_t width = 0;
    bool declaration = false;
  };
  std::vector<Place> references(const Target&);
  // The parameter structure of an import or @set_tile_code in which this element stands.
  const ParsedFile::Import* import_of(const ParsedFile&, const csl::ast::Expr* init);

 private:
  Target member_of(const Shape&, const std::string& name);
  void retire(const std::string& path);
  std::unique_ptr<ParsedFile> parse(const std::string& path, Text text);
  std::string library_file(const std::string& name);

  std::string cache_;
  bool utf8_ = false;
  int steps_ = 0;  // of the shape that is being found
  std::map<std::string, Text> open_;
  std::map<std::string, std::unique_ptr<ParsedFile>> parsed_;
  std::map<std::string, std::unique_ptr<ParsedFile>> good_;  // where the present version has errors
  std::vector<std::unique_ptr<ParsedFile>> retired_;         // versions that somebody may still look at
  std::map<std::string, long long> times_;                   // of files on the disk, when they were read
  std::set<std::string> roots_;
  std::vector<std::string> import_paths_;
  std::set<std::string> files_on_disk_;
};

}  // namespace cs::lsp
