// SPDX-License-Identifier: Apache-2.0
// Operators whose output size only the data tell: NonZero, Compress, Unique, NonMaxSuppression.
#include <limits>

#include "ops/shared/testing.h"

namespace octet::testing {
namespace {

using ::testing::HasSubstr;
constexpr f32 kNan = std::numeric_limits<f32>::quiet_NaN();

Tensor mask(std::initializer_list<bool> values) {
  Tensor result(Dtype::boolean, {static_cast<s64>(values.size())});
  std::copy(values.begin(), values.end(), result.mutable_as<bool>().begin());
  return result;
}

TEST(NonZero, IndicesByColumn) {
  expect_tensor<s64>(run("NonZero", {floats({2, 3}, {0, -1, kNan, 4, 0, -0.0f})}), {2, 3},
                     {0, 0, 1, 1, 2, 0});
  expect_tensor<s64>(run("NonZero", {mask({false, true, true})}), {1, 2}, {1, 2});
  expect_tensor<s64>(run("NonZero", {floats({3}, {0, 0, 0})}), {1, 0}, {});
  expect_tensor<s64>(run("NonZero", {floats({0, 2}, {})}), {2, 0}, {});
  EXPECT_EQ(run("NonZero", {floats({}, {7})}).shape(), (Shape{0, 1}));
}

TEST(Compress, AxisAndFlattened) {
  const Tensor x = floats({3, 2}, {1, 2, 3, 4, 5, 6});
  expect_tensor<f32>(run("Compress", {x, mask({false, true, true})}, {{"axis", s64{0}}}), {2, 2},
                     {3, 4, 5, 6});
  expect_tensor<f32>(run("Compress", {x, mask({false, true})}, {{"axis", s64{-1}}}), {3, 1},
                     {2, 4, 6});
  expect_tensor<f32>(run("Compress", {x, mask({false, true, false, false, true})}), {2}, {2, 5});
  expect_tensor<f32>(run("Compress", {x, mask({})}), {0}, {});
}

TEST(Compress, Rejects) {
  const Tensor x = floats({2}, {1, 2});
  EXPECT_THAT(error_of("Compress", {x, mask({true, true, true})}), HasSubstr("at most 2"));
  EXPECT_THAT(error_of("Compress", {x, ints({1})}), HasSubstr("bool"));
  EXPECT_THAT(error_of("Compress", {x, mask({true})}, {{"axis", s64{1}}}), HasSubstr("axis 1"));
}

std::vector<Tensor> unique(const Tensor& x, const AttrList& attrs) {
  return eval_node(make_node("Unique", {x}, attrs, 4), std::vector<Tensor>{x});
}

TEST(Unique, SortedAndInOrderOfAppearance) {
  const Tensor x = floats({6}, {2, 1, 1, 3, 4, 3});
  const auto sorted = unique(x, {});
  expect_tensor<f32>(sorted[0], {4}, {1, 2, 3, 4});
  expect_tensor<s64>(sorted[1], {4}, {1, 0, 3, 4});
  expect_tensor<s64>(sorted[2], {6}, {1, 0, 0, 2, 3, 2});
  expect_tensor<s64>(sorted[3], {4}, {2, 1, 2, 1});
  const auto unsorted = unique(x, {{"sorted", s64{0}}});
  expect_tensor<f32>(unsorted[0], {4}, {2, 1, 3, 4});
  expect_tensor<s64>(unsorted[1], {4}, {0, 1, 3, 4});
  expect_tensor<s64>(unsorted[2], {6}, {0, 1, 1, 2, 3, 2});
  expect_tensor<s64>(unsorted[3], {4}, {1, 2, 2, 1});
}

TEST(Unique, SlicesOfAnAxis) {
  const Tensor x = floats({3, 2}, {1, 2, 0, 9, 1, 2});
  const auto rows = unique(x, {{"axis", s64{0}}});
  expect_tensor<f32>(rows[0], {2, 2}, {0, 9, 1, 2});
  expect_tensor<s64>(rows[2], {3}, {1, 0, 1});
  const Tensor y = floats({2, 3}, {5, 4, 5, 6, 6, 6});
  expect_tensor<f32>(unique(y, {{"axis", s64{1}}})[0], {2, 2}, {4, 5, 6, 6});
}

TEST(Unique, NanIsOneValueAndLast) {
  const auto result = unique(floats({4}, {kNan, 1, kNan, -1}), {});
  EXPECT_EQ(result[0].shape(), (Shape{3}));
  expect_tensor<s64>(result[1], {3}, {3, 1, 0});
  expect_tensor<s64>(result[3], {3}, {1, 1, 2});
  EXPECT_EQ(unique(floats({0}, {}), {})[0].shape(), (Shape{0}));
}

// Boxes 0 and 1 overlap by 2/3, box 2 stands apart.
Tensor three_boxes() { return floats({1, 3, 4}, {0, 0, 1, 1, 0, 0.2f, 1, 1.2f, 5, 5, 6, 6}); }

TEST(NonMaxSuppression, BestBoxOfThoseThatOverlap) {
  const Tensor boxes = three_boxes();
  const Tensor scores = floats({1, 1, 3}, {0.5f, 0.9f, 0.1f});
  const Tensor all = tensor<s64>({1}, {10});
  expect_tensor<s64>(run("NonMaxSuppression", {boxes, scores, all, floats({1}, {0.5f})}), {2, 3},
                     {0, 0, 1, 0, 0, 2});
  expect_tensor<s64>(run("NonMaxSuppression", {boxes, scores, all, floats({1}, {0.7f})}), {3, 3},
                     {0, 0, 1, 0, 0, 0, 0, 0, 2});
  expect_tensor<s64>(
      run("NonMaxSuppression", {boxes, scores, all, floats({1}, {0.5f}), floats({1}, {0.1f})}),
      {1, 3}, {0, 0, 1});
  EXPECT_EQ(run("NonMaxSuppression", {boxes, scores}).shape(), (Shape{0, 3}));
}

TEST(NonMaxSuppression, TiesKeepTheirOrderAndNanIsNeverChosen) {
  const Tensor all = tensor<s64>({}, {10});
  expect_tensor<s64>(
      run("NonMaxSuppression",
          {three_boxes(), floats({1, 2, 3}, {kNan, 2, 2, 1, 1, 1}), all, floats({}, {0.5f})}),
      {4, 3}, {0, 0, 1, 0, 0, 2, 0, 1, 0, 0, 1, 2});
}

TEST(NonMaxSuppression, Rejects) {
  const Tensor scores = floats({1, 1, 2}, {1, 1});
  EXPECT_THAT(error_of("NonMaxSuppression", {three_boxes(), scores}), HasSubstr("expected f32"));
  EXPECT_THAT(error_of("NonMaxSuppression", {three_boxes(), floats({1, 1, 3}, {1, 1, 1})},
                       {{"center_point_box", s64{2}}}),
              HasSubstr("center_point_box is 2"));
}

}  // namespace
}  // namespace octet::testing
