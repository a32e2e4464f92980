// SPDX-License-Identifier: Apache-2.0
#include "graph/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <unordered_set>

namespace octet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Node node_of(std::vector<ValueId> inputs, std::vector<ValueId> outputs) {
  Node node;
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  return node;
}

TEST(Uses, EachReaderOnceInGraphOrder) {
  Graph graph;
  const ValueId x = graph.add_value("x", {}), y = graph.add_value("y", {});
  const ValueId z = graph.add_value("z", {}), unread = graph.add_value("unread", {});
  graph.inputs = {x};
  graph.nodes = {node_of({x}, {y}), node_of({x, kNoValue, x}, {z, kNoValue}),
                 node_of({y, z, x}, {unread})};
  graph.outputs = {z, z};
  const Uses uses(graph);
  EXPECT_THAT(uses.consumers(x), ElementsAre(0, 1, 2));
  EXPECT_THAT(uses.consumers(y), ElementsAre(2));
  EXPECT_THAT(uses.consumers(unread), IsEmpty());
  EXPECT_EQ(uses.producer(x), -1);
  EXPECT_EQ(uses.producer(unread), 2);
  EXPECT_EQ(uses.only_consumer(y), 2);
  EXPECT_EQ(uses.only_consumer(x), -1);
  EXPECT_EQ(uses.only_consumer(z), -1) << "an output is read by the caller too";
  EXPECT_TRUE(uses.is_output(z));
  EXPECT_FALSE(uses.is_output(y));
}

TEST(Uses, OfAnEmptyGraph) {
  Graph graph;
  const ValueId x = graph.add_value("x", {});
  EXPECT_THAT(Uses(graph).consumers(x), IsEmpty());
}

// Names that are taken in a row are not tried one by one, by each value anew: 20,000 times 20,000.
TEST(Graph, NamesThatAreTakenInARow) {
  constexpr u64 kNames = 20'000;
  Graph graph;
  graph.add_value("v", {});
  for (u64 n = 0; n < kNames; ++n) graph.add_value("v_" + std::to_string(kNames + n), {});
  std::unordered_set<std::string> names;
  for (u64 n = 0; n < kNames; ++n) names.insert(graph.value(graph.add_value("v", {})).name);
  EXPECT_EQ(names.size(), kNames);
}

}  // namespace
}  // namespace octet
