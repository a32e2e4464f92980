// SPDX-License-Identifier: Apache-2.0
#include "inspect/coverage.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "graph/op_def.h"
#include "inspect/macs.h"

namespace octet {
namespace {

LayerInfo layer(const char* op, const char* precision, Dtype dtype, int64_t macs) {
  LayerInfo info;
  info.op = op;
  info.precision = precision;
  info.output_types = {{dtype, Shape{1}}};
  info.macs = macs;
  return info;
}

TEST(Coverage, ConversionsAndShapeArithmeticAreNotLayers) {
  const std::vector<LayerInfo> layers = {
      layer("QuantizeLinear", "int8", Dtype::u8, 0), layer("QConv", "int8", Dtype::u8, 90),
      layer("MatMul", "f32", Dtype::f32, 10), layer("Gather", "s64", Dtype::s64, 0),
      layer("DequantizeLinear", "f32", Dtype::f32, 0)};
  const Coverage coverage = coverage_of(layers);
  EXPECT_EQ(coverage.layers, 2);
  EXPECT_EQ(coverage.int8_layers, 1);
  EXPECT_DOUBLE_EQ(coverage.layer_share(), 0.5);
  EXPECT_DOUBLE_EQ(coverage.mac_share(), 0.9);
}

TEST(Coverage, NothingToQuantizeIsFullyCovered) {
  EXPECT_DOUBLE_EQ(coverage_of({}).mac_share(), 1.0);
}

TEST(Macs, CountsByOperator) {
  const auto f32_of = [](Shape shape) { return TensorType{Dtype::f32, shape}; };
  const OpDef conv{.name = "QConv", .domain = "octet", .inputs = {}, .outputs = {}};
  Node node;
  node.op = &conv;
  // 3x3 filters over 8 channels in 2 groups: every output element costs 4 * 9.
  const std::array conv_in = {f32_of({1, 8, 10, 10}), f32_of({16, 4, 3, 3})};
  const std::array conv_out = {f32_of({1, 16, 8, 8})};
  EXPECT_EQ(count_macs(node, conv_in, conv_out), 16 * 8 * 8 * 4 * 9);

  const OpDef matmul{.name = "MatMul", .domain = "", .inputs = {}, .outputs = {}};
  node.op = &matmul;
  const std::array matmul_in = {f32_of({2, 3, 5}), f32_of({5, 7})};
  const std::array matmul_out = {f32_of({2, 3, 7})};
  EXPECT_EQ(count_macs(node, matmul_in, matmul_out), 2 * 3 * 7 * 5);

  const OpDef relu{.name = "Relu", .domain = "", .inputs = {}, .outputs = {}};
  node.op = &relu;
  EXPECT_EQ(count_macs(node, std::array{f32_of({4})}, std::array{f32_of({4})}), 0);
}

}  // namespace
}  // namespace octet
