// Counting and text of the table.
#include "tools/cs-regress/onnx_table.h"

#include <map>

#include <fmt/format.h>

namespace cs {
namespace {

struct Counts {
  int all = 0, with_kernel = 0, without_kernel = 0, failed = 0;
};

// "node/test_add/model/0/wse2/medium" -> "node", "test_add"
std::pair<std::string, std::string> folder_and_test(const std::string& name) {
  const size_t first = name.find('/'), second = name.find('/', first + 1);
  return {name.substr(0, first), name.substr(first + 1, second - first - 1)};
}

// The reason of a failure: the first line that is an error, without the path in front of it.
std::string reason(const Result& r) {
  std::string line;
  for (size_t at = 0; at < r.message.size();) {
    const size_t end = std::min(r.message.find('\n', at), r.message.size());
    line = r.message.substr(at, end - at);
    const size_t error = line.find("error: ");
    if (error != std::string::npos) {
      line = line.substr(error + 7);
      break;
    }
    at = end + 1;
    if (at < r.message.size() && line.find("exit code") == std::string::npos) break;
  }
  for (char& c : line)
    if (c == '|') c = '/';
  return line.empty() ? "no message" : line;
}

}  // namespace

std::string onnx_table(const std::vector<Result>& results, const std::string& command) {
  std::map<std::string, Counts> folders;
  std::map<std::string, std::vector<std::string>> failures;  // by reason
  for (const Result& r : results) {
    const auto [folder, test] = folder_and_test(r.name);
    Counts& c = folders[folder];
    ++c.all;
    if (!r.ok) {
      ++c.failed;
      failures[reason(r)].push_back(folder + "/" + test);
    } else {
      ++(r.figures && r.figures->kernels > 0 ? c.with_kernel : c.without_kernel);
    }
  }
  std::string out = fmt::format(
      "# ONNX operators on the wafer\n\nWritten by `{}`; not to be edited.\n\n"
      "A test passes if every output agrees and no operator was computed by the host. Tests without a kernel "
      "have "
      "nothing to compute: constants and views.\n\n"
      "| folder | tests | pass with a kernel | pass without | fail |\n|---|---|---|---|---|\n",
      command);
  for (const auto& [folder, c] : folders)
    out +=
        fmt::format("| {} | {} | {} | {} | {} |\n", folder, c.all, c.with_kernel, c.without_kernel, c.failed);
  out += "\n## What fails\n\n| reason | tests |\n|---|---|\n";
  for (const auto& [why, tests] : failures) {
    std::string list;
    for (const std::string& t : tests) list += (list.empty() ? "" : ", ") + t;
    out += fmt::format("| {} | {} |\n", why, list);
  }
  return out;
}

}  // namespace cs
