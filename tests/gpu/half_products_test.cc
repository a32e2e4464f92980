// SPDX-License-Identifier: Apache-2.0
// Products of numbers of 16 bits on a Hopper's warpgroups: each within the error that its length and operands allow (docs/numerics.md, section 7).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "backends/backends.h"
#include "compile_only.h"
#include "graph/text.h"
#include "half_kernels.h"
#include "half_operands.h"
#include "on_gpu.h"
#include "ops/registry.h"
#include "ops/shared/dtypes.h"
#include "plan/chain_testing.h"

namespace octet::test {
namespace {

TEST(GpuHalfProducts, Images) {
  NEEDS_HOPPER();
  const s64 most = only_compiles() ? 4 : 2;
  expect_all_near({.batch = 3, .channels = 24, .outputs = 40, .activation = "relu"}, most);
  expect_all_near({.channels = 64, .outputs = 70, .type = "bf16", .y = "bf16", .bias = false},
                  most);
  expect_all_near({.batch = 2,
                   .channels = 32,
                   .height = 8,
                   .outputs = 24,
                   .kernel_h = 3,
                   .kernel_w = 3,
                   .pad = 1},
                  4);
  expect_all_near({.channels = 40,
                   .width = 12,
                   .outputs = 100,
                   .kernel_h = 3,
                   .kernel_w = 2,
                   .stride = 2,
                   .dilation = 2,
                   .pad = 2},
                  most);
  expect_all_near({.batch = 2,
                   .channels = 8,
                   .outputs = 9,
                   .kernel_h = 3,
                   .kernel_w = 3,
                   .stride = 2,
                   .pad = 1,
                   .type = "bf16",
                   .y = "f32"},
                  most);
}

// Blocks of pixels become pixels of many channels.
TEST(GpuHalfProducts, ImagesOfFewChannels) {
  NEEDS_HOPPER();
  expect_all_near({.batch = 2,
                   .channels = 3,
                   .height = 61,
                   .width = 70,
                   .outputs = 72,
                   .kernel_h = 7,
                   .kernel_w = 7,
                   .stride = 2,
                   .pad = 3,
                   .activation = "relu",
                   .image = true},
                  1);
  expect_all_near({.channels = 3,
                   .height = 15,
                   .width = 14,
                   .outputs = 96,
                   .kernel_h = 3,
                   .kernel_w = 3,
                   .stride = 2,
                   .pad = 1,
                   .type = "bf16",
                   .y = "u8",
                   .image = true},
                  1);
  expect_all_near({.channels = 4,
                   .height = 9,
                   .width = 11,
                   .outputs = 17,
                   .kernel_h = 3,
                   .kernel_w = 3,
                   .pad = 1,
                   .image = true},
                  1);
}

// Rows of cells that stay in shared memory, as numbers of 16 bits.
TEST(GpuHalfProducts, FirstLayers) {
  NEEDS_HOPPER();
  const DearChains whatever_they_cost;  // of images as small as these
  const s64 most = only_compiles() ? 6 : 1;
  expect_all_near({.batch = 2,
                   .channels = 3,
                   .height = 61,
                   .width = 70,
                   .outputs = 40,
                   .kernel_h = 7,
                   .kernel_w = 7,
                   .stride = 2,
                   .pad = 3,
                   .activation = "relu",
                   .image = true},
                  most, "stem_f16");
  expect_all_near({.channels = 3,
                   .height = 15,
                   .width = 14,
                   .outputs = 32,
                   .kernel_h = 3,
                   .kernel_w = 3,
                   .stride = 2,
                   .pad = 1,
                   .type = "bf16",
                   .y = "u8",
                   .image = true},
                  most, "stem_bf16");
  expect_all_near({.channels = 2,
                   .height = 30,
                   .width = 200,
                   .outputs = 9,
                   .kernel_h = 5,
                   .kernel_w = 3,
                   .stride = 2,
                   .pad = 1,
                   .y = "f32",
                   .image = true},
                  most, "stem_f16");
}

TEST(GpuHalfProducts, Ends) {
  NEEDS_HOPPER();
  const s64 most = only_compiles() ? 4 : 1;
  for (const char* y : {"f16", "f32", "u8"}) {
    for (const char* residual : {"f16", "f32"})
      expect_all_near({.batch = 2,
                       .channels = 16,
                       .outputs = 136,
                       .y = y,
                       .residual = residual,
                       .activation = "clip"},
                      most);
  }
  expect_all_near({.channels = 16,
                   .outputs = 21,
                   .kernel_h = 3,
                   .kernel_w = 3,
                   .pad = 1,
                   .type = "bf16",
                   .y = "bf16",
                   .residual = "bf16"},
                  most);
}

TEST(GpuHalfProducts, Rows) {
  NEEDS_HOPPER();
  const s64 most = only_compiles() ? 8 : 2;
  expect_all_near({.batch = 3, .channels = 200, .height = 50, .outputs = 72, .rows = true}, most);
  expect_all_near(
      {.channels = 8, .height = 1, .outputs = 11, .y = "f32", .rows = true, .bias = false}, most);
  expect_all_near({.channels = 136,
                   .height = 140,
                   .outputs = 320,
                   .type = "bf16",
                   .y = "bf16",
                   .residual = "bf16",
                   .rows = true},
                  most);
}

// The loading warp brings residuals of 16 bits and of codes: places in shared memory are taken again by later tiles, of all ways in which warpgroups share them.
TEST(GpuHalfProducts, BroughtResiduals) {
  NEEDS_HOPPER();
  constexpr s64 kTiles = 6;
  expect_all_near({.channels = 16,
                   .height = 900,
                   .outputs = 200,
                   .residual = "f16",
                   .activation = "relu",
                   .rows = true},
                  kTiles);
  // Two blocks share a multiprocessor, and two warpgroups of each take turns.
  expect_all_near({.channels = 16, .height = 300, .outputs = 64, .residual = "f16", .rows = true},
                  1, "pp_rows_res_x2");
}

// Infinities, NaN and what f16 does not hold come as the unit makes them, in their own outputs and no others; numbers below the normal ones are none of zero.
TEST(GpuHalfProducts, HostileNumbers) {
  if (only_compiles()) GTEST_SKIP() << "nothing runs here";
  NEEDS_HOPPER();
  const HalfCase c{.channels = 24, .height = 40, .outputs = 16, .rows = true, .bias = false};
  const Graph graph = Operands(c).graph();
  Tensor x(Dtype::f16, c.x_shape());
  std::span<f16> values = x.mutable_as<f16>();
  for (size_t i = 0; i < values.size(); ++i) values[i] = f16(static_cast<f32>(i % 7));
  const Tensor tame = x.clone();
  constexpr f32 kInfinity = std::numeric_limits<f32>::infinity();
  values[0 * 24 + 3] = f16(kInfinity);
  values[5 * 24 + 7] = f16(std::numeric_limits<f32>::quiet_NaN());
  for (size_t i = 0; i < 24; ++i) values[9 * 24 + i] = f16(65504.0f);
  for (size_t i = 0; i < 24; ++i) values[11 * 24 + i] = f16(i == 1 ? 0x1p-15f : 0.0f);
  const Target cpu = make_target("cpu", 1, nullptr);
  const std::vector<Tensor> hostile{x}, calm{tame};
  const Tensor want = run_on(graph, hostile, cpu)[0];
  std::vector<Tensor> clean;
  bool tiny = false;
  for_each_kernel(graph, calm, "_wgmma_", 1,
                  [&](const std::string&, const std::vector<Tensor>& y) { clean = y; });
  for_each_kernel(graph, hostile, "_wgmma_", 1,
                  [&](const std::string&, const std::vector<Tensor>& y) {
                    for (size_t i = 0; i < 40 * 16; ++i) {
                      const f32 got = static_cast<f32>(y[0].as<f16>()[i]),
                                exact = static_cast<f32>(want.as<f16>()[i]);
                      const size_t row = i / 16;
                      if (row == 0 || row == 5 || row == 9) {
                        EXPECT_EQ(std::isnan(got), std::isnan(exact)) << i;
                        if (std::isinf(exact)) {
                          EXPECT_EQ(got, exact) << i;
                        }
                      } else if (row == 11) {  // one product, which f32 holds
                        EXPECT_EQ(got, exact) << i;
                        tiny = tiny || got != 0;
                      } else {
                        EXPECT_EQ(got, static_cast<f32>(clean[0].as<f16>()[i])) << i;
                      }
                    }
                  });
  EXPECT_TRUE(tiny);
}

}  // namespace
}  // namespace octet::test
