// Command lines are read by CLI11; what it says of unknown options and values gets the nearest known one.
#include "tools/cli/tool.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <mutex>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/support/temporaries.h"
#include "runtime/support/yaml.h"
#include "tools/cli/child_process.h"
#include "tools/cli/interrupt.h"

namespace cs::cli {
namespace {

// A file that is opened while stdout is closed would get its number, and everything printed with it.
void keep_standard_files() {
  for (int fd = 0; fd <= 2; ++fd)
    if (fcntl(fd, F_GETFD) < 0) open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);  // any use of it fails
}

// --json counts also where the command line is wrong.
bool asks_for_json(int argc, char** argv) {
  return std::any_of(argv + 1, argv + argc, [](const char* a) { return std::string_view(a) == "--json"; });
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

std::string unknown_arguments(const CLI::App& app) {
  std::string out;
  for (const std::string& argument : app.remaining()) {
    const bool option = argument.size() > 1 && argument[0] == '-';
    const std::string name = argument.substr(0, argument.find('='));
    out += fmt::format("{}{}: unknown {}{}", out.empty() ? "" : "\n  ", argument,
                       option ? "option" : "argument", option ? did_you_mean(name, option_names(app)) : "");
  }
  return out;
}

int usage_error(Reply& reply, const std::string& message) {
  reply.error(message, "run with --help for what there is");
  return reply.end(kUsage);
}

// --help, --version, or a command line that cannot be read.
int not_parsed(Reply& reply, CLI::App& app, const CLI::ParseError& e) {
  if (e.get_exit_code() != 0) {
    const std::string unknown =
        dynamic_cast<const CLI::ExtrasError*>(&e) != nullptr ? unknown_arguments(app) : "";
    return usage_error(reply, unknown.empty() ? e.what() : unknown);
  }
  std::ostringstream out;
  app.exit(e, out, out);
  reply.text(out.str());
  return reply.end(kOk);
}

}  // namespace

std::string did_you_mean(const std::string& word, const std::vector<std::string>& known) {
  const std::string near = nearest(word, known);
  return near.empty() ? "" : "; did you mean '" + near + "'?";
}

CLI::Validator one_of(std::vector<std::string> words) {
  const std::string list = fmt::format("{}", fmt::join(words, ", "));
  return CLI::Validator(
      [words = std::move(words), list](std::string& word) -> std::string {
        if (std::find(words.begin(), words.end(), word) != words.end()) return {};
        return fmt::format("'{}' is none of {}{}", word, list, did_you_mean(word, words));
      },
      "{" + list + "}");
}

int run_tool(Reply& reply, CLI::App& app, int argc, char** argv, Interrupt interrupt,
             const std::function<int()>& body) {
  keep_standard_files();
  signal(SIGXFSZ, SIG_IGN);  // a file beyond its limit is an error of the write
  if (asks_for_json(argc, argv)) reply.use_json();
  static std::timed_mutex& ending =
      *new std::timed_mutex;  // taken once, by what ends the run: itself or a signal
  const auto end = [&](int code) {
    ending.lock();
    return reply.end(code);
  };
  if (interrupt == Interrupt::asked)
    ask_for_interrupts();
  else
    end_on_interrupt([&reply] {
      if (!ending.try_lock_for(std::chrono::seconds(2))) return;  // it ends, and cannot print
      stop_children();
      remove_temporaries();
      reply.error("interrupted");
      reply.object("");
      reply.end(kInterrupted);
    });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return not_parsed(reply, app, e);
  }
  try {
    return end(body());
  } catch (const Usage& e) {
    return usage_error(reply, e.message);
  } catch (const std::exception& e) {
    reply.error(fmt::format("internal error: {}", e.what()), "this is a fault of the tool, not of its input");
    return end(kInternal);
  }
}

}  // namespace cs::cli
