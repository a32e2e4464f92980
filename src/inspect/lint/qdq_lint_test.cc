// SPDX-License-Identifier: Apache-2.0
// Each rule of docs/qdq.md on a graph that breaks it; what a sound graph says is in the first test.
#include "inspect/lint/qdq_lint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/text.h"
#include "ops/registry.h"
#include "pipeline/float_model.h"

namespace octet {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

QdqLint lint_of(const std::string& body, std::vector<std::string> defaults = {}) {
  const std::string text = R"(graph "g"(%x: f32[1,2,4,4], %r: f32[1,2,4,4]) {
    const %s: f32[] = {0.5}
    const %t: f32[] = {0.25}
    const %z: s8[] = {0}
    const %u: u8[] = {3}
    const %w: s8[2,2,1,1] = {1, 2, 3, 4}
    const %ws: f32[2] = {0.5, 0.25}
    const %wz: s8[2] = {0, 0}
    const %real: f32[2,2,1,1] = {1.0, 2.0, 3.0, 4.0}
)" + body + "}";
  const Graph graph = parse_graph(text, find_op);
  PrecisionPlan plan;
  plan.int8 = true;
  return lint_qdq(graph, quantize(optimize(graph, {}), plan).graph, defaults);
}

constexpr const char* kInput = R"(
    %xq: s8[1,2,4,4] = QuantizeLinear(%x, %s, %z) name "xq" from ["xq"]
    %xd: f32[1,2,4,4] = DequantizeLinear(%xq, %s, %z) name "xd" from ["xd"]
)";
constexpr const char* kWeights = R"(
    %wd: f32[2,2,1,1] = DequantizeLinear(%w, %ws, %wz) {axis=0} name "wd" from ["wd"]
)";
constexpr const char* kOutput = R"(
    %yq: s8[1,2,4,4] = QuantizeLinear(%y, %s, %z) name "yq" from ["yq"]
    %yd: f32[1,2,4,4] = DequantizeLinear(%yq, %s, %z) name "yd" from ["yd"]
    return %yd
)";

std::vector<std::string> rules(const QdqLint& lint, const std::string& runtime, bool blocking) {
  std::vector<std::string> found;
  const auto take = [&](const QdqNote& note) {
    if (note.runtime == runtime && note.blocks == blocking) found.push_back(note.rule);
  };
  for (const QdqNote& note : lint.notes) take(note);
  for (const QdqPair& pair : lint.pairs) {
    for (const QdqNote& note : pair.notes) take(note);
  }
  return found;
}

TEST(QdqLint, ASoundConvolution) {
  const QdqLint lint = lint_of(std::string(kInput) + kWeights + R"(
    %y: f32[1,2,4,4] = Conv(%xd, %wd) name "c" from ["c"]
)" + kOutput);
  ASSERT_EQ(lint.pairs.size(), 3u);
  EXPECT_EQ(lint.pairs[0].role, QdqRole::activation);
  EXPECT_EQ(lint.pairs[0].quantize, "xq");
  EXPECT_EQ(lint.pairs[0].tensor, "x");
  EXPECT_TRUE(lint.pairs[0].int8);
  EXPECT_THAT(lint.pairs[0].fate, HasSubstr("'c' (QConv)"));
  EXPECT_EQ(lint.pairs[1].role, QdqRole::weights);
  EXPECT_EQ(count_blocking(lint, "tensorrt"), 0);
  EXPECT_EQ(count_blocking(lint, "onnxruntime"), 0);
  EXPECT_EQ(count_blocking(lint, "octet"), 0);
  EXPECT_THAT(rules(lint, "tensorrt", false), Contains("R13"));
}

TEST(QdqLint, R4_WeightsWithoutDequantize) {
  const QdqLint lint = lint_of(std::string(kInput) + R"(
    %y: f32[1,2,4,4] = Conv(%xd, %real) name "c" from ["c"]
)" + kOutput);
  EXPECT_THAT(rules(lint, "tensorrt", true), Contains("R4"));
  EXPECT_THAT(rules(lint, "onnxruntime", true), Contains("R4"));
  EXPECT_THAT(rules(lint, "octet", true), Not(Contains("R4")));  // it gives them codes
  EXPECT_TRUE(lint.pairs[0].int8);
}

TEST(QdqLint, R4_InputWithoutDequantize) {
  const QdqLint lint = lint_of(std::string(kWeights) + R"(
    %y: f32[1,2,4,4] = Conv(%x, %wd) name "c" from ["c"]
)" + kOutput);
  for (const char* runtime : {"octet", "tensorrt", "onnxruntime"})
    EXPECT_THAT(rules(lint, runtime, true), Contains("R4")) << runtime;
  EXPECT_FALSE(lint.pairs[0].int8);
}

TEST(QdqLint, R5_OneInputOfASumIsReal) {
  const QdqLint lint = lint_of(std::string(kInput) + R"(
    %y: f32[1,2,4,4] = Add(%xd, %r) name "sum" from ["sum"]
)" + kOutput);
  EXPECT_THAT(rules(lint, "tensorrt", true), Contains("R5"));
  EXPECT_FALSE(lint.pairs[0].int8);
  EXPECT_THAT(lint.pairs[0].fate, HasSubstr("in f32"));
}

TEST(QdqLint, R6_BiasInCodes) {
  const QdqLint lint = lint_of(std::string(kInput) + kWeights + R"(
    const %b: s32[2] = {7, -7}
    const %bs: f32[2] = {0.25, 0.125}
    %bd: f32[2] = DequantizeLinear(%b, %bs) {axis=0} name "bd" from ["bd"]
    %y: f32[1,2,4,4] = Conv(%xd, %wd, %bd) name "c" from ["c"]
)" + kOutput);
  EXPECT_THAT(rules(lint, "tensorrt", true), Contains("R6"));
  EXPECT_EQ(lint.pairs[2].role, QdqRole::bias);
  EXPECT_TRUE(lint.pairs[2].int8);
}

TEST(QdqLint, R8_QuantizedTwice) {
  const QdqLint lint = lint_of(std::string(kInput) + R"(
    %q2: s8[1,2,4,4] = QuantizeLinear(%xd, %t, %z) name "q2" from ["q2"]
    %y: f32[1,2,4,4] = DequantizeLinear(%q2, %t, %z) name "d2" from ["d2"]
    return %y
)");
  EXPECT_THAT(rules(lint, "tensorrt", false), Contains("R8"));
}

TEST(QdqLint, R9_RealSkipConnection) {
  const QdqLint lint = lint_of(std::string(kInput) + kWeights + R"(
    %c: f32[1,2,4,4] = Conv(%xd, %wd) name "c" from ["c"]
    %y: f32[1,2,4,4] = Add(%c, %r) name "sum" from ["sum"]
)" + kOutput);
  EXPECT_THAT(rules(lint, "tensorrt", true), Contains("R9"));
}

TEST(QdqLint, R10_AScaleForEachChannelOfAnActivation) {
  const QdqLint lint = lint_of(R"(
    %xq: s8[1,2,4,4] = QuantizeLinear(%x, %ws, %wz) {axis=1} name "xq" from ["xq"]
    %y: f32[1,2,4,4] = DequantizeLinear(%xq, %ws, %wz) {axis=1} name "xd" from ["xd"]
    return %y
)");
  EXPECT_THAT(rules(lint, "tensorrt", true), Contains("R10"));
}

TEST(QdqLint, ParametersThatTensorRtDoesNotTake) {
  const QdqLint lint = lint_of(R"(
    %xq: u8[1,2,4,4] = QuantizeLinear(%x, %s, %u) name "xq" from ["xq"]
    %y: f32[1,2,4,4] = DequantizeLinear(%xq, %s, %u) name "xd" from ["xd"]
    return %y
)");
  EXPECT_GE(count_blocking(lint, "tensorrt"), 2);  // u8, and a zero point
  EXPECT_EQ(count_blocking(lint, "octet"), 0);
}

TEST(QdqLint, MissingZeroPointAndAxis) {
  const QdqLint lint = lint_of(std::string(kInput) + R"(
    %wd: f32[2,2,1,1] = DequantizeLinear(%w, %ws, %wz) name "wd" from ["wd"]
    %y: f32[1,2,4,4] = Conv(%xd, %wd) name "c" from ["c"]
)" + kOutput,
                               {"xq"});
  const std::vector<QdqNote>& input = lint.pairs[0].notes;
  EXPECT_TRUE(std::any_of(input.begin(), input.end(), [](const QdqNote& note) {
    return note.text.find("no zero point") != std::string::npos;
  }));
  const std::vector<QdqNote>& weights = lint.pairs[1].notes;
  EXPECT_TRUE(std::any_of(weights.begin(), weights.end(), [](const QdqNote& note) {
    return note.text.find("no axis") != std::string::npos;
  }));
}

}  // namespace
}  // namespace octet
