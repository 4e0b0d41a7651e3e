// A line is complete when it ends in a line break; what follows the last one is cut off before anything is
// appended.
#include "tools/cs-sweep/journal.h"

#include <unistd.h>

#include <filesystem>

#include "runtime/support/files.h"

namespace cs::sweep {

using Json = nlohmann::ordered_json;

bool Journal::open(const std::string& path, Diag& diag) {
  std::error_code ec;
  if (std::filesystem::exists(path, ec)) {
    const auto text = read_file(path, diag);
    if (!text) return false;
    size_t begin = 0;
    for (size_t end = text->find('\n'); end != std::string::npos;
         begin = end + 1, end = text->find('\n', begin)) {
      const Json line = Json::parse(text->substr(begin, end - begin), nullptr, false);
      if (line.is_object() && line.contains("key") && line["key"].is_string() && line.contains("row"))
        rows_[line["key"].get<std::string>()] = line["row"];
    }
    std::filesystem::resize_file(path, begin, ec);
  }
  file_.reset(std::fopen(path.c_str(), "ab"));
  if (!file_ || ec) diag.error_at(path, "cannot be written");
  return file_ && !ec;
}

const Json* Journal::find(const std::string& key) const {
  const auto it = rows_.find(key);
  return it == rows_.end() ? nullptr : &it->second;
}

bool Journal::add(const std::string& key, const Json& row) {
  const std::string line =
      Json{{"key", key}, {"row", row}}.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  const std::lock_guard lock(mutex_);
  return std::fwrite(line.data(), 1, line.size(), file_.get()) == line.size() &&
         std::fflush(file_.get()) == 0 && fsync(fileno(file_.get())) == 0;
}

}  // namespace cs::sweep
