// SPDX-License-Identifier: Apache-2.0
// Reductions: every operator on hand-made rows, axes in every position, and the order of f32 sums.
#include <cmath>
#include <limits>

#include "core/math.h"
#include "ops/shared/testing.h"

namespace octet::testing {
namespace {

using ::testing::HasSubstr;
constexpr f32 kInf = std::numeric_limits<f32>::infinity();
constexpr f32 kNan = std::numeric_limits<f32>::quiet_NaN();

TEST(Reduction, EachOperatorOnOneRow) {
  const Tensor x = floats({4}, {1, -2, 3, -4});
  const auto reduce = [&](std::string_view op) { return run(op, {x}).as<f32>()[0]; };
  EXPECT_EQ(reduce("ReduceSum"), -2);
  EXPECT_EQ(reduce("ReduceMean"), -0.5f);
  EXPECT_EQ(reduce("ReduceMax"), 3);
  EXPECT_EQ(reduce("ReduceMin"), -4);
  EXPECT_EQ(reduce("ReduceProd"), 24);
  EXPECT_EQ(reduce("ReduceL1"), 10);
  EXPECT_EQ(reduce("ReduceL2"), std::sqrt(30.0f));
  EXPECT_EQ(reduce("ReduceSumSquare"), 30);
  EXPECT_EQ(run("ReduceLogSum", {floats({2}, {1, 2})}).as<f32>()[0], math_log(3.0f));
  const f32 top = run("ReduceLogSumExp", {floats({2}, {1000, 1000})}).as<f32>()[0];
  EXPECT_EQ(top, math_log(2.0f) + 1000.0f);
}

// The squares pass 32 bits, the root does not; beyond that it ends at the largest integer.
TEST(Reduction, NormsOfIntegers) {
  const std::vector<s32> sides = {60000, -80000};
  EXPECT_EQ(run("ReduceL2", {Tensor::of<s32>(Shape{2}, sides)}).as<s32>()[0], 100000);
  const std::vector<s32> lowest(4, std::numeric_limits<s32>::min());
  EXPECT_EQ(run("ReduceL2", {Tensor::of<s32>(Shape{4}, lowest)}).as<s32>()[0],
            std::numeric_limits<s32>::max());
}

TEST(Reduction, AxesInEveryPosition) {
  Tensor x(Dtype::s32, {2, 3, 4});
  for (s32 i = 0; auto& v : x.mutable_as<s32>()) v = i++;
  for (int mask = 1; mask < 8; ++mask) {
    Ints axes;
    for (s64 d = 0; d < 3; ++d) {
      if ((mask >> d & 1) != 0) axes.push_back(d);
    }
    std::vector<s32> sums(24, 0);  // at the offset of the kept coordinates
    std::vector<s32> expected;
    for (s32 i = 0; i < 24; ++i) {
      const s32 coordinate[] = {i / 12, i / 4 % 3, i % 4};
      const s32 stride[] = {12, 4, 1};
      s32 at = 0;
      for (int d = 0; d < 3; ++d) at += (mask >> d & 1) != 0 ? 0 : coordinate[d] * stride[d];
      sums[static_cast<size_t>(at)] += i;
      if (at == i) expected.push_back(i);
    }
    for (s32& offset : expected) offset = sums[static_cast<size_t>(offset)];
    const Tensor y = run("ReduceSum", {x, ints(axes)}, {{"keepdims", s64{0}}});
    EXPECT_EQ(values_of<s32>(y), expected) << mask;
    EXPECT_EQ(y.shape().rank(), 3 - static_cast<int>(axes.size()));
    EXPECT_EQ(run("ReduceSum", {x, ints(axes)}).shape().rank(), 3);
  }
}

// Twenty elements: lane 0 holds 1e8 and -1e8, which cancel before anything small is added to them.
TEST(Reduction, FloatSumsGoThroughSixteenLanes) {
  std::vector<f32> x(20, 0.25f);
  x[0] = 1e8f;
  x[16] = -1e8f;
  EXPECT_EQ(run("ReduceSum", {floats({20}, x)}).as<f32>()[0], 4.5f);
  EXPECT_EQ(run("ReduceMean", {floats({20}, x)}).as<f32>()[0], 4.5f / 20.0f);
  // The same along an axis that is not the last.
  std::vector<f32> columns;
  for (const f32 value : x) columns.insert(columns.end(), {value, 2 * value});
  expect_tensor<f32>(run("ReduceSum", {floats({20, 2}, columns), ints({0})}), {1, 2}, {4.5f, 9});
}

TEST(Reduction, NoAxesMeansAllOrNone) {
  const Tensor x = floats({2, 2}, {1, -2, 3, 4});
  const Tensor none = tensor<s64>({0}, {});
  expect_tensor<f32>(run("ReduceSum", {x}), {1, 1}, {6});
  expect_tensor<f32>(run("ReduceSum", {x, none}, {{"keepdims", s64{0}}}), {}, {6});
  const AttrList noop = {{"noop_with_empty_axes", s64{1}}};
  expect_tensor<f32>(run("ReduceSum", {x, none}, noop), {2, 2}, {1, -2, 3, 4});
  expect_tensor<f32>(run("ReduceL1", {x}, noop), {2, 2}, {1, 2, 3, 4});
  expect_tensor<f32>(run("ReduceMean", {x, ints({-1})}, noop), {2, 1}, {-0.5f, 3.5f});
}

TEST(Reduction, EmptyRows) {
  const Tensor x = floats({2, 0}, {});
  const auto reduce = [&](std::string_view op) {
    return run(op, {x, ints({1})}, {{"keepdims", s64{0}}}).as<f32>()[1];
  };
  EXPECT_EQ(reduce("ReduceSum"), 0);
  EXPECT_EQ(reduce("ReduceProd"), 1);
  EXPECT_EQ(reduce("ReduceMax"), -kInf);
  EXPECT_EQ(reduce("ReduceMin"), kInf);
  EXPECT_EQ(reduce("ReduceLogSum"), -kInf);
  EXPECT_EQ(reduce("ReduceLogSumExp"), -kInf);
  EXPECT_TRUE(std::isnan(reduce("ReduceMean")));
  expect_tensor<s32>(run("ReduceMean", {tensor<s32>({0}, {})}), {1}, {0});
  expect_tensor<s32>(run("ReduceMax", {tensor<s32>({0}, {})}), {1},
                     {std::numeric_limits<s32>::min()});
  EXPECT_EQ(run("ReduceSum", {x, ints({0})}).shape(), (Shape{1, 0}));
}

TEST(Reduction, OtherTypes) {
  expect_tensor<u8>(run("ReduceMax", {tensor<u8>({3}, {3, 200, 7})}), {1}, {200});
  expect_tensor<s64>(run("ReduceMean", {ints({-7, 0})}), {1}, {-3});
  const Tensor flags = bools({2, 2}, {true, false, true, true});
  EXPECT_EQ(values_of<bool>(run("ReduceMax", {flags, ints({1})})), (std::vector<bool>{1, 1}));
  EXPECT_EQ(values_of<bool>(run("ReduceMin", {flags, ints({1})})), (std::vector<bool>{0, 1}));
  EXPECT_TRUE(std::isnan(run("ReduceMax", {floats({3}, {1, kNan, 2})}).as<f32>()[0]));
  const Tensor half = tensor<f16>({3}, {f16(2048), f16(1), f16(1)});
  EXPECT_EQ(static_cast<f32>(run("ReduceSum", {half}).as<f16>()[0]), 2050.0f);  // rounded once
}

TEST(Reduction, Rejects) {
  const Tensor x = floats({2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(error_of("ReduceSum", {x, ints({2})}), HasSubstr("axis 2 is outside [-2, 2)"));
  EXPECT_THAT(error_of("ReduceSum", {x, ints({0, -2})}), HasSubstr("given twice"));
  EXPECT_THAT(error_of("ReduceSum", {bools({1}, {true})}), HasSubstr("expected a number"));
  EXPECT_THAT(error_of("ReduceLogSum", {ints({1})}), HasSubstr("expected a float type"));
  EXPECT_THAT(error_of("ReduceSum", {x, floats({1}, {0})}), HasSubstr("expected s32 or s64"));
}

TEST(Reduction, ParseMovesAxesAndPools) {
  EXPECT_EQ(parse("ReduceMax", 11, {Tensor()}, {{"axes", Ints{1, 2}}}).ints_input(1), (Ints{1, 2}));
  const Parsed pool = parse("GlobalAveragePool", 1, {Tensor()});
  EXPECT_EQ(pool.node.op->name, "ReduceMean");
  ASSERT_EQ(pool.before.size(), 3u);
  EXPECT_EQ(pool.before[2].op->name, "Range");
  EXPECT_EQ(pool.node.inputs.at(1), pool.before[2].outputs[0]);
  EXPECT_EQ(parse("GlobalMaxPool", 1, {Tensor()}).node.op->name, "ReduceMax");
}

}  // namespace
}  // namespace octet::testing
