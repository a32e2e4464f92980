// SPDX-License-Identifier: Apache-2.0
// Names that keep layers in f32, or ask for their types, where a layer is called like an operator.
#include <gtest/gtest.h>

#include "graph/text.h"
#include "ops/registry.h"
#include "precision/constraints.h"
#include "precision/precision.h"

namespace octet {
namespace {

// As exporters write networks whose first layer of a kind has the kind's name.
Graph two_convolutions(const std::string& first) {
  return parse_graph(R"(graph "g"(%x: f32[1,1,4,4]) {
  const %w: f32[1,1,1,1] = {2.0}
  %a: f32[1,1,4,4] = Conv(%x, %w) name ")" +
                         first + R"("
  %b: f32[1,1,4,4] = Conv(%a, %w) name "Conv_1"
  %y: f32[1,1,4,4] = Relu(%b) name "relu"
  return %y
})",
                     find_op);
}

std::vector<bool> kept(const Graph& graph, std::vector<std::string> names) {
  const KeptNames kept_names(graph, names);
  std::vector<bool> result;
  for (const Node& node : graph.nodes) result.push_back(kept_names.keeper_of(node) != nullptr);
  return result;
}

TEST(KeptNames, ANameOfALayerIsNoOperator) {
  const Graph named = two_convolutions("Conv"), plain = two_convolutions("Conv_0");
  EXPECT_EQ(kept(named, {"Conv"}), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(kept(plain, {"Conv"}), (std::vector<bool>{true, true, false}));
  EXPECT_EQ(kept(named, {"Conv_1", "Relu"}), (std::vector<bool>{false, true, true}));
  EXPECT_EQ(kept(named, {}), (std::vector<bool>{false, false, false}));
}

TEST(KeptNames, NorIsThatOfANodeInALayer) {
  Graph graph = two_convolutions("fused");
  graph.nodes[0].origins = {"Conv", "Relu_0"};
  EXPECT_EQ(kept(graph, {"Conv"}), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(kept(graph, {"Relu_0"}), (std::vector<bool>{true, false, false}));
}

TEST(KeptNames, AndTypesAreAskedForLikewise) {
  const auto asked = [](const std::string& first) {
    PrecisionPlan plan;
    plan.int8 = true;
    plan.constraints = {{"Conv", Precision::f16, false}};
    std::vector<Precision> types;
    for (const LayerRequest& layer :
         requests_of(two_convolutions(first), plan, false, nullptr).layers)
      types.push_back(layer.precision);
    return types;
  };
  EXPECT_EQ(asked("Conv"),
            (std::vector<Precision>{Precision::f16, Precision::none, Precision::none}));
  EXPECT_EQ(asked("Conv_0"),
            (std::vector<Precision>{Precision::f16, Precision::f16, Precision::none}));
}

}  // namespace
}  // namespace octet
