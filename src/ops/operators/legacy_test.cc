// SPDX-License-Identifier: Apache-2.0
// Experimental operators of early exporters are read as standard ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "ops/shared/testing.h"

namespace octet {
namespace {

using testing::values_of;

TEST(Legacy, CropIsASlice) {
  const auto border =
      testing::parse("Crop", 7, {Tensor()}, {{"border", std::vector<s64>{1, 2, 0, 4}}});
  EXPECT_EQ(border.node.op->name, "Slice");
  EXPECT_EQ(border.ints_input(1), (testing::Ints{2, 1}));
  EXPECT_EQ(border.ints_input(2), (testing::Ints{-4, std::numeric_limits<s64>::max()}));
  EXPECT_EQ(border.ints_input(3), (testing::Ints{2, 3}));
  const auto sized =
      testing::parse("Crop", 7, {Tensor()},
                     {{"border", std::vector<s64>{1, 2, 0, 0}}, {"scale", std::vector<s64>{5, 6}}});
  EXPECT_EQ(sized.ints_input(2), (testing::Ints{7, 7}));
  EXPECT_THROW(testing::parse("Crop", 7, {Tensor()}), Error);
  EXPECT_THROW(testing::parse("Crop", 7, {Tensor()}, {{"border", std::vector<s64>{1, -2, 0, 0}}}),
               Error);
}

TEST(Legacy, ScalesAndShifts) {
  const auto scaler = testing::parse("ImageScaler", 7, {Tensor()},
                                     {{"scale", 2.0f}, {"bias", std::vector<f32>{1, 2, 3}}});
  EXPECT_EQ(scaler.node.op->name, "Mul");
  EXPECT_EQ(values_of<f32>(*scaler.graph.constant_input(scaler.node, 1)), std::vector<f32>{2});
  ASSERT_EQ(scaler.after.size(), 1u);
  EXPECT_EQ(scaler.graph.constant_input(scaler.after[0], 1)->shape(), (Shape{3, 1, 1}));
  EXPECT_THROW(testing::parse("ImageScaler", 7, {Tensor()}), Error);
  const auto affine = testing::parse("Affine", 7, {Tensor()}, {{"alpha", 150.0f}});
  EXPECT_EQ(affine.node.op->name, "Mul");
  EXPECT_EQ(values_of<f32>(*affine.graph.constant_input(affine.after.at(0), 1)),
            std::vector<f32>{0});
  const auto tanh = testing::parse("ScaledTanh", 7, {Tensor()}, {{"alpha", 3.0f}, {"beta", 2.0f}});
  EXPECT_EQ(tanh.node.op->name, "Tanh");
  EXPECT_EQ(tanh.before.size(), 1u);
  EXPECT_EQ(tanh.after.size(), 1u);
}

}  // namespace
}  // namespace octet
