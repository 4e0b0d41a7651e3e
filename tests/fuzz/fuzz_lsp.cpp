// Any bytes from a client leave the language server alive, and every frame that it sends is JSON.
// The input is a list of messages, one a line. The handshake comes first, and documents
// are compiled as they would be while the client is idle.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "tools/lsp/frames.h"
#include "tools/lsp/server.h"

namespace {

void check_output(std::string_view bytes) {
  cs::lsp::FrameReader reader;
  reader.feed(bytes);
  while (const auto body = reader.next())
    if (!nlohmann::json::accept(*body)) __builtin_trap();
  if (reader.broken()) __builtin_trap();
}

// The framing alone: what was cut out never is more than what came.
void check_frames(std::string_view input) {
  cs::lsp::FrameReader reader;
  size_t taken = 0;
  for (size_t at = 0; at < input.size(); at += 7) {
    reader.feed(input.substr(at, 7));
    while (const auto body = reader.next()) taken += body->size();
  }
  if (taken > input.size()) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  check_frames(input);
  cs::lsp::Server server({.cache_folder = {}, .machine = {}, .params = {}, .step_limit = 20'000});
  server.receive(R"({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"capabilities": {}}})");
  while (!input.empty()) {
    const size_t end = input.find('\n');
    server.receive(input.substr(0, end));
    input.remove_prefix(end == std::string_view::npos ? input.size() : end + 1);
    for (int k = 0; k < 3 && server.has_work(); ++k) server.idle();
    check_output(server.take_output());
  }
  return 0;
}
