// Weights that are mapped: what of them is in memory, and that results do not depend on it.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <regex>

#include "runtime/program/mapped_program.h"
#include "tests/e2e/run_tool.h"

extern char** environ;

namespace cs::e2e {
namespace {

using ::testing::HasSubstr;

class MappedWeights : public Scratch {
 protected:
  // A product of n x n numbers, which are the weights.
  void compile(int n) {
    std::string bytes(size_t(n) * size_t(n) * 4, '\0');
    for (size_t i = 0; i < bytes.size() / 4; ++i) {
      const float value = float(i % 17) / 64;
      std::memcpy(bytes.data() + 4 * i, &value, 4);
    }
    write("m.bin", bytes);
    const std::string size = std::to_string(n);
    write("m.yaml", "graph: m\nweights: m.bin\ninputs:\n  - {name: x, type: \"f32[1, " + size +
                        "]\"}\nconstants:\n  - {name: w, type: \"f32[" + size + ", " + size +
                        "]\", offset: 0}\nnodes:\n  - {name: y, op: gemm, inputs: [x, w]}\noutputs: [y]\n");
    const ChildResult r = run("cs-compile", {path("m.yaml"), "--no-baselines", "-q", "-o", path("m.csp")});
    ASSERT_EQ(r.exit_code, 0) << r.err;
  }
};

// Kilobytes of weights.bin that are in the memory of a process; -1: it is not mapped.
int resident_kb(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/smaps");
  bool inside = false;
  int kb = -1;
  for (std::string line; std::getline(in, line);) {
    const bool head = std::regex_search(line, std::regex("^[0-9a-f]+-[0-9a-f]+ "));
    if (head) inside = line.find("weights.bin") != std::string::npos;
    if (inside && line.starts_with("Rss:")) kb = std::max(kb, 0) + std::stoi(line.substr(4));
  }
  return kb;
}

// A simulator that waits at cycle 0 for somebody to drive it: its first frame is there when the program is
// loaded.
class AtCycleZero {
 public:
  AtCycleZero(const std::string& program, const std::string& how) {
    int in[2], out[2];
    EXPECT_EQ(pipe2(in, O_CLOEXEC) + pipe2(out, O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    std::vector<std::string> words = {kBin + "cs-sim", program, "--serve", "-q", "--mmap-weights", how};
    std::vector<char*> argv;
    for (std::string& w : words) argv.push_back(w.data());
    argv.push_back(nullptr);
    EXPECT_EQ(posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]), close(out[1]);
    to_ = in[1], from_ = out[0];
    char byte = 0;
    EXPECT_EQ(read(from_, &byte, 1), 1);
  }
  ~AtCycleZero() {
    close(to_), close(from_);
    waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
  int to_ = 0, from_ = 0;
};

// 4 MB of weights.
TEST_F(MappedWeights, NothingOfThemIsInMemoryAtCycleZero) {
  compile(1024);
  ASSERT_GE(std::filesystem::file_size(path("m.csp/weights.bin")), 4u << 20);
  const AtCycleZero mapped(path("m.csp"), "auto"), read(path("m.csp"), "off");
  EXPECT_GE(resident_kb(mapped.pid()), 0);
  EXPECT_LT(resident_kb(mapped.pid()), 256);
  EXPECT_EQ(resident_kb(read.pid()), -1);
}

TEST_F(MappedWeights, OnOffOrByItself) {
  compile(64);  // 16 KB: read unless asked for
  for (const auto& [how, mapped] : {std::pair{"auto", false}, {"on", true}, {"off", false}}) {
    EXPECT_EQ(resident_kb(AtCycleZero(path("m.csp"), how).pid()) >= 0, mapped) << how;
    const ChildResult r =
        run("cs-sim", {path("m.csp"), "--mmap-weights", how, "-q", "--outputs", path(how) + ".npz"});
    EXPECT_EQ(r.exit_code, 0) << r.err;
  }
  EXPECT_EQ(slurp(path("on.npz")), slurp(path("off.npz")));
  EXPECT_EQ(slurp(path("auto.npz")), slurp(path("off.npz")));
  const ChildResult r = run("cs-sim", {path("m.csp"), "--mmap-weights", "often"});
  EXPECT_EQ(r.exit_code, 2);
}

int mappings() {
  std::ifstream in("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(in, line);)
    count += line.find("weights.bin") != std::string::npos ? 1 : 0;
  return count;
}

class MappedFile : public MappedWeights {};

TEST_F(MappedFile, IsGivenBack) {
  compile(64);
  for (int i = 0; i < 100; ++i) {
    Diag diag;
    const auto program = map_program(path("m.csp"), MapWeights::on, diag);
    ASSERT_TRUE(program) << diag.to_string();
    ASSERT_EQ(mappings(), 1);
    ASSERT_EQ(cs::MappedFile::of(program->weights.subspan(8, 16)), program->file);
  }
  EXPECT_EQ(mappings(), 0);
}

// A changed byte is found whether they are mapped or read.
TEST_F(MappedWeights, AChangedByteIsFound) {
  compile(64);
  std::string bytes = slurp(path("m.csp/weights.bin"));
  bytes[1000] = char(bytes[1000] ^ 1);
  write("m.csp/weights.bin", bytes);
  for (const char* how : {"on", "off"}) {
    const ChildResult r = run("cs-sim", {path("m.csp"), "--mmap-weights", how});
    EXPECT_EQ(r.exit_code, 1) << how;
    EXPECT_THAT(r.err, HasSubstr("the file is damaged")) << how;
  }
}

}  // namespace
}  // namespace cs::e2e
