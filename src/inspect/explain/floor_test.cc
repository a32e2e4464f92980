// SPDX-License-Identifier: Apache-2.0
#include "inspect/explain/floor.h"

#include <gtest/gtest.h>

namespace octet {
namespace {

TEST(Floor, IsTheLongerOfMultiplicationsAndBytes) {
  const DeviceRates rates{1000, 500};  // 1 GHz, 500 bytes a microsecond
  LayerInfo conv;
  conv.macs_per_cycle = 1024;
  conv.macs = 1024 * 1000 * 3;
  EXPECT_DOUBLE_EQ(floor_us(conv, rates, 1), 3);
  EXPECT_DOUBLE_EQ(floor_us(conv, rates, 2), 1.5);
  conv.constant_bytes = 5000;
  conv.input_types = {{Dtype::u8, Shape{1, 500}}};
  conv.output_types = {{Dtype::f32, Shape{1, 125}}};
  EXPECT_DOUBLE_EQ(floor_us(conv, rates, 1), 12);
}

TEST(Floor, WithoutMultiplicationsTheBytesAlone) {
  LayerInfo table;
  table.input_types = {{Dtype::u8, Shape{1, 500}}};
  EXPECT_DOUBLE_EQ(floor_us(table, {1000, 500}, 1), 1);
}

TEST(Floor, MeasuresThisMachine) {
  const DeviceRates rates = measure_rates();
  EXPECT_GT(rates.cycles_per_us, 0);
  EXPECT_GT(rates.bytes_per_us, 0);
}

}  // namespace
}  // namespace octet
