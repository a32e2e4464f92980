// SPDX-License-Identifier: Apache-2.0
// s8 codes as u8: activations and constants that stand in their place, never weights.
#include <gtest/gtest.h>

#include "graph/text.h"
#include "graph/verify.h"
#include "ops/registry.h"
#include "plan/plan.h"

namespace octet {
namespace {

TEST(Relabel, WeightsOfARecurrentLayerStay) {
  Graph graph = parse_graph(R"(graph "g"(%x: f32[3,1,2]) {
  const %s: f32[] = {0.02}
  const %z: s8[] = {3}
  const %w: s8[1,4,2] = {1, 2, 3, 4, 5, 6, 7, 8}
  const %r: s8[1,4,1] = {1, 2, 3, 4}
  const %m: f32[2,1,4] = {0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1}
  %q: s8[3,1,2] @(0.02, 3) = QuantizeLinear(%x, %s, %z) name "q"
  %y: f32[3,1,1,1] = QLSTM(%q, %w, %r, _, _, _, _, _, %m) {input_zero_points=ints[3], output_dtype="f32", state_scale=0.0078125} name "lstm"
  return %y
})",
                            find_op);
  relabel_s8(graph);
  verify(graph);
  const Node& lstm = graph.nodes.back();
  EXPECT_EQ(graph.value(lstm.inputs[0]).type.dtype, Dtype::u8);
  EXPECT_EQ(lstm.attrs.ints("input_zero_points", std::vector<s64>{})[0], 131);
  for (size_t i : {1u, 2u}) EXPECT_EQ(graph.value(lstm.inputs[i]).type.dtype, Dtype::s8) << i;
}

}  // namespace
}  // namespace octet
