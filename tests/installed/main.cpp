// What somebody writes against the installed library: compiles a network and a CSL program, runs both, reads
// values and figures, and gets errors.
//   consumer MODEL.onnx INPUTS.npz EXPECTED.npz LAYOUT.csl
#include <wafersmith/wafersmith.h>

#include <cmath>
#include <iostream>

namespace {

int failures = 0;

void expect(bool condition, const std::string& what) {
  if (condition) return;
  std::cerr << "not so: " << what << "\n";
  ++failures;
}

// ONNX Runtime's outputs, at the tolerance of fp32.
void expect_near(const wafersmith::Array& have, const wafersmith::Array& want) {
  const std::vector<float> a = have.values<float>(), b = want.values<float>();
  expect(a.size() == b.size(), "sizes of " + want.name);
  float largest = 0, error = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    largest = std::max(largest, std::abs(b[i]));
    error = std::max(error, std::abs(a[i] - b[i]));
  }
  expect(error <= 1e-4F * largest, want.name + " is off by " + std::to_string(error));
}

void network(const std::string& model, const std::string& inputs, const std::string& expected) {
  const wafersmith::Program program = wafersmith::compile_model(model, {.machine = "wse3"});
  expect(program.is_model() && program.machine() == "wse3", "a model for wse3");
  expect(!program.kernels().empty() && program.bytes_per_pe() <= 48 * 1024, "kernels that fit");
  program.save("net.csp");
  wafersmith::Session session(wafersmith::Program::load("net.csp"), {.threads = 2});
  const wafersmith::RunResult result = session.run(wafersmith::read_npz(inputs));
  for (const wafersmith::Array& want : wafersmith::read_npz(expected))
    expect_near(wafersmith::find(result.outputs, want.name), want);
  const wafersmith::Statistics s = session.statistics();
  expect(s.cycles >= result.cycles && s.flops > 0 && s.wavelet_hops > 0, "figures of the run");
  for (const wafersmith::KernelFigures& k : s.kernels)
    expect(k.origin == "host" || (k.busy > 0 && k.busy + k.stalled + k.idle > 0), "figures of " + k.name);
  expect(s.json.find("wafersmith-stats/1") != std::string::npos, "stats.json");
}

// Four PEs in a row add up their vectors: the PE at the end has 1 + 2 + 3 + 4 times each element.
void kernel(const std::string& layout) {
  const wafersmith::Program program = wafersmith::compile_layout(
      layout, {.machine = "wse2", .params = {{"P", "4"}, {"B", "8"}, {"buffered", "false"}}});
  expect(!program.is_model() && program.functions().size() == 1 && program.variables().size() == 2,
         "what it exports");
  wafersmith::Session session(program);
  std::vector<float> x;
  for (int pe = 1; pe <= 4; ++pe)
    for (int i = 0; i < 8; ++i) x.push_back(float(pe * (i + 1)));
  session.copy_to("data", wafersmith::Array::of("x", {1, 4, 8}, x));
  session.launch("run");
  session.wait();
  expect(session.statistics().launches.size() == 1 && session.cycle() > 0, "one launch");
  const wafersmith::Array all = session.read("data");
  const std::vector<float> sums = all.values<float>();
  int sums_found = 0;
  for (size_t pe = 0; pe < 4; ++pe) sums_found += sums[pe * 8] == 10 && sums[pe * 8 + 7] == 80;
  expect(sums_found == 1, "one PE has the sums");
}

// Memory of others is read where it lies, and results keep the memory that they were made in.
void bytes() {
  std::vector<float> values{1, 2, 3};
  const float* there = values.data();
  const wafersmith::Bytes borrowed = wafersmith::Bytes::borrow(there, 12);
  wafersmith::Bytes other = borrowed;
  expect(static_cast<const void*>(borrowed.data()) == there && other.borrowed() && other == borrowed, "borrowed");
  other[0] = std::byte{1};  // a copy of its own from here on
  expect(!other.borrowed() && values[0] == 1 && !(other == borrowed), "written");
  wafersmith::Bytes taken = wafersmith::Bytes::take(std::move(values));
  const wafersmith::Bytes moved = std::move(taken);
  expect(static_cast<const void*>(moved.data()) == there && moved.size() == 12 && taken.empty(), "taken over");
  const wafersmith::Bytes copy = moved;
  expect(copy.data() != moved.data() && copy == moved, "copied");
  other.resize(16);
  expect(other.size() == 16 && other[15] == std::byte{0}, "longer");
}

void errors() {
  try {
    wafersmith::compile_model("missing.onnx");
    expect(false, "a missing file is an error");
  } catch (const wafersmith::Error& e) {
    expect(!e.messages().empty() && std::string(e.what()).find("missing.onnx") != std::string::npos,
           "its name");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  try {
    network(argv[1], argv[2], argv[3]);
    kernel(argv[4]);
    bytes();
    errors();
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
  std::cout << "wafersmith " << wafersmith::version() << ": " << (failures == 0 ? "ok" : "failed") << "\n";
  return failures == 0 ? 0 : 1;
}
