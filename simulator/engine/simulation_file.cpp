// Header, hash and the files themselves; the state is checkpoint.cpp's.
#include "simulator/engine/simulation_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/support/files.h"
#include "runtime/support/mapped_file.h"
#include "simulator/engine/archive.h"

namespace cs::sim {
namespace {

constexpr std::string_view kMagic = "WSIMCKPT";
constexpr size_t kHashBytes = 32;

std::string version_bytes() {
  std::string bytes;
  for (int i = 0; i < 4; ++i) bytes += char(kSimulationVersion >> (8 * i));
  return bytes;
}

// What must be the same for the simulation to go on.
struct Which {
  std::string tool, name, program, weights, machine, allow;
};

template <class A>
void state(A& a, Which& x) {
  auto& [tool, name, program, weights, machine, allow] = x;
  a(tool, name, program, weights, machine, allow);
}

Which which(const Engine& e) {
  const std::vector<std::string>& passing = e.options().allow;
  std::string allow;
  for (const std::string_view fault : allowable_faults())
    if (std::find(passing.begin(), passing.end(), fault) != passing.end())
      allow += (allow.empty() ? "" : ", ") + std::string(fault);
  const std::string_view weights(reinterpret_cast<const char*>(e.weights().data()), e.weights().size());
  return {version(),
          e.program().name,
          wide_hash_text(program_bytes(e.program())),
          wide_hash_text(weights),
          wide_hash_text(machine_to_yaml(e.machine())),
          allow};
}

bool same(const Which& there, const Which& here, const std::string& file, Diag& diag) {
  const auto differs = [&](const std::string& what, const std::string& help) {
    diag.error_at(file, "is a checkpoint of " + what, help);
    return false;
  };
  if (there.tool != here.tool)
    return differs("version " + there.tool + ", this is version " + here.tool, "restore it with that version");
  if (there.program != here.program || there.weights != here.weights)
    return differs(there.name == here.name ? fmt::format("another build of '{}'", there.name)
                                           : fmt::format("'{}', this program is '{}'", there.name, here.name),
                   "restore it with the folder that was simulated");
  if (there.machine != here.machine)
    return differs("a simulation on another machine", "give the same -m and --set as there");
  if (there.allow != here.allow)
    return differs("a simulation that lets pass " + (there.allow.empty() ? "no fault" : there.allow),
                   "give the same --allow as there");
  return true;
}

bool damaged(const std::string& name, const std::string& what, Diag& diag) {
  diag.error_at(name, what, "take an earlier checkpoint, or simulate from the beginning");
  return false;
}

// Magic, version and hash are right; what they enclose.
bool unwrap(std::string_view& bytes, const std::string& name, Diag& diag) {
  const size_t head = kMagic.size() + 4;
  if (bytes.substr(0, kMagic.size()) != kMagic.substr(0, bytes.size()) || bytes.size() < kMagic.size())
    return damaged(name, "is no checkpoint of a simulation", diag);
  if (bytes.size() < head + kHashBytes)
    return damaged(name, fmt::format("is cut short: {} bytes", bytes.size()), diag);
  if (bytes.substr(kMagic.size(), 4) != version_bytes())
    return damaged(name, fmt::format("is a checkpoint of another format than {}", kSimulationVersion), diag);
  if (bytes.substr(bytes.size() - kHashBytes) != wide_hash_text(bytes.substr(0, bytes.size() - kHashBytes)))
    return damaged(name, "is damaged or cut short: its content does not have the hash at its end", diag);
  bytes = bytes.substr(head, bytes.size() - head - kHashBytes);
  return true;
}

void put_simulation(const Engine& engine, std::string_view host, const StateWriter::Sink& take) {
  ContentHash hash;
  const auto sink = [&](std::string_view bytes) {
    hash.add(bytes);
    take(bytes);
  };
  sink(std::string(kMagic) + version_bytes());
  StateWriter out(sink);
  out(which(engine));
  engine.save(out);
  out(std::string(host));
  out.flush();
  take(hash.wide_text());
}

}  // namespace

std::string simulation_bytes(const Engine& engine, std::string_view host) {
  std::string all;
  put_simulation(engine, host, [&](std::string_view bytes) { all += bytes; });
  return all;
}

bool write_simulation(const std::string& file, const Engine& engine, std::string_view host, Diag& diag) {
  const auto source = [&](const FolderWriter::Take& take) {
    bool good = true;
    put_simulation(engine, host, [&](std::string_view bytes) { good = good && take(bytes); });
    return good;
  };
  return write_file_atomic(file, source, diag);
}

std::optional<std::string> read_simulation_bytes(std::string_view bytes, const std::string& name, Engine& engine,
                                                 Diag& diag) {
  if (!unwrap(bytes, name, diag)) return std::nullopt;
  StateReader in(bytes);
  Which there;
  in(there);
  if (!in.ok()) return damaged(name, "is damaged: it does not say what it is of", diag), std::nullopt;
  if (!same(there, which(engine), name, diag)) return std::nullopt;
  std::string host;
  const bool good = engine.restore(in);
  if (good) in(host);
  if (!in.done()) return damaged(name, "is damaged: its state is none of this program", diag), std::nullopt;
  return host;
}

std::optional<std::string> read_simulation(const std::string& file, Engine& engine, Diag& diag) {
  std::string why;
  const auto mapped = MappedFile::open(file, why);
  if (!mapped) {
    diag.error_at(file, "cannot read the checkpoint: " + why);
    return std::nullopt;
  }
  const std::span<const uint8_t> bytes = mapped->bytes();
  return read_simulation_bytes({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, file, engine, diag);
}

}  // namespace cs::sim
