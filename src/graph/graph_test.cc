// SPDX-License-Identifier: Apache-2.0
#include "graph/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace octet
