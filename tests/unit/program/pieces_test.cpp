// Tensors in pieces in a host part: the text reads back, and verify() names each way in which pieces are not
// the tensor.
#include <gmock/gmock.h>

#include <functional>

#include "tests/unit/program/sample_program.h"

namespace cs {
namespace {

using ::testing::HasSubstr;

std::string problems(const Program& p) {
  Diag diag;
  const bool ok = verify(p, machine("wse2"), diag);
  EXPECT_EQ(ok, diag.ok());
  return diag.to_string();
}

// y[1, 4] = v[2] and w[2], which streams bring; in:0[1, 4] gives its second and fourth element to the wafer.
Program sample_in_pieces() {
  Program p = sample_program();
  HostPart& h = *p.host;
  h.inputs[0].stride = 2;
  h.inputs[0].pieces = {{"odd", 1, 1}};
  h.outputs[0].stride = 4;
  h.outputs[0].pieces = {{"w", 2, 2}, {"v", 0, 2}};
  h.values[0].shape = {2};
  h.values.push_back({"w", DataType::f32, {1, 2}, 0});
  h.values.push_back({"odd", DataType::f32, {2}, -1});
  h.steps.pop_back();
  h.steps[0].tensor = "odd";
  h.steps.push_back(h.steps[1]);
  h.steps[2].port = "out2", h.steps[2].tensor = "w";
  return p;
}

TEST(Pieces, HaveEveryElementOfAnOutputOnce) {
  EXPECT_EQ(problems(sample_in_pieces()), "");
  const std::vector<std::pair<const char*, std::function<void(HostPart&)>>> breaks = {
      {"tensor 'y': error: pieces 'v' and 'w' both have element 1 of every 4",
       [](HostPart& h) { h.outputs[0].pieces[0].first = 1; }},
      {"tensor 'y': error: no piece has elements 2 to 3 of every 4",
       [](HostPart& h) { h.outputs[0].pieces.erase(h.outputs[0].pieces.begin()); }},
      {"tensor 'y': error: no piece has elements 0 to 1 of every 4",
       [](HostPart& h) { h.outputs[0].pieces.pop_back(); }},
      {"its 4 elements are not blocks of 3 each", [](HostPart& h) { h.outputs[0].stride = 3; }},
      {"its 4 elements are not blocks of 0 each", [](HostPart& h) { h.outputs[0].stride = 0; }},
      {"piece 'w' has 2 elements from 3 on, of every 4",
       [](HostPart& h) { h.outputs[0].pieces[0].first = 3; }},
      {"piece 'w' has 9223372036854775807 elements from 2 on, of every 4",
       [](HostPart& h) { h.outputs[0].pieces[0].length = INT64_MAX; }},
      {"piece 'w' has 3 elements, its place 2", [](HostPart& h) { h.values[1].shape = {3}; }},
      {"piece 'w' is f16, the tensor f32", [](HostPart& h) { h.values[1].type = DataType::f16; }},
      {"piece 'q' is no tensor", [](HostPart& h) { h.outputs[0].pieces[0].tensor = "q"; }},
      {"piece 'y' is in pieces itself", [](HostPart& h) { h.outputs[0].pieces[0].tensor = "y"; }},
      {"tensor 'v': error: is in pieces, as only inputs and outputs of the model can be",
       [](HostPart& h) {
         h.values[0].pieces = {{"w", 0, 2}};
       }},
      {"tensor 'y': error: no stream brings its piece 'axis'",
       [](HostPart& h) {
         h.outputs[0].pieces[0].tensor = "axis";
         h.host_constants[0].tensor.type = DataType::f32;
       }},
      {"gives 'w', a piece of 'y' that only a stream brings",
       [](HostPart& h) {
         h.steps[2] = {};
         h.steps[2].op = "relu", h.steps[2].inputs = {"v"}, h.steps[2].outputs = {"w"};
       }},
      {"gives tensor 'y', which is put together from its pieces",
       [](HostPart& h) { h.steps[2].tensor = "y"; }},
      {"no step gives the output 'y', all of its pieces", [](HostPart& h) { h.steps.pop_back(); }},
      {"piece 'y' is in pieces itself", [](HostPart& h) { h.inputs[0].pieces[0].tensor = "y"; }},
      {"pieces 'odd' and 'odd' both have element 1 of every 2",
       [](HostPart& h) { h.inputs[0].pieces.push_back(h.inputs[0].pieces[0]); }},
      {"uses 'odd', a piece of 'in:0' that only streams take",
       [](HostPart& h) {
         h.outputs.push_back({"z", DataType::f32, {2}, -1});
         HostStep& op = h.steps.emplace_back();
         op.op = "relu", op.inputs = {"odd"}, op.outputs = {"z"};
       }},
      {"piece 'z' is an input or output itself, not a value that a stream takes",
       [](HostPart& h) {
         h.outputs.push_back({"z", DataType::f32, {2}, -1});
         h.inputs[0].pieces[0].tensor = "z";
       }},
  };
  for (const auto& [message, damage] : breaks) {
    Program p = sample_in_pieces();
    damage(*p.host);
    EXPECT_THAT(problems(p), HasSubstr(message));
  }
  Program resident = sample_program();
  resident.host = resident_host();
  HostTensor& in = resident.host->inputs[0];
  resident.host->values.push_back({"part", in.type, in.shape, in.sample_dim});
  in.stride = 15, in.pieces = {{"part", 0, 15}};
  EXPECT_THAT(problems(resident), HasSubstr("is in pieces, which only streams bring and take"));
}

// What was read reads back, and the key that pieces need is asked for.
TEST(Pieces, ReadBack) {
  const Program p = sample_in_pieces();
  std::vector<HostPort> ports;
  Diag diag;
  std::string text = host_part_to_yaml(*p.host, p.ports);
  EXPECT_THAT(
      text,
      HasSubstr("stride: 4, pieces: [{tensor: w, first: 2, length: 2}, {tensor: v, first: 0, length: 2}]"));
  const auto back = host_part_from_yaml(text, "host.yaml", ports, diag);
  ASSERT_TRUE(back) << diag.to_string();
  EXPECT_EQ(*back, *p.host);
  text.replace(text.find("stride: 4, "), 11, "");
  EXPECT_FALSE(host_part_from_yaml(text, "host.yaml", ports, diag));
  EXPECT_THAT(diag.to_string(), HasSubstr("stride"));
}

}  // namespace
}  // namespace cs
