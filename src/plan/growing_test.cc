// SPDX-License-Identifier: Apache-2.0
// One graph for many lengths computes what the model's graph computes for each, to the bit, whatever lies in rows that are not in use.
#include "plan/growing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "graph/interpret.h"
#include "graph/text.h"
#include "ops/registry.h"
#include "ops/shared/axes.h"
#include "plan/growing_testing.h"

namespace octet {
namespace {

using testing::HasSubstr;

std::vector<Shape> shapes_of(std::span<const Tensor> tensors) {
  std::vector<Shape> shapes;
  for (const Tensor& tensor : tensors) shapes.push_back(tensor.shape());
  return shapes;
}

// The first rows of `to` are those of `from`, or the other way round.
void copy_rows(const Tensor& from, Tensor& to, int axis) {
  const auto bytes = static_cast<s64>(dtype_bytes(from.dtype())) *
                     dims_product(from.shape(), axis + 1, from.shape().rank());
  const s64 rows = std::min(from.shape()[axis], to.shape()[axis]);
  for (s64 i = 0; i < dims_product(from.shape(), 0, axis); ++i)
    std::memcpy(to.mutable_data() + i * to.shape()[axis] * bytes,
                from.data() + i * from.shape()[axis] * bytes, static_cast<size_t>(rows * bytes));
}

// Rows that are not in use are of the kind that spoils every sum.
Tensor spoiled(const TensorType& type) {
  Tensor tensor(type.dtype, type.shape);
  if (type.dtype == Dtype::f32) {
    for (f32& v : tensor.mutable_as<f32>()) v = std::numeric_limits<f32>::quiet_NaN();
  } else {
    for (s64& v : tensor.mutable_as<s64>()) v = std::numeric_limits<s64>::min();
  }
  return tensor;
}

std::vector<Tensor> run(const Growing& growing, std::span<const Tensor> inputs, s64 length) {
  std::vector<Tensor> wide;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!growing.inputs[i].grows()) {
      wide.push_back(inputs[i]);
      continue;
    }
    wide.push_back(spoiled({inputs[i].dtype(), growing.shapes[i]}));
    copy_rows(inputs[i], wide.back(), growing.inputs[i].axis);
  }
  wide.push_back(Tensor::scalar<s64>(length));
  std::vector<Tensor> outputs = interpret(growing.graph, wide);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Shape shape = growing.output_shape(i, outputs[i].shape(), length);
    if (shape == outputs[i].shape()) continue;
    Tensor narrow(outputs[i].dtype(), shape);
    copy_rows(outputs[i], narrow, growing.outputs[i].axis);
    outputs[i] = narrow;
  }
  return outputs;
}

void expect_equal_for(const Graph& graph, s64 first, s64 rows) {
  const std::vector<Tensor> given = test::growing_inputs(graph, first);
  const GrowingOrReject made = make_growing(graph, shapes_of(given), rows);
  ASSERT_TRUE(std::holds_alternative<Growing>(made)) << std::get<Reject>(made).reason;
  const Growing& growing = std::get<Growing>(made);
  for (s64 length = growing.least; length <= growing.most; ++length) {
    const std::vector<Tensor> inputs = test::growing_inputs(graph, length);
    ASSERT_EQ(growing.length_of(shapes_of(inputs)), length);
    const std::vector<Tensor> want = interpret(graph, inputs), got = run(growing, inputs, length);
    for (size_t i = 0; i < want.size(); ++i) {
      ASSERT_EQ(got[i].type(), want[i].type());
      ASSERT_EQ(std::memcmp(got[i].data(), want[i].data(), want[i].bytes()), 0)
          << "output " << i << " of length " << length;
    }
  }
}

TEST(Growing, RealsEqualThoseOfEachLength) {
  expect_equal_for(test::growing_graph(std::string(test::kGrowingReals)), 5, 0);
}
TEST(Growing, TheNextStepTakesWhatComesBehind) {
  expect_equal_for(test::growing_graph(std::string(test::kGrowingReals)), 64, 0);
}
TEST(Growing, AnyNumberOfRows) {
  expect_equal_for(test::growing_graph(std::string(test::kGrowingReals)), 7, 37);
}
TEST(Growing, CodesEqualThoseOfEachLength) {
  expect_equal_for(test::growing_graph(std::string(test::kGrowingCodes)), 5, 0);
}

std::string reject_of(std::string_view body, std::string_view result) {
  const std::string text = fmt::format(
      R"(graph "g"(%x: f32[1,1,4], %past: f32[1,?,4]) {{
    const %one: s64[1] = {{1}}
    const %last: s64[] = {{-1}}
    const %flat: s64[2] = {{4, -1}}
    %all: f32[1,?,4] = Concat(%past, %x) {{axis=1}} name "all"
    {}
    return %all, {}
  }})",
      body, result);
  const GrowingOrReject made =
      make_growing(parse_graph(text, find_op), std::vector<Shape>{{1, 1, 4}, {1, 3, 4}});
  return std::holds_alternative<Reject>(made) ? std::get<Reject>(made).reason : "";
}

TEST(Growing, SaysWhatHasNoFormForManyLengths) {
  EXPECT_THAT(reject_of(R"(%y: f32[1,4] = ReduceMean(%all, %one) {keepdims=0} name "mean")", "%y"),
              HasSubstr("'mean' (ReduceMean) reduces rows that grow"));
  EXPECT_THAT(reject_of(R"(%y: f32[1,?,4] = CumSum(%all, %one) {reverse=1} name "sum")", "%y"),
              HasSubstr("adds up from the last row on"));
  EXPECT_THAT(reject_of(R"(%y: f32[1,4] = Gather(%all, %last) {axis=1} name "end")", "%y"),
              HasSubstr("picks rows of the axis that grows from its end on"));
  EXPECT_THAT(reject_of(R"(%y: f32[4,?] = Reshape(%all, %flat) name "turn")", "%y"),
              HasSubstr("breaks up rows that grow"));
  EXPECT_THAT(reject_of(R"(%y: f32[1,?,4] = Relu(%past) name "early")", "%y"),
              HasSubstr("no input is continued by a Concat"));
  EXPECT_THAT(reject_of(R"(%y: f32[1,?,4] = LpNormalization(%all) {axis=1} name "norm")", "%y"),
              HasSubstr("has no form for rows that are not in use"));
  EXPECT_EQ(reject_of(R"(%y: f32[1,?,4] = CumSum(%all, %one) name "sum")", "%y"), "");
}

// A graph over the sizes of its cache, beside what it joins.
std::string over_length(std::string_view body) {
  return fmt::format(R"(graph "g"(%x: f32[1,1,4], %past: f32[1,?,4]) {{
  const %one: s64[1] = {{1}}
  const %zero: s64[1] = {{0}}
  const %none: s64[] = {{0}}
  const %step: s64[] = {{1}}
  const %turn: s64[1] = {{62}}
  const %table: f32[100] = {{0{}}}
  %all: f32[1,?,4] = Concat(%past, %x) {{axis=1}} name "all"
  %sizes: s64[3] = Shape(%past) name "sizes"
  %n: s64[1] = Gather(%sizes, %one) name "n"
  %whole: s64[3] = Shape(%all) name "whole"
  %after: s64[1] = Gather(%whole, %one) name "after"
  %limit: s64[] = Squeeze(%after, %zero) name "limit"
  %rows: s64[?] = Range(%none, %limit, %step) name "rows"
{}
  return %all, %y
}})",
                     [] {
                       std::string rest;
                       for (int i = 1; i < 100; ++i) rest += fmt::format(", {}", i);
                       return rest;
                     }(),
                     body);
}

std::string reject_over_length(std::string_view body) {
  const GrowingOrReject made = make_growing(parse_graph(over_length(body), find_op),
                                            std::vector<Shape>{{1, 1, 4}, {1, 3, 4}});
  return std::holds_alternative<Reject>(made) ? std::get<Reject>(made).reason : "";
}

// Of 1 and 63 rows the remainders are 1: two lengths that are alike say nothing of those between.
TEST(Growing, SizesThatDoNotGrowEvenlyAreRefused) {
  EXPECT_NE(reject_over_length(R"(  %at: s64[1] = Mod(%n, %turn) name "at"
  %end: s64[1] = Add(%at, %one) name "end"
  %y: f32[1] = Slice(%table, %at, %end, %zero) name "cut")"),
            "");
  EXPECT_NE(reject_over_length(R"(  %at: s64[1] = Mod(%n, %turn) name "at"
  %many: s64[] = Squeeze(%at, %zero) name "many"
  %r: s64[?] = Range(%none, %many, %step) name "r"
  %y: f32[?] = Cast(%r) {to="f32"} name "y")"),
            "");
}

TEST(Growing, AllOperandsOfAVariadicOperatorCount) {
  expect_equal_for(parse_graph(over_length(R"(  const %floor: s64[] = {2}
  const %two: s64[1] = {2}
  %half: s64[1] = Sub(%n, %two) name "half"
  %m: s64[?] = Max(%rows, %floor, %floor, %half) name "m"
  %y: f32[?] = Cast(%m) {to="f32"} name "y")"),
                               find_op),
                   5, 0);
}

// A code of zero is no zero behind a Cast: it is the zero point.
TEST(Growing, CodesThatBecomeNumbersAreNoZeros) {
  const Graph graph = parse_graph(R"(graph "g"(%x: f32[1,1,4], %past: f32[1,?,4]) {
  const %s: f32[] = {0.0625}
  const %z: u8[] = {120}
  %all: f32[1,?,4] = Concat(%past, %x) {axis=1} name "all"
  %codes: u8[1,?,4] = QuantizeLinear(%all, %s, %z) name "codes"
  %numbers: f32[1,?,4] = Cast(%codes) {to="f32"} name "numbers"
  %turned: f32[1,4,?] = Transpose(%numbers) {perm=ints[0, 2, 1]} name "turned"
  %y: f32[1,4,4] = MatMul(%turned, %numbers) name "y"
  return %all, %y
})",
                                  find_op);
  expect_equal_for(graph, 5, 0);
}

TEST(Growing, BuffersOfTheCallerFromTheFirstTokenOn) {
  const Graph graph = test::growing_graph(std::string(test::kGrowingReals));
  expect_equal_for(graph, 0, 37);
  const GrowingOrReject made = make_growing(graph, shapes_of(test::growing_inputs(graph, 9)), 37);
  ASSERT_TRUE(std::holds_alternative<Growing>(made));
  EXPECT_EQ(std::get<Growing>(made).least, 0);
}

TEST(Growing, EmptyCachesHaveAPlanOfTheirOwn) {
  const Graph graph = test::growing_graph(std::string(test::kGrowingReals));
  const GrowingOrReject made = make_growing(graph, shapes_of(test::growing_inputs(graph, 0)));
  ASSERT_TRUE(std::holds_alternative<Reject>(made));
  EXPECT_EQ(std::get<Reject>(made).reason, "the caches are empty");
}

// The table of positions has 200 rows: caches of 256 would read behind its end.
TEST(Growing, AsFarAsTheModelGoes) {
  const Graph graph = test::growing_graph(std::string(test::kGrowingReals));
  const auto made = make_growing(graph, shapes_of(test::growing_inputs(graph, 195)));
  ASSERT_TRUE(std::holds_alternative<Reject>(made));
}

}  // namespace
}  // namespace octet
