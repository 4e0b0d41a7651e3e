// Places without folders, so that messages are the same on every computer.
#include "tools/api/trace/errors.h"

#include <filesystem>

namespace cs {

std::string Place::text() const { return line == 0 ? "" : file + ":" + std::to_string(line); }

Place place_of(const CallSite& at) { return {std::filesystem::path(at.file).filename().string(), at.line}; }

TraceError::TraceError(const std::string& message, const Place& where)
    : std::runtime_error(where.line == 0 ? message : where.text() + ": " + message), where_(where) {}

}  // namespace cs
