// Lifecycle and dispatch.
#include "tools/lsp/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "runtime/support/files.h"
#include "tools/lsp/frames.h"
#include "tools/lsp/uri.h"

namespace cs::lsp {

Server::Server(ServerOptions options) : options_(std::move(options)), workspace_(options_.cache_folder) {}

std::string Server::take_output() { return std::exchange(output_, {}); }

void Server::send(const Json& message) {
  // Texts of users may hold bytes that are no UTF-8.
  output_ += frame(message.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void Server::respond(const Json& id, Json result) {
  send({{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}});
}

void Server::fail(const Json& id, const RequestError& e) {
  send({{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", e.code}, {"message", e.message}}}});
}

void Server::receive(std::string_view body) {
  const Json message = Json::parse(body, nullptr, false);
  if (message.is_discarded()) return fail(nullptr, {kParseError, "this is no JSON"});
  if (!message.is_array()) return handle(message);
  if (message.empty()) return fail(nullptr, {kInvalidRequest, "an empty batch"});
  for (const Json& one : message) handle(one);
}

void Server::handle(const Json& message) {
  if (!message.is_object()) return fail(nullptr, {kInvalidRequest, "a message is an object"});
  const Json id = message.value("id", Json());
  const auto method = message.find("method");
  if (method == message.end()) {
    if (message.contains("result") || message.contains("error")) return;  // an answer to a request of ours
    return fail(id, {kInvalidRequest, "a message needs a method"});
  }
  if (!method->is_string()) return fail(id, {kInvalidRequest, "the method must be a string"});
  const bool is_request = message.contains("id");
  if (is_request && !id.is_string() && !id.is_number_integer())
    return fail(nullptr, {kInvalidRequest, "the id must be a number or a string"});
  const Json params = message.value("params", Json::object());
  workspace_.begin_message();
  try {
    if (!is_request) return notification(method->get<std::string>(), params);
    respond(id, request(method->get<std::string>(), params));
  } catch (const RequestError& e) {
    if (is_request) fail(id, e);
  } catch (const Json::exception& e) {
    if (is_request) fail(id, {kInvalidParams, e.what()});
  } catch (const std::exception& e) {
    std::cerr << "csl-lsp: " << method->get<std::string>() << ": " << e.what() << "\n";
    if (is_request) fail(id, {kInternalError, e.what()});
  }
}

Json Server::request(const std::string& method, const Json& params) {
  if (method == "initialize") return initialize(params);
  if (!initialized_) throw RequestError{kNotInitialized, "the first request is initialize"};
  if (shut_down_) throw RequestError{kInvalidRequest, "after shutdown there is exit alone"};
  if (method == "shutdown") {
    shut_down_ = true;
    return nullptr;
  }
  using Handler = Json (Server::*)(const Json&);
  static const std::map<std::string, Handler> kHandlers = {
      {"textDocument/hover", &Server::hover},
      {"textDocument/definition", &Server::definition},
      {"textDocument/references", &Server::references},
      {"textDocument/prepareRename", &Server::prepare_rename},
      {"textDocument/rename", &Server::rename},
      {"textDocument/completion", &Server::completion},
      {"textDocument/signatureHelp", &Server::signature_help},
      {"textDocument/documentSymbol", &Server::document_symbols},
      {"textDocument/semanticTokens/full", &Server::semantic_tokens},
      {"textDocument/formatting", &Server::formatting},
  };
  const auto handler = kHandlers.find(method);
  if (handler == kHandlers.end())
    throw RequestError{kMethodNotFound, fmt::format("there is no method {}", method)};
  return (this->*handler->second)(params);
}

void Server::notification(const std::string& method, const Json& params) {
  if (method == "exit") {
    exit_code_ = shut_down_ ? 0 : 1;
    return;
  }
  if (!initialized_ || shut_down_) return;
  if (method == "textDocument/didOpen") {
    const Json& document = params.at("textDocument");
    const std::string uri = document.at("uri").get<std::string>(), path = path_of_uri(uri);
    uris_[path] = uri;
    workspace_.open(path, document.at("text").get<std::string>(), utf8_);
    publish(path);
    mark_stale(path);
  } else if (method == "textDocument/didChange") {
    did_change(params);
  } else if (method == "textDocument/didClose") {
    const std::string path = path_of_uri(params.at("textDocument").at("uri").get<std::string>());
    workspace_.close(path);
    stale_.erase(path);
    programs_.erase(path);
    publish(path);
  } else if (method == "textDocument/didSave" || method == "workspace/didChangeWatchedFiles") {
    workspace_.forget_disk();
    for (const auto& [path, text] : workspace_.open_documents()) stale_.insert(path);
  } else if (method == "workspace/didChangeConfiguration") {
    configure(params.value("settings", Json::object()));
    for (const auto& [path, text] : workspace_.open_documents()) stale_.insert(path);
  }
}

void Server::did_change(const Json& params) {
  const std::string path = path_of_uri(params.at("textDocument").at("uri").get<std::string>());
  for (const Json& change : params.at("contentChanges")) {
    std::optional<Range> range;
    if (const auto r = change.find("range"); r != change.end())
      range = Range{position_of(r->at("start")), position_of(r->at("end"))};
    workspace_.change(path, range, change.at("text").get<std::string>());
  }
  if (!workspace_.is_open(path)) return;
  publish(path);
  mark_stale(path);
}

void Server::configure(const Json& settings) {
  const Json& csl = settings.contains("csl") && settings["csl"].is_object() ? settings["csl"] : settings;
  if (!csl.is_object()) return;
  if (csl.contains("machine") && csl["machine"].is_string())
    options_.machine = csl["machine"].get<std::string>();
  if (csl.contains("params") && csl["params"].is_object()) {
    options_.params.clear();
    for (const auto& [name, value] : csl["params"].items())
      options_.params[name] = value.is_string() ? value.get<std::string>() : value.dump();
  }
  if (csl.contains("importPaths") && csl["importPaths"].is_array())
    for (const Json& folder : csl["importPaths"])
      if (folder.is_string()) workspace_.add_import_path(folder.get<std::string>());
}

Json Server::initialize(const Json& params) {
  if (initialized_) throw RequestError{kInvalidRequest, "initialize comes once"};
  initialized_ = true;
  if (params.contains("/capabilities/general/positionEncodings"_json_pointer))
    for (const Json& encoding : params["/capabilities/general/positionEncodings"_json_pointer])
      utf8_ |= encoding == "utf-8";
  workspace_.use_bytes(utf8_);
  const auto add_root = [&](const Json& uri) {
    if (uri.is_string()) workspace_.add_root(path_of_uri(uri.get<std::string>()));
  };
  if (const auto folders = params.find("workspaceFolders"); folders != params.end() && folders->is_array()) {
    for (const Json& folder : *folders)
      if (folder.is_object()) add_root(folder.value("uri", Json()));
  } else if (params.contains("rootUri")) {
    add_root(params["rootUri"]);
  }
  if (params.contains("initializationOptions")) configure(params["initializationOptions"]);
  Json types = Json::array();
  for (const char* type :
       {"namespace", "type", "parameter", "variable", "property", "enumMember", "function", "macro"})
    types.push_back(type);
  return {{"serverInfo", {{"name", "csl-lsp"}, {"version", version()}}},
          {"capabilities",
           {{"positionEncoding", utf8_ ? "utf-8" : "utf-16"},
            {"textDocumentSync", {{"openClose", true}, {"change", 2}, {"save", true}}},
            {"hoverProvider", true},
            {"definitionProvider", true},
            {"referencesProvider", true},
            {"renameProvider", {{"prepareProvider", true}}},
            {"completionProvider", {{"triggerCharacters", {"@", ".", "<", "\""}}}},
            {"signatureHelpProvider", {{"triggerCharacters", {"(", ","}}}},
            {"documentSymbolProvider", true},
            {"documentFormattingProvider", true},
            {"semanticTokensProvider",
             {{"full", true},
              {"legend", {{"tokenTypes", types}, {"tokenModifiers", {"declaration", "readonly"}}}}}}}}};
}

const ParsedFile& Server::document(const Json& params) {
  const std::string path = path_of_uri(params.at("textDocument").at("uri").get<std::string>());
  const ParsedFile* f = workspace_.file(path);
  if (!f) throw RequestError{kRequestFailed, fmt::format("{} is neither open nor a file", path)};
  return *f;
}

SourceLoc Server::place(const ParsedFile& f, const Json& params) const {
  const Position at = position_of(params.at("position"));
  return {1, at.line + 1, f.text.column(at)};
}

Position position_of(const Json& p) {
  const auto number = [&](const char* name) {
    const Json& n = p.at(name);
    if (!n.is_number_integer()) throw RequestError{kInvalidParams, fmt::format("{} must be a whole number", name)};
    return uint32_t(std::clamp<int64_t>(n.get<int64_t>(), 0, 1 << 30));
  };
  return {number("line"), number("character")};
}

Json to_json(Position p) { return {{"line", p.line}, {"character", p.character}}; }
Json to_json(const Range& r) { return {{"start", to_json(r.start)}, {"end", to_json(r.end)}}; }

Range range_of(const ParsedFile& f, SourceLoc loc, uint32_t width) {
  return {f.text.position(loc.line, loc.column), f.text.position(loc.line, loc.column + width)};
}

Json location(const ParsedFile& f, SourceLoc loc, uint32_t width) {
  return {{"uri", uri_of_path(f.path)}, {"range", to_json(range_of(f, loc, width))}};
}

}  // namespace cs::lsp
