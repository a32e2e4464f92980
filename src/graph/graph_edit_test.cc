// SPDX-License-Identifier: Apache-2.0
#include "graph/graph_edit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/op_def.h"

namespace octet {
namespace {

using ::testing::ElementsAre;

constexpr OpDef kAny{.name = "Any", .inputs = {}, .outputs = {}};

Node named(std::string name) {
  Node node;
  node.op = &kAny;
  node.origins = {"onnx_" + name};
  node.name = std::move(name);
  return node;
}

Graph graph_of(std::initializer_list<const char*> names) {
  Graph graph;
  for (const char* name : names) graph.nodes.push_back(named(name));
  return graph;
}

std::vector<std::string> names(const Graph& graph) {
  std::vector<std::string> result;
  for (const Node& node : graph.nodes) result.push_back(node.name);
  return result;
}

TEST(GraphEdit, NodesComeBeforeAfterAndInThePlaceOfOthers) {
  Graph graph = graph_of({"a", "b", "c"});
  GraphEdit edit(graph);
  edit.insert_after(1, named("b+"));
  edit.insert_before(1, named("-b"));
  edit.insert_first(named("first"));
  edit.insert_before(1, named("--b"));
  edit.replace(2, {named("c1"), named("c2")});
  edit.insert_after(2, named("last"));
  EXPECT_THAT(names(graph), ElementsAre("a", "b", "c")) << "indices hold until the end";
  edit.apply();
  EXPECT_THAT(names(graph), ElementsAre("first", "a", "-b", "--b", "b", "b+", "c1", "c2", "last"));
}

TEST(GraphEdit, EmptyGraphsAndEmptyEdits) {
  Graph graph;
  GraphEdit edit(graph);
  edit.apply();
  edit.insert_first(named("only"));
  edit.apply();
  EXPECT_THAT(names(graph), ElementsAre("only"));
  edit.erase(0);
  edit.apply();
  EXPECT_TRUE(graph.nodes.empty());
}

TEST(GraphEdit, ANodeBesideAnotherCarriesItsOriginsAndItsDecision) {
  Node conv = named("conv");
  conv.decision = {Precision::int8, ReasonCode::moves_codes, "because"};
  const Node cast = node_beside(conv, &kAny, "conv.cast", {3});
  EXPECT_EQ(cast.name, "conv.cast");
  EXPECT_THAT(cast.origins, ElementsAre("onnx_conv"));
  EXPECT_EQ(cast.decision.reason, "because");
  EXPECT_THAT(cast.inputs, ElementsAre(3u));
  EXPECT_TRUE(cast.outputs.empty());
}

TEST(GraphEdit, AFusedNodeStandsForBoth) {
  Node conv = named("conv"), relu = named("relu");
  relu.outputs = {7};
  replace_fused(relu, conv, conv);
  EXPECT_EQ(relu.name, "conv");
  EXPECT_THAT(relu.outputs, ElementsAre(7u));
  EXPECT_THAT(relu.origins, ElementsAre("onnx_conv", "onnx_relu"));
  prepend_origins(relu, named("pad"));
  EXPECT_THAT(relu.origins, ElementsAre("onnx_pad", "onnx_conv", "onnx_relu"));
}

}  // namespace
}  // namespace octet
