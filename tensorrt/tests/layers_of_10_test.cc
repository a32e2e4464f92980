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

// Two heads of queries; keys and values have one head, three places and one number. Queries are large, so that the largest score has all.
Values attended(const Values& queries,
                const std::function<void(INetworkDefinition&, IAttention&)>& change,
                AttentionNormalizationOp op = AttentionNormalizationOp::kSOFTMAX) {
  static const Values keys = {1, 3, 2}, values = {10, 20, 30};
  const int count = static_cast<int>(queries.size()) / 2;
  return layer_result({1, 2, count, 1}, queries, [&](INetworkDefinition& n, ITensor& in) {
    IAttention* attention = n.addAttention(in, *constant(n, Dims4{1, 1, 3, 1}, keys),
                                           *constant(n, Dims4{1, 1, 3, 1}, values), op, false);
    EXPECT_EQ(sizes_of(attention->getOutput(0)->getDimensions()),
              (std::vector<int64_t>{1, 2, count, 1}));
    change(n, *attention);
    return attention->getOutput(0);
  });
}

TEST(LayersOf10, Attention) {
  const Values queries = {100, -100, 100, 100, 100, 100};
  const auto nothing = [](INetworkDefinition&, IAttention&) {};
  EXPECT_EQ(attended(queries, nothing), (Values{20, 10, 20, 20, 20, 20}));
  const auto causal = [](INetworkDefinition&, IAttention& attention) {
    EXPECT_TRUE(attention.setCausal(true));
    EXPECT_TRUE(attention.getCausal());
  };
  EXPECT_EQ(attended(queries, causal), (Values{10, 10, 20, 10, 20, 20}));
  // Fewer queries than keys: the first of them sees the first key.
  EXPECT_EQ(attended({100, 100, 100, -100}, causal), (Values{10, 20, 10, 10}));
  // Who may be attended to, the same for all heads and queries; and numbers that are added for each query.
  const auto allowed = [](INetworkDefinition& n, IAttention& attention) {
    static const bool mask[3] = {true, false, true};
    ITensor* tensor =
        n.addConstant(Dims4{1, 1, 1, 3}, Weights{DataType::kBOOL, mask, 3})->getOutput(0);
    EXPECT_TRUE(attention.setMask(*tensor));
    EXPECT_EQ(attention.getMask(), tensor);
    EXPECT_FALSE(attention.setCausal(true));
  };
  EXPECT_EQ(attended(queries, allowed), (Values{30, 10, 30, 30, 30, 30}));
  const auto added = [](INetworkDefinition& n, IAttention& attention) {
    static const Values mask = {0, -1000, -1000, 0, -1000, 0, 0, 0, 0};
    EXPECT_TRUE(attention.setMask(*constant(n, Dims4{1, 1, 3, 3}, mask)));
  };
  EXPECT_EQ(attended(queries, added), (Values{10, 10, 20, 10, 30, 20}));
  // Without a normalization: sums of products.
  EXPECT_EQ(attended({1, 2, 3, 4, 5, 6}, nothing, AttentionNormalizationOp::kNONE),
            (Values{130, 260, 390, 520, 650, 780}));
}

// Sizes of hostile networks, and inputs that are set past IAttention.
TEST(LayersOf10, AttentionRefused) {
  Maker maker;
  INetworkDefinition& n = *maker.network;
  ITensor* key = n.addInput("key", DataType::kFLOAT, Dims4{1, 1, 1, 1});
  ITensor* many = n.addInput("many", DataType::kFLOAT, Dims4{1, 2147483647, 1, 1});
  IAttention* heads = n.addAttention(*many, *key, *key, AttentionNormalizationOp::kSOFTMAX, false);
  EXPECT_EQ(heads->getOutput(0)->getDimensions().nbDims, -1);
  EXPECT_TRUE(maker.logger.has("2147483647 heads share keys or values, and 65536 can"))
      << maker.logger.text;
  IAttention* both = n.addAttention(*key, *key, *key, AttentionNormalizationOp::kSOFTMAX, true);
  EXPECT_EQ(both->getOutput(0)->getDimensions().nbDims, 4);
  n.getLayer(1)->setInput(3, *key);
  EXPECT_EQ(both->getOutput(0)->getDimensions().nbDims, -1);
  EXPECT_TRUE(maker.logger.has("attention is causal or has a mask, and cannot be both"));
}

TEST(LayersOf10, AttentionOfCodes) {
  const Values queries = {100, -100, 100, 100, 100, 100};
  static const Values scale = {1.0F / 256};
  const auto codes = [](INetworkDefinition& n, IAttention& attention) {
    EXPECT_TRUE(attention.setNormalizationQuantizeScale(*constant(n, Dims{0, {}}, scale)));
    EXPECT_FALSE(attention.setNormalizationQuantizeToType(DataType::kFP8));
    EXPECT_TRUE(attention.setNormalizationQuantizeToType(DataType::kINT8));
    EXPECT_EQ(attention.getNormalizationQuantizeToType(), DataType::kINT8);
    EXPECT_NE(attention.getNormalizationQuantizeScale(), nullptr);
  };
  // The largest code is 127: of a share of 1 that much is left.
  Values expected = {20, 10, 20, 20, 20, 20};
  for (float& value : expected) value *= 127.0F / 256;
  EXPECT_EQ(attended(queries, codes), expected);
}

TEST(LayersOf10, AttentionSaysWhatItIs) {
  Maker maker;
  INetworkDefinition& n = *maker.network;
  ITensor* x = n.addInput("x", DataType::kFLOAT, Dims4{1, 4, 5, 8});
  IAttention* attention = n.addAttention(*x, *x, *x, AttentionNormalizationOp::kSOFTMAX, true);
  EXPECT_TRUE(attention->setNormalizationOperation(AttentionNormalizationOp::kNONE));
  EXPECT_EQ(attention->getNormalizationOperation(), AttentionNormalizationOp::kNONE);
  EXPECT_TRUE(attention->setDecomposable(true));
  EXPECT_TRUE(attention->getDecomposable());
  EXPECT_TRUE(attention->setName("heads"));
  EXPECT_STREQ(attention->getName(), "heads");
  EXPECT_TRUE(attention->setMetadata("more"));
  EXPECT_STREQ(attention->getMetadata(), "more");
  EXPECT_EQ(attention->getNbInputs(), 3);
  EXPECT_EQ(attention->getInput(2), x);
  EXPECT_EQ(attention->getInput(3), nullptr);
  EXPECT_TRUE(attention->setInput(0, *x));
  EXPECT_FALSE(attention->setInput(3, *x));
  EXPECT_EQ(attention->getNbOutputs(), 1);
  EXPECT_EQ(attention->getOutput(1), nullptr);
  EXPECT_TRUE(attention->setNbRanks(1));
  EXPECT_EQ(attention->getNbRanks(), 1);
  ILayer* layer = n.getLayer(0);
  EXPECT_EQ(layer->getType(), LayerType::kATTENTION_OUTPUT);
  EXPECT_EQ(static_cast<IAttentionOutputLayer*>(layer)->getAttention(), attention);
  // Heads that cannot be shared are told where the network is built.
  ITensor* y = n.addInput("y", DataType::kFLOAT, Dims4{1, 3, 5, 8});
  EXPECT_TRUE(attention->setInput(1, *y));
  n.markOutput(*attention->getOutput(0));
  EXPECT_EQ(maker.build(), nullptr);
  EXPECT_TRUE(maker.logger.has("4 heads of queries cannot share 3 of 'y'")) << maker.logger.text;
}

}  // namespace
}  // namespace trt_test::layers_of_10

#endif
