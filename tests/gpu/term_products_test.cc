// SPDX-License-Identifier: Apache-2.0
// Products of f32, and of codes by f32, on a Hopper's warpgroups, in terms of 16 bits: errors are no larger than an f32 sum in order may have (docs/numerics.md, section 7).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/backends.h"
#include "compile_only.h"
#include "half_kernels.h"
#include "on_gpu.h"
#include "plan/chain_testing.h"

namespace octet::test {
namespace {

// A network's first layer: from the caller's f32 image to reals and codes.
TEST(GpuTermProducts, FirstLayers) {
  NEEDS_HOPPER();
  const DearChains whatever_they_cost;  // of images as small as these
  const s64 most = only_compiles() ? 2 : 1;
  for (const char* y : {"bf16", "u8", "f16"})
    expect_all_near({.batch = 2,
                     .channels = 3,
                     .height = 13,
                     .width = 70,
                     .outputs = 32,
                     .kernel_h = 3,
                     .kernel_w = 3,
                     .stride = 2,
                     .pad = 1,
                     .type = "f32",
                     .y = y,
                     .activation = "clip"},
                    most, "stem_terms6");
  expect_all_near({.channels = 3,
                   .height = 21,
                   .width = 34,
                   .outputs = 60,
                   .kernel_h = 7,
                   .kernel_w = 7,
                   .stride = 2,
                   .pad = 3,
                   .type = "f32",
                   .y = "u8",
                   .activation = "relu"},
                  most, "stem_terms6");
  expect_all_near({.channels = 4,
                   .height = 19,
                   .width = 31,
                   .outputs = 9,
                   .kernel_h = 5,
                   .kernel_w = 6,
                   .stride = 2,
                   .pad = 2,
                   .type = "f32",
                   .y = "u8",
                   .bias = false},
                  most, "stem_terms6");
}

// Alone, with nothing behind it, an image as large as those of a batch is read as it lies.
TEST(GpuTermProducts, AFirstLayerAlone) {
  NEEDS_HOPPER();
  const Graph graph =
      parse_graph("graph \"g\"(%x: f32[64,3,224,224]) {\n" + weights("w", "32,3,3,3", 864) + R"(
  %y: f32[64,32,112,112] = Conv(%x, %w) {pads=ints[1, 1, 1, 1], strides=ints[2, 2]}
  return %y
})",
                  find_op);
  const std::vector<std::string> names =
      kernel_names(plan_of(graph, make_target(hopper(why)->name(), 1, nullptr)));
  EXPECT_TRUE(std::ranges::any_of(
      names, [](const std::string& kernel) { return kernel.starts_with("stem_terms3_32"); }));
}

// Products of terms by warpgroups: x of f32 or codes, in tiles of all shapes.
TEST(GpuTermProducts, Images) {
  NEEDS_HOPPER();
  const s64 most = only_compiles() ? 3 : 1;
  expect_all_near({.batch = 3,
                   .channels = 24,
                   .outputs = 40,
                   .type = "f32",
                   .y = "f32",
                   .residual = "f32",
                   .activation = "relu"},
                  most, "terms6_wgmma");
  expect_all_near({.batch = 2,
                   .channels = 36,
                   .height = 11,
                   .width = 12,
                   .outputs = 70,
                   .kernel_h = 3,
                   .kernel_w = 2,
                   .stride = 2,
                   .dilation = 2,
                   .pad = 2,
                   .type = "f32",
                   .y = "u8"},
                  most, "terms6_wgmma");
  for (const char* type : {"u8", "s8"}) {
    expect_all_near({.batch = 2,
                     .channels = 80,
                     .outputs = 136,
                     .type = type,
                     .y = "u8",
                     .activation = "clip",
                     .zero = type == std::string("u8") ? 131 : -9},
                    most, "terms3_wgmma");
    expect_all_near({.channels = 48,
                     .outputs = 21,
                     .kernel_h = 3,
                     .kernel_w = 3,
                     .pad = 1,
                     .type = type,
                     .y = "f32"},
                    most, "terms3_wgmma");
  }
}

TEST(GpuTermProducts, Rows) {
  NEEDS_HOPPER();
  const s64 most = only_compiles() ? 4 : 2;
  expect_all_near({.batch = 3,
                   .channels = 100,
                   .height = 30,
                   .outputs = 72,
                   .type = "f32",
                   .y = "f32",
                   .rows = true},
                  most, "terms6_wgmma");
  expect_all_near(
      {.channels = 68, .height = 140, .outputs = 136, .type = "f32", .y = "f16", .rows = true},
      most, "terms6_wgmma");
  expect_all_near({.channels = 16,
                   .height = 1,
                   .outputs = 11,
                   .type = "u8",
                   .y = "f32",
                   .rows = true,
                   .bias = false,
                   .zero = 3},
                  most, "terms3_wgmma");
}

f32 real_at(const Tensor& from, size_t i) {
  return from.dtype() == Dtype::f16 ? static_cast<f32>(from.as<f16>()[i]) : from.as<f32>()[i];
}

// Infinities and NaN have no terms: outputs that read one have the reference's, and all others are as near as they were.
TEST(GpuTermProducts, HostileNumbers) {
  if (only_compiles()) GTEST_SKIP() << "nothing runs here";
  NEEDS_HOPPER();
  const DearChains whatever_they_cost;
  constexpr f32 kInfinity = std::numeric_limits<f32>::infinity();
  const HalfCase first{.channels = 3,
                       .height = 24,
                       .width = 40,
                       .outputs = 16,
                       .kernel_h = 3,
                       .kernel_w = 3,
                       .stride = 2,
                       .pad = 1,
                       .type = "f32",
                       .y = "f16",
                       .bias = false},
      middle{.channels = 20,
             .height = 9,
             .width = 20,
             .outputs = 24,
             .kernel_h = 3,
             .kernel_w = 3,
             .pad = 1,
             .type = "f32",
             .y = "f32",
             .bias = false};
  for (const auto& [c, kernels] :
       {std::pair(first, "stem_terms6"), std::pair(middle, "terms6_wgmma")}) {
    const Operands operands(c);
    const Graph graph = operands.graph();
    Tensor x = operands.inputs()[0].clone();
    std::span<f32> values = x.mutable_as<f32>();
    values[0] = kInfinity;
    values[static_cast<size_t>(c.width * 2 + 7)] = -kInfinity;
    values[static_cast<size_t>(c.width * 5 + 11)] = std::numeric_limits<f32>::quiet_NaN();
    values[static_cast<size_t>(c.width * 6 + 18)] = std::numeric_limits<f32>::max();
    const std::vector<Tensor> hostile{x};
    const Tensor want = run_on(graph, hostile, make_target("cpu", 1, nullptr))[0];
    const auto see = [&](const std::string& kernel, const std::vector<Tensor>& y) {
      for (size_t i = 0; i < static_cast<size_t>(want.elements()); ++i) {
        const f32 w = real_at(want, i), g = real_at(y[0], i);
        ASSERT_EQ(std::isnan(g), std::isnan(w)) << kernel << " " << i;
        if (std::isinf(w)) {
          ASSERT_EQ(g, w) << kernel << " " << i;
        } else if (!std::isnan(w)) {
          ASSERT_NEAR(g, w, 1e-3f * std::max(1.0f, std::abs(w))) << kernel << " " << i;
        }
      }
    };
    EXPECT_GT(for_each_kernel(graph, hostile, kernels, 1, see), 0) << kernels;
  }
}

}  // namespace
}  // namespace octet::test
