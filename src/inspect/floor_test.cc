// SPDX-License-Identifier: Apache-2.0
#include "inspect/floor.h"

#include <gtest/gtest.h>

namespace octet {
namespace {

LayerInfo layer(const char* kernel, Precision precision, s64 macs) {
  LayerInfo info;
  info.kernel = kernel;
  info.precision = precision;
  info.macs = macs;
  return info;
}

TEST(Floor, IsTheLongerOfMultiplicationsAndBytes) {
  const MachineRates rates{1000, 500};  // 1 GHz, 500 bytes a microsecond
  LayerInfo conv = layer("conv_u8s8_tiles_amx", Precision::int8, 1024 * 1000 * 3);
  EXPECT_DOUBLE_EQ(floor_us(conv, rates, Isa::amx, 1), 3);
  EXPECT_DOUBLE_EQ(floor_us(conv, rates, Isa::amx, 2), 1.5);
  conv.constant_bytes = 5000;
  conv.input_types = {{Dtype::u8, Shape{1, 500}}};
  conv.output_types = {{Dtype::f32, Shape{1, 125}}};
  EXPECT_DOUBLE_EQ(floor_us(conv, rates, Isa::amx, 1), 12);
}

TEST(Floor, KnowsTheUnitOfAKernel) {
  EXPECT_EQ(macs_per_cycle(layer("depthwise_u8s8_3x3_vnni", Precision::int8, 1), Isa::amx), 128);
  EXPECT_EQ(macs_per_cycle(layer("conv_u8s8_6x16_avx2", Precision::int8, 1), Isa::avx2), 23);
  EXPECT_EQ(macs_per_cycle(layer("dnnl_conv_f32", Precision::f32, 1), Isa::avx2), 16);
  EXPECT_EQ(macs_per_cycle(layer("concat_channels", Precision::int8, 0), Isa::amx), 0);
}

TEST(Floor, MeasuresThisMachine) {
  const MachineRates rates = measure_rates();
  EXPECT_GT(rates.cycles_per_us, 0);
  EXPECT_GT(rates.bytes_per_us, 0);
}

}  // namespace
}  // namespace octet
