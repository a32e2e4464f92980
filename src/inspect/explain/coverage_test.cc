// SPDX-License-Identifier: Apache-2.0
#include "inspect/explain/coverage.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace octet {
namespace {

LayerInfo layer(const char* op, Precision precision, Dtype dtype, int64_t macs) {
  LayerInfo info;
  info.op = op;
  info.precision = precision;
  info.output_types = {{dtype, Shape{1}}};
  info.macs = macs;
  info.constant_bytes = macs / 2;
  return info;
}

TEST(Coverage, ConversionsAndShapeArithmeticAreNotLayers) {
  std::vector<LayerInfo> layers = {layer("QuantizeLinear", Precision::int8, Dtype::u8, 0),
                                   layer("QConv", Precision::int8, Dtype::u8, 90),
                                   layer("MatMul", Precision::f32, Dtype::f32, 10),
                                   layer("Gather", Precision::s64, Dtype::s64, 0),
                                   layer("DequantizeLinear", Precision::f32, Dtype::f32, 0)};
  layers.front().conversion = layers.back().conversion = true;
  const Coverage coverage = coverage_of(layers);
  EXPECT_EQ(coverage.layers, 2);
  EXPECT_EQ(coverage.int8_layers, 1);
  EXPECT_DOUBLE_EQ(coverage.layer_share(), 0.5);
  EXPECT_DOUBLE_EQ(coverage.mac_share(), 0.9);
  EXPECT_EQ(coverage.int8_bytes, 45 + 1);
  EXPECT_EQ(coverage.bytes, 46 + 5 + 4);
  EXPECT_EQ(coverage.us, 0);
}

TEST(Coverage, OfNothingThereIsNoShare) {
  EXPECT_TRUE(std::isnan(coverage_of({}).layer_share()));
  const std::vector<LayerInfo> layers = {layer("QTable", Precision::int8, Dtype::u8, 0),
                                         layer("Pow", Precision::f32, Dtype::f32, 0)};
  const Coverage coverage = coverage_of(layers);
  EXPECT_DOUBLE_EQ(coverage.layer_share(), 0.5);
  EXPECT_TRUE(std::isnan(coverage.mac_share()));
  EXPECT_TRUE(std::isnan(coverage.time_share()));
}

}  // namespace
}  // namespace octet
