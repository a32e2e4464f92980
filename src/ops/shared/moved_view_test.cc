// SPDX-License-Identifier: Apache-2.0
// Views of what moves elements against the operators themselves.
#include "ops/shared/moved_view.h"

#include <gtest/gtest.h>

#include "graph/interpret.h"
#include "graph/text.h"
#include "ops/registry.h"

namespace octet {
namespace {

// The view of the graph's input that its output is, through all of its nodes.
std::optional<StridedView> view_of(const Graph& graph) {
  const Uses uses(graph);
  std::vector<ValueId> path;
  for (ValueId id = graph.outputs[0]; uses.producer(id) >= 0;
       id = graph.nodes[static_cast<size_t>(uses.producer(id))].inputs[0])
    path.push_back(id);
  std::optional<StridedView> view = dense_view(graph.value(graph.inputs[0]).type.shape);
  for (; view && !path.empty(); path.pop_back()) {
    const Node& node = graph.nodes[static_cast<size_t>(uses.producer(path.back()))];
    EXPECT_TRUE(makes_views(node)) << describe(node);
    const auto output = std::ranges::find(node.outputs, path.back()) - node.outputs.begin();
    view = view_behind(graph, node, static_cast<size_t>(output), *view);
  }
  return view;
}

void expect_view(const std::string& nodes) {
  const Graph graph = parse_graph("graph \"g\"(%x: s32[4,6,10]) {\n" + nodes + "\n}", find_op);
  Tensor x(Dtype::s32, {4, 6, 10});
  for (size_t i = 0; i < 240; ++i) x.mutable_as<s32>()[i] = static_cast<s32>(i);
  const Tensor want = interpret(graph, std::vector{x})[0];
  const std::optional<StridedView> view = view_of(graph);
  ASSERT_TRUE(view) << nodes;
  EXPECT_EQ(view->shape, want.shape()) << nodes;
  Tensor got(Dtype::s32, view->shape);
  strided_copy(*view, Dtype::s32, x.data(), got.mutable_data());
  EXPECT_TRUE(std::ranges::equal(got.as<s32>(), want.as<s32>())) << nodes;
}

TEST(MovedView, OfEveryMove) {
  expect_view("%y: s32[10,4,6] = Transpose(%x) {perm=ints[2, 0, 1]}\n return %y");
  expect_view("const %k: s64[4] = {4, 6, 2, 5}\n %y: s32[4,6,2,5] = Reshape(%x, %k)\n return %y");
  expect_view("const %a: s64[2] = {0, 2}\n %y: s32[1,4,1,6,10] = Unsqueeze(%x, %a)\n return %y");
  expect_view("const %i: s64[] = {-1}\n %y: s32[4,10] = Gather(%x, %i) {axis=1}\n return %y");
  expect_view("const %i: s32[1] = {2}\n %y: s32[4,1,10] = Gather(%x, %i) {axis=1}\n return %y");
  expect_view(
      "const %s: s64[3] = {1, 3, 2}\n %a: s32[4,1,10], %b: s32[4,3,10], %c: s32[4,2,10] = "
      "Split(%x, %s) {axis=1}\n return %b");
}

// The input in its result: what a kernel writes so that its result lies as behind the moves.
TEST(MovedView, OfWhatIsMoved) {
  const Graph graph = parse_graph(R"(graph "g"(%x: s32[4,6,10]) {
    const %k: s64[4] = {4, 3, 2, 10}
    const %h: s64[3] = {6, 4, 10}
    %a: s32[4,3,2,10] = Reshape(%x, %k)
    %b: s32[3,2,4,10] = Transpose(%a) {perm=ints[1, 2, 0, 3]}
    %y: s32[6,4,10] = Reshape(%b, %h)
    return %y
})",
                                  find_op);
  Tensor x(Dtype::s32, {4, 6, 10});
  for (size_t i = 0; i < 240; ++i) x.mutable_as<s32>()[i] = static_cast<s32>(i);
  const Tensor y = interpret(graph, std::vector{x})[0];
  std::optional<StridedView> view = dense_view(y.shape());
  for (size_t n = graph.nodes.size(); view && n-- > 0;)
    view = view_before(graph, graph.nodes[n], *view);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->shape, x.shape());
  Tensor got(Dtype::s32, x.shape());
  strided_copy(*view, Dtype::s32, y.data(), got.mutable_data());
  EXPECT_TRUE(std::ranges::equal(got.as<s32>(), x.as<s32>()));
  EXPECT_FALSE(reshaped_view(*view, {40, 6}));  // axes that lie apart
  EXPECT_TRUE(reshaped_view(*view, {2, 2, 6, 10}));
}

// As torch.nn.MultiheadAttention makes heads: parts of a row, turned, in other sizes.
TEST(MovedView, OfMovesBehindEachOther) {
  expect_view(R"(
    const %k: s64[4] = {4, 6, 2, 5}
    const %i: s64[] = {1}
    const %h: s64[4] = {4, 3, 2, 5}
    %p: s32[4,6,2,5] = Reshape(%x, %k)
    %t: s32[2,4,6,5] = Transpose(%p) {perm=ints[2, 0, 1, 3]}
    %g: s32[4,6,5] = Gather(%t, %i) {axis=0}
    %r: s32[4,3,2,5] = Reshape(%g, %h)
    %y: s32[2,4,5,3] = Transpose(%r) {perm=ints[2, 0, 3, 1]}
    return %y)");
}

// Elements that lie neither side by side nor at one distance are no view.
TEST(MovedView, WhatCopiesIsNone) {
  const Graph graph = parse_graph(R"(graph "g"(%x: s32[4,6,10]) {
    const %k: s64[2] = {24, 10}
    %t: s32[6,4,10] = Transpose(%x) {perm=ints[1, 0, 2]}
    %y: s32[24,10] = Reshape(%t, %k)
    return %y
  })",
                                  find_op);
  EXPECT_FALSE(view_of(graph));
  const Graph picks = parse_graph(R"(graph "g"(%x: s32[4,6,10]) {
    const %i: s64[2] = {0, 3}
    %y: s32[4,2,10] = Gather(%x, %i) {axis=1}
    return %y
  })",
                                  find_op);
  EXPECT_FALSE(view_of(picks));
}

}  // namespace
}  // namespace octet
