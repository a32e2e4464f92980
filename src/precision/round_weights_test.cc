// SPDX-License-Identifier: Apache-2.0
#include "precision/round_weights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "graph/text.h"
#include "ops/registry.h"
#include "precision/precision.h"
#include "precision/range_testing.h"

namespace octet {
namespace {

constexpr s64 kOutputs = 3, kSide = 3;
constexpr size_t kTaps = kSide * kSide;
const std::vector<s64> kDense = {1, 1};

std::vector<f32> codes_of(const Tensor& weights, f32 scale) {
  std::vector<f32> codes;
  for (f32 w : weights.as<f32>()) codes.push_back(std::nearbyint(w / scale));
  return codes;
}

f64 sum_of_errors(std::span<const f32> rounded, std::span<const f32> real) {
  f64 sum = 0;
  for (size_t i = 0; i < real.size(); ++i) sum += f64{rounded[i]} - f64{real[i]};
  return sum;
}

TEST(RoundedWindows, ErrorsOfAWindowAddUpToLittle) {
  // All of them would be rounded down.
  const std::vector<f32> real = {127, .4f, .4f, .4f, .4f, .4f, .4f, .4f, .4f};
  const Tensor weights = Tensor::of<f32>({1, 1, 3, 3}, real);
  const Tensor rounded = rounded_windows(weights, std::vector<f32>{1}, kDense);
  EXPECT_LT(std::fabs(sum_of_errors(rounded.as<f32>(), weights.as<f32>())), 1);
  EXPECT_EQ(rounded.as<f32>()[0], 127);
  for (size_t i = 1; i < kTaps; ++i) {
    const f32 w = rounded.as<f32>()[i];
    EXPECT_TRUE(w == 0 || w == 1) << w;
  }
}

TEST(RoundedWindows, WeightsThatAreCodesStay) {
  Tensor weights(Dtype::f32, {kOutputs, 1, kSide, kSide});
  const std::vector<f32> scales = {0.01f, 1.0f / 3, 7e-5f};
  for (size_t i = 0; i < weights.as<f32>().size(); ++i)
    weights.mutable_as<f32>()[i] = scales[i / kTaps] * (static_cast<f32>(i * 37 % 255) - 127);
  const Tensor rounded = rounded_windows(weights, scales, kDense);
  for (size_t o = 0; o < scales.size(); ++o) {
    for (size_t i = o * kTaps; i < (o + 1) * kTaps; ++i)
      EXPECT_EQ(std::nearbyint(rounded.as<f32>()[i] / scales[o]),
                std::nearbyint(weights.as<f32>()[i] / scales[o]));
  }
}

// Each code is one of the two nearest, section 3 of docs/numerics.md gives it again, and windows lose less on pixels that are alike.
TEST(RoundedWindows, RandomWindows) {
  std::mt19937 random(1);
  std::uniform_real_distribution<f32> uniform(-1, 1);
  f64 nearest_error = 0, error = 0;
  for (int round = 0; round < 200; ++round) {
    Tensor weights(Dtype::f32, {1, 1, kSide, kSide});
    for (f32& w : weights.mutable_as<f32>()) w = uniform(random);
    const QuantizedWeights nearest = quantize_weights(weights, {}, {1, kTaps}, {});
    const Tensor rounded = rounded_windows(weights, nearest.scales, kDense);
    const QuantizedWeights again = quantize_weights(rounded, {}, {1, kTaps}, {});
    EXPECT_EQ(again.scales, nearest.scales);
    const f32 scale = nearest.scales[0];
    const std::vector<f32> codes = codes_of(rounded, scale);
    f64 nearest_sum = 0, sum = 0;
    for (size_t i = 0; i < kTaps; ++i) {
      const f64 real = f64{weights.as<f32>()[i]} / scale;
      EXPECT_LT(std::fabs(codes[i] - real), 1.0 + 1e-6);
      EXPECT_EQ(again.codes.as<s8>()[i], static_cast<s8>(codes[i]));
      nearest_sum += nearest.codes.as<s8>()[i] - real;
      sum += codes[i] - real;
    }
    nearest_error += nearest_sum * nearest_sum;
    error += sum * sum;
  }
  EXPECT_LT(error, 0.5 * nearest_error);
}

TEST(RoundedWindows, PixelsFarApartAreEachForThemselves) {
  const std::vector<f32> real = {127, .4f, .4f};
  const Tensor weights = Tensor::of<f32>({1, 1, 1, 3}, real);
  const std::vector<s64> far = {1, 20};
  const Tensor rounded = rounded_windows(weights, std::vector<f32>{1}, far);
  EXPECT_EQ(rounded.as<f32>()[1], 0);
  EXPECT_EQ(rounded.as<f32>()[2], 0);
}

constexpr const char* kWindow = R"(graph "g"(%x: f32[1,1,4,4]) {
  const %w: f32[1,1,1,4] = {127, 0.4, 0.4, 0.4}
  const %b: f32[1] = {7}
  %y: f32[1,1,4,1] = Conv(%x, %w, %b) name "conv"
  return %y
})";

TEST(RoundWeights, BiasesAreCorrectedByTheRealWeights) {
  Graph graph = parse_graph(kWindow, find_op);
  graph.nodes[0].decision.precision = Precision::int8;
  Range x = range(0.0f, 20.0f);
  x.seen = std::make_shared<TensorStatistics>(TensorStatistics{0, {}, {10.0}, {}});
  WeightCodes codes;
  correct_biases(graph, {{graph.find_value("x"), x}}, codes);
  round_weights(graph, codes);
  f64 sum = 0;
  for (f32 w : graph.constant_input(graph.nodes[0], 1)->as<f32>()) sum += w;
  EXPECT_GT(sum, 127.5);  // one of three became 1
  const f64 bias = graph.constant_input(graph.nodes[0], 2)->as<f32>()[0];
  EXPECT_NEAR(sum * 10 + bias, (127 + 3 * 0.4) * 10 + 7, 1e-3);
}

TEST(RoundWeights, LayersThatStayRealKeepTheirWeights) {
  Graph graph = parse_graph(kWindow, find_op);
  const std::byte* before = graph.constant_input(graph.nodes[0], 1)->data();
  WeightCodes codes;
  round_weights(graph, codes);
  EXPECT_EQ(graph.constant_input(graph.nodes[0], 1)->data(), before);
}

// Passes ahead make the weights anew for each variant.
TEST(RoundWeights, AreRoundedOnceForAllVariants) {
  Graph graph = parse_graph(kWindow, find_op);
  graph.nodes[0].decision.precision = Precision::int8;
  Graph other = graph;
  Tensor& again = other.value(other.find_value("w")).constant;
  again = again.clone();
  WeightCodes codes;
  round_weights(graph, codes);
  round_weights(other, codes);
  EXPECT_EQ(graph.constant_input(graph.nodes[0], 1)->data(),
            other.constant_input(other.nodes[0], 1)->data());
  EXPECT_EQ(codes.quantized(), 0);  // only scales were asked for
}

}  // namespace
}  // namespace octet
