// SPDX-License-Identifier: Apache-2.0
#include "plan/repeats.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "graph/interpret.h"
#include "graph/text.h"
#include "graph/verify.h"
#include "ops/registry.h"

namespace octet {
namespace {

// Two layers, each with a mask of its own for all queries; a constant says the same of each of them.
constexpr std::string_view kLayers = R"(graph "g"(%m: bool[2,1,1,4], %s: f32[2,2,3,4]) {
  const %all: bool[1,1,3,1] = {1, 1, 1}
  const %zero: f32[] = {0}
  const %least: f32[1] = {-100}
  const %zero2: f32[] = {0}
  const %least2: f32[1] = {-100}
  %a: bool[2,1,3,4] = And(%all, %m)
  %w: f32[2,1,3,4] = Where(%a, %zero, %least)
  %y: f32[2,2,3,4] = Add(%s, %w)
  %w2: f32[2,1,3,4] = Where(%a, %zero2, %least2)
  %z: f32[2,2,3,4] = Mul(%w2, %y)
  return %z
})";

std::vector<Tensor> inputs_of_layers() {
  Tensor mask(Dtype::boolean, {2, 1, 1, 4}), scores(Dtype::f32, {2, 2, 3, 4});
  const bool values[] = {true, false, true, true, false, true, false, true};
  std::copy(std::begin(values), std::end(values), reinterpret_cast<bool*>(mask.mutable_data()));
  f32 x = -2.0f;
  for (f32& score : scores.mutable_as<f32>()) score = x += 0.3f;
  return {mask, scores};
}

void expect_same(const Graph& before, const Graph& after, const std::vector<Tensor>& inputs) {
  verify(after);
  const std::vector<Tensor> a = interpret(before, inputs), b = interpret(after, inputs);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].type(), b[i].type());
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(a[i].data()), a[i].bytes()),
              std::string(reinterpret_cast<const char*>(b[i].data()), b[i].bytes()));
  }
}

Shape shape_of(const Graph& graph, const char* name) {
  return graph.value(graph.find_value(name)).type.shape;
}

TEST(Repeats, MasksOfAllQueriesHaveOneRow) {
  const Graph before = parse_graph(kLayers, find_op);
  Graph after = before;
  narrow_repeats(after);
  EXPECT_EQ(shape_of(after, "a"), (Shape{2, 1, 1, 4}));
  EXPECT_EQ(shape_of(after, "w"), (Shape{2, 1, 1, 4}));
  EXPECT_EQ(shape_of(after, "y"), (Shape{2, 2, 3, 4}));
  EXPECT_EQ(after.nodes.size(), before.nodes.size() - 1) << "the second mask is the first";
  expect_same(before, after, inputs_of_layers());
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

void expect_unchanged(const std::string& text) {
  const Graph before = parse_graph(text, find_op);
  Graph after = before;
  narrow_repeats(after);
  EXPECT_EQ(print(before), print(after));
}

TEST(Repeats, WhatDiffersStaysWhole) {
  expect_unchanged(replaced(std::string(kLayers), "{1, 1, 1}", "{1, 0, 1}"));
}

// By the caller, by a node that sums, and by one whose other operand is no larger.
TEST(Repeats, WhatIsReadWholeStaysWhole) {
  expect_unchanged(R"(graph "g"(%m: bool[2,1,1,4]) {
  const %all: bool[1,1,3,1] = {1, 1, 1}
  %a: bool[2,1,3,4] = And(%all, %m)
  return %a
})");
  expect_unchanged(R"(graph "g"(%m: f32[2,1,1,4]) {
  const %all: f32[1,1,3,1] = {2, 2, 2}
  const %axes: s64[1] = {2}
  %a: f32[2,1,3,4] = Mul(%all, %m)
  %y: f32[2,1,1,4] = ReduceSum(%a, %axes)
  return %y
})");
  expect_unchanged(R"(graph "g"(%m: f32[2,1,1,4], %s: f32[4]) {
  const %all: f32[1,1,3,1] = {2, 2, 2}
  %a: f32[2,1,3,4] = Mul(%all, %m)
  %y: f32[2,1,3,4] = Add(%a, %s)
  return %y
})");
}

// One reader takes a row, which another value of it is made of; another wants all of them.
TEST(Repeats, OneOfTwoReadersWantsTheWhole) {
  const Graph before = parse_graph(R"(graph "g"(%m: f32[2,1,1,4], %s: f32[2,2,3,4]) {
  const %all: f32[1,1,3,1] = {2, 2, 2}
  const %other: f32[1,1,3,1] = {3, 3, 3}
  %a: f32[2,1,3,4] = Mul(%all, %m)
  %b: f32[2,1,3,4] = Add(%a, %other)
  %c: f32[2,1,3,4] = Mul(%m, %other)
  %d: f32[2,1,3,4] = Sub(%b, %c)
  %y: f32[2,2,3,4] = Add(%s, %d)
  return %y, %a
})",
                                   find_op);
  Graph after = before;
  narrow_repeats(after);
  EXPECT_EQ(shape_of(after, "a"), (Shape{2, 1, 3, 4}));
  EXPECT_EQ(shape_of(after, "c"), (Shape{2, 1, 1, 4}));
  Tensor m(Dtype::f32, {2, 1, 1, 4}), s(Dtype::f32, {2, 2, 3, 4});
  f32 x = -1.5f;
  for (Tensor* tensor : {&m, &s})
    for (f32& value : tensor->mutable_as<f32>()) value = x += 0.4f;
  expect_same(before, after, {m, s});
}

}  // namespace
}  // namespace octet
