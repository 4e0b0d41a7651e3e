// CSL layouts with an optional host part, and Program texts.
#include "tools/api/layout.h"

#include <filesystem>

#include <fmt/format.h>

#include "runtime/program/tile_bytes.h"
#include "runtime/support/files.h"

namespace cs::api {

namespace {

namespace fs = std::filesystem;

void make_relative(std::string& text, const std::string& prefix) {
  if (prefix.empty()) return;
  for (size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix))
    text.erase(at, prefix.size());
}

// Bytes of weights.bin that the host part speaks of.
uint64_t weights_needed(const HostPart& host) {
  uint64_t need = 0;
  for (const Constant& c : host.constants)
    need = std::max(need, c.offset + uint64_t(c.rect.area()) * c.bytes_per_pe);
  for (const HostConstant& c : host.host_constants) need = std::max(need, c.offset + c.bytes);
  for (const HostState& s : host.states) {
    need = std::max(need, s.offset + s.bytes);
    for (const StatePart& p : s.parts)
      need = std::max(need, p.elements + uint64_t(std::max(int64_t(0), p.rect.area())) * p.bytes_per_pe);
  }
  return need;
}

// Weights are in no text: they lie in the folder of the host part or of the Program's text.
bool read_weights(const fs::path& folder, Compiled& out, Diag& diag) {
  uint64_t need = out.program->host ? weights_needed(*out.program->host) : 0;
  fs::path file = folder / "weights.bin";
  std::error_code ignored;
  if (need == 0) return true;
  if (!fs::exists(file, ignored)) {
    diag.error_at(file.string(), fmt::format("no such file, and the program needs {} bytes of weights", need),
                  "copy weights.bin of the program beside its text");
    return false;
  }
  std::optional<std::string> bytes = read_file(file.string(), diag);
  if (!bytes) return false;
  if (bytes->size() < need) {
    diag.error_at(file.string(),
                  fmt::format("the host part needs {} bytes, the file has {}", need, bytes->size()));
    return false;
  }
  out.weights = std::vector<uint8_t>(bytes->begin(), bytes->end());
  return true;
}

}  // namespace

void name_program(Program& program, const std::string& layout) {
  fs::path path(layout);
  program.name = program.host && !program.host->model.empty() ? program.host->model : path.stem().string();
  std::string prefix = path.parent_path().empty() ? "" : path.parent_path().string() + "/";
  for (TileProgram& tile : program.tiles) {
    make_relative(tile.name, prefix);
    for (std::string& file : tile.files) make_relative(file, prefix);
  }
}

bool compile_layout(const CompileOptions& options, Compiled& out, Diag& diag) {
  csl::CslOptions csl = options.csl;
  csl.layout = options.input;
  csl.threads = options.threads;
  csl.params.insert(csl.params.end(), options.colors.begin(), options.colors.end());
  out.layout_params = options.csl.params;
  out.layout_colors = options.colors;
  if (options.fabric_width > 0) {
    csl.fabric_width = options.fabric_width;
    csl.fabric_height = options.fabric_height;
  }
  std::optional<HostPart> host;
  if (!options.host_file.empty()) {
    std::optional<std::string> text = read_file(options.host_file, diag, uint64_t(1) << 28);
    if (text) host = host_part_from_yaml(std::move(*text), options.host_file, csl.ports, diag);
    if (!host) return false;
    // Streams alone need no host part: a host program drives the wafer.
    if (*host == HostPart{.dtype = host->dtype}) host.reset();
    if (host && !host->kernels.empty()) csl.fp16 = half_format(*host);
  }
  // What memcpy takes of the fabric and of memory is the machine's word; these flags ask for more of it.
  Machine machine = out.machine;
  machine.memcpy.margin_west += options.west_buffer;
  machine.memcpy.margin_east += options.east_buffer;
  machine.memcpy.memcpy_bytes = std::max(machine.memcpy.memcpy_bytes, options.low_memory_end);
  if (!options.pipeline.dump_after.empty())
    csl.dump = [&](size_t tile, size_t step, std::string_view pass, const std::string& text) {
      const std::string& wanted = options.pipeline.dump_after;
      if (wanted != "all" && wanted != "changed" && wanted != pass) return;
      const fs::path folder(options.pipeline.dump_dir);
      std::error_code ignored;
      fs::create_directories(folder, ignored);
      Diag quiet;  // a folder that cannot be written shows below
      write_file_atomic((folder / fmt::format("tile{}.{:02}-{}.mir", tile, step, pass)).string(), text, quiet);
    };
  out.program = csl::compile_csl(csl, machine, diag);
  if (!out.program) return false;
  set_program_machine(*out.program, out.machine);
  out.program->host = std::move(host);
  set_kernel_bytes(*out.program);
  name_program(*out.program, options.input);
  return verify(*out.program, out.machine, diag) &&
         read_weights(fs::path(options.host_file).parent_path(), out, diag);
}

bool compile_text(const CompileOptions& options, Compiled& out, Diag& diag) {
  std::optional<std::string> text = read_file(options.input, diag, uint64_t(1) << 31);
  if (!text) return false;
  out.program = parse_program_text(std::move(*text), options.input, diag);
  if (!out.program) return false;
  std::optional<Machine> own = program_machine(*out.program, diag);
  if (!own) return false;
  if (options.machine_given && !(*own == out.machine)) {
    diag.error_at(options.input,
                  fmt::format("the text is of a program for {}, and the machine asked for is {}{}", own->name,
                              out.machine.name, own->name == out.machine.name ? " with other values" : ""),
                  "leave -m and --set out, or compile the program's source again for that machine");
    return false;
  }
  out.machine = std::move(*own);
  if (!verify(*out.program, out.machine, diag)) return false;
  return read_weights(fs::path(options.input).parent_path(), out, diag);
}

}  // namespace cs::api
