// cs-objdump: what is inside a compiled program.
//
// Reads a program folder (or a .csptext file), verifies it, prints the sections that were asked for. --text is the
// whole program in the form that cs-compile reads back.
#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>

#include <fmt/format.h>

#include "runtime/support/files.h"
#include "tools/cli/tool.h"
#include "tools/cs-objdump/cycles.h"
#include "tools/cs-objdump/sections.h"

namespace cs::objdump {
namespace {

struct Options {
  std::string input;
  std::vector<std::string> tiles;
  bool text = false, cycles = false, machine = false;
  bool colors = false, memory = false, symbols = false, routes = false, json = false;
  std::vector<std::string> trips;
  CycleOptions walk;
  int threads = 0;
  uint64_t seed = 0;
};

std::map<std::string, double> intervals_of(const std::string& compile_report) {
  std::map<std::string, double> out;
  Diag none;
  const auto text = read_file(compile_report, none, uint64_t(64) << 20);
  const auto report = nlohmann::json::parse(text.value_or(""), nullptr, false);
  if (!report.is_object()) return out;
  for (const auto& p : report.value("placement", nlohmann::json::array()))
    out[p.value("name", "")] = p.value("interval_cycles", 0.0);
  return out;
}

std::optional<Input> load(const std::string& path, Diag& diag) {
  Input in;
  if (path.ends_with(".csptext")) {
    auto text = read_file(path, diag, uint64_t(64) << 20);
    auto program = text ? parse_program_text(std::move(*text), path, diag) : std::nullopt;
    if (!program) return std::nullopt;
    in.program = std::move(*program);
  } else {
    auto loaded = read_program(path, diag);
    if (!loaded) return std::nullopt;
    in.weights = std::move(loaded->weights);
    in.program = std::move(loaded->program);
    in.intervals = intervals_of(path + "/compile_report.json");
  }
  auto machine = program_machine(in.program, diag);
  if (!machine || !verify(in.program, *machine, diag)) return std::nullopt;
  in.machine = std::move(*machine);
  return in;
}

// "X,Y" inside the fabric.
std::optional<Coord> parse_pe(const std::string& text, const Program& p, Diag& diag) {
  Coord pe;
  const char* end = text.data() + text.size();
  const auto x = std::from_chars(text.data(), end, pe.x);
  const bool comma = x.ec == std::errc() && x.ptr != end && *x.ptr == ',';
  const auto y = std::from_chars(comma ? x.ptr + 1 : end, end, pe.y);
  if (!comma || y.ec != std::errc() || y.ptr != end) {
    diag.error_at("--tile " + text, "must have the form X,Y", "for example --tile 4,1");
    return std::nullopt;
  }
  if (pe.x < 0 || pe.y < 0 || pe.x >= p.fabric_width || pe.y >= p.fabric_height) {
    diag.error_at("--tile " + text, fmt::format("the fabric has {} x {} PEs", p.fabric_width, p.fabric_height));
    return std::nullopt;
  }
  return pe;
}

std::string json_of(const Options& o, const Input& in, const std::vector<Coord>& pes) {
  nlohmann::ordered_json out = {{"schema", "wafersmith-objdump/1"}, {"summary", summary_json(in)}};
  if (o.colors) out["colors"] = colors_json(in);
  if (o.memory) out["memory"] = memory_json(in);
  if (o.symbols) out["symbols"] = symbols_json(in);
  if (o.routes) out["routes"] = routes_json(in);
  for (const Coord pe : pes) {
    if (o.cycles)
      out["listings"].push_back(listing_json(in, pe, o.walk));
    else
      out["tiles"].push_back(tile_json(in, pe));
  }
  if (o.cycles && pes.empty()) out["cycles"] = cycles_json(in, o.walk);
  if (o.machine) out["machine"] = in.program.machine_text;
  if (o.text) out["text"] = program_text(in.program);
  return out.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string text_of(const Options& o, const Input& in, const std::vector<Coord>& pes) {
  if (o.text || o.machine) return o.text ? program_text(in.program) : in.program.machine_text;
  std::string out;
  if (o.cycles && pes.empty()) out += cycles_text(in, o.walk);
  if (!o.cycles && !o.colors && !o.memory && !o.symbols && !o.routes && pes.empty()) out += summary_text(in);
  if (o.colors) out += colors_text(in);
  if (o.memory) out += memory_text(in);
  if (o.symbols) out += symbols_text(in);
  if (o.routes) out += routes_text(in);
  for (const Coord pe : pes) out += o.cycles ? listing_text(in, pe, o.walk) : tile_text(in, pe);
  return out;
}

// "INSTRUCTION=ROUNDS".
void parse_trips(Options& o, Diag& diag) {
  for (const std::string& text : o.trips) {
    uint32_t inst = 0, rounds = 0;
    const char* end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, inst);
    const bool equals = first.ec == std::errc() && first.ptr != end && *first.ptr == '=';
    const auto second = std::from_chars(equals ? first.ptr + 1 : end, end, rounds);
    if (!equals || second.ec != std::errc() || second.ptr != end)
      diag.error_at("--trips " + text, "must have the form INSTRUCTION=ROUNDS", "for example --trips 17=4");
    else
      o.walk.trips[inst] = rounds;
  }
}

// Some tile program exports the function that is asked for.
void check_function(const Options& o, const Program& p, Diag& diag) {
  const std::string& name = o.walk.function;
  const auto exports = [&](const TileProgram& t) { return t.function(name) != nullptr; };
  if (name.empty() || std::any_of(p.tiles.begin(), p.tiles.end(), exports)) return;
  std::set<std::string> known;
  for (const TileProgram& t : p.tiles)
    for (const Function& f : t.functions) known.insert(f.name);
  diag.error_at("--function " + name, "no tile program exports this function",
                known.empty() ? "none exports any" : fmt::format("there are {}", fmt::join(known, ", ")));
}

int run(Options& o, cli::Reply& reply) {
  Diag diag;
  parse_trips(o, diag);
  const auto in = load(o.input, diag);
  std::vector<Coord> pes;
  if (in) {
    check_function(o, in->program, diag);
    for (const std::string& tile : o.tiles) {
      if (const auto pe = parse_pe(tile, in->program, diag)) pes.push_back(*pe);
    }
  }
  reply.show(diag);
  if (!diag.ok()) return kInputError;
  if (o.json)
    reply.object(json_of(o, *in, pes));
  else
    reply.text(text_of(o, *in, pes));
  return kOk;
}

}  // namespace
}  // namespace cs::objdump

int main(int argc, char** argv) {
  cs::objdump::Options o;
  CLI::App app{
      "cs-objdump: show what is inside a compiled program\n\n"
      "Examples:\n"
      "  cs-objdump net.csp                      summary: machine, rectangles, ports, kernels\n"
      "  cs-objdump net.csp --memory --colours   memory map of every tile program, use of the colours\n"
      "  cs-objdump net.csp --tile 4,1           code, tasks, queues and routes of the PE in column 4, row 1\n"
      "  cs-objdump net.csp --cycles --tile 4,1  cycles of every instruction there, by docs/timing.md\n"
      "  cs-objdump net.csp --machine            every value of the machine that it was compiled for\n"
      "  cs-objdump net.csp --text > net.csptext everything as text; cs-compile net.csptext reads it back\n\n"
      "Exit codes: 0 ok, 1 input error, 2 usage, 70 internal error, 130 interrupted"};
  app.add_option("PROGRAM", o.input, "folder that cs-compile -o wrote, or a .csptext file")->required();
  app.add_flag("--text", o.text, "the whole program as text, tile code as assembly");
  app.add_flag("--machine", o.machine, "the machine that the program was compiled for, every value, as YAML");
  app.add_option("--tile", o.tiles, "one PE: X,Y in fabric coordinates; may be repeated")
      ->allow_extra_args(false)
      ->type_name("X,Y");
  app.add_flag("--cycles", o.cycles,
               "cycles of tile code by a walk over it: of every tile program and its tasks, with --tile of every "
               "instruction");
  app.add_option("--function", o.walk.function, "--cycles: the exported function that is launched")->type_name("NAME");
  app.add_option("--trips", o.trips,
                 "--cycles: rounds of a loop whose end depends on data, by the instruction that leaves it")
      ->allow_extra_args(false)
      ->type_name("INSTRUCTION=ROUNDS");
  app.add_flag("--colours,--colors", o.colors, "who uses which colour");
  app.add_flag("--memory", o.memory, "memory map of every tile program");
  app.add_flag("--symbols", o.symbols, "exported variables and functions of every tile program");
  app.add_flag("--routes", o.routes, "every run of equal routes");
  app.add_flag("--json", o.json, "one JSON object on stdout with the sections asked for");
  app.add_option("-j,--threads", o.threads, "accepted for uniformity; this tool runs on one thread");
  app.add_option("--seed", o.seed, "accepted for uniformity; nothing here is random");
  app.set_version_flag("--version", cs::version_string("cs-objdump"));
  cs::cli::Reply reply("cs-objdump");
  return cs::cli::run_tool(reply, app, argc, argv, cs::cli::Interrupt::ends,
                           [&] { return cs::objdump::run(o, reply); });
}
