// SPDX-License-Identifier: Apache-2.0
#include "octet/tensor_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "core/error_testing.h"
#include "octet/error.h"

namespace octet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<int32_t> counted(size_t count) {
  std::vector<int32_t> values(count);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

TEST(TensorView, DenseWithoutStridesAndWithTheirStrides) {
  const std::vector<int32_t> values = counted(6);
  TensorView dense = view_of(std::span(values), {2, 3});
  EXPECT_TRUE(is_dense(dense));
  dense.strides = Strides{3, 1};
  EXPECT_TRUE(is_dense(dense));
  dense.strides = Strides{1, 2};
  EXPECT_FALSE(is_dense(dense));
}

TEST(TensorView, StrideOfAnAxisOfOneDoesNotMatter) {
  const std::vector<int32_t> values = counted(6);
  TensorView row = view_of(std::span(values), {1, 6});
  row.strides = Strides{-77, 1};
  EXPECT_TRUE(is_dense(row));
}

TEST(TensorView, TransposedAndReversedAreCopied) {
  const std::vector<int32_t> values = counted(6);
  TensorView transposed = view_of(std::span(values), {3, 2});
  transposed.strides = Strides{1, 3};
  const Tensor columns = to_tensor(transposed);
  EXPECT_THAT(columns.as<int32_t>(), ElementsAre(0, 3, 1, 4, 2, 5));

  TensorView reversed = view_of(std::span(values), {6});
  reversed.data += 5 * sizeof(int32_t);
  reversed.strides = Strides{-1};
  const Tensor backwards = to_tensor(reversed);
  EXPECT_THAT(backwards.as<int32_t>(), ElementsAre(5, 4, 3, 2, 1, 0));
}

TEST(TensorView, RepeatedElementsAreReadButNotWritten) {
  std::vector<int32_t> values = counted(2);
  MutableTensorView repeated = view_of(std::span(values).first(2), {2});
  repeated.type.shape = {3, 2};
  repeated.strides = Strides{0, 1};
  const Tensor three = to_tensor(repeated);
  EXPECT_THAT(three.as<int32_t>(), ElementsAre(0, 1, 0, 1, 0, 1));
  EXPECT_THAT(test::error_of([&] { copy(view_of(three), repeated); }), HasSubstr("share memory"));
}

TEST(TensorView, WritesEverySecondElement) {
  std::vector<int32_t> target(6, -1);
  MutableTensorView sparse = view_of(std::span(target).first(3), {3});
  sparse.strides = Strides{2};
  const std::vector<int32_t> values = counted(3);
  copy(view_of(std::span(values), {3}), sparse);
  EXPECT_THAT(target, ElementsAre(0, -1, 1, -1, 2, -1));
}

TEST(TensorView, EmptyTensorsNeedNoData) {
  const TensorView empty{{Dtype::f32, {0, 4}}, nullptr, {}, "cpu"};
  EXPECT_EQ(to_tensor(empty).elements(), 0);
  EXPECT_TRUE(is_dense(empty));
}

TEST(TensorView, WhatCannotBeReadIsOneError) {
  const std::vector<int32_t> values = counted(6);
  const TensorView good = view_of(std::span(values), {2, 3});
  TensorView wrong = good;
  wrong.device = "cuda:0";
  EXPECT_THAT(test::error_of([&] { to_tensor(wrong); }), HasSubstr("memory of 'cuda:0'"));
  wrong = good;
  wrong.data = nullptr;
  EXPECT_THAT(test::error_of([&] { to_tensor(wrong); }), HasSubstr("s32[2,3] has no data"));
  wrong = good;
  wrong.type.shape = {Shape::kDynamic, 3};
  EXPECT_THAT(test::error_of([&] { to_tensor(wrong); }), HasSubstr("not known"));
  Tensor other(Dtype::f32, {2, 3});
  EXPECT_THAT(test::error_of([&] { copy(good, view_of(other)); }), HasSubstr("f32[2,3]"));
  EXPECT_THAT(test::error_of([&] { view_of(std::span(values), {7}); }), HasSubstr("6 elements"));
}

}  // namespace
}  // namespace octet
