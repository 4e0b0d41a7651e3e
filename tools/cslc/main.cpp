// cslc: compiles a CSL program, with the command line of the vendor's compiler.
//
//   1. read the command line; usage errors exit with 2
//   2. compile through tools/api (the same path as cs-compile LAYOUT.csl)
//   3. write the folder, print diagnostics
#include <iostream>

#include "runtime/support/files.h"
#include "tools/api/api.h"
#include "tools/cslc/layout_flags.h"

namespace cs {
namespace {

constexpr const char* kExamples = R"(Examples:
  cslc layout.csl --fabric-dims=8,3 --fabric-offsets=4,1 --params=M:4,N:6 --memcpy --channels=1 -o out
  cslc layout.csl --arch=wse3 -o out       the fabric is the rectangle and what memcpy needs around it

Exit codes: 0 ok, 1 input error, 2 usage, 70 internal error, 130 interrupted.)";

struct Flags {
  std::string machine, output = "out";
  LayoutFlags layout;
  bool json = false;
  uint64_t seed = 0;
};

void declare(CLI::App& app, Flags& f, api::CompileOptions& o) {
  app.add_option("LAYOUT", o.input, "layout file (.csl)")->required();
  app.add_option("-o", f.output, "Folder to write")->capture_default_str();
  app.add_option("-m,--machine", f.machine,
                 "Machine, a name in configs/machines or a path (default: that of --arch)");
  app.add_option("-j,--threads,--max-parallelism", o.threads, "Threads")->check(CLI::Range(1, 1024));
  app.add_option("--seed", f.seed, "Accepted by every tool; compiling needs no random numbers");
  app.add_flag("--json", f.json, "One JSON object on stdout");
  f.layout.declare(app, o, "The vendor's flags");
}

void apply(Flags& f, api::CompileOptions& o) {
  // "-o=out": the vendor's compiler takes both spellings; the library takes "=" as part of a short option's
  // value.
  if (f.output.starts_with("=")) f.output.erase(0, 1);
  o.machine = !f.machine.empty() ? f.machine : f.layout.arch().empty() ? "wse2" : f.layout.arch();
  f.layout.apply(o);
}

int run(const Flags& f, const api::CompileOptions& o, cli::Reply& reply) {
  reply.show_progress();
  Diag diag;
  std::optional<api::Compiled> compiled = api::compile(o, diag);
  if (compiled) f.layout.check(diag);
  std::string extras;
  bool ok = compiled && diag.ok() && api::write_compiled(*compiled, f.output, diag) &&
            f.layout.write_extras(*compiled, f.output, extras, diag);
  reply.show(diag);
  if (!ok) return kInputError;
  reply.text(extras);
  if (f.layout.verbose()) std::cerr << api::summary(*compiled);
  if (f.json) reply.object(api::compile_report(*compiled));
  return kOk;
}

int main_of_tool(int argc, char** argv) {
  CLI::App app{"Compiles a CSL program for a wafer-scale engine."};
  app.footer(kExamples);
  app.set_version_flag("--version", version_string("cslc"));
  Flags f;
  api::CompileOptions o;
  declare(app, f, o);
  cli::Reply reply("cslc");
  return cli::run_tool(reply, app, argc, argv, cli::Interrupt::ends, [&] {
    apply(f, o);
    return run(f, o, reply);
  });
}

}  // namespace
}  // namespace cs

int main(int argc, char** argv) { return cs::main_of_tool(argc, argv); }
