// Text goes out at once; the object at the end, so that an interrupted run has only that of its failure.
#include "tools/cli/reply.h"

#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

namespace cs::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

const char* severity_text(Severity s) {
  return s == Severity::error ? "error" : s == Severity::warning ? "warning" : "note";
}

}  // namespace

bool colour_on_stderr() {
  const char* off = std::getenv("NO_COLOR");
  return isatty(2) != 0 && (off == nullptr || *off == '\0');
}

void Reply::use_json() {
  const std::lock_guard lock(mutex_);
  json_ = true;
}

void Reply::show_progress(bool quiet) {
  const std::lock_guard lock(mutex_);
  line_.begin(quiet);
}

void Reply::end_progress() {
  const std::lock_guard lock(mutex_);
  line_.end();
}

void Reply::show(const Diag& diag) {
  for (const Diagnostic& d : diag.all()) d.help.text();  // what takes long, while progress is shown
  const std::lock_guard lock(mutex_);
  line_.end();
  diag.print(std::cerr, colour_on_stderr());
  for (const Diagnostic& d : diag.all()) {
    const std::string file = d.loc.valid() ? diag.sources.path(d.loc.file) : d.where;
    problems_.push_back({severity_text(d.severity), file, d.message, d.help, d.loc.line, d.loc.column});
  }
}

void Reply::error(const std::string& what, const std::string& help) {
  const std::lock_guard lock(mutex_);
  line_.end();
  std::cerr << tool_ << ": " << what << "\n";
  if (!help.empty()) std::cerr << "help: " << help << "\n";
  problems_.push_back({"error", "", what, help, 0, 0});
}

void Reply::text(std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (json_)
    text_ += text;
  else
    std::cout << text;
}

void Reply::object(std::string json) {
  const std::lock_guard lock(mutex_);
  object_ = std::move(json);
}

std::string Reply::failure(int code) const {
  Json out = {
      {"schema", "wafersmith-error/1"}, {"tool", tool_}, {"exit_code", code}, {"errors", Json::array()}};
  for (const Problem& p : problems_) {
    Json row = {{"severity", p.severity}};
    if (!p.file.empty()) row["file"] = p.file;
    if (p.line > 0) row["line"] = p.line;
    if (p.column > 0) row["column"] = p.column;
    row["message"] = p.message;
    if (!p.help.empty()) row["help"] = p.help;
    out["errors"].push_back(std::move(row));
  }
  return dump(out);
}

int Reply::end(int code) {
  const std::lock_guard lock(mutex_);
  line_.end();
  if (json_) {
    std::string object = std::move(object_);
    if (object.empty() && code == kOk) object = "{}";
    if (object.empty()) object = failure(code);
    if (!text_.empty()) {
      Json with_text = Json::parse(object, nullptr, false);
      with_text["text"] = text_;
      object = dump(with_text);
    }
    std::cout << object << (object.ends_with('\n') ? "" : "\n");
  }
  std::cout.flush();
  if (std::cout.good()) return code;
  std::cerr << tool_ << ": stdout did not take everything; is the disk full, or is it closed?\n";
  return code == kOk ? kInputError : code;
}

}  // namespace cs::cli
