// SPDX-License-Identifier: Apache-2.0
#include "pipeline/slow_engine.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "graph/text.h"
#include "ops/registry.h"

namespace octet {
namespace {

// A convolution of what Q and DQ of that type make of x.
Graph quantized_with(const std::string& type) {
  return parse_graph(fmt::format(R"(graph "g"(%x: f32[1,8,32,32], %w: f32[8,8,3,3]) {{
  const %s: f32[] = {{0.1}}
  const %z: {0}[] = {{7}}
  %q: {0}[1,8,32,32] = QuantizeLinear(%x, %s, %z) name "q"
  %r: f32[1,8,32,32] = DequantizeLinear(%q, %s, %z) name "d"
  %y: f32[1,8,32,32] = Conv(%r, %w) {{pads=ints[1, 1, 1, 1]}} name "conv"
  return %y
}})",
                                 type),
                     find_op);
}

TEST(SlowEngine, ConversionsOnTheReferenceAreNamed) {
  const auto said = slower_than_float(quantized_with("e4m3fn"));
  ASSERT_TRUE(said);
  EXPECT_NE(said->find("slower than FP32"), std::string::npos) << *said;
  EXPECT_NE(said->find("0 of 1 convolutions"), std::string::npos) << *said;
  EXPECT_NE(said->find("2 conversions"), std::string::npos) << *said;
  EXPECT_NE(said->find("its codes are e4m3fn"), std::string::npos) << *said;
}

TEST(SlowEngine, IntegersOnTheReferenceAreNamed) {
  const Graph graph = parse_graph(R"(graph "g"(%x: u8[4,8], %w: u8[8,8]) {
    %y: s32[4,8] = MatMulInteger(%x, %w) name "product"
    return %y
  })",
                                  find_op);
  EXPECT_TRUE(has_integer_products(graph));
  EXPECT_FALSE(has_integer_products(quantized_with("u8")));
  const auto said = slower_than_float(graph);
  ASSERT_TRUE(said);
  EXPECT_NE(said->find("node 'product' (MatMulInteger): no kernel"), std::string::npos) << *said;
}

TEST(SlowEngine, AFewConversionsAreNoReason) {
  const auto said = slower_than_float(quantized_with("u8"));
  EXPECT_FALSE(said) << *said;
}

TEST(SlowEngine, SixteenBitsHaveKernels) {
  for (const char* type : {"u16", "s16"}) {
    const auto said = slower_than_float(quantized_with(type));
    ASSERT_TRUE(said);
    EXPECT_EQ(said->find("reference"), std::string::npos) << *said;
  }
}

}  // namespace
}  // namespace octet
