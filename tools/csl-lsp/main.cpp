// csl-lsp: the language server for CSL, on stdin and stdout.
//
//   1. read the command line; editors give none
//   2. messages are answered one after another; while none is waiting, programs are compiled for their
//   diagnostics
//   3. end with the client's exit, or the end of stdin
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "runtime/support/files.h"
#include "tools/cli/tool.h"
#include "tools/lsp/frames.h"
#include "tools/lsp/server.h"

namespace cs {
namespace {

constexpr const char* kExamples = R"(Editors start it; docs/editor.md says how. Examples:
  csl-lsp                      speak the protocol on stdin and stdout
  csl-lsp --machine wse3       of programs whose scripts do not say --arch

Exit codes: 0 the client said shutdown and exit, 1 it did not, 2 usage, 70 internal error, 130 interrupted.)";

std::string default_cache() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const std::filesystem::path base = cache && *cache ? std::filesystem::path(cache)
                                     : home && *home ? std::filesystem::path(home) / ".cache"
                                                     : std::filesystem::temp_directory_path();
  return (base / "wafersmith" / ("csl-" + version())).lexically_normal().generic_string();
}

bool write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(size_t(n));
  }
  return true;
}

bool input_waits() {
  pollfd fd{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  return ::poll(&fd, 1, 0) > 0;
}

int serve(const lsp::ServerOptions& options) {
  lsp::Server server(options);
  lsp::FrameReader frames;
  char buffer[65536];
  for (;;) {
    while (const std::optional<std::string> message = frames.next()) {
      server.receive(*message);
      if (!write_all(server.take_output())) return kInputError;
      if (server.exit_code()) return *server.exit_code() == 0 ? kOk : kInputError;
    }
    if (frames.broken()) {
      std::cerr << "csl-lsp: stdin is no stream of messages (Content-Length: N, an empty line, N bytes)\n";
      return kInputError;
    }
    while (server.has_work() && !input_waits()) {
      server.idle();
      if (!write_all(server.take_output())) return kInputError;
    }
    const ssize_t n = ::read(STDIN_FILENO, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return kInputError;  // the client is gone without saying so
    frames.feed({buffer, size_t(n)});
  }
}

int main_of_tool(int argc, char** argv) {
  lsp::ServerOptions options;
  options.cache_folder = default_cache();
  bool stdio = false;
  CLI::App app{
      "Language server for CSL: diagnostics, hover, definitions, references, rename, completion, "
      "formatting."};
  app.footer(kExamples);
  app.set_version_flag("--version", version_string("csl-lsp"));
  app.add_flag("--stdio", stdio, "Accepted: there is no other way to talk");
  app.add_option("-m,--machine", options.machine,
                 "Machine of programs whose scripts name none (default: wse2)");
  app.add_option("--cache", options.cache_folder, "Folder for the libraries as files that editors can open")
      ->capture_default_str();
  cli::Reply reply("csl-lsp");
  return cli::run_tool(reply, app, argc, argv, cli::Interrupt::ends, [&] { return serve(options); });
}

}  // namespace
}  // namespace cs

int main(int argc, char** argv) { return cs::main_of_tool(argc, argv); }
