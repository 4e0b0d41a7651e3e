// Compiles with an observer.
#include "compiler/csl/inspect.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "compiler/csl/builtins.h"
#include "compiler/csl/value.h"

namespace cs {
const std::vector<std::pair<std::string_view, std::string_view>>& embedded_csl_lib_files();
}

namespace cs::csl {
namespace {

constexpr size_t kLongest = 120;  // characters of a value that are shown
constexpr size_t kMostInstances = 16;

std::string shortened(std::string text) {
  if (text.size() <= kLongest) return text;
  size_t end = kLongest;
  while (end > 0 && (text[end] & 0xC0) == 0x80) --end;  // whole characters
  return text.substr(0, end) + "…";
}

class Recorder : public ValueObserver {
 public:
  explicit Recorder(const Diag& diag) : diag_(diag) {}

  void declared(SourceLoc name, const Value& v) override {
    if (!v.ok() || !v.type || !name.valid()) return;
    auto& known = found_[{name.file, name.line, name.column}];
    if (known.size() >= kMostInstances) return;
    Inspected::Declaration d;
    d.type = shortened(v.type->name);
    const bool shown = !v.runtime() && !v.is(ValueKind::void_) && !v.is(ValueKind::undefined) &&
                       !v.is(ValueKind::function) && !v.is(ValueKind::module) && is_small(v);
    if (shown) d.value = shortened(print(v));
    if (v.is(ValueKind::place) || v.is(ValueKind::scalar)) d.bytes = v.type->bytes;
    known.emplace(d.type, d.value, d.bytes);
  }

  void finish(Inspected& out) const {
    for (const auto& [at, values] : found_)
      for (const auto& [type, value, bytes] : values)
        out.declarations.push_back(
            {diag_.sources.path(std::get<0>(at)), std::get<1>(at), std::get<2>(at), type, value, bytes});
  }

 private:
  // Printing a table of thousands of numbers takes longer than anybody looks at it.
  static bool is_small(const Value& v) {
    return !v.is(ValueKind::aggregate) || v.aggregate().items.size() <= 64;
  }

  const Diag& diag_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::set<std::tuple<std::string, std::string, uint32_t>>>
      found_;
};

const char* place_of(Allowed a) {
  switch (a) {
    case Allowed::layout:
      return "in the layout";
    case Allowed::config:
      return "in a comptime block of a tile program";
    case Allowed::code:
      return "in a function or task";
    case Allowed::either:
      return "in a tile program";
    default:
      return "";
  }
}

}  // namespace

Inspected inspect(const CslOptions& options, const Machine& machine, Diag& diag) {
  Inspected out;
  Recorder recorder(diag);
  CslOptions observed = options;
  observed.observer = &recorder;
  const std::optional<Program> program = compile_csl(observed, machine, diag);
  out.complete = program.has_value();
  recorder.finish(out);
  if (!program) return out;
  for (const TileProgram& tile : program->tiles)
    for (const Section& section : tile.sections) {
      if (section.kind == SectionKind::code) out.code.push_back({tile.name, section.name, section.bytes});
    }
  return out;
}

const std::vector<BuiltinInfo>& builtin_infos() {
  static const std::vector<BuiltinInfo> kInfos = [] {
    std::vector<BuiltinInfo> out;
    for (auto rows : {layout_builtins(), config_builtins(), type_builtins(), numeric_builtins(),
                      id_builtins(), dsd_builtins(), dsr_builtins(), fifo_builtins(), handler_builtins(),
                      print_builtins(), symbol_builtins()})
      for (const BuiltinRow& row : rows)
        out.push_back({"@" + std::string(row.name), row.min_args, row.max_args, place_of(row.allowed)});
    for (const isa::Row& row : isa::table())
      if (is_vector_builtin(row.mnemonic))
        out.push_back({"@" + std::string(row.mnemonic), 1, -1, place_of(Allowed::code)});
    std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return out;
  }();
  return kInfos;
}

std::vector<std::string> type_names() { return TypeTable().names(); }

std::vector<std::string> library_names() {
  std::vector<std::string> out;
  for (const auto& [file, text] : embedded_csl_lib_files())
    out.push_back("<" + std::string(file.substr(0, file.size() - 4)) + ">");
  return out;
}

}  // namespace cs::csl
