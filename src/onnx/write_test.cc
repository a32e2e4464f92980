// SPDX-License-Identifier: Apache-2.0
// What is written is read again: as standard operators with the same meaning.
#include "onnx/write.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/interpret.h"
#include "graph/text.h"
#include "octet/error.h"
#include "onnx/import.h"
#include "onnx/onnx.pb.h"
#include "ops/registry.h"

namespace octet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

octet_onnx::ModelProto parsed(const WrittenModel& written) {
  octet_onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromArray(written.bytes.data(), static_cast<int>(written.bytes.size())));
  return model;
}

std::vector<std::string> operators_of(const WrittenModel& written) {
  std::vector<std::string> names;
  const octet_onnx::ModelProto model = parsed(written);
  for (const auto& node : model.graph().node()) names.push_back(node.op_type());
  return names;
}

Tensor ramp(const Shape& shape) {
  Tensor tensor(Dtype::f32, shape);
  f32 value = -3.0f;
  for (f32& x : tensor.mutable_as<f32>()) x = value += 0.375f;
  return tensor;
}

// Runs the graph and what is read back of it on the same input, and gives the operators of the file.
std::vector<std::string> round_trip(std::string_view text, f32 tolerance = 0.0f) {
  const Graph graph = parse_graph(text, find_op);
  const WrittenModel written = write_onnx(graph);
  const Graph again = import_onnx(written.bytes);
  std::vector<Tensor> inputs;
  for (ValueId id : graph.inputs) inputs.push_back(ramp(graph.value(id).type.shape));
  const auto expected = interpret(graph, inputs), got = interpret(again, inputs);
  EXPECT_EQ(expected.size(), got.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(expected[i].type(), got[i].type());
    const auto a = expected[i].as<f32>(), b = got[i].as<f32>();
    for (size_t k = 0; k < a.size(); ++k) EXPECT_NEAR(a[k], b[k], tolerance) << k;
  }
  return operators_of(written);
}

TEST(WriteOnnx, WhatPassesFoldedStandsBesideItAgain) {
  EXPECT_THAT(round_trip(R"(graph "g"(%x: f32[1,2,3,3], %r: f32[1,2,3,3]) {
    const %w: f32[2,2,1,1] = {1.0, 2.0, -1.0, 0.5}
    const %b: f32[2] = {0.5, -0.5}
    %y: f32[1,2,3,3] = Conv(%x, %w, %b, %r) {activation="clip", activation_max=2.0, activation_min=-1.0} name "c" from ["c", "sum", "act"]
    return %y
  })"),
              ElementsAre("Conv", "Add", "Clip"));
  EXPECT_THAT(round_trip(R"(graph "g"(%x: f32[2,3]) {
    const %w: f32[3,2] = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}
    const %b: f32[2] = {0.5, -0.5}
    %y: f32[2,2] = MatMul(%x, %w, %b) {activation="relu"} name "m"
    return %y
  })"),
              ElementsAre("Gemm", "Relu"));
  EXPECT_THAT(round_trip(R"(graph "g"(%x: f32[1,2,3]) {
    const %w: f32[3,2] = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}
    const %b: f32[2] = {0.5, -0.5}
    %m: f32[1,2,2] = MatMul(%x, %w, %b) name "m"
    %y: f32[1,2,2] = Add(%m, %m) {activation="leaky_relu", activation_alpha=0.25} name "a"
    return %y
  })"),
              ElementsAre("MatMul", "Add", "Add", "LeakyRelu"));
}

TEST(WriteOnnx, NewOperatorsInWordsOfOldOnes) {
  EXPECT_THAT(round_trip(R"(graph "g"(%x: f32[4,4]) {
    %s: f32[4,4] = Swish(%x) name "silu"
    %y: f32[4,4] = Gelu(%s) name "gelu"
    return %y
  })",
                         1e-6f),
              ElementsAre("Sigmoid", "Mul", "Div", "Erf", "Add", "Mul", "Mul"));
}

TEST(WriteOnnx, NamesOfNodesAndValuesStay) {
  const WrittenModel written = write_onnx(parse_graph(R"(graph "net"(%in: f32[1,1,2,2]) {
    const %w: f32[1,1,1,1] = {2.0}
    %out: f32[1,1,2,2] = Conv(%in, %w) {activation="relu"} name "/conv" from ["/conv", "/bn", "/relu"]
    return %out
  })",
                                                      find_op));
  const octet_onnx::ModelProto model = parsed(written);
  EXPECT_EQ(model.graph().name(), "net");
  EXPECT_EQ(model.graph().node(0).name(), "/conv");
  EXPECT_EQ(model.graph().node(1).name(), "/relu");
  EXPECT_EQ(model.graph().node(1).output(0), "out");
  EXPECT_EQ(model.graph().input(0).name(), "in");
  EXPECT_EQ(model.graph().initializer(0).name(), "w");
}

TEST(WriteOnnx, TheOldestOpsetThatHasThemAll) {
  const auto opset = [](std::string_view call) {
    const std::string text = std::string(
                                 "graph \"g\"(%x: f32[2,3]) {\n const %axes: s64[1] = {1}\n const "
                                 "%none: s64[0] = {}\n %y: f32[2,1] = ") +
                             std::string(call) + " name \"n\"\n return %y\n}";
    return write_onnx(parse_graph(text, find_op)).opset;
  };
  EXPECT_EQ(opset("ReduceMax(%x, %axes)"), 17);
  EXPECT_EQ(opset("ReduceSum(%x, %axes)"), 17);
  EXPECT_EQ(opset("ReduceMean(%x, %none) {noop_with_empty_axes=1}"), 18);
  EXPECT_EQ(opset("Mish(%x)"), 18);
  EXPECT_EQ(opset("Gelu(%x) {approximate=\"tanh\"}"), 20);
}

TEST(WriteOnnx, WhatStaysRealIsReadAgain) {
  const WrittenModel written = write_onnx(parse_graph(R"(graph "g"(%x: f32[1,1,2,2]) {
    const %w: f32[1,1,1,1] = {2.0}
    %a: f32[1,1,2,2] = Conv(%x, %w) {exact=1} name "kept" as "f32" channel_loss ""
    %y: f32[1,1,2,2] = Conv(%a, %w) name "free"
    return %y
  })",
                                                      find_op));
  EXPECT_THAT(written.kept_float, ElementsAre("kept"));
  const Graph graph = import_onnx(written.bytes);
  EXPECT_EQ(graph.nodes[0].decision.precision, Precision::f32);
  EXPECT_EQ(graph.nodes[0].attrs.i("exact", 0), 1);
  EXPECT_EQ(graph.nodes[1].decision.precision, Precision::none);
  EXPECT_FALSE(graph.nodes[1].attrs.has("exact"));
}

TEST(WriteOnnx, ListsAllThatOnnxLacks) {
  const Graph graph = parse_graph(R"(graph "g"(%x: f32[1,4,2,2]) {
    %a: f32[1,4,2,2] = GatherChannels(%x) {channels=ints[3, 2, 1, 0]} name "shuffle"
    %y: f32[1,4,2,2] = GatherChannels(%a) {channels=ints[3, 2, 1, 0]} name "again"
    return %y
  })",
                                  find_op);
  try {
    write_onnx(graph);
    ADD_FAILURE() << "written";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Error::Code::unsupported);
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("2 of its nodes"), HasSubstr("shuffle"),
                                             HasSubstr("again")));
  }
}

}  // namespace
}  // namespace octet
