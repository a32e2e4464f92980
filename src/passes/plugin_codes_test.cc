// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/interpret.h"
#include "graph/text.h"
#include "ops/registry.h"
#include "passes/pass.h"
#include "passes/plugin_testing.h"
#include "plugin/plugin_op.h"

namespace octet {

void plugin_codes(Graph&, Rewrites&);

namespace {

constexpr const char* kBetween = R"(graph "g"(%x: f32[3]) {
  const %s: f32[] = {0.5}
  const %z: u8[] = {100}
  %q: u8[3] = QuantizeLinear(%x, %s, %z) name "q"
  %d: u8[3] = test/Double(%q) name "double"
  %y: f32[3] = DequantizeLinear(%d, %s, %z) name "y"
  return %y
})";

TEST(PluginCodes, GetTheParametersOfTheirNeighbors) {
  add_double_plugin();
  Graph graph = parse_graph(kBetween, find_op);
  Rewrites rewrites;
  plugin_codes(graph, rewrites);
  ASSERT_TRUE(is_plugin_codes(graph.nodes[1]));
  const Tensor x = Tensor::of<f32>({3}, std::vector<f32>{1.0f, -2.6f, 60.0f});
  // 60 is 220 as a code, and twice that more than codes reach.
  EXPECT_THAT(interpret(graph, {&x, 1})[0].as<f32>(), testing::ElementsAre(2.0f, -5.0f, 77.5f));
}

TEST(PluginCodes, WithoutParametersAreNotEvaluated) {
  add_double_plugin();
  const Graph graph = parse_graph(kBetween, find_op);
  const Tensor x = Tensor::of<f32>({3}, std::vector<f32>{1.0f, -2.6f, 60.0f});
  try {
    interpret(graph, {&x, 1});
    FAIL() << "evaluated";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("codes without a scale"));
  }
}

}  // namespace
}  // namespace octet
