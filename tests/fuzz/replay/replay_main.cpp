// Runs a fuzz target over every file of the folders given, plus truncations of each, so that a crash found
// once stays found. Exit 0 if nothing crashed; 1 if a folder is missing or empty (a test that cannot fail is
// none).
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

size_t replay(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(in)), {});
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  LLVMFuzzerTestOneInput(data, bytes.size());
  // A file cut anywhere is the most common kind of damage: try sixteen places.
  for (size_t k = 0; k < 16; ++k) LLVMFuzzerTestOneInput(data, bytes.size() * k / 16);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  size_t files = 0;
  for (int i = 1; i < argc; ++i) {
    if (!std::filesystem::is_directory(argv[i])) continue;
    for (const auto& entry : std::filesystem::directory_iterator(argv[i]))
      if (entry.is_regular_file()) files += replay(entry.path());
  }
  std::printf("%zu corpus files replayed\n", files);
  return files > 0 ? 0 : 1;
}
