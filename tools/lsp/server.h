// The language server: messages in, messages out. Knows no streams, so that tests and fuzzers can drive it.
//
// Syntax errors are published as soon as a document changes; what the compiler says about the program, when
// nothing more is waiting to be read (idle). Requests work on the present text, errors or not.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/csl/inspect.h"
#include "tools/lsp/workspace.h"

namespace cs::lsp {

using Json = nlohmann::json;

struct ServerOptions {
  std::string cache_folder;  // where libraries are written for editors to open; empty: nowhere
  std::string machine;       // empty: what the program's own scripts say, else wse2
  std::map<std::string, std::string> params;  // of layouts, by name; others are found or guessed
  int64_t step_limit = 3'000'000;             // of comptime evaluation; beyond it only syntax is checked
};

// An answer that is an error (JSON-RPC's and the protocol's codes).
struct RequestError {
  int code = 0;
  std::string message;
};
inline constexpr int kParseError = -32700, kInvalidRequest = -32600, kMethodNotFound = -32601,
                     kInvalidParams = -32602, kInternalError = -32603, kNotInitialized = -32002,
                     kRequestFailed = -32803;

class CompletionItems;

class Server {
 public:
  explicit Server(ServerOptions options);

  void receive(std::string_view body);  // one message, well-formed or not
  std::string take_output();            // framed messages for the client
  bool has_work() const { return !stale_.empty(); }
  void idle();  // compiles one program whose diagnostics are old
  std::optional<int> exit_code() const { return exit_code_; }

 private:
  struct Program {  // of one layout
    csl::Inspected inspected;
    std::map<std::string, Json> diagnostics;  // by path
  };

  // server.cpp
  void handle(const Json& message);
  Json request(const std::string& method, const Json& params);
  void notification(const std::string& method, const Json& params);
  Json initialize(const Json& params);
  void configure(const Json& settings);
  void send(const Json& message);
  void respond(const Json& id, Json result);
  void fail(const Json& id, const RequestError&);
  void did_change(const Json& params);
  // Document and place of a request.
  const ParsedFile& document(const Json& params);
  SourceLoc place(const ParsedFile&, const Json& params) const;

  // diagnostics.cpp
  void publish(const std::string& path);
  void mark_stale(const std::string& path);
  Json diagnostics_of(const ParsedFile&) const;
  void compile(const std::string& path);
  csl::CslOptions options_for(const std::string& path, std::string& machine, bool& guessed);

  // hover.cpp
  Json hover(const Json& params);
  std::string describe(const Target&) const;
  std::string values_of(const Target&) const;

  // navigation.cpp
  Json definition(const Json& params);
  Json references(const Json& params);
  Json prepare_rename(const Json& params);
  Json rename(const Json& params);
  Target renamed_target(const ParsedFile&, SourceLoc);

  // completion.cpp
  Json completion(const Json& params);
  void complete_module(const ParsedFile&, std::string_view line, CompletionItems&);
  void complete_field(const ParsedFile&, size_t dot, SourceLoc, CompletionItems&);
  void complete_name(const ParsedFile&, SourceLoc, CompletionItems&);
  Shape shape_of_chain(const ParsedFile&, const std::vector<std::string>& chain, SourceLoc);
  Json signature_help(const Json& params);

  // symbols.cpp
  Json document_symbols(const Json& params);
  Json semantic_tokens(const Json& params);
  Json formatting(const Json& params);

  ServerOptions options_;
  Workspace workspace_;
  bool initialized_ = false, shut_down_ = false, utf8_ = false;
  std::optional<int> exit_code_;
  std::string output_;
  std::set<std::string> stale_;              // documents whose program is to be compiled again
  std::map<std::string, Program> programs_;  // by document
  std::set<std::string> published_;          // paths with diagnostics at the client
  std::map<std::string, std::string> uris_;  // of documents, as the client wrote them
};

// JSON of positions.
Position position_of(const Json&);  // throws RequestError
Json to_json(Position);
Json to_json(const Range&);
Range range_of(const ParsedFile&, SourceLoc, uint32_t width);
Json location(const ParsedFile&, SourceLoc, uint32_t width);
std::string text_of_declaration(const ParsedFile&, int name);  // on one line, without its body
std::string comment_of(const ParsedFile&, int name);           // what the author wrote above it or behind it
const char* kind_text(csl::NameKind);

}  // namespace cs::lsp
