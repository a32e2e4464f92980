// SPDX-License-Identifier: Apache-2.0
#include "ops/quantized/weight_codes.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace octet {
namespace {

constexpr Channels kChannels{4, 6};

Tensor random_weights(u32 seed) {
  std::mt19937 random(seed);
  std::normal_distribution<f32> normal;
  Tensor weights(Dtype::f32, Shape{4, 6});
  for (f32& w : weights.mutable_as<f32>()) w = normal(random);
  return weights;
}

void expect_same(const QuantizedWeights& a, const QuantizedWeights& b) {
  ASSERT_EQ(a.codes.type(), b.codes.type());
  EXPECT_TRUE(std::ranges::equal(a.codes.as<s8>(), b.codes.as<s8>()));
  EXPECT_EQ(a.scales, b.scales);
  EXPECT_EQ(a.bias, b.bias);
  EXPECT_EQ(a.reject, b.reject);
}

// Small biases leave the scales to the weights; large ones ask for scales of their own, which depend on the input's.
TEST(WeightCodes, GiveWhatQuantizingGives) {
  WeightCodes cache;
  for (u32 seed = 0; seed < 3; ++seed) {
    const Tensor weights = random_weights(seed);
    for (const f32 bias : {0.0f, 0.5f, 1e9f}) {
      for (const f32 scale : {0.01f, 0.02f, 0.01f}) {
        const std::vector<f32> biases(4, bias);
        const ProductInput x{.scale = scale};
        expect_same(quantize_weights(weights, biases, kChannels, x, &cache),
                    quantize_weights(weights, biases, kChannels, x));
      }
    }
  }
}

TEST(WeightCodes, QuantizeOnceForTheSameScales) {
  WeightCodes cache;
  const Tensor weights = random_weights(1);
  const QuantizedWeights first = quantize_weights(weights, {}, kChannels, {}, &cache);
  const std::vector<f32> bias(4, 0.5f);
  const QuantizedWeights again =
      quantize_weights(weights, bias, kChannels, {.scale = 0.1f}, &cache);
  EXPECT_EQ(cache.quantized(), 1);
  EXPECT_EQ(first.codes.data(), again.codes.data());
  // The same storage in another shape.
  const QuantizedWeights flat =
      quantize_weights(weights.reshaped({4, 3, 2}), {}, kChannels, {}, &cache);
  EXPECT_EQ(cache.quantized(), 1);
  EXPECT_EQ(flat.codes.shape(), (Shape{4, 3, 2}));
  // The same values elsewhere, as passes make them for each variant.
  const QuantizedWeights copy = quantize_weights(weights.clone(), {}, kChannels, {}, &cache);
  EXPECT_EQ(cache.quantized(), 1);
  EXPECT_EQ(first.codes.data(), copy.codes.data());
  // The same storage along other channels, and other values.
  quantize_weights(weights, {}, {6, 1}, {}, &cache);
  EXPECT_EQ(cache.quantized(), 2);
  Tensor other = weights.clone();
  other.mutable_as<f32>().back() *= 0.5f;
  expect_same(quantize_weights(other, {}, kChannels, {}, &cache),
              quantize_weights(other, {}, kChannels, {}));
  EXPECT_EQ(cache.quantized(), 3);
}

TEST(WeightCodes, StayFewWhateverTheScales) {
  WeightCodes cache;
  const Tensor weights = random_weights(2);
  ASSERT_TRUE(cache.magnitudes(weights, kChannels));
  for (int i = 1; i <= 10; ++i)
    cache.codes(weights, kChannels, std::vector<f32>(4, static_cast<f32>(i)));
  EXPECT_EQ(cache.quantized(), 10);
  cache.codes(weights, kChannels, std::vector<f32>(4, 10.0f));  // of the latest
  EXPECT_EQ(cache.quantized(), 10);
  cache.codes(weights, kChannels, std::vector<f32>(4, 1.0f));  // forgotten
  EXPECT_EQ(cache.quantized(), 11);
}

TEST(WeightCodes, RefuseWhatIsNotFinite) {
  WeightCodes cache;
  Tensor weights = random_weights(3);
  weights.mutable_as<f32>()[7] = std::numeric_limits<f32>::infinity();
  for (int i = 0; i < 2; ++i)
    EXPECT_NE(quantize_weights(weights, {}, kChannels, {}, &cache).reject, "");
  EXPECT_EQ(cache.quantized(), 0);
}

}  // namespace
}  // namespace octet
