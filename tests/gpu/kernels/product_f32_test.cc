// SPDX-License-Identifier: Apache-2.0
// Conv, ConvTranspose and MatMul of reals on the device: close to the scalar reference, to the bit where a group has few channels.
#include <gtest/gtest.h>

#include <limits>

#include "backends/cuda/lowerings.h"
#include "float_conv_probe.h"

namespace octet {
namespace {

void expect_on_gpu(const Probe& probe, LowerFunction lowering, bool exact,
                   const std::string& what) {
  exact ? expect_exact_on_gpu(probe, lowering, what) : expect_close_on_gpu(probe, lowering, what);
}

TEST(GpuConvF32, Images) {
  NEEDS_GPU();
  for (const Window& window : kImages) {
    expect_on_gpu(conv_probe("Conv", {2, 12, 11, 13}, 70, 1, window), cuda::lower_conv_f32, false,
                  "dense");
    expect_on_gpu(conv_probe("Conv", {1, 12, 9, 13}, 20, 2, window), cuda::lower_conv_f32, false,
                  "groups");
    expect_on_gpu(conv_probe("Conv", {2, 12, 9, 13}, 12, 12, window), cuda::lower_conv_f32, true,
                  "depthwise");
    expect_on_gpu(conv_probe("Conv", {1, 35, 9, 13}, 2, 1, window), cuda::lower_conv_f32, true,
                  "two channels");
  }
  expect_on_gpu(conv_probe("Conv", {1, 3, 70, 66}, 8, 1, kImages[1]), cuda::lower_conv_f32, false,
                "many pixels");
}

TEST(GpuConvF32, SignalsAndVolumes) {
  NEEDS_GPU();
  const Window signal{{5}, {2}, {1, 3}, {2}};
  const Window volume{{2, 3, 1}, {1, 2, 1}, {1, 0, 0, 0, 1, 0}, {1, 1, 1}};
  expect_on_gpu(conv_probe("Conv", {2, 6, 40}, 9, 1, signal), cuda::lower_conv_f32, false,
                "signal");
  expect_on_gpu(conv_probe("Conv", {2, 6, 40}, 6, 6, signal), cuda::lower_conv_f32, true,
                "depthwise signal");
  expect_on_gpu(conv_probe("Conv", {2, 6, 5, 8, 7}, 9, 3, volume), cuda::lower_conv_f32, true,
                "volume");
  expect_on_gpu(conv_probe("Conv", {2, 6, 5, 8, 7}, 18, 3, volume), cuda::lower_conv_f32, false,
                "wide volume");
  expect_on_gpu(conv_probe("ConvTranspose", {2, 6, 20}, 9, 1, signal),
                cuda::lower_conv_transpose_f32, false, "signal");
}

TEST(GpuConvF32, ResidualAndActivations) {
  NEEDS_GPU();
  for (const char* kind : {"", "relu", "clip", "leaky_relu"}) {
    for (s64 groups : {1, 12}) {
      Probe probe = conv_probe("Conv", {2, 12, 9, 7}, 12, groups, kImages[1]);
      // NaN passes the activation; what is close has no NaN to compare.
      if (groups != 1)
        probe.inputs[0].tensor.mutable_as<f32>()[70] = std::numeric_limits<f32>::quiet_NaN();
      probe.inputs.push_back(activation(random_f32({2, 12, 9, 7}, 4, 9.0f), Layout::nhwc));
      if (*kind != 0) probe.attrs.set("activation", std::string(kind));
      probe.attrs.set("activation_min", -0.5f);
      probe.attrs.set("activation_max", 1.5f);
      expect_on_gpu(probe, cuda::lower_conv_f32, groups != 1, kind);
    }
  }
}

TEST(GpuConvTransposeF32, Images) {
  NEEDS_GPU();
  for (const Window& window : kImages) {
    expect_on_gpu(conv_probe("ConvTranspose", {2, 12, 6, 7}, 20, 2, window),
                  cuda::lower_conv_transpose_f32, false, "groups");
    expect_on_gpu(conv_probe("ConvTranspose", {2, 12, 6, 7}, 12, 12, window),
                  cuda::lower_conv_transpose_f32, true, "depthwise");
  }
  Probe padded =
      conv_probe("ConvTranspose", {1, 8, 5, 6}, 8, 1, {{3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}});
  padded.attrs.set("output_padding", Ints{1, 1});
  expect_on_gpu(padded, cuda::lower_conv_transpose_f32, false, "beyond the last tap");
}

Probe matmul_probe(const Shape& a, const Shape& b, bool constant_b) {
  return {.op = "MatMul", .inputs = {activation(random_f32(a, 1)), {random_f32(b, 2), constant_b}}};
}

TEST(GpuMatMulF32, ShapesAndBatches) {
  NEEDS_GPU();
  for (bool constant_b : {false, true}) {
    for (s64 k : {1, 16, 77}) {
      expect_on_gpu(matmul_probe({65, k}, {k, 67}, constant_b), cuda::lower_matmul_f32, false,
                    "one product");
      expect_on_gpu(matmul_probe({2, 3, 9, k}, {k, 12}, constant_b), cuda::lower_matmul_f32, false,
                    "shared b");
      expect_on_gpu(matmul_probe({2, 3, 9, k}, {2, 3, k, 5}, constant_b), cuda::lower_matmul_f32,
                    false, "batches");
      expect_on_gpu(matmul_probe({4, 1, 9, k}, {3, k, 5}, constant_b), cuda::lower_matmul_f32,
                    false, "both broadcast");
      expect_on_gpu(matmul_probe({k}, {3, k, 5}, constant_b), cuda::lower_matmul_f32, false,
                    "a vector");
      expect_on_gpu(matmul_probe({3, 9, k}, {k}, constant_b), cuda::lower_matmul_f32, false,
                    "by a vector");
    }
  }
}

TEST(GpuMatMulF32, Fused) {
  NEEDS_GPU();
  Probe probe = matmul_probe({2, 33, 20}, {2, 20, 30}, false);
  probe.inputs.push_back(constant(random_f32({30}, 3)));
  probe.inputs.push_back(activation(random_f32({2, 33, 30}, 4)));
  probe.attrs.set("activation", std::string("relu"));
  expect_on_gpu(probe, cuda::lower_matmul_f32, false, "bias, residual, relu");
}

}  // namespace
}  // namespace octet
