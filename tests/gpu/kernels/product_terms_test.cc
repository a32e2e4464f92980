// SPDX-License-Identifier: Apache-2.0
// Products of reals on tensor cores: as near to the exact sum as f32 additions one after another are, whatever the numbers.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "backends/cuda/lowerings.h"
#include "float_conv_probe.h"

namespace octet {
namespace {

TEST(GpuProductTerms, Images) {
  NEEDS_GPU();
  for (const Window& window : kImages) {
    expect_close_on_gpu(conv_probe("Conv", {2, 12, 11, 13}, 70, 1, window),
                        cuda::lower_float_product, "dense");
    expect_close_on_gpu(conv_probe("Conv", {1, 20, 9, 13}, 36, 2, window),
                        cuda::lower_float_product, "groups");
    expect_close_on_gpu(conv_probe("Conv", {1, 35, 9, 13}, 9, 1, window), cuda::lower_float_product,
                        "odd channels");
  }
  expect_close_on_gpu(conv_probe("Conv", {1, 3, 70, 66}, 8, 1, kImages[1]),
                      cuda::lower_float_product, "many pixels");
}

// By phases, of which some have fewer taps, fewer pixels, or begin beside the image.
TEST(GpuProductTerms, TransposedImages) {
  NEEDS_GPU();
  const Window windows[] = {{{2, 2}, {2, 2}, {0, 0, 0, 0}, {1, 1}},
                            {{4, 4}, {2, 2}, {1, 1, 1, 1}, {1, 1}},
                            {{3, 5}, {2, 3}, {0, 2, 1, 4}, {1, 1}},
                            {{6, 3}, {3, 1}, {5, 1, 4, 1}, {1, 1}}};
  for (const Window& window : windows) {
    expect_close_on_gpu(conv_probe("ConvTranspose", {2, 12, 6, 7}, 20, 1, window),
                        cuda::lower_float_product, "dense");
    expect_close_on_gpu(conv_probe("ConvTranspose", {1, 12, 6, 7}, 20, 2, window),
                        cuda::lower_float_product, "groups");
  }
  Probe padded =
      conv_probe("ConvTranspose", {1, 8, 5, 6}, 8, 1, {{3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}});
  padded.attrs.set("output_padding", Ints{1, 1});
  expect_close_on_gpu(padded, cuda::lower_float_product, "beyond the last tap");
  const Window apart{{2, 2}, {3, 3}, {0, 0, 0, 0}, {1, 1}};
  EXPECT_EQ(
      run_on_gpu(conv_probe("ConvTranspose", {1, 8, 5, 6}, 8, 1, apart), cuda::lower_float_product)
          .reject,
      "its stride passes its kernel");
}

TEST(GpuProductTerms, ResidualAndActivations) {
  NEEDS_GPU();
  for (const char* kind : {"", "relu", "clip", "leaky_relu"}) {
    Probe probe = conv_probe("Conv", {2, 12, 9, 7}, 12, 1, kImages[1]);
    probe.inputs.push_back(activation(random_f32({2, 12, 9, 7}, 4, 9.0f), Layout::nhwc));
    if (*kind != 0) probe.attrs.set("activation", std::string(kind));
    probe.attrs.set("activation_min", -0.5f);
    probe.attrs.set("activation_max", 1.5f);
    expect_close_on_gpu(probe, cuda::lower_float_product, kind);
  }
}

// In the reference's order of additions: the same bits.
TEST(GpuDepthwiseReal, GivesTheReferencesBits) {
  NEEDS_GPU();
  for (const Window& window : kImages) {
    expect_exact_on_gpu(conv_probe("Conv", {2, 12, 9, 13}, 12, 12, window),
                        cuda::lower_float_product, "12 channels");
    expect_exact_on_gpu(conv_probe("Conv", {1, 5, 9, 13}, 5, 5, window), cuda::lower_float_product,
                        "5 channels");
  }
  Probe probe = conv_probe("Conv", {1, 8, 21, 23}, 8, 8, {{7, 7}, {1, 1}, {3, 3, 3, 3}, {1, 1}});
  probe.inputs.push_back(activation(random_f32({1, 8, 21, 23}, 4, 9.0f), Layout::nhwc));
  probe.attrs.set("activation", std::string("clip"));
  probe.attrs.set("activation_min", -0.5f);
  probe.attrs.set("activation_max", 1.5f);
  expect_exact_on_gpu(probe, cuda::lower_float_product, "49 taps, residual and bounds");
}

Probe matmul_probe(Tensor a, Tensor b) {
  return {.op = "MatMul", .inputs = {activation(std::move(a)), constant(std::move(b))}};
}

TEST(GpuProductTerms, Rows) {
  NEEDS_GPU();
  for (s64 k : {1, 16, 77}) {
    expect_close_on_gpu(matmul_probe(random_f32({65, k}, 1), random_f32({k, 67}, 2)),
                        cuda::lower_float_product, "one product");
    expect_close_on_gpu(matmul_probe(random_f32({2, 3, 9, k}, 1), random_f32({k, 12}, 2)),
                        cuda::lower_float_product, "shared b");
    expect_close_on_gpu(matmul_probe(random_f32({k}, 1), random_f32({k, 12}, 2)),
                        cuda::lower_float_product, "a vector");
  }
}

TEST(GpuProductTerms, SaysWhyNot) {
  NEEDS_GPU();
  Tensor weights = random_f32({16, 16}, 2);
  weights.mutable_as<f32>()[3] = std::numeric_limits<f32>::infinity();
  EXPECT_EQ(
      run_on_gpu(matmul_probe(random_f32({4, 16}, 1), weights), cuda::lower_float_product).reject,
      "a weight is not finite");
}

TEST(GpuProductTerms, WeightsOfOneTerm) {
  NEEDS_GPU();
  Tensor weights = random_f32({40, 24}, 2);
  for (f32& w : weights.mutable_as<f32>())
    w = std::bit_cast<f32>(std::bit_cast<u32>(w) & 0xFFFF0000u);
  const ProbeResult result =
      run_on_gpu(matmul_probe(random_f32({33, 40}, 1), weights), cuda::lower_float_product);
  EXPECT_EQ(result.candidate.kernel.find("matmul_terms3_"), 0u) << result.candidate.kernel;
  expect_close_on_gpu(matmul_probe(random_f32({33, 40}, 1), weights), cuda::lower_float_product,
                      "bf16 weights");
}

// The least that a bf16 holds: bits of numbers below 2^-110 are lost under it.
constexpr f64 kLeast = 0x1p-133;

// Largest error of each output against the exact sum, relative to the sum of magnitudes; what terms have no bits for is no part of it.
struct Errors {
  f64 ours = 0, serial = 0;
};

Errors errors_of(const Tensor& a, const Tensor& b) {
  const ProbeResult got = run_on_gpu(matmul_probe(a, b), cuda::lower_float_product);
  EXPECT_EQ(got.reject, "");
  const s64 m = a.shape()[0], k = a.shape()[1], n = b.shape()[1];
  Errors errors;
  for (s64 i = 0; i < m * n; ++i) {
    f64 exact = 0, magnitude = 0, lost = 0;
    f32 serial = 0;
    for (s64 j = 0; j < k; ++j) {
      const f32 x = a.as<f32>()[static_cast<size_t>(i / n * k + j)],
                y = b.as<f32>()[static_cast<size_t>(j * n + i % n)];
      exact += f64{x} * f64{y};
      magnitude += std::abs(f64{x} * f64{y});
      lost += kLeast * (std::abs(f64{x}) + std::abs(f64{y}));
      serial = std::fma(x, y, serial);
    }
    const f64 ours = got.outputs[0].as<f32>()[static_cast<size_t>(i)];
    errors.ours = std::max(errors.ours, (std::abs(ours - exact) - lost) / magnitude);
    errors.serial = std::max(errors.serial, std::abs(f64{serial} - exact) / magnitude);
  }
  return errors;
}

// What makes sums lose: one sign, sizes far apart, sums that cancel, numbers of few and of all bits, many terms.
TEST(GpuProductTerms, ErrorsAreNoLargerThanThoseOfSerialSums) {
  NEEDS_GPU();
  Errors all;
  for (const s64 k : {64, 640, 4096}) {
    for (int kind = 0; kind < 4; ++kind) {
      Tensor a = random_f32({17, k}, 5), b = random_f32({k, 24}, 6);
      std::span<f32> x = a.mutable_as<f32>(), y = b.mutable_as<f32>();
      for (size_t i = 0; i < x.size(); ++i) {
        if (kind == 0) x[i] = std::abs(x[i]) + 1.0f;
        if (kind == 1) x[i] = std::ldexp(x[i], static_cast<int>(i * 7 % 41) - 20);
        if (kind == 2) x[i] = i % 2 == 0 ? x[i] + 100.0f : -100.0f;
        if (kind == 3) x[i] = std::ldexp(x[i], -120);
      }
      if (kind == 0) {
        for (f32& w : y) w = std::abs(w) + 1.0f;
      }
      const Errors errors = errors_of(a, b);
      EXPECT_LE(errors.ours, 2e-6) << k << " " << kind;
      all.ours = std::max(all.ours, errors.ours), all.serial = std::max(all.serial, errors.serial);
    }
  }
  EXPECT_LE(all.ours, all.serial);
}

TEST(GpuProductTerms, InfinitiesAndNaNAreTheReferences) {
  NEEDS_GPU();
  constexpr f32 kInfinity = std::numeric_limits<f32>::infinity();
  Tensor a = random_f32({40, 48}, 1), b = random_f32({48, 40}, 2);
  b.mutable_as<f32>()[7] = 0.0f;
  b.mutable_as<f32>()[8] = 1.0f;
  a.mutable_as<f32>()[0] = kInfinity;
  a.mutable_as<f32>()[5 * 48 + 3] = -kInfinity;
  a.mutable_as<f32>()[6 * 48 + 9] = std::numeric_limits<f32>::quiet_NaN();
  a.mutable_as<f32>()[7 * 48 + 1] = std::numeric_limits<f32>::max();
  const Probe probe = matmul_probe(a, b);
  const Tensor want = probe.reference()[0],
               got = run_on_gpu(probe, cuda::lower_float_product).outputs[0];
  for (size_t i = 0; i < 40 * 40; ++i) {
    const f32 w = want.as<f32>()[i], g = got.as<f32>()[i];
    if (std::isnan(w)) {
      EXPECT_TRUE(std::isnan(g)) << i;
    } else if (std::isinf(w)) {
      EXPECT_EQ(g, w) << i;
    } else {
      EXPECT_NEAR(g, w, 1e-4f * std::max(1.0f, std::abs(w))) << i;
    }
  }
}

}  // namespace
}  // namespace octet
