// A simulation as a file, to go on with it later, on another computer too (cs-sim --checkpoint, --restore).
//
//   "WSIMCKPT"  version (4 bytes, little-endian)                 of this format
//   which       our version, name and hashes of the Program, its weights and the machine, the faults that are let pass
//   state       of the engine (archive.h), then what the caller adds: the host's side
//   hash        of all before it, 32 hexadecimal digits
// A file that is damaged, cut short, of another version or of another program is an error that says so.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "simulator/engine/engine.h"

namespace cs::sim {

inline constexpr uint32_t kSimulationVersion = 1;

// The file appears complete, under its name, or not at all.
bool write_simulation(const std::string& file, const Engine&, std::string_view host, Diag&);

// What such a file has in it.
std::string simulation_bytes(const Engine&, std::string_view host);

// The engine has loaded the program and done nothing else; what it is after an error is not to be used. The result is
// what the caller had added.
std::optional<std::string> read_simulation(const std::string& file, Engine&, Diag&);
// The same from the bytes of a file; `name` is for messages.
std::optional<std::string> read_simulation_bytes(std::string_view bytes, const std::string& name, Engine&, Diag&);

}  // namespace cs::sim
