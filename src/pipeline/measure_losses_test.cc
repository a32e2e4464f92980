// SPDX-License-Identifier: Apache-2.0
// A layer that loses what others do not is found, whatever the order of the samples and the number of threads.
#include "pipeline/measure_losses.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "graph/text.h"
#include "ops/registry.h"

namespace octet {
namespace {

Tensor random_tensor(const Shape& shape, u32 seed) {
  std::mt19937 random(seed);
  std::normal_distribution<f32> normal;
  Tensor tensor(Dtype::f32, shape);
  for (f32& x : tensor.mutable_as<f32>()) x = normal(random);
  return tensor;
}

// The second layer reads one channel that is a thousand times as loud as the other, and takes it away again: Sigmoid fixes both channels.
Graph loud_and_quiet() {
  Graph graph = parse_graph(R"(graph "g"(%x: f32[1,1,8,8]) {
    const %w1: f32[2,1,1,1] = {400, 0.02}
    const %b1: f32[2] = {401, 0}
    const %w2: f32[1,2,1,1] = {0.0001, 50}
    const %w3: f32[1,1,1,1] = {1}
    %a: f32[1,2,8,8] = Conv(%x, %w1, %b1) name "first"
    %t: f32[1,2,8,8] = Tanh(%a) name "tanh"
    %s: f32[1,2,8,8] = Add(%a, %t) name "sum"
    %b: f32[1,1,8,8] = Conv(%s, %w2) name "second"
    %y: f32[1,1,8,8] = Conv(%b, %w3) name "third"
    return %y
  })",
                            find_op);
  return graph;
}

std::vector<LayerLoss> losses_of(std::vector<Tensor> samples, int threads) {
  CalibrationOptions options;
  options.try_layers = true;
  options.samples = [&, at = size_t{0}](std::vector<Tensor>& inputs) mutable {
    if (at == samples.size()) return false;
    inputs = {samples[at++]};
    return true;
  };
  const FloatModel model = calibrate(optimize(loud_and_quiet(), {}), options, {threads, {}});
  return model.calibration->losses;
}

TEST(MeasureLosses, AreTheSameInAnyOrder) {
  std::vector<Tensor> samples;
  for (u32 i = 0; i < 12; ++i) samples.push_back(random_tensor({1, 1, 8, 8}, i));
  const std::vector<LayerLoss> first = losses_of(samples, 1);
  ASSERT_EQ(first.size(), 3u);
  EXPECT_EQ(first[1].layer, "second");
  // What the quiet channel says is below a step of the loud one.
  EXPECT_GT(first[1].lost, 0.02);
  EXPECT_LT(first[0].lost, 1e-3);
  EXPECT_LT(first[2].lost, 1e-3);
  for (u32 seed = 0; seed < 4; ++seed) {
    std::ranges::shuffle(samples, std::mt19937(seed));
    const std::vector<LayerLoss> again = losses_of(samples, seed % 2 == 0 ? 1 : 3);
    ASSERT_EQ(again.size(), first.size());
    for (size_t i = 0; i < first.size(); ++i) {
      EXPECT_EQ(again[i].layer, first[i].layer);
      EXPECT_EQ(again[i].lost, first[i].lost);
      EXPECT_EQ(again[i].slower, first[i].slower);
    }
  }
}

// One sample pays for two runs: that of the float model, and a part of those of layers.
TEST(MeasureLosses, TakeNoMoreTimeThanTheyMay) {
  const std::vector<LayerLoss> few = losses_of({random_tensor({1, 1, 8, 8}, 1)}, 1);
  EXPECT_GE(few.size(), 1u);
  EXPECT_LT(few.size(), 3u);
}

}  // namespace
}  // namespace octet
