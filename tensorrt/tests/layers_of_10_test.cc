// SPDX-License-Identifier: Apache-2.0
// Layers that level 10 has got with its later versions.
#include <cmath>

#include "support.h"

#if NV_TENSORRT_MAJOR >= 10

namespace trt_test::layers_of_10 {
namespace {

using Values = std::vector<float>;

ITensor* constant(INetworkDefinition& n, const Dims& sizes, const Values& values) {
  return n.addConstant(sizes, weights_of(values))->getOutput(0);
}

// Two groups of two channels, each with its own mean: what is left is -1 and 1, by channel.
TEST(LayersOf10, NormalizationHasScalesOfChannelsOrOfGroups) {
  static const Values of_channels = {1, 2, 3, 4}, of_groups = {5, 7}, channel_bias = {0, 0, 0, 10},
                      group_bias = {0, 1};
  const Values x = {0, 2, 10, 30};
  const auto normalized = [&](bool v2) {
    return layer_result({1, 4, 1, 1}, x, [&](INetworkDefinition& n, ITensor& in) {
      const int32_t count = v2 ? 4 : 2;
      ITensor* scale = constant(n, Dims4{1, count, 1, 1}, v2 ? of_channels : of_groups);
      ITensor* bias = constant(n, Dims4{1, count, 1, 1}, v2 ? channel_bias : group_bias);
      INormalizationLayer* layer = v2 ? n.addNormalizationV2(in, *scale, *bias, 12)
                                      : n.addNormalization(in, *scale, *bias, 12);
      EXPECT_EQ(layer->isV2(), v2);
      EXPECT_EQ(layer->getType(), LayerType::kNORMALIZATION);
      layer->setNbGroups(2);
      layer->setEpsilon(0);
      return layer->getOutput(0);
    });
  };
  EXPECT_EQ(normalized(true), (Values{-1, 2, -3, 14}));
  EXPECT_EQ(normalized(false), (Values{-5, 5, -6, 8}));
}

struct Turn {
  bool interleaved;
  int32_t turned;
  bool by_places;
};

// One batch, one head, two places, six numbers: quarter turns, so that results are whole.
Values turned(const Values& x, const Turn& turn) {
  const int32_t pairs = (turn.turned == 0 ? 6 : turn.turned) / 2;
  // Place 0 is not turned, place 1 by a quarter; by places, the second row of the table comes first.
  static Values cosine, sine;
  cosine.assign(static_cast<size_t>(2 * pairs), 0.0F);
  sine.assign(static_cast<size_t>(2 * pairs), 0.0F);
  for (int32_t i = 0; i < pairs; ++i) {
    cosine[static_cast<size_t>(i)] = 1;
    sine[static_cast<size_t>(pairs + i)] = 1;
  }
  static const std::vector<int32_t> places = {1, 0};
  return layer_result({1, 1, 2, 6}, x, [&](INetworkDefinition& n, ITensor& in) {
    const Dims sizes = turn.by_places ? Dims{2, {2, pairs}} : Dims{3, {1, 2, pairs}};
    IRotaryEmbeddingLayer* layer = n.addRotaryEmbedding(
        in, *constant(n, sizes, cosine), *constant(n, sizes, sine), turn.interleaved, turn.turned);
    EXPECT_EQ(layer->getType(), LayerType::kROTARY_EMBEDDING);
    EXPECT_EQ(layer->getInterleaved(), turn.interleaved);
    EXPECT_EQ(layer->getRotaryEmbeddingDim(), turn.turned);
    if (turn.by_places) {
      ITensor* ids =
          n.addConstant(Dims2{1, 2}, Weights{DataType::kINT32, places.data(), 2})->getOutput(0);
      layer->setInput(3, *ids);
    }
    return layer->getOutput(0);
  });
}

TEST(LayersOf10, RotaryEmbeddingTurnsPairs) {
  const Values x = {1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6};
  const struct {
    Turn turn;
    Values wanted;
  } cases[] = {
      // (a, b) becomes (-b, a); of halves a is 1, 2, 3 and b is 4, 5, 6.
      {{false, 0, false}, {1, 2, 3, 4, 5, 6, -4, -5, -6, 1, 2, 3}},
      {{true, 0, false}, {1, 2, 3, 4, 5, 6, -2, 1, -4, 3, -6, 5}},
      {{false, 4, false}, {1, 2, 3, 4, 5, 6, -3, -4, 1, 2, 5, 6}},
      {{true, 2, false}, {1, 2, 3, 4, 5, 6, -2, 1, 3, 4, 5, 6}},
      {{false, 0, true}, {-4, -5, -6, 1, 2, 3, 1, 2, 3, 4, 5, 6}},
  };
  for (const auto& one : cases) EXPECT_EQ(turned(x, one.turn), one.wanted);
}

TEST(LayersOf10, RotaryEmbeddingOfNoPairsIsRefused) {
  Maker maker;
  INetworkDefinition& n = *maker.network;
  static const Values angles = {1, 1, 1};
  ITensor* x = n.addInput("x", DataType::kFLOAT, Dims4{1, 1, 1, 5});
  ITensor* cosine = constant(n, Dims3{1, 1, 3}, angles);
  EXPECT_EQ(n.addRotaryEmbedding(*x, *cosine, *cosine, false, 3), nullptr);
  EXPECT_TRUE(maker.logger.has("3 numbers of a head are no pairs")) << maker.logger.text;
  IRotaryEmbeddingLayer* layer = n.addRotaryEmbedding(*x, *cosine, *cosine, false, 0);
  EXPECT_FALSE(layer->setRotaryEmbeddingDim(-2));
  EXPECT_TRUE(layer->setRotaryEmbeddingDim(6));
  layer->setInterleaved(true);
  EXPECT_TRUE(layer->getInterleaved());
  n.markOutput(*layer->getOutput(0));
  EXPECT_EQ(maker.build(), nullptr);
  EXPECT_TRUE(maker.logger.has("6 numbers of a head of 5 are no pairs")) << maker.logger.text;
}

TEST(LayersOf10, FillCountsInIntegers) {
  constexpr int64_t kFrom = (int64_t{1} << 53) + 1;  // which no double tells from its neighbor
  const Values y = layer_result({2}, {0, 0}, [&](INetworkDefinition& n, ITensor& x) {
    IFillLayer* layer = n.addFill(Dims{1, {2}}, FillOperation::kLINSPACE, DataType::kINT64);
    EXPECT_FALSE(layer->isAlphaBetaInt64());
    layer->setAlphaInt64(kFrom);
    layer->setBetaInt64(-1);
    EXPECT_TRUE(layer->isAlphaBetaInt64());
    EXPECT_EQ(layer->getAlphaInt64(), kFrom);
    EXPECT_EQ(layer->getBetaInt64(), -1);
    static const std::vector<int64_t> from = {kFrom};
    ITensor* base =
        n.addConstant(Dims{1, {1}}, Weights{DataType::kINT64, from.data(), 1})->getOutput(0);
    ITensor* off =
        n.addElementWise(*layer->getOutput(0), *base, ElementWiseOperation::kSUB)->getOutput(0);
    ITensor* as_float = n.addCast(*off, DataType::kFLOAT)->getOutput(0);
    return n.addElementWise(x, *as_float, ElementWiseOperation::kSUM)->getOutput(0);
  });
  EXPECT_EQ(y, (Values{0, -1}));
}

}  // namespace
}  // namespace trt_test::layers_of_10

#endif
