// Roles: PEs that run the same program. A kernel asks for what it needs by name (input queue "x", task
// "compute"); ids are given to it when all that lives in the role is known (mapping/roles.h).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "runtime/support/geometry.h"

namespace cs::kernels {

enum class Resource : uint8_t { input_queue, output_queue, local_task };

struct Need {
  Resource kind{};
  std::string name;  // "x" -> parameters x_color and x_queue; tasks: "compute" -> compute_id
  int color = -1;    // queues
  int id = -1;       // allocated
};

struct Run {  // PEs (x, y), (x + step, y) … in rows y … y + h - 1
  int x = 0, y = 0, count = 1, step = 1, h = 1;
};

struct Parameter {
  std::string name, value;
};

// Sets of PEs as few loops: runs of a row with step 1 or 2, rows with equal runs together.
std::vector<Run> runs_of(const std::vector<Coord>& pes);

// One kernel module in a role: which file, with which parameters (resources are added from the needs).
struct ModuleUse {
  std::string file;   // "gemv.csl", "Gemm_0_first.csl"
  std::string alias;  // name of the import in the PE file
  std::vector<Parameter> parameters;
  std::vector<Need> needs;
};

struct Buffer {  // an array of the PE file
  std::string name;
  int elements = 0;
  bool aligned = false;  // to 8 bytes
  std::string symbol;    // exported under this name, empty if not
  std::string comment;
  std::string type = "f32";
};

struct Role {
  std::string name;  // file stem
  std::string what;  // for the header
  std::vector<Run> runs;
  std::vector<Buffer> buffers;
  std::vector<ModuleUse> modules;  // in order of import
  bool needs_no_epilogue = false;
};

// All roles of an instance, feeders included, and the text of the modules that were generated for it.
struct InstanceRoles {
  std::vector<Role> roles;
  std::map<std::string, std::string> files;
};

// The control wavelet behind the part of the PE whose turn it is, of so many; and as a CSL literal.
uint32_t turn_word(int turn, int turns);
std::string turn_control(int turn, int turns);
// A control wavelet with these commands, none of which any core sees: 1 advance, 2 reset, 0 nothing.
uint32_t control_wavelet(std::initializer_list<int> commands);

}  // namespace cs::kernels
