// SPDX-License-Identifier: Apache-2.0
// Which dynamic dimensions infer_types() takes for equal: passes compare shapes by it.
#include "passes/infer_types.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/check.h"
#include "core/run_work.h"
#include "graph/propagate.h"
#include "graph/text.h"
#include "ops/registry.h"

namespace octet {
namespace {

const Shape& shape_of(const Graph& graph, const char* name) {
  return graph.value(graph.find_value(name)).type.shape;
}

// Two inputs [?,4,6,6] whose dynamic batches carry the given numbers; %a and %b are convolutions, %s is their sum.
Graph two_inputs(s64 first, s64 second) {
  Graph graph = parse_graph(R"(graph "g"(%x: f32[?,4,6,6], %z: f32[?,4,6,6]) {
    const %w: f32[4,4,1,1] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}
    %a: f32[] = Conv(%x, %w) name "a"
    %b: f32[] = Conv(%z, %w) name "b"
    %c: f32[] = Relu(%a) name "c"
    %s: f32[] = Add(%a, %b) name "s"
    return %s, %c
  })",
                            find_op);
  graph.value(graph.inputs[0]).type.shape[0] = first;
  graph.value(graph.inputs[1]).type.shape[0] = second;
  infer_types(graph);
  return graph;
}

TEST(InferTypes, BatchesOfTwoInputsAreNotEqual) {
  const Graph graph = two_inputs(-2, -3);
  EXPECT_NE(shape_of(graph, "a"), shape_of(graph, "b"));
  EXPECT_NE(shape_of(graph, "a"), shape_of(graph, "s"));
  EXPECT_EQ(shape_of(graph, "a"), shape_of(graph, "c"));
  EXPECT_EQ(shape_of(graph, "a"), shape_of(graph, "x"));
  EXPECT_EQ(to_string(shape_of(graph, "s")), "?x4x6x6");
}

TEST(InferTypes, OneBatchOfTwoInputsIsEqual) {
  const Graph graph = two_inputs(-2, -2);
  EXPECT_EQ(shape_of(graph, "a"), shape_of(graph, "b"));
  EXPECT_EQ(shape_of(graph, "a"), shape_of(graph, "s"));
}

// How many places there are is up to the data, and no sample has six.
TEST(InferTypes, ElementTypesAreToldWhereShapesAreNot) {
  Graph graph = parse_graph(R"(graph "g"(%x: f32[?]) {
    const %sizes: s64[2] = {3, 2}
    %a: s64[] = NonZero(%x) name "a"
    %r: f32[] = Reshape(%a, %sizes) name "r"
    %t: f32[] = Transpose(%r) name "t"
    %e: f32[] = Equal(%t, %t) name "e"
    %p: f32[] = Add(%t, %t) name "p"
    return %e, %p
  })",
                            find_op);
  infer_types(graph);
  for (const char* name : {"r", "t", "e", "p"}) {
    EXPECT_TRUE(shape_of(graph, name).is_unknown()) << name;
    const Dtype dtype = graph.value(graph.find_value(name)).type.dtype;
    EXPECT_EQ(dtype, name[0] == 'e' ? Dtype::boolean : Dtype::s64) << name;
  }
}

TEST(InferTypes, WhatTheModelMakesEqualIsEqual) {
  Graph graph = parse_graph(R"(graph "g"(%x: f32[?,4], %z: f32[?,4]) {
    %a: f32[] = Concat(%x, %z) {axis=1} name "a"
    return %a
  })",
                            find_op);
  graph.value(graph.inputs[0]).type.shape[0] = -2;
  graph.value(graph.inputs[1]).type.shape[0] = -3;
  infer_types(graph);
  EXPECT_EQ(shape_of(graph, "x"), shape_of(graph, "z"));
}

TEST(InferTypes, SizesOfOneImageKeepAPyramidTogether) {
  Graph graph = parse_graph(R"(graph "g"(%x: f32[?,2,?,?], %n: f32[?,2]) {
    const %scales: f32[4] = {1, 1, 2, 2}
    %half: f32[] = MaxPool(%x) {kernel_shape=ints[2, 2], strides=ints[2, 2]} name "half"
    %back: f32[] = Resize(%half, _, %scales) {mode="nearest"} name "back"
    return %back, %n
  })",
                            find_op);
  for (int d : {0, 2, 3}) graph.value(graph.inputs[0]).type.shape[d] = -2 - d;
  graph.value(graph.inputs[1]).type.shape[0] = -9;
  infer_types(graph);
  EXPECT_EQ(shape_of(graph, "back"), shape_of(graph, "x"));
}

// Caches of rank 4 have their lengths where images have height and width.
TEST(InferTypes, LengthsOfTwoCachesAreNotEqual) {
  Graph graph = parse_graph(R"(graph "g"(%x: f32[1,4,?,8], %z: f32[1,4,?,8]) {
    %a: f32[] = Relu(%x) name "a"
    %b: f32[] = Relu(%z) name "b"
    return %a, %b
  })",
                            find_op);
  graph.value(graph.inputs[0]).type.shape[2] = -2;
  graph.value(graph.inputs[1]).type.shape[2] = -3;
  infer_types(graph);
  EXPECT_EQ(shape_of(graph, "a"), shape_of(graph, "x"));
  EXPECT_NE(shape_of(graph, "a"), shape_of(graph, "b"));
}

// 8 and 9 have one half, and neither has a hop of 160; a model that has positions for 512 refuses sizes that tell more.
TEST(InferTypes, SizesWithOneQuotientAreNotStatic) {
  for (const char* const positions : {"", "[512]"}) {
    Graph graph = parse_graph(fmt::format(R"(graph "g"(%x: f32[1,2,?]) {{
      %p: f32[] = MaxPool(%x) {{kernel_shape=ints[2], strides=ints[2]}} name "p"
      %h: f32[] = AveragePool(%x) {{kernel_shape=ints[161], pads=ints[80, 80], strides=ints[160], count_include_pad=1}} name "h"
      {}
      return %p, %h
    }})",
                                          *positions == 0 ? "" : R"(const %zero: s64[1] = {0}
      const %axis: s64[1] = {2}
      const %size: s64[3] = {1, 1, 512}
      %table: f32[] = ConstantOfShape(%size) name "table"
      %n: s64[] = Shape(%x) {start=2} name "n"
      %part: f32[] = Slice(%table, %zero, %n, %axis) name "part"
      %sum: f32[] = Add(%x, %part) name "sum")"),
                              find_op);
    infer_types(graph);
    EXPECT_EQ(to_string(shape_of(graph, "p")), "1x2x?") << positions;
    EXPECT_EQ(to_string(shape_of(graph, "h")), "1x2x?") << positions;
    EXPECT_NE(shape_of(graph, "p"), shape_of(graph, "h"));
  }
}

TEST(InferTypes, CountsThatDataTellAreNotEqual) {
  Graph graph = parse_graph(R"(graph "g"(%x: f32[4], %z: f32[4]) {
    %a: s64[] = NonZero(%x) name "a"
    %b: s64[] = NonZero(%z) name "b"
    %c: s64[] = Neg(%a) name "c"
    return %b, %c
  })",
                            find_op);
  infer_types(graph);
  EXPECT_NE(shape_of(graph, "a"), shape_of(graph, "b"));
  EXPECT_EQ(shape_of(graph, "a"), shape_of(graph, "c"));
}

// A transformer's positions are for one size of image.
TEST(InferTypes, ImagesGetTheOneSizeThatTheModelTakes) {
  Graph graph = parse_graph(R"(graph "g"(%x: f32[?,1,?,?]) {
    const %flat: s64[2] = {0, -1}
    const %positions: f32[1,4] = {1, 2, 3, 4}
    %a: f32[] = MaxPool(%x) {kernel_shape=ints[32, 32], strides=ints[32, 32]} name "a"
    %b: f32[] = Reshape(%a, %flat) name "b"
    %c: f32[] = Add(%b, %positions) name "c"
    return %c
  })",
                            find_op);
  const OpenSizes open(graph);
  EXPECT_EQ(open.settled(graph), "");
  infer_types(graph);
  EXPECT_EQ(to_string(shape_of(graph, "x")), "?x1x64x64");
  EXPECT_EQ(to_string(shape_of(graph, "c")), "?x4");
  EXPECT_THAT(
      open.settled(graph),
      testing::StartsWith("sizes that the model leaves open are fixed: input 'x' ?x1x?x? is "
                          "?x1x64x64 now; others it refuses: "));
  EXPECT_THAT(open.settled(graph), testing::HasSubstr("'c'"));
}

// Exporters of transformers leave them open, with all other sizes.
TEST(InferTypes, OpenChannelsOfImagesAreThoseThatTheModelTakes) {
  const auto settled = [](std::string_view weights) {
    Graph graph = parse_graph(fmt::format(R"(graph "g"(%x: f32[?,?,?,?]) {{
      const %w: {}
      %a: f32[] = Conv(%x, %w) name "a"
      return %a
    }})",
                                          weights),
                              find_op);
    infer_types(graph);
    return to_string(shape_of(graph, "x")) + " " + to_string(shape_of(graph, "a"));
  };
  EXPECT_EQ(settled("f32[2,3,1,1] = {1, 2, 3, 4, 5, 6}"), "?x3x?x? ?x2x?x?");
  EXPECT_EQ(settled("f32[2,1,1,1] = {1, 2}"), "?x1x?x? ?x2x?x?");
  EXPECT_THROW(settled("f32[1,5,1,1] = {1, 2, 3, 4, 5}"), Error);
}

// Exporters that name every dimension: rows have the length of the first weights, channels of lines theirs.
TEST(InferTypes, OpenRowsAreThoseThatTheFirstWeightsTake) {
  const auto settled = [](std::string_view input, std::string_view weights, std::string_view op) {
    Graph graph = parse_graph(fmt::format(R"(graph "g"(%x: f32{}) {{
      const %w: {}
      %a: f32[] = {}(%x, %w) name "a"
      return %a
    }})",
                                          input, weights, op),
                              find_op);
    infer_types(graph);
    return to_string(shape_of(graph, "x")) + " " + to_string(shape_of(graph, "a"));
  };
  EXPECT_EQ(settled("[?,?]", "f32[3,2] = {1, 2, 3, 4, 5, 6}", "MatMul"), "?x3 ?x2");
  EXPECT_EQ(settled("[?,?,?]", "f32[3,2] = {1, 2, 3, 4, 5, 6}", "MatMul"), "?x?x3 ?x?x2");
  EXPECT_EQ(settled("[?,?,?]", "f32[2,3,1] = {1, 2, 3, 4, 5, 6}", "Conv"), "?x3x? ?x2x?");
}

TEST(InferTypes, SequencesAreLongEnoughForTheirConvolutions) {
  Graph graph = parse_graph(R"(graph "g"(%x: f32[?,1,?]) {
    %a: f32[] = MaxPool(%x) {kernel_shape=ints[400], strides=ints[320]} name "a"
    return %a
  })",
                            find_op);
  const OpenSizes open(graph);
  infer_types(graph);
  EXPECT_EQ(open.settled(graph), "");  // chosen for the compiler's own samples, and no less open
  EXPECT_EQ(to_string(shape_of(graph, "x")), "?x1x?");
  EXPECT_EQ(to_string(shape_of(graph, "a")), "?x1x?");
}

// Attention of every pixel to every other: 18 GiB at the usual sizes. Users give smaller images.
TEST(InferTypes, SizesStayOpenWhereTheUsualOnesPassALimit) {
  Graph graph = parse_graph(R"(graph "g"(%x: f32[?,1,?,?]) {
    const %rows: s64[3] = {0, -1, 1}
    const %columns: s64[3] = {0, 1, -1}
    %a: f32[] = Reshape(%x, %rows) name "a"
    %b: f32[] = Reshape(%x, %columns) name "b"
    %c: f32[] = MatMul(%a, %b) name "c"
    return %c
  })",
                            find_op);
  const OpenSizes open(graph);
  infer_types(graph);
  EXPECT_EQ(open.settled(graph), "");
  EXPECT_EQ(to_string(shape_of(graph, "x")), "?x1x?x?");
  EXPECT_EQ(to_string(shape_of(graph, "c")), "?x?x?");
}

TEST(InferTypes, SaysWhichSizesAModelRefused) {
  Graph graph = parse_graph(R"(graph "g"(%x: f32[?,1,?,?]) {
    const %bias: f32[7] = {1, 2, 3, 4, 5, 6, 7}
    %a: f32[] = Add(%x, %bias) name "a"
    return %a
  })",
                            find_op);
  try {
    infer_types(graph);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.field(), "CompileOptions.input_shapes");
    EXPECT_NE(std::string(error.what()).find("taking 2x1x224x224 for input 'x'"), std::string::npos)
        << error.what();
  }
  EXPECT_EQ(to_string(shape_of(graph, "x")), "?x1x?x?");
}

TEST(InferTypes, NumbersAreForgotten) {
  Graph graph = two_inputs(-2, -3);
  forget_size_numbers(graph);
  for (const char* name : {"x", "z", "a", "b", "s"})
    EXPECT_EQ(shape_of(graph, name), (Shape{Shape::kDynamic, 4, 6, 6})) << name;
}

// Sizes that the model refuses whatever they are, behind constants that take nearly all steps of folding: each attempt would fold them
// again.
TEST(InferTypes, AttemptsThatFailTogetherTakeAsMuchAsFoldingMay) {
  constexpr int kNodes = 4000;
  std::string text = R"(graph "g"(%x: f32[?,?,?,?]) {
    const %s: s64[1] = {1000}
    const %shape: s64[2] = {7, 11}
    %c0: f32[] = ConstantOfShape(%s)
  )";
  for (int i = 0; i < kNodes; ++i)
    text += fmt::format("%c{}: f32[] = Neg(%c{}) name \"n{}\"\n", i + 1, i, i);
  text += fmt::format("%r: f32[] = Reshape(%x, %shape)\n return %r, %c{}\n}}", kNodes);
  Graph graph = parse_graph(text, find_op);
  FoldingBudget budget(graph);
  const f64 most = budget.left();
  PropagateOptions options;
  options.budget = &budget;
  const RunWork work;
  EXPECT_THROW(infer_types(graph, options), Error);
  EXPECT_GT(RunWork::taken(), most / 2);
  EXPECT_LT(RunWork::taken(), 2.5 * most);
  EXPECT_EQ(budget.left(), most);
}

}  // namespace
}  // namespace octet
