// The forms of a Program: bytes, folder, text, host.yaml. Each reads back equal; damage is a diagnostic.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "runtime/support/files.h"
#include "runtime/support/rng.h"
#include "tests/unit/program/sample_program.h"

namespace cs {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Bytes, ReadBackEqualAndAreTheSameEveryTime) {
  const Program p = sample_program();
  const std::string bytes = program_bytes(p);
  EXPECT_EQ(bytes, program_bytes(p));
  Diag diag;
  const auto back = parse_program_bytes(bytes, "program.fb", diag);
  ASSERT_TRUE(back) << diag.to_string();
  EXPECT_EQ(*back, p);
  EXPECT_EQ(program_bytes(*back), bytes);
  Program empty;
  const auto nothing = parse_program_bytes(program_bytes(empty), "program.fb", diag);
  ASSERT_TRUE(nothing) << diag.to_string();
  EXPECT_EQ(*nothing, empty);
}

// Every truncation and thousands of random changes: a diagnostic or a Program, never a crash (run under ASan
// too).
TEST(Bytes, SurviveAnyDamage) {
  const std::string bytes = program_bytes(sample_program());
  for (size_t keep = 0; keep + 3 < bytes.size(); ++keep) {  // up to three last bytes are padding
    Diag diag;
    EXPECT_FALSE(parse_program_bytes(bytes.substr(0, keep), "program.fb", diag)) << keep;
    EXPECT_FALSE(diag.ok());
  }
  Rng rng(1);
  const Machine wse2 = machine("wse2");
  for (int round = 0; round < 5000; ++round) {
    std::string changed = bytes;
    for (uint32_t k = 0; k <= rng.below(4); ++k)
      changed[rng.below(uint32_t(bytes.size()))] = char(rng.below(256));
    Diag diag;
    const auto p = parse_program_bytes(changed, "program.fb", diag);
    EXPECT_TRUE(p || !diag.ok());
    if (p) verify(*p, wse2, diag);
  }
}

TEST(Text, ReadsBackEqual) {
  const Program p = sample_program();
  const std::string text = program_text(p);
  Diag diag;
  const auto back = parse_program_text(text, "p.csptext", diag);
  ASSERT_TRUE(back) << diag.to_string() << text;
  EXPECT_EQ(*back, p);
  EXPECT_EQ(program_text(*back), text);
  EXPECT_THAT(text, HasSubstr("1: fmovs d1, 0x3f800000"));
  EXPECT_THAT(text, HasSubstr("positions: [\"W>ER\", \"-\", \"W>R\"]"));
  Program empty;
  const auto nothing = parse_program_text(program_text(empty), "p.csptext", diag);
  ASSERT_TRUE(nothing) << diag.to_string();
  EXPECT_EQ(*nothing, empty);
}

TEST(Text, MistakesHaveTheirLine) {
  const std::string text = program_text(sample_program());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    const size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    if (at != std::string::npos) changed.replace(at, from.size(), to);
    Diag diag;
    EXPECT_FALSE(parse_program_text(changed, "p.csptext", diag)) << to;
    return diag.to_string();
  };
  // The line of the instruction, counted in the text itself.
  const size_t at = text.find("1: fmovs");
  const auto line = 1 + std::count(text.begin(), text.begin() + std::ptrdiff_t(at), '\n');
  EXPECT_THAT(with("1: fmovs", "1: fmovz"), HasSubstr("p.csptext:" + std::to_string(line) + ":"));
  EXPECT_THAT(with("1: fmovs", "1: fmovz"), HasSubstr("unknown instruction 'fmovz'"));
  EXPECT_THAT(with("1: fmovs", "2: fmovs"), HasSubstr("begins with its number, here '1:'"));
  EXPECT_THAT(with("W>ER", "W>EQ"), HasSubstr("'W>EQ' is no switch position"));
  EXPECT_THAT(with("kind: control", "kind: controll"), HasSubstr("did you mean 'control'?"));
  EXPECT_THAT(with("01ff207f", "01ff20z"), HasSubstr("pairs of hexadecimal digits"));
  EXPECT_THAT(with("\nmemcpy:", "\nmemcopy:"), HasSubstr("did you mean 'memcpy'?"));
  EXPECT_THAT(with("version: 3", "version: 4"), HasSubstr("version 4, these tools read version 3"));
  EXPECT_THAT(with("address: 96", "address: 65536"), HasSubstr("must be from 0 to 65535"));
}

TEST(HostYaml, ReadsBackEqualWithItsPorts) {
  const Program p = sample_program();
  const std::string text = host_part_to_yaml(*p.host, p.ports);
  Diag diag;
  std::vector<HostPort> ports;
  const auto back = host_part_from_yaml(text, "host.yaml", ports, diag);
  ASSERT_TRUE(back) << diag.to_string() << text;
  EXPECT_EQ(*back, *p.host);
  EXPECT_EQ(ports, p.ports);
  Diag wrong;
  std::vector<HostPort> none;
  EXPECT_FALSE(
      host_part_from_yaml("model: m\npolicy: x\ndtype: fp32\nsteps:\n  - {kind: sent, port: p, tensor: t}\n",
                          "host.yaml", none, wrong));
  EXPECT_THAT(wrong.to_string(), HasSubstr("host.yaml:5:12: error: 'kind' is 'sent'"));
}

TEST(HostYaml, CopiesAndLaunchesReadBackEqual) {
  const HostPart host = resident_host();
  std::vector<HostPort> ports;
  Diag diag;
  const auto back = host_part_from_yaml(host_part_to_yaml(host, {}), "host.yaml", ports, diag);
  ASSERT_TRUE(back) << diag.to_string();
  EXPECT_EQ(*back, host);
}

TEST(HostYaml, StatesOfTrainingReadBackEqual) {
  HostPart host = training_host();
  host.scalars[0].rate->steps_restart = false;
  std::vector<HostPort> ports;
  Diag diag;
  const auto back = host_part_from_yaml(host_part_to_yaml(host, {}), "host.yaml", ports, diag);
  ASSERT_TRUE(back) << diag.to_string();
  EXPECT_EQ(*back, host);
}

TEST(HostYaml, CopiesOfTheNetworkReadBackEqual) {
  HostPart host = sample_host();
  EXPECT_THAT(host_part_to_yaml(host, {}), Not(HasSubstr("cop")));  // one network says nothing of copies
  host.copies = 2;
  for (HostStep step : std::vector<HostStep>(host.steps)) {
    step.copy = 1;
    host.steps.push_back(step);
  }
  host.kernels[0].copy = 1;
  const std::string text = host_part_to_yaml(host, {});
  EXPECT_THAT(text, HasSubstr("{kind: send, port: in, tensor: \"in:0\", copy: 1}"));
  std::vector<HostPort> ports;
  Diag diag;
  const auto back = host_part_from_yaml(text, "host.yaml", ports, diag);
  ASSERT_TRUE(back) << diag.to_string() << text;
  EXPECT_EQ(*back, host);
  Diag wrong;
  EXPECT_FALSE(host_part_from_yaml("model: m\npolicy: x\ndtype: fp32\ncopies: 129\n", "host.yaml", ports, wrong));
  EXPECT_THAT(wrong.to_string(), HasSubstr("'copies' is 129, must be from 1 to 128"));
}

TEST(HostYaml, PortsAndMemoryAlone) {
  const std::string text =
      "ports:\n  - {name: a, direction: input, side: west, position: 3, color: 5}\n"
      "constants:\n  - {symbol: m, rect: [1, 2, 3, 4], bytes_per_pe: 8, offset: 16}\n";
  Diag diag;
  std::vector<HostPort> ports;
  const auto host = host_part_from_yaml(text, "host.yaml", ports, diag);
  ASSERT_TRUE(host) << diag.to_string();
  EXPECT_TRUE(host->steps.empty());
  EXPECT_EQ(ports, (std::vector<HostPort>{{"a", true, Port::west, 3, 5}}));
  EXPECT_EQ(host->constants, (std::vector<Constant>{{"m", {1, 2, 3, 4}, 8, 16}}));
  Diag wrong;
  EXPECT_FALSE(host_part_from_yaml("ports: []\nsteps: []\n", "host.yaml", ports, wrong));
  EXPECT_THAT(wrong.to_string(), HasSubstr("host.yaml:2"));
  EXPECT_THAT(wrong.to_string(), HasSubstr("steps"));
}

class Folder : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_ = fs::path(::testing::TempDir()) /
           (std::string("folder_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(dir_);
    fs::create_directories(dir_);
    folder_ = (dir_ / "p.csp").string();
  }
  void TearDown() override { fs::remove_all(dir_); }
  void write() {
    Diag diag;
    ASSERT_TRUE(write_program(folder_, sample_program(), weights_,
                              {version(), "-m wse2", {{"policy", "medium"}}}, diag))
        << diag.to_string();
  }
  fs::path dir_;
  std::string folder_;
  std::vector<uint8_t> weights_ = std::vector<uint8_t>(80, 7);
};

TEST_F(Folder, ReadsBackEqual) {
  write();
  write();  // replaces the first
  Diag diag;
  const auto loaded = read_program(folder_, diag);
  ASSERT_TRUE(loaded) << diag.to_string();
  EXPECT_EQ(loaded->program, sample_program());
  EXPECT_EQ(loaded->weights, weights_);
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_), fs::directory_iterator()), 1);
}

TEST_F(Folder, ACustomMachineTravelsWithTheProgram) {
  Machine m = machine("wse2");
  m.name = "mine";
  m.router.hop_cycles = 3;
  Program p = sample_program();
  set_program_machine(p, m);
  Diag diag;
  ASSERT_TRUE(write_program(folder_, p, weights_, {}, diag));
  const auto loaded = read_program(folder_, diag);
  ASSERT_TRUE(loaded) << diag.to_string();
  EXPECT_EQ(program_machine(loaded->program, diag), m);
  std::ifstream in(folder_ + "/machine.yaml");
  const std::string text(std::istreambuf_iterator<char>(in), {});
  EXPECT_THAT(text, HasSubstr("  hop_cycles: 3\n"));
  EXPECT_EQ(parse_machine(text, "machine.yaml", diag), m);
}

TEST_F(Folder, EveryKindOfDamageIsADiagnostic) {
  const auto complaint = [&] {
    Diag diag;
    EXPECT_FALSE(read_program(folder_, diag));
    return diag.to_string();
  };
  EXPECT_THAT(complaint(), HasSubstr("no such program"));
  write();
  const auto replace = [&](const char* file, auto change) {
    write();
    std::string bytes;
    {
      std::ifstream in(folder_ + "/" + file, std::ios::binary);
      bytes.assign(std::istreambuf_iterator<char>(in), {});
    }
    change(bytes);
    std::ofstream(folder_ + "/" + file, std::ios::binary) << bytes;
    return complaint();
  };
  EXPECT_THAT(replace("program.fb", [](std::string& b) { b.resize(b.size() / 2); }),
              HasSubstr("program.fb: error"));
  EXPECT_THAT(replace("program.fb", [](std::string& b) { b[100] = char(b[100] ^ 1); }),
              HasSubstr("manifest says"));
  EXPECT_THAT(replace("program.fb", [](std::string& b) { b.clear(); }), HasSubstr("program.fb: error"));
  EXPECT_THAT(replace("weights.bin", [](std::string& b) { b += "x"; }), HasSubstr("weights.bin: error"));
  EXPECT_THAT(replace("machine.yaml",
                      [](std::string& b) { b.replace(b.find("hop_cycles: 1"), 13, "hop_cycles: 2"); }),
              AllOf(HasSubstr("machine.yaml: error"), HasSubstr("manifest says")));
  EXPECT_THAT(replace("manifest.json", [](std::string& b) { b = "{"; }), HasSubstr("manifest.json: error"));
  write();
  fs::remove(folder_ + "/program.fb");
  EXPECT_THAT(complaint(), HasSubstr("no such file"));
}

TEST_F(Folder, OtherFoldersAreNotReplaced) {
  fs::create_directories(folder_);
  std::ofstream(folder_ + "/thesis.txt") << "years of work";
  Diag diag;
  EXPECT_FALSE(write_program(folder_, sample_program(), weights_, {}, diag));
  EXPECT_TRUE(fs::exists(folder_ + "/thesis.txt"));
}

TEST(Machines, SimdWidthsNameInstructionsThatWalkVectors) {
  for (const std::string& name : machine_names()) {
    for (const auto& [mnemonic, width] : machine(name).simd_width) {
      const auto op = isa::op_from_mnemonic(mnemonic);
      ASSERT_TRUE(op) << mnemonic;
      EXPECT_TRUE(isa::has_vector_form(*op)) << mnemonic;
    }
  }
}

}  // namespace
}  // namespace cs
