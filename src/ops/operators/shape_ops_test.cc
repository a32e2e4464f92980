// SPDX-License-Identifier: Apache-2.0
// Operators that change shapes or move whole elements: Reshape to SpaceToDepth.
#include <limits>
#include <numeric>

#include "ops/shared/testing.h"

namespace octet::testing {
namespace {

using ::testing::HasSubstr;
constexpr s64 kMost = std::numeric_limits<s64>::max();
constexpr s64 kLeast = std::numeric_limits<s64>::min();

// 0, 1, 2, ... as f32.
Tensor iota(const Shape& shape) {
  Tensor t(Dtype::f32, shape);
  std::iota(t.mutable_as<f32>().begin(), t.mutable_as<f32>().end(), 0.0f);
  return t;
}

TEST(Reshape, ZeroAndMinusOne) {
  const Tensor x = iota({2, 3, 4});
  EXPECT_EQ(run("Reshape", {x, ints({4, 6})}).shape(), (Shape{4, 6}));
  EXPECT_EQ(run("Reshape", {x, ints({0, -1})}).shape(), (Shape{2, 12}));
  EXPECT_EQ(run("Reshape", {x, ints({-1, 0, 2})}).shape(), (Shape{4, 3, 2}));
  EXPECT_EQ(values_of<f32>(run("Reshape", {x, ints({24})})), values_of<f32>(x));
  const Tensor empty = iota({0, 3});
  EXPECT_EQ(run("Reshape", {empty, ints({3, 0})}, {{"allowzero", s64{1}}}).shape(), (Shape{3, 0}));
  EXPECT_EQ(run("Reshape", {iota({1}), tensor<s64>({0}, {})}).shape(), Shape{});
}

TEST(Reshape, Rejects) {
  const Tensor x = iota({2, 3, 4});
  const auto error = [&](const std::vector<s64>& shape, s64 allow_zero = 0) {
    return error_of("Reshape", {x, ints(shape)}, {{"allowzero", allow_zero}});
  };
  EXPECT_EQ(error({-1, -1}), "the new shape has more than one -1");
  EXPECT_EQ(error({-2, 12}), "the new shape has dimension -2");
  EXPECT_THAT(error({1, 1, 1, 0}), HasSubstr("copies dimension 3 of 2x3x4"));
  EXPECT_THAT(error({5, -1}), HasSubstr("24 elements cannot be divided by the 5"));
  EXPECT_THAT(error({0, -1}, 1), HasSubstr("both 0 and -1"));
  EXPECT_THAT(error({5, 5}), HasSubstr("the new shape 5x5 has 25"));
  EXPECT_THAT(error({s64{1} << 62, 4}), HasSubstr("overflows"));
  EXPECT_THAT(error({1, 1, 1, 1, 1, 1, 1, 1, 24}), HasSubstr("more than 8 dimensions"));
  EXPECT_THAT(error_of("Reshape", {iota({0, 2}), ints({0, -1})}), HasSubstr("cannot be divided"));
  EXPECT_THAT(error_of("Reshape", {x, floats({1}, {24})}), HasSubstr("expected s32 or s64"));
}

TEST(Flatten, EveryAxis) {
  const Tensor x = iota({2, 3, 4});
  EXPECT_EQ(run("Flatten", {x}).shape(), (Shape{2, 12}));
  EXPECT_EQ(run("Flatten", {x}, {{"axis", s64{0}}}).shape(), (Shape{1, 24}));
  EXPECT_EQ(run("Flatten", {x}, {{"axis", s64{3}}}).shape(), (Shape{24, 1}));
  EXPECT_EQ(run("Flatten", {x}, {{"axis", s64{-1}}}).shape(), (Shape{6, 4}));
  EXPECT_EQ(run("Flatten", {iota({})}, {{"axis", s64{0}}}).shape(), (Shape{1, 1}));
  EXPECT_THAT(error_of("Flatten", {x}, {{"axis", s64{4}}}), HasSubstr("axis 4 is outside [-3, 3)"));
}

TEST(Squeeze, NamedAxesOrAll) {
  const Tensor x = iota({1, 3, 1, 2});
  EXPECT_EQ(run("Squeeze", {x}).shape(), (Shape{3, 2}));
  EXPECT_EQ(run("Squeeze", {x, ints({-2})}).shape(), (Shape{1, 3, 2}));
  EXPECT_EQ(run("Squeeze", {x, tensor<s64>({0}, {})}).shape(), (Shape{1, 3, 1, 2}));
  EXPECT_EQ(error_of("Squeeze", {x, ints({1})}), "axis 1 of 1x3x1x2 has size 3, expected 1");
  EXPECT_EQ(error_of("Squeeze", {x, ints({0, -4})}), "axis -4 is given twice");
  EXPECT_THAT(error_of("Squeeze", {x, ints({4})}), HasSubstr("axis 4 is outside [-4, 4)"));
  EXPECT_EQ(parse("Squeeze", 11, {Tensor()}, {{"axes", Ints{0, 2}}}).ints_input(1), (Ints{0, 2}));
}

TEST(Unsqueeze, AxesOfTheResult) {
  const Tensor x = iota({3, 2});
  EXPECT_EQ(run("Unsqueeze", {x, ints({2, 0})}).shape(), (Shape{1, 3, 1, 2}));
  EXPECT_EQ(run("Unsqueeze", {x, ints({-1})}).shape(), (Shape{3, 2, 1}));
  EXPECT_THAT(error_of("Unsqueeze", {x, ints({3})}), HasSubstr("axis 3 is outside [-3, 3)"));
  EXPECT_EQ(error_of("Unsqueeze", {x, ints({0, 0})}), "axis 0 is given twice");
  EXPECT_THAT(error_of("Unsqueeze", {x, ints({0, 1, 2, 3, 4, 5, 6})}), HasSubstr("more than 8"));
  EXPECT_EQ(parse("Unsqueeze", 9, {Tensor()}, {{"axes", Ints{1}}}).ints_input(1), (Ints{1}));
}

TEST(Transpose, SmallCases) {
  const Tensor x = iota({2, 3});
  expect_tensor<f32>(run("Transpose", {x}), {3, 2}, {0, 3, 1, 4, 2, 5});
  expect_tensor<f32>(run("Transpose", {x}, {{"perm", Ints{0, 1}}}), {2, 3}, {0, 1, 2, 3, 4, 5});
  expect_tensor<u8>(run("Transpose", {tensor<u8>({2, 2}, {1, 2, 3, 4})}), {2, 2}, {1, 3, 2, 4});
  EXPECT_EQ(run("Transpose", {iota({})}).shape(), Shape{});
}

// All permutations of four axes against the definition.
TEST(Transpose, EveryPermutation) {
  const Shape shape{2, 3, 1, 4};
  const Tensor x = iota(shape);
  Ints perm = {0, 1, 2, 3};
  do {
    const Tensor y = run("Transpose", {x}, {{"perm", perm}});
    const auto got = y.as<f32>();
    std::array<s64, 4> at{};  // index into the output
    for (const f32 value : got) {
      std::array<s64, 4> from{};
      for (size_t d = 0; d < 4; ++d) from[static_cast<size_t>(perm[d])] = at[d];
      const s64 offset = ((from[0] * 3 + from[1]) * 1 + from[2]) * 4 + from[3];
      ASSERT_EQ(value, static_cast<f32>(offset));
      for (size_t d = 4; d-- > 0;) {
        if (++at[d] < y.shape()[static_cast<int>(d)]) break;
        at[d] = 0;
      }
    }
  } while (std::next_permutation(perm.begin(), perm.end()));
}

TEST(Transpose, Rejects) {
  const Tensor x = iota({2, 3});
  EXPECT_THAT(error_of("Transpose", {x}, {{"perm", Ints{0}}}), HasSubstr("has 1 axes"));
  EXPECT_THAT(error_of("Transpose", {x}, {{"perm", Ints{0, 0}}}), HasSubstr("given twice"));
  EXPECT_THAT(error_of("Transpose", {x}, {{"perm", Ints{0, 2}}}), HasSubstr("outside"));
}

TEST(Concat, InnerAndOuterAxes) {
  const Tensor a = iota({2, 2});
  const Tensor b = floats({2, 1}, {8, 9});
  expect_tensor<f32>(run("Concat", {a, b}, {{"axis", s64{1}}}), {2, 3}, {0, 1, 8, 2, 3, 9});
  expect_tensor<f32>(run("Concat", {a, a}, {{"axis", s64{-2}}}), {4, 2}, {0, 1, 2, 3, 0, 1, 2, 3});
  expect_tensor<f32>(run("Concat", {a, iota({2, 0}), b}, {{"axis", s64{1}}}), {2, 3},
                     {0, 1, 8, 2, 3, 9});
  expect_tensor<f32>(run("Concat", {a}, {{"axis", s64{0}}}), {2, 2}, {0, 1, 2, 3});
}

TEST(Concat, Rejects) {
  const Tensor a = iota({2, 2});
  EXPECT_THAT(error_of("Concat", {a, iota({2, 3})}, {{"axis", s64{0}}}),
              HasSubstr("input 1 is 2x3"));
  EXPECT_THAT(error_of("Concat", {a, iota({2})}, {{"axis", s64{0}}}), HasSubstr("input 1 is 2"));
  EXPECT_THAT(error_of("Concat", {a, ints({1})}, {{"axis", s64{0}}}), HasSubstr("type s64"));
  EXPECT_THAT(error_of("Concat", {a, a}, {{"axis", s64{2}}}), HasSubstr("outside [-2, 2)"));
  EXPECT_THAT(error_of("Concat", {a, a}), HasSubstr("'axis' is missing"));
  EXPECT_EQ(parse("Concat", 3, {Tensor(), Tensor()}).node.attrs.i("axis"), 1);
}

TEST(Split, SizesAndEqualPieces) {
  const Tensor x = iota({2, 5});
  const auto given = run_all("Split", {x, ints({2, 0, 3})}, {{"axis", s64{1}}}, 3);
  expect_tensor<f32>(given[0], {2, 2}, {0, 1, 5, 6});
  expect_tensor<f32>(given[1], {2, 0}, {});
  expect_tensor<f32>(given[2], {2, 3}, {2, 3, 4, 7, 8, 9});
  const auto uneven = run_all("Split", {x}, {{"axis", s64{-1}}, {"num_outputs", s64{2}}}, 2);
  expect_tensor<f32>(uneven[1], {2, 2}, {3, 4, 8, 9});
  expect_tensor<f32>(run_all("Split", {x}, {}, 2)[1], {1, 5}, {5, 6, 7, 8, 9});
}

TEST(Split, Rejects) {
  const Tensor x = iota({2, 5});
  const auto error = [&](const std::vector<s64>& sizes) {
    return error_of("Split", {x, ints(sizes)}, {{"axis", s64{1}}}, 2);
  };
  EXPECT_THAT(error({1, 3}), HasSubstr("add up to 4, expected 5"));
  EXPECT_THAT(error({6, -1}), HasSubstr("must be positive"));
  EXPECT_THAT(error({kMost, kMost}), HasSubstr("must be positive"));
  EXPECT_THAT(error({5}), HasSubstr("1 sizes are given for 2 outputs"));
  EXPECT_THAT(error_of("Split", {x}, {{"axis", s64{1}}}, 2), HasSubstr("cannot be split"));
  EXPECT_THAT(error_of("Split", {x}, {{"num_outputs", s64{3}}}, 2),
              HasSubstr("'num_outputs' is 3"));
  EXPECT_THAT(error_of("Split", {x}, {{"axis", s64{1}}, {"num_outputs", s64{4}}}, 4),
              HasSubstr("cannot be split"));
  EXPECT_EQ(parse("Split", 2, {Tensor()}, {{"split", Ints{1, 4}}}).ints_input(1), (Ints{1, 4}));
}

TEST(Slice, ForwardBackwardAndClamped) {
  const Tensor x = iota({3, 4});
  const auto slice = [&](s64 start, s64 end, s64 step) {
    return values_of<f32>(
        run("Slice", {iota({5}), ints({start}), ints({end}), ints({0}), ints({step})}));
  };
  EXPECT_EQ(slice(1, 4, 1), (std::vector<f32>{1, 2, 3}));
  EXPECT_EQ(slice(-3, kMost, 2), (std::vector<f32>{2, 4}));
  EXPECT_EQ(slice(4, kLeast, -1), (std::vector<f32>{4, 3, 2, 1, 0}));
  EXPECT_EQ(slice(kMost, 1, -2), (std::vector<f32>{4, 2}));
  EXPECT_EQ(slice(3, 1, 1), (std::vector<f32>{}));
  EXPECT_EQ(slice(0, 5, kMost), (std::vector<f32>{0}));
  EXPECT_EQ(slice(4, kLeast, kLeast), (std::vector<f32>{4}));
  EXPECT_EQ(slice(kLeast, kMost, 4), (std::vector<f32>{0, 4}));
  expect_tensor<f32>(run("Slice", {x, ints({0, 1}), ints({2, 3})}), {2, 2}, {1, 2, 5, 6});
  expect_tensor<f32>(run("Slice", {x, ints({-1}), ints({kLeast}), ints({-2}), ints({-2})}), {2, 4},
                     {8, 9, 10, 11, 0, 1, 2, 3});
  expect_tensor<f32>(run("Slice", {x, tensor<s32>({1}, {3}), tensor<s32>({1}, {4}), ints({1})}),
                     {3, 1}, {3, 7, 11});
  EXPECT_EQ(run("Slice", {iota({0, 2}), ints({0}), ints({5})}).shape(), (Shape{0, 2}));
}

TEST(Slice, Rejects) {
  const Tensor x = iota({3, 4});
  EXPECT_EQ(error_of("Slice", {x, ints({0}), ints({1}), ints({0}), ints({0})}),
            "the step of axis 0 is 0");
  EXPECT_THAT(error_of("Slice", {x, ints({0}), ints({1}), ints({8})}),
              HasSubstr("axis 8 is outside"));
  EXPECT_THAT(error_of("Slice", {x, ints({0, 0}), ints({1, 1}), ints({1, -1})}),
              HasSubstr("given twice"));
  EXPECT_EQ(error_of("Slice", {x, ints({0, 0}), ints({1})}),
            "there are 2 starts, 1 ends, 2 axes and 2 steps");
  EXPECT_THAT(error_of("Slice", {x, ints({0, 0, 0}), ints({1, 1, 1})}), HasSubstr("axis 2"));
}

TEST(Slice, AttributesOfOpset1) {
  const Parsed parsed =
      parse("Slice", 9, {Tensor()}, {{"starts", Ints{1}}, {"ends", Ints{2}}, {"axes", Ints{1}}});
  EXPECT_EQ(parsed.ints_input(1), Ints{1});
  EXPECT_EQ(parsed.ints_input(2), Ints{2});
  EXPECT_EQ(parsed.ints_input(3), Ints{1});
  EXPECT_TRUE(parsed.node.attrs.empty());
}

TEST(Expand, BroadcastsBothWays) {
  const Tensor x = floats({2, 1}, {1, 2});
  expect_tensor<f32>(run("Expand", {x, ints({2, 3})}), {2, 3}, {1, 1, 1, 2, 2, 2});
  expect_tensor<f32>(run("Expand", {x, ints({2, 1, 1})}), {2, 2, 1}, {1, 2, 1, 2});
  expect_tensor<f32>(run("Expand", {x, ints({1})}), {2, 1}, {1, 2});
  EXPECT_EQ(run("Expand", {x, ints({0, 1, 1})}).shape(), (Shape{0, 2, 1}));
  EXPECT_THAT(error_of("Expand", {x, ints({3, 1})}), HasSubstr("do not broadcast"));
  EXPECT_THAT(error_of("Expand", {x, ints({-1})}), HasSubstr("dimension -1"));
  EXPECT_THAT(error_of("Expand", {x, ints({s64{1} << 40, s64{1} << 40, 1, 1})}),
              HasSubstr("overflows"));
}

TEST(Tile, RepeatsEachAxis) {
  const Tensor x = iota({2, 2});
  expect_tensor<f32>(run("Tile", {x, ints({1, 2})}), {2, 4}, {0, 1, 0, 1, 2, 3, 2, 3});
  expect_tensor<f32>(run("Tile", {x, ints({2, 1})}), {4, 2}, {0, 1, 2, 3, 0, 1, 2, 3});
  expect_tensor<f32>(run("Tile", {iota({}), tensor<s64>({0}, {})}), {}, {0});
  EXPECT_EQ(run("Tile", {x, ints({0, 3})}).shape(), (Shape{0, 6}));
  EXPECT_THAT(error_of("Tile", {x, ints({2})}), HasSubstr("1 repeats are given"));
  EXPECT_THAT(error_of("Tile", {x, ints({1, -1})}), HasSubstr("repeated -1 times"));
  EXPECT_THAT(error_of("Tile", {x, ints({1, kMost})}), HasSubstr("repeated"));
}

TEST(Pad, ConstantGrowsAndCrops) {
  const Tensor x = iota({2, 3});
  expect_tensor<f32>(run("Pad", {x, ints({0, 1, 1, 0}), floats({}, {9})}), {3, 4},
                     {9, 0, 1, 2, 9, 3, 4, 5, 9, 9, 9, 9});
  expect_tensor<f32>(run("Pad", {x, ints({-1, 1, 0, -2})}), {1, 2}, {0, 3});
  expect_tensor<u8>(run("Pad", {tensor<u8>({1}, {7}), ints({1, 1}), tensor<u8>({1}, {128})}), {3},
                    {128, 7, 128});
  expect_tensor<f32>(run("Pad", {x, ints({1, 0}), Tensor(), ints({-1})}), {2, 4},
                     {0, 0, 1, 2, 0, 3, 4, 5});
  expect_tensor<f32>(run("Pad", {iota({0}), ints({1, 1}), floats({}, {4})}), {2}, {4, 4});
}

TEST(Pad, FromTheElements) {
  const auto pad = [](std::string mode, s64 begin, s64 end) {
    return values_of<f32>(run("Pad", {iota({3}), ints({begin, end})}, {{"mode", mode}}));
  };
  EXPECT_EQ(pad("edge", 2, 1), (std::vector<f32>{0, 0, 0, 1, 2, 2}));
  EXPECT_EQ(pad("reflect", 2, 2), (std::vector<f32>{2, 1, 0, 1, 2, 1, 0}));
  EXPECT_EQ(pad("reflect", 5, 0), (std::vector<f32>{1, 0, 1, 2, 1, 0, 1, 2}));
  EXPECT_EQ(pad("wrap", 1, 4), (std::vector<f32>{2, 0, 1, 2, 0, 1, 2, 0}));
  EXPECT_EQ(pad("edge", -1, 2), (std::vector<f32>{1, 2, 2, 2}));
  expect_tensor<f32>(run("Pad", {floats({1}, {5}), ints({1, 2})}, {{"mode", "reflect"}}), {4},
                     {5, 5, 5, 5});
}

TEST(Pad, Rejects) {
  const Tensor x = iota({2, 3});
  EXPECT_EQ(error_of("Pad", {x, ints({1, 1})}), "there are 2 pads for 2 axes, expected 4");
  EXPECT_THAT(error_of("Pad", {x, ints({0, -2, 0, -2})}), HasSubstr("axis 1 of size 3"));
  EXPECT_THAT(error_of("Pad", {x, ints({kMost, 0, kMost, 0})}), HasSubstr("axis 0 of size 2"));
  EXPECT_THAT(error_of("Pad", {x, ints({0, 0, 0, 0}), tensor<s64>({}, {1})}),
              HasSubstr("expected one f32"));
  EXPECT_THAT(error_of("Pad", {x, ints({0, 0, 0, 0}), floats({2}, {1, 2})}),
              HasSubstr("expected one f32"));
  EXPECT_THAT(error_of("Pad", {x, ints({0, 0, 0, 0})}, {{"mode", "mirror"}}),
              HasSubstr("'mirror'"));
  EXPECT_THAT(error_of("Pad", {iota({0}), ints({1, 1})}, {{"mode", "edge"}}),
              HasSubstr("is empty"));
  EXPECT_THAT(error_of("Pad", {x, ints({1, 1, 1, 1}), Tensor(), ints({0, -2})}),
              HasSubstr("twice"));
}

TEST(Pad, AttributesOfOpset2) {
  const Parsed parsed = parse("Pad", 2, {Tensor()}, {{"pads", Ints{1, 2}}, {"value", 3.0f}});
  EXPECT_EQ(parsed.ints_input(1), (Ints{1, 2}));
  EXPECT_EQ(parsed.graph.constant_input(parsed.node, 2)->as<f32>()[0], 3.0f);
  EXPECT_EQ(parse("Pad", 2, {Tensor()}, {{"pads", Ints{1, 2}}}).node.inputs.size(), 2u);
}

TEST(Shape, StartAndEnd) {
  const Tensor x = iota({2, 3, 4});
  expect_tensor<s64>(run("Shape", {x}), {3}, {2, 3, 4});
  expect_tensor<s64>(run("Shape", {x}, {{"start", s64{1}}}), {2}, {3, 4});
  expect_tensor<s64>(run("Shape", {x}, {{"start", s64{-2}}, {"end", s64{-1}}}), {1}, {3});
  expect_tensor<s64>(run("Shape", {x}, {{"start", kLeast}, {"end", kMost}}), {3}, {2, 3, 4});
  expect_tensor<s64>(run("Shape", {x}, {{"start", s64{2}}, {"end", s64{1}}}), {0}, {});
  expect_tensor<s64>(run("Shape", {iota({})}), {0}, {});
  expect_tensor<s64>(run("Size", {x}), {}, {24});
  expect_tensor<s64>(run("Size", {iota({0, 7})}), {}, {0});
}

TEST(ConstantOfShape, FillsWithItsValue) {
  expect_tensor<f32>(run("ConstantOfShape", {ints({2, 2})}), {2, 2}, {0, 0, 0, 0});
  expect_tensor<s32>(run("ConstantOfShape", {ints({3})}, {{"value", tensor<s32>({1}, {7})}}), {3},
                     {7, 7, 7});
  expect_tensor<f32>(run("ConstantOfShape", {tensor<s64>({0}, {})}), {}, {0});
  EXPECT_THAT(error_of("ConstantOfShape", {ints({-1})}), HasSubstr("dimension -1"));
  EXPECT_THAT(error_of("ConstantOfShape", {ints({1})}, {{"value", ints({1, 2})}}),
              HasSubstr("one element"));
  EXPECT_THAT(error_of("ConstantOfShape", {ints({s64{1} << 40, s64{1} << 40})}),
              HasSubstr("overflows"));
}

TEST(Range, CountsUpAndDown) {
  const auto range = [](s64 start, s64 limit, s64 delta) {
    return values_of<s64>(run(
        "Range", {tensor<s64>({}, {start}), tensor<s64>({}, {limit}), tensor<s64>({}, {delta})}));
  };
  EXPECT_EQ(range(0, 5, 2), (Ints{0, 2, 4}));
  EXPECT_EQ(range(10, 4, -3), (Ints{10, 7}));
  EXPECT_EQ(range(3, 3, 1), (Ints{}));
  EXPECT_EQ(range(3, 9, -1), (Ints{}));
  EXPECT_EQ(range(kLeast, kMost, kMost), (Ints{kLeast, -1, kMost - 1}));
  EXPECT_EQ(range(kMost, kLeast, kLeast), (Ints{kMost, -1}));
  expect_tensor<f32>(run("Range", {floats({}, {1}), floats({}, {2}), floats({}, {0.25f})}), {4},
                     {1, 1.25f, 1.5f, 1.75f});
}

TEST(Range, Rejects) {
  const auto scalar = [](s64 x) { return tensor<s64>({}, {x}); };
  EXPECT_THAT(error_of("Range", {scalar(0), scalar(1), scalar(0)}), HasSubstr("delta"));
  EXPECT_THAT(error_of("Range", {scalar(kLeast), scalar(kMost), scalar(1)}), HasSubstr("elements"));
  EXPECT_THAT(error_of("Range", {ints({0, 1}), scalar(1), scalar(1)}),
              HasSubstr("expected a scalar"));
  const f32 nan = std::numeric_limits<f32>::quiet_NaN();
  const f32 inf = std::numeric_limits<f32>::infinity();
  for (const f32 limit : {nan, inf, 3e38f}) {
    EXPECT_THAT(error_of("Range", {floats({}, {0}), floats({}, {limit}), floats({}, {1e-30f})}),
                HasSubstr("no finite size"));
  }
}

TEST(DepthToSpace, BothModesAndTheInverse) {
  // Channel c holds the value c: the block shows which channels become neighbours.
  Tensor x(Dtype::f32, {1, 8, 1, 1});
  std::iota(x.mutable_as<f32>().begin(), x.mutable_as<f32>().end(), 0.0f);
  const AttrList dcr = {{"blocksize", s64{2}}};
  const AttrList crd = {{"blocksize", s64{2}}, {"mode", "CRD"}};
  expect_tensor<f32>(run("DepthToSpace", {x}, dcr), {1, 2, 2, 2}, {0, 2, 4, 6, 1, 3, 5, 7});
  expect_tensor<f32>(run("DepthToSpace", {x}, crd), {1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  for (const AttrList& mode : {dcr, crd}) {
    const Tensor y = iota({2, 3, 4, 6});
    const Tensor back = run("DepthToSpace", {run("SpaceToDepth", {y}, mode)}, mode);
    expect_tensor<f32>(back, y.shape(), values_of<f32>(y));
  }
  expect_tensor<f32>(run("SpaceToDepth", {iota({1, 1, 2, 4})}, dcr), {1, 4, 1, 2},
                     {0, 2, 1, 3, 4, 6, 5, 7});
}

TEST(DepthToSpace, Rejects) {
  const Tensor x = iota({1, 4, 2, 2});
  for (const char* op : {"DepthToSpace", "SpaceToDepth"}) {
    EXPECT_THAT(error_of(op, {x}), HasSubstr("'blocksize' is missing"));
    for (const s64 block : {s64{0}, s64{-2}, s64{3}, s64{1} << 32, kMost, kLeast}) {
      EXPECT_NE(error_of(op, {x}, {{"blocksize", block}}), "") << op << block;
    }
    EXPECT_THAT(error_of(op, {iota({4, 2, 2})}, {{"blocksize", s64{2}}}), HasSubstr("N, C, H, W"));
    EXPECT_THAT(error_of(op, {x}, {{"blocksize", s64{2}}, {"mode", "X"}}), HasSubstr("'X'"));
  }
}

}  // namespace
}  // namespace octet::testing
