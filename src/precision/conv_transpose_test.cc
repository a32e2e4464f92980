// SPDX-License-Identifier: Apache-2.0
// Calibrated transposed convolutions: Q/DQ around them and their weights, so that the pass splits them; else a reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "graph/interpret.h"
#include "graph/text.h"
#include "ops/registry.h"
#include "precision/precision.h"
#include "precision/quantized_testing.h"

namespace octet {
namespace {

Graph transposed(const std::string& attributes, const std::string& first_weight = "0.5",
                 const std::string& first_bias = "0.5") {
  return parse_graph(
      R"(graph "g"(%x: f32[1,2,3,3]) {
    const %w: f32[2,3,2,2] = {)" +
          first_weight +
          R"(, -1.0, 0.25, 0.125, 0.75, 1.0, -0.5, 0.25, 2.0, 1.5, -1.0, 0.5, 0.25, 0.5, 1.0, -0.75, 0.5, 1.0, 1.25, -0.25, 0.5, 1.0, 2.0, -2.0}
    const %b: f32[3] = {)" +
          first_bias + R"(, -0.25, 1.0}
    %t: f32[1,3,6,6] = ConvTranspose(%x, %w, %b) {)" +
          attributes + R"(} name "t"
    %y: f32[1,3,6,6] = Softmax(%t) {axis=1} name "y"
    return %y
  })",
      find_op);
}

// Assigns, places and fuses as calibration does.
Graph quantized(Graph graph) {
  const Ranges ranges{{graph.find_value("x"), {.min = -2.0f, .max = 2.0f, .threshold = 2.0f}},
                      {graph.find_value("t"), {.min = -8.0f, .max = 8.0f, .threshold = 8.0f}}};
  quantize_as_calibrated(graph, ranges);
  return graph;
}

const Node* node_of(const Graph& graph, std::string_view op) {
  const auto at =
      std::ranges::find_if(graph.nodes, [&](const Node& node) { return node.op->name == op; });
  return at == graph.nodes.end() ? nullptr : &*at;
}

TEST(CalibratedConvTranspose, BecomesAConvolutionOfCodes) {
  const Graph real = transposed("strides=ints[2, 2]"), graph = quantized(real);
  EXPECT_EQ(node_of(graph, "ConvTranspose"), nullptr);
  ASSERT_NE(node_of(graph, "QConv"), nullptr);
  EXPECT_EQ(node_of(graph, "QConv")->decision.precision, Precision::int8);
  EXPECT_NE(node_of(graph, "DepthToSpace"), nullptr);
  Tensor x(Dtype::f32, {1, 2, 3, 3});
  for (size_t i = 0; i < 18; ++i) x.mutable_as<f32>()[i] = static_cast<f32>(i) / 9.0f - 1.0f;
  const Tensor want = interpret(real, std::vector{x})[0], got = interpret(graph, std::vector{x})[0];
  // Half a code of the result, of each input (weights of one output sum to 8 at most), of each weight (inputs to 2).
  const f32 most = (8.0f / 127 + 8 * 2.0f / 127 + 2 * 2.0f / 127) / 2;
  // Softmax moves by at most half of what its inputs do.
  for (size_t i = 0; i < want.as<f32>().size(); ++i)
    EXPECT_NEAR(got.as<f32>()[i], want.as<f32>()[i], most / 2) << i;
}

// As in convolutions, the scale of weights next to nothing is the one in which 32 bits hold the bias.
TEST(CalibratedConvTranspose, ADeadChannelKeepsItsBias) {
  Graph real = transposed("strides=ints[2, 2]");
  const auto weights = real.value(real.find_value("w")).constant.mutable_as<f32>();  // [2, 3, 2, 2]
  for (size_t i = 0; i < weights.size(); ++i) {
    if (i / 4 % 3 == 0) weights[i] *= 1e-12f;
  }
  const Graph graph = quantized(real);
  ASSERT_NE(node_of(graph, "QConv"), nullptr);
  const Tensor x(Dtype::f32, {1, 2, 3, 3});
  const Tensor want = interpret(real, std::vector{x})[0], got = interpret(graph, std::vector{x})[0];
  // Of zeros remains the bias, off by half a code of the result.
  for (size_t i = 0; i < want.as<f32>().size(); ++i)
    EXPECT_NEAR(got.as<f32>()[i], want.as<f32>()[i], 8.0f / 127 / 2 / 2) << i;
}

TEST(CalibratedConvTranspose, SaysWhyItStaysReal) {
  const auto reason = [](const Graph& graph) {
    const Node* node = node_of(graph, "ConvTranspose");
    return node == nullptr
               ? ""
               : std::string(to_string(node->decision.precision)) + ": " + node->decision.reason;
  };
  EXPECT_EQ(reason(quantized(transposed("strides=ints[2, 2]", "nan"))),
            "f32: its weights hold an infinity or a NaN");
  EXPECT_EQ(reason(quantized(transposed("dilations=ints[3, 3], strides=ints[1, 1]"))), "");
  for (const char* bias : {"nan", "1e38", "-2e9"})
    EXPECT_EQ(reason(quantized(transposed("strides=ints[2, 2]", "0.5", bias))),
              "f32: its bias passes 2^30");
  Graph last = transposed("strides=ints[2, 2]");
  last.outputs.push_back(last.find_value("t"));
  EXPECT_EQ(reason(quantized(std::move(last))), "f32: its result is an output of the model");
  Graph uneven = transposed("pads=ints[0, 0, 0, 0], strides=ints[2, 1]");
  EXPECT_EQ(reason(quantized(std::move(uneven))), "f32: its strides 2 and 1 differ");
}

TEST(CalibratedNormalization, SaysWhyItStaysReal) {
  const Graph graph = quantized(transposed("strides=ints[2, 2]"));
  ASSERT_NE(node_of(graph, "Softmax"), nullptr);
  EXPECT_EQ(node_of(graph, "Softmax")->decision.reason,
            "calibration leaves Softmax in f32: codes before it cost accuracy (docs/adr/0010)");
}

}  // namespace
}  // namespace octet
