// SPDX-License-Identifier: Apache-2.0
#include "plan/format.h"

#include <gtest/gtest.h>

namespace octet {
namespace {

const TensorType kValue{Dtype::u8, {2, 40, 3, 5}};

TEST(Format, StridesAndBytes) {
  const Placement linear = dense_placement(kValue, Layout::linear, 0);
  EXPECT_EQ(linear, Placement{});
  EXPECT_EQ(format_bytes(kValue, linear), 2 * 40 * 3 * 5);
  EXPECT_EQ(image_bytes(kValue, linear), 40 * 3 * 5);

  const Placement nhwc = dense_placement(kValue, Layout::nhwc, 0);
  EXPECT_EQ(nhwc.pixel_stride, 40);
  EXPECT_EQ(nhwc.row_stride, 5 * 40);
  EXPECT_EQ(nhwc.image_stride, 3 * 5 * 40);
  EXPECT_EQ(format_bytes(kValue, nhwc), kValue.bytes());

  const Placement padded = dense_placement(kValue, Layout::nhwc_c32, 0);
  EXPECT_EQ(padded.pixel_stride, 64);
  EXPECT_EQ(padded.image_stride, 3 * 5 * 64);
  EXPECT_EQ(format_bytes(kValue, padded), 2 * 3 * 5 * 64);

  const Placement blocks = dense_placement(kValue, Layout::nc32hw32, 0);
  EXPECT_EQ(blocks.pixel_stride, 32);
  EXPECT_EQ(blocks.row_stride, 5 * 32);
  EXPECT_EQ(blocks.block_stride, 3 * 5 * 32);
  EXPECT_EQ(blocks.image_stride, 2 * 3 * 5 * 32);
  EXPECT_EQ(format_bytes(kValue, blocks), 2 * 2 * 3 * 5 * 32);
}

TEST(Format, BordersAreCounted) {
  const TensorType reals{Dtype::f32, kValue.shape};
  const Placement nhwc = dense_placement(reals, Layout::nhwc, 2);
  EXPECT_EQ(nhwc.row_stride, 9 * 40);
  EXPECT_EQ(nhwc.image_stride, 7 * 9 * 40);
  EXPECT_EQ(format_bytes(reals, nhwc), 2 * 7 * 9 * 40 * 4);
  EXPECT_EQ(origin_bytes(reals, nhwc), 2 * (9 * 40 + 40) * 4);
  const Placement blocks = dense_placement(kValue, Layout::nc32hw32, 1);
  EXPECT_EQ(blocks.block_stride, 5 * 7 * 32);
  EXPECT_EQ(origin_bytes(kValue, blocks), 7 * 32 + 32);
}

TEST(Format, ValuesOfNothing) {
  EXPECT_EQ(format_bytes({Dtype::f32, {}}, {}), 4);
  EXPECT_EQ(format_bytes({Dtype::f32, {0, 3}}, {}), 0);
  EXPECT_EQ(image_bytes({Dtype::f32, {0, 3}}, {}), 0);
  const TensorType none{Dtype::u8, {0, 40, 3, 5}};
  EXPECT_EQ(format_bytes(none, dense_placement(none, Layout::nc32hw32, 0)), 0);
}

}  // namespace
}  // namespace octet
