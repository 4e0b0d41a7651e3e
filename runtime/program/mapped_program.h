// A Program in its folder with the weights where they are: mapped, so that only what somebody looks at is in memory.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/program/program.h"
#include "runtime/support/mapped_file.h"

namespace cs {

enum class MapWeights : uint8_t {
  automatic,  // where there are a megabyte of them, or more
  on,
  off,  // read
};
std::optional<MapWeights> map_weights_from_name(std::string_view);

struct MappedProgram {
  Program program;
  std::span<const uint8_t> weights;  // valid as long as this is there, also when it is moved
  std::shared_ptr<const MappedFile> file;  // null: they were read
  std::vector<uint8_t> read;
};
// As read_program() (program.h): a changed byte is an error. Of weights that are mapped no page stays in memory.
std::optional<MappedProgram> map_program(const std::string& folder, MapWeights, Diag&);

}  // namespace cs
