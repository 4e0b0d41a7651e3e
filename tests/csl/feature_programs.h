// Feature programs: which there are, what they say of themselves (directives.h), and how they are compiled.
//
// Every program is run at levels 0 and 2, and must leave the same values.
// Values are worked out by hand in the comments of each program. Cycles are read by the programs themselves with
// clock.csl, which every program may import.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>

#include "run_csl.h"
#include "runtime/numerics/numerics.h"
#include "tests/csl/directives.h"

namespace cs::csl::test {

namespace fs = std::filesystem;

struct Case {
  std::string name;  // of the file or folder
  std::string machine;
  std::string change = {};  // "core.result_cycles=2"; empty: the machine as it is
  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.name << " on " << c.machine; }
};

inline std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

inline fs::path main_file(const std::string& name) {
  const fs::path base = fs::path(CS_PROGRAMS_DIR) / name;
  return fs::is_directory(base) ? base / "layout.csl" : fs::path(base.string() + ".csl");
}

inline std::vector<Case> all_cases() {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(CS_PROGRAMS_DIR)) {
    const fs::path relative = fs::relative(entry.path(), CS_PROGRAMS_DIR);
    if (entry.path().filename() == "layout.csl")
      names.push_back(relative.parent_path().generic_string());
    else if (entry.path().extension() == ".csl" && entry.path().filename() != "clock.csl" &&
             !fs::exists(entry.path().parent_path() / "layout.csl"))
      names.push_back(fs::path(relative).replace_extension().generic_string());
  }
  std::sort(names.begin(), names.end());
  std::vector<Case> out;
  for (const std::string& name : names) {
    std::string machines = "wse2 wse3";
    for (const Directive& d : directives(read(main_file(name))))
      if (d.verb == "machines") machines = d.rest;
    std::istringstream in(machines);
    for (std::string machine; in >> machine;) out.push_back({name, machine});
  }
  return out;
}

// One of them on one machine.
class FeatureProgram {
 public:
  explicit FeatureProgram(Case one) : case_(std::move(one)) {}

  void load_files() {
    const fs::path path = main_file(case_.name);
    const std::string text = read(path);
    directives_ = directives(text);
    files_["clock.csl"] = read(fs::path(CS_PROGRAMS_DIR) / "clock.csl");
    if (path.filename() == "layout.csl") {
      for (const auto& entry : fs::directory_iterator(path.parent_path()))
        files_[entry.path().filename().string()] = read(entry.path());
      return;
    }
    files_["pe.csl"] = text;
    std::string exports;
    for (const Directive& d : directives_)
      if (d.verb == "name") exports += "  @export_name(" + d.rest + ");\n";
    if (exports.empty()) exports = "  @export_name(\"main\", fn()void);\n";
    if (!all("cycles").empty() || !all("published").empty()) exports += "  @export_name(\"cycles\", [*]u16, true);\n";
    files_["layout.csl"] = kOnePe;
    files_["layout.csl"].insert(files_["layout.csl"].rfind('}'), exports);
    one_pe_ = true;
  }
  bool speaks_of(std::string_view verb, const Directive& d) const {
    return d.verb == verb && (d.machine.empty() || d.machine == case_.machine);
  }
  std::vector<const Directive*> all(std::string_view verb) const {
    std::vector<const Directive*> out;
    for (const Directive& d : directives_)
      if (speaks_of(verb, d)) out.push_back(&d);
    return out;
  }
  Machine machine() const {
    Machine m = load(case_.machine);
    Diag diag;
    if (!case_.change.empty()) {
      EXPECT_TRUE(set_machine_value(m, case_.change, diag)) << diag.to_string();
    }
    return m;
  }
  CslOptions options(int level) const {
    CslOptions o = options_for(files_);
    o.opt_level = level;
    for (const Directive* d : all("params"))
      o.params.emplace_back(d->rest.substr(0, d->rest.find(':')), d->rest.substr(d->rest.find(':') + 1));
    for (const Directive* d : all("fp16"))
      o.fp16 = d->rest == "bf16" ? Fp16Format::bf16 : d->rest == "cb16" ? Fp16Format::cb16 : Fp16Format::f16;
    return o;
  }

  // What is set before the launches, as bytes of a symbol.
  template <class Store>
  void set(const Directive& d, Fp16Format format, Store store) const {
    std::istringstream in(d.rest);
    std::string word, type;
    in >> word >> type;
    Coord pe;
    const std::string symbol = symbol_and_pe(word, pe);
    const auto values = numbers(in);
    const auto as = [&]<class T>(T, auto convert) {
      std::vector<T> data;
      for (const Expected& e : values) data.push_back(T(convert(e.value)));
      store(symbol, data, pe);
    };
    if (type == "f32")
      as(float{}, [](double v) { return v; });
    else if (type == "f16")
      as(uint16_t{}, [&](double v) { return numerics::float_to_half(float(v), format); });
    else if (type == "i32" || type == "u32")
      as(uint32_t{}, [](double v) { return int64_t(v); });
    else
      as(uint16_t{}, [](double v) { return int64_t(v); });
  }

  // Functions and their arguments, in order.
  std::vector<std::pair<std::string, std::vector<uint32_t>>> launches() const {
    std::vector<std::pair<std::string, std::vector<uint32_t>>> out;
    for (const Directive* d : all("launch")) {
      std::istringstream in(d->rest);
      auto& [function, args] = out.emplace_back();
      in >> function;
      for (const Expected& e : numbers(in)) args.push_back(uint32_t(int64_t(e.value)));
    }
    if (out.empty() && one_pe_) out.push_back({"main", {}});
    return out;
  }

 protected:
  Case case_;
  std::map<std::string, std::string> files_;
  std::vector<Directive> directives_;
  bool one_pe_ = false;
};

inline std::string test_name(const ::testing::TestParamInfo<Case>& info) {
  std::string out = info.param.name + "_" + info.param.machine;
  for (char& c : out)
    if (!std::isalnum(uint8_t(c))) c = '_';
  return out;
}

}  // namespace cs::csl::test
