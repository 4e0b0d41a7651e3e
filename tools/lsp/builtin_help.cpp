// The table of signatures. A builtin without a row shows how many arguments it takes.
#include "tools/lsp/builtin_help.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/csl/inspect.h"

namespace cs::lsp {
namespace {

struct Row {
  std::string_view name, arguments, meaning;
};

constexpr Row kRows[] = {
    {"@activate", "id", "makes a task runnable"},
    {"@allocate_fifo", "buffer, .{…}", "a FIFO in a buffer"},
    {"@as", "type, value", "the value converted to the type"},
    {"@assert", "condition", "stops the simulation if the condition is false"},
    {"@bind_control_task", "task, id", "control wavelets with this entry start the task"},
    {"@bind_data_task", "task, id", "wavelets start the task"},
    {"@bind_local_task", "task, id", "activating the id starts the task"},
    {"@bitcast", "type, value", "the same bits as another type"},
    {"@block", "id", "the task does not start until it is unblocked"},
    {"@comptime_assert", "condition, message", "an error of the compilation if the condition is false"},
    {"@comptime_print", "values…", "prints while compiling"},
    {"@concat_structs", "first, second", "a structure with the fields of both"},
    {"@constants", "array_type, value", "an array of equal elements"},
    {"@dimensions", "array_type", "the extents of an array"},
    {"@element_type", "type", "of an array or pointer"},
    {"@export_name", "name, type, mutable", "a symbol that the host may use"},
    {"@export_symbol", "symbol, name", "shows a variable or function to the host"},
    {"@field", "structure, name", "the field of this name"},
    {"@get_color", "number", "the color"},
    {"@get_config", "address", "reads a configuration register"},
    {"@get_control_task_id", "number", "the id"},
    {"@get_data_task_id", "color_or_queue", "the id"},
    {"@get_dsd", "kind, .{…}", "a descriptor: mem1d_dsd, mem4d_dsd, fabin_dsd, fabout_dsd"},
    {"@get_dsr", "kind, number", "a descriptor register"},
    {"@get_input_queue", "number", "the queue"},
    {"@get_int", "text", "the number in a text"},
    {"@get_local_task_id", "number", "the id"},
    {"@get_output_queue", "number", "the queue"},
    {"@get_rectangle", "", "width and height of the program"},
    {"@get_ut_id", "number", "a microthread"},
    {"@has_field", "structure, name", "whether the field exists"},
    {"@import_module", "file, .{parameters}", "the module with these parameters"},
    {"@increment_dsd_offset", "dsd, elements, type", "the descriptor further on"},
    {"@initialize_queue", "queue, .{…}", "binds a queue to a color"},
    {"@is_arch", "name", "whether the program is compiled for this machine"},
    {"@is_comptime", "value", "whether the value is known while compiling"},
    {"@is_same_type", "a, b", "whether the types are equal"},
    {"@load_to_dsr", "dsr, dsd, .{…}", "loads a descriptor"},
    {"@map", "function, dsds…", "calls the function for every element"},
    {"@ptrcast", "type, pointer", "the pointer as another one"},
    {"@random16", "", "a random number of 16 bits"},
    {"@range", "type, start, stop, step", "the values of a loop"},
    {"@rpc", "id", "accepted; launches need no task"},
    {"@set_active_prng", "number", "chooses a generator"},
    {"@set_color_config", "x, y, color, .{…}", "how a router treats a color"},
    {"@set_dsd_base_addr", "dsd, base", "the descriptor of another array"},
    {"@set_dsd_length", "dsd, elements", "the descriptor with another length"},
    {"@set_dsd_stride", "dsd, stride", "the descriptor with another stride"},
    {"@set_local_color_config", "color, .{…}", "how the router of this PE treats a color"},
    {"@set_rectangle", "width, height", "the size of the program"},
    {"@set_tile_code", "x, y, file, .{parameters}", "what the PE runs"},
    {"@strlen", "text", "bytes of a text"},
    {"@type_of", "value", "its type"},
    {"@unblock", "id", "the task may start again"},
    {"@zeros", "array_type", "an array of zeros"},
};

constexpr std::string_view kOptions[] = {"async", "activate", "unblock", "ut_id", "priority", "on_control"};
constexpr std::string_view kDsd[] = {
    "tensor_access", "base_address", "extent",       "offset",  "stride",         "wavelet_index_offset",
    "fabric_color",  "input_queue",  "output_queue", "control", "advance_switch", "simd_mode"};
constexpr std::string_view kRoute[] = {
    "routes",    "switches", "filter", "teardown",   "color_swap_x", "color_swap_y",
    "rx",        "tx",       "pos1",   "pos2",       "pos3",         "current_switch_pos",
    "ring_mode", "pop_mode", "kind",   "count_data", "count_control"};
constexpr std::string_view kQueue[] = {"color", "priority"};

const Row* row_of(std::string_view name) {
  const auto* it =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.name == name; });
  return it == std::end(kRows) ? nullptr : it;
}

const csl::BuiltinInfo* info_of(std::string_view name) {
  const auto& all = csl::builtin_infos();
  const auto it = std::find_if(all.begin(), all.end(), [&](const auto& i) { return i.name == name; });
  return it == all.end() ? nullptr : &*it;
}

}  // namespace

std::string signature_of_builtin(std::string_view name) {
  const csl::BuiltinInfo* info = info_of(name);
  if (!info) return {};
  if (const Row* row = row_of(name)) return fmt::format("{}({})", name, row->arguments);
  if (info->max_args < 0) return fmt::format("{}(destination, source, …, .{{…}})", name);
  std::string arguments;
  for (int i = 0; i < info->max_args && i < 8; ++i)
    arguments += fmt::format("{}{}{}", i ? ", " : "", "argument", i + 1);
  return fmt::format("{}({})", name, arguments);
}

std::string help_of_builtin(std::string_view name) {
  const csl::BuiltinInfo* info = info_of(name);
  if (!info) return {};
  std::string out = fmt::format("```csl\n{}\n```\n", signature_of_builtin(name));
  if (const Row* row = row_of(name)) out += fmt::format("{}\n\n", row->meaning);
  if (info->max_args < 0)
    out += "an instruction on vectors\n\n";
  else
    out += info->min_args == info->max_args
               ? fmt::format("arguments: {}\n\n", info->min_args)
               : fmt::format("arguments: {} to {}\n\n", info->min_args, info->max_args);
  if (!info->where.empty()) out += fmt::format("allowed {}\n", info->where);
  return out;
}

std::vector<std::string_view> fields_of_builtin(std::string_view name) {
  if (name == "@get_dsd") return {std::begin(kDsd), std::end(kDsd)};
  if (name == "@set_color_config" || name == "@set_local_color_config")
    return {std::begin(kRoute), std::end(kRoute)};
  if (name == "@initialize_queue") return {std::begin(kQueue), std::end(kQueue)};
  const csl::BuiltinInfo* info = info_of(name);
  if (info && info->max_args < 0) return {std::begin(kOptions), std::end(kOptions)};
  return {};
}

}  // namespace cs::lsp
