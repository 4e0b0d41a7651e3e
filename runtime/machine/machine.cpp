// Machines written, looked up and checked against themselves.
//
// Range checks walk the field list; what relates fields to one another (ids inside their ranges, rectangles inside the
// fabric) is checked by hand below it.
#include "runtime/machine/machine.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "runtime/machine/fields.h"
#include "runtime/machine/shipped.h"
#include "runtime/support/yaml.h"

namespace cs {

namespace fs = std::filesystem;

namespace {

class Writer {
 public:
  template <typename T, typename... Rest>
  void operator()(const char* key, const T& field, Rest&&...) {
    out += fmt::format("{}{}: {}\n", indent_, key, text(field));
  }
  template <typename Visit>
  void section(const char* key, Visit visit) {
    out += fmt::format("{}:\n", key);
    indent_ = "  ";
    visit();
    indent_ = "";
  }
  std::string out;

 private:
  static std::string text(bool v) { return v ? "true" : "false"; }
  static std::string text(int v) { return fmt::format("{}", v); }
  static std::string text(double v) { return fmt::format("{}", v); }  // shortest text that reads back equal
  static std::string text(const std::vector<int>& v) { return fmt::format("[{}]", fmt::join(v, ", ")); }
  std::string indent_;
};

class RangeCheck {
 public:
  RangeCheck(const std::string& where, Diag& diag) : where_(where), diag_(diag) {}

  void operator()(const char*, const bool&, const char*) {}
  template <typename T, typename B>
  void operator()(const char* key, const T& field, const char* unit, B low, B high, const char*) {
    if constexpr (std::is_arithmetic_v<T>) {
      check(key, field, unit, low, high);
    } else {
      for (const auto& item : field) check(key, item, unit, low, high);
    }
  }
  template <typename Visit>
  void section(const char* key, Visit visit) {
    prefix_ = std::string(key) + ".";
    visit();
    prefix_.clear();
  }

 private:
  template <typename T, typename B>
  void check(const char* key, T value, const char* unit, B low, B high) {
    if (value >= low && value <= high) return;
    const std::string_view why = value > high ? widths::reason(prefix_ + key) : std::string_view();
    diag_.error_at(where_, fmt::format("{}{} is {} {}, must be from {} to {}", prefix_, key, value, unit, low, high),
                   std::string(why));
  }
  const std::string& where_;
  std::string prefix_;
  Diag& diag_;
};

class Lister {
 public:
  void operator()(const char* key, const bool&, const char* sentence) {
    keys.push_back({prefix_ + key, "true or false", sentence});
  }
  template <typename T, typename B>
  void operator()(const char* key, const T&, const char* unit, B, B, const char* sentence) {
    keys.push_back({prefix_ + key, unit, sentence});
  }
  template <typename Visit>
  void section(const char* key, Visit visit) {
    prefix_ = std::string(key) + ".";
    visit();
    prefix_.clear();
  }
  std::vector<MachineKey> keys;

 private:
  std::string prefix_;
};

// What one list of ids must satisfy: no repetition, each below a limit.
void check_ids(const std::string& where, const char* key, const std::vector<int>& ids, int limit, const char* of,
               Diag& diag) {
  std::set<int> seen;
  for (const int id : ids) {
    if (!seen.insert(id).second) diag.error_at(where, fmt::format("{}: {} is listed twice", key, id));
    if (id >= limit) diag.error_at(where, fmt::format("{}: id {} does not exist, there are {} {}", key, id, limit, of));
  }
}

void check_relations(const Machine& m, const std::string& where, Diag& diag) {
  const auto require = [&](bool ok, std::string message) {
    if (!ok) diag.error_at(where, std::move(message));
  };
  require(!m.name.empty(), "the machine has no name");
  require(m.fabric.user_width <= m.fabric.width && m.fabric.user_height <= m.fabric.height,
          fmt::format("the user rectangle is {} x {}, the fabric only {} x {}", m.fabric.user_width,
                      m.fabric.user_height, m.fabric.width, m.fabric.height));
  check_ids(where, "router.switchable_colors", m.router.switchable_colors, m.router.colors, "colors", diag);
  check_ids(where, "memcpy.colors", m.memcpy.colors, m.router.colors, "colors", diag);
  const int inputs = int(m.queues.input_words.size()), outputs = int(m.queues.output_words.size());
  for (const auto& [key, count] : {std::pair{"queues.input_words", inputs}, {"queues.output_words", outputs}})
    if (count < 1 || count > widths::kQueues)
      diag.error_at(where, fmt::format("{} lists {} queues, must be 1 to {}", key, count, widths::kQueues),
                    std::string(count > 0 ? widths::reason(key) : std::string_view()));
  // Where data tasks are bound to queues, the ids below the first local one are theirs.
  require(!m.queues.data_task_on_queue || inputs <= m.task_ids.local_first,
          fmt::format("task_ids.local_first is {}, but data tasks have the ids of the {} input queues",
                      m.task_ids.local_first, inputs));
  // The last bytes of the address space are registers of the router there (simulator/exec/mapped_registers.h).
  constexpr int kMappedRegisters = 2 * 0x7E00;
  require(m.arch != Arch::wse2 || m.core.memory_bytes <= kMappedRegisters,
          fmt::format("core.memory_bytes is {}, but on wse2 addresses from {} on are registers of the router",
                      m.core.memory_bytes, kMappedRegisters));
  check_ids(where, "memcpy.input_queues", m.memcpy.input_queues, inputs, "input queues", diag);
  check_ids(where, "memcpy.output_queues", m.memcpy.output_queues, outputs, "output queues", diag);
  require(m.task_ids.local_first <= m.task_ids.local_last && m.task_ids.control_first <= m.task_ids.control_last,
          "task_ids: a first id is larger than its last");
  check_ids(where, "memcpy.local_task_ids", m.memcpy.local_task_ids, m.task_ids.local_last + 1, "local task ids", diag);
  check_ids(where, "memcpy.control_task_ids", m.memcpy.control_task_ids, m.task_ids.control_last + 1,
            "control task ids", diag);
  require(m.core.memory_bytes % 2 == 0, "core.memory_bytes must be even");
  require(m.core.registers % 2 == 0, "core.registers must be even: registers form pairs");
  require(m.memcpy.memcpy_bytes < m.core.memory_bytes,
          fmt::format("memcpy.memcpy_bytes is {}, the PE has {}", m.memcpy.memcpy_bytes, m.core.memory_bytes));
  for (const auto& [mnemonic, width] : m.simd_width) {
    require(width >= 1 && width <= 64, fmt::format("simd_width.{} is {}, must be from 1 to 64", mnemonic, width));
  }
}

std::string executable_folder() {
  std::error_code ec;
  const fs::path exe = fs::read_symlink("/proc/self/exe", ec);
  return ec ? std::string() : exe.parent_path().string();
}

}  // namespace

int Machine::simd(const std::string& mnemonic) const {
  for (const auto& [name, width] : simd_width) {
    if (name == mnemonic) return width;
  }
  return 1;
}

double Machine::peak_flops_per_cycle(bool half_precision) const {
  return 2.0 * simd(half_precision ? "fmach" : "fmacs");
}

double Machine::system_wavelets_per_cycle() const {
  return host.system_gb_per_s * 1e9 / (kWaveletBytes * clock_mhz * 1e6);
}

std::string machine_to_yaml(const Machine& m) {
  Writer writer;
  writer.out = fmt::format("name: {}\narch: {}\n", yaml_quote(m.name), arch_name(m.arch));
  machine_fields::all(m, writer);
  writer.out += "simd_width:";
  if (m.simd_width.empty()) writer.out += " {}";
  writer.out += "\n";
  for (const auto& [mnemonic, width] : m.simd_width) {
    writer.out += fmt::format("  {}: {}\n", yaml_quote(mnemonic), width);
  }
  return writer.out;
}

bool verify_machine(const Machine& m, Diag& diag) {
  const size_t errors = diag.errors();
  const std::string where = "machine " + m.name;
  RangeCheck ranges(where, diag);
  machine_fields::all(m, ranges);
  check_relations(m, where, diag);
  return diag.errors() == errors;
}

std::vector<MachineKey> machine_keys() {
  Lister lister;
  const Machine m;
  machine_fields::all(m, lister);
  return lister.keys;
}

std::string_view arch_name(Arch arch) { return arch == Arch::wse2 ? "wse2" : "wse3"; }

std::vector<std::string> machine_names() {
  std::vector<std::string> names;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(machines_directory(), ec)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  if (names.empty()) names = built_in_machine_names();
  std::sort(names.begin(), names.end());
  return names;
}

std::string machines_directory() {
  return (fs::path(executable_folder()).parent_path() / "share/wafersmith/machines").string();
}

}  // namespace cs
