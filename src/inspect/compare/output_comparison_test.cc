// SPDX-License-Identifier: Apache-2.0
#include "octet/output_comparison.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/error_testing.h"
#include "core/types.h"

namespace octet {
namespace {

using test::expect_error;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
const std::vector<std::string> kNames = {"y"};

template <class T = float>
Tensor tensor(const Shape& shape, const std::vector<T>& values) {
  return Tensor::of<T>(shape, values);
}

OutputComparison compared(const Tensor& reference, const Tensor& tested,
                          const ComparisonOptions& options = {}) {
  OutputComparer comparer(kNames, options);
  comparer.add("s", std::vector{reference}, std::vector{tested});
  return comparer.outputs()[0];
}

TEST(OutputComparer, StatisticsByHand) {
  // Errors 0.5, 1, 0, 2 of magnitudes 1, 2, 0, 4.
  const auto found =
      compared(tensor({4}, {1, -2, 0, 4}), tensor({4}, {1.5, -1, 0, 2}),
               {.tolerances = {{.absolute = 0.6, .relative = 0.4, .quantile = 0.9}}});
  EXPECT_EQ(found.absolute.max, 2);
  EXPECT_EQ(found.absolute.mean, 0.875);
  EXPECT_EQ(found.absolute.median, 0.75);
  EXPECT_DOUBLE_EQ(found.absolute.quantile, 1.7);  // 0.7 of the way from 1 to 2
  EXPECT_EQ(found.relative.max, 0.5);
  EXPECT_EQ(found.zeros, 1);
  EXPECT_EQ(found.beyond, 2);
  EXPECT_FALSE(found.passed());
}

TEST(OutputComparer, TheWorstSampleCounts) {
  OutputComparer comparer(kNames, {.tolerances = {{.absolute = 1, .relative = 0}}});
  const Tensor zero = tensor({2}, {0, 0});
  comparer.add("a", std::vector{zero}, std::vector{tensor({2}, {0, 2})});
  comparer.add("b", std::vector{zero}, std::vector{tensor({2}, {1, 1})});
  const OutputComparison& found = comparer.outputs()[0];
  EXPECT_EQ(found.samples, 2);
  EXPECT_EQ(found.elements, 4);
  EXPECT_EQ(found.absolute.max, 2);
  EXPECT_EQ(found.absolute.mean, 1);
  EXPECT_EQ(found.beyond, 1);
  EXPECT_EQ(found.failed_samples, 1);
}

TEST(OutputComparer, AReferenceOfZeroIsDividedByEpsilon) {
  const auto found = compared(tensor({1}, {0}), tensor({1}, {1}));
  EXPECT_EQ(found.relative.max, 1 / 2.220446049250313e-16);
}

TEST(OutputComparer, StatisticsMayPassWhereElementsFail) {
  const Tensor reference = tensor({4}, {1, 1, 1, 1}), tested = tensor({4}, {1, 1, 1, 3});
  const auto with = [&](ErrorStatistic statistic) {
    return compared(
               reference, tested,
               {.tolerances =
                    {{.absolute = 0.6, .relative = 0.6, .statistic = statistic, .quantile = 0.5}}})
        .passed();
  };
  EXPECT_FALSE(with(ErrorStatistic::elementwise));
  EXPECT_FALSE(with(ErrorStatistic::max));
  EXPECT_TRUE(with(ErrorStatistic::mean));
  EXPECT_TRUE(with(ErrorStatistic::median));
  EXPECT_TRUE(with(ErrorStatistic::quantile));
}

TEST(OutputComparer, WhatIsNotFiniteFails) {
  const Tensor broken = tensor({3}, {kNan, kInf, -kInf}), whole = tensor({3}, {0, 1, 2});
  const auto found = compared(broken, whole);
  EXPECT_EQ(found.reference.nan, 1);
  EXPECT_EQ(found.reference.infinite, 2);
  EXPECT_EQ(found.tested.count(), 0);
  EXPECT_TRUE(std::isnan(found.absolute.max));
  EXPECT_EQ(found.beyond, 3);
  EXPECT_FALSE(found.finite());
  // NaN differs from NaN, and infinity from itself unless it is said to be equal.
  EXPECT_EQ(compared(broken, broken).beyond, 3);
  EXPECT_EQ(compared(broken, broken, {.equal_infinities = true}).beyond, 1);
  EXPECT_EQ(compared(broken, tensor({3}, {kNan, -kInf, kInf}), {.equal_infinities = true}).beyond,
            3);
}

TEST(OutputComparer, LongIntegersDifferExactly) {
  const s64 large = (s64{1} << 62) + 1;
  const auto found =
      compared(tensor<s64>({2}, {large, -large}), tensor<s64>({2}, {large - 1, large}));
  EXPECT_EQ(found.beyond, 1);  // one off is far within 1e-5 of it
  EXPECT_EQ(found.absolute.max, 0x1p63);
  EXPECT_EQ(found.absolute.median, 0x1p62 + 0.5);
}

TEST(OutputComparer, BooleansAndHalves) {
  bool bits[] = {true, false, true};
  const Tensor reference = Tensor::of<bool>({3}, bits);
  bits[2] = false;
  EXPECT_EQ(compared(reference, Tensor::of<bool>({3}, bits)).beyond, 1);
  const f16 half[] = {f16(0.5f)};
  EXPECT_EQ(compared(tensor({1}, {0.5}), Tensor::of<f16>({1}, half)).absolute.max, 0);
}

TEST(OutputComparer, OtherShapesAndTypesAreOneError) {
  OutputComparer comparer(std::vector<std::string>{"a", "b", "c"});
  const Tensor two = tensor({2}, {1, 2});
  const std::vector<Tensor> reference = {two, two, two};
  const std::vector<Tensor> tested = {tensor({1, 2}, {1, 2}), two, tensor<s64>({2}, {1, 2})};
  expect_error([&] { comparer.add("cat.png", reference, tested); }, Error::Code::invalid_argument,
               {"cat.png: outputs that cannot be compared", "'a' is f32[1,2], and f32[2]",
                "'c' is s64[2], and f32[2]"});
}

TEST(OutputComparer, NothingIsNoError) {
  const Tensor none(Dtype::f32, {0, 4});
  const auto found = compared(none, none, {.top = 2});
  EXPECT_TRUE(found.passed());
  EXPECT_EQ(found.top.rows, 0);
  EXPECT_TRUE(found.map.cells.empty());
}

TEST(TopIndices, PlacesOfTheLargest) {
  // By rows of three: 2 0 1 and 0 1 2 against 2 0 1 and 1 0 2; NaN comes last.
  const Tensor reference = tensor({2, 3, 1}, {5, 1, 9, 3, 2, kNan});
  const Tensor tested = tensor({2, 3, 1}, {4, 0, 8, 2, 3, 1});
  EXPECT_EQ(compared(reference, tested, {.top = 1}).top.same, 1);
  EXPECT_EQ(compared(reference, tested, {.top = 2}).top.share(), 0.5);
  EXPECT_EQ(compared(reference, tested, {.top = 2, .index_tolerance = 1}).top.same, 2);
  EXPECT_EQ(compared(reference, tested, {.top = 9}).top.count, 3);
}

TEST(TopIndices, EqualValuesKeepTheirOrder) {
  const Tensor flat = tensor({1, 4}, {1, 1, 1, 1});
  EXPECT_EQ(compared(flat, tensor({1, 4}, {4, 3, 2, 1}), {.top = 4}).top.same, 1);
}

TEST(ErrorMap, CellsCoverTheLastTwoDimensions) {
  // Two channels of 2 x 2, one element off in each.
  const Tensor reference = tensor({1, 2, 2, 2, 1}, {1, 1, 1, 1, 1, 1, 1, 1});
  const ErrorMap map =
      compared(reference, tensor({1, 2, 2, 2, 1}, {1, 3, 1, 1, 1, 1, kInf, 1})).map;
  EXPECT_EQ(map.height, 2);
  EXPECT_EQ(map.columns, 2);
  ASSERT_EQ(map.cells.size(), 4u);
  EXPECT_EQ(map.cells[1].mean(), 1);  // 2 of two elements
  EXPECT_EQ(map.cells[1].largest, 2);
  EXPECT_EQ(map.cells[1].relative(), 1);
  EXPECT_TRUE(std::isinf(map.cells[2].largest));
  EXPECT_EQ(map.cells[3].mean(), 0);
}

TEST(ErrorMap, ManyElementsShareACell) {
  const Tensor reference(Dtype::f32, {100, 1000});
  Tensor tested(Dtype::f32, {100, 1000});
  tested.mutable_as<float>()[99 * 1000 + 999] = 5;
  const ErrorMap map = compared(reference, tested).map;
  EXPECT_EQ(map.rows, ErrorMap::kMostRows);
  EXPECT_EQ(map.columns, ErrorMap::kMostColumns);
  s64 elements = 0;
  for (const ErrorMap::Cell& cell : map.cells) elements += cell.elements;
  EXPECT_EQ(elements, 100'000);
  EXPECT_EQ(map.cells.back().largest, 5);
  EXPECT_EQ(map.cells.front().largest, 0);
}

}  // namespace
}  // namespace octet
