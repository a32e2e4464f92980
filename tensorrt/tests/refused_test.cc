// SPDX-License-Identifier: Apache-2.0
// What is not there says so: null or false, and the reason in the log and the error recorder.
#include "support.h"

namespace trt_test {
namespace {

class Selector : public IAlgorithmSelector {
 public:
  int32_t selectAlgorithms(IAlgorithmContext const&, IAlgorithm const* const*, int32_t,
                           int32_t*) noexcept override {
    return 0;
  }
  void reportAlgorithms(IAlgorithmContext const* const*, IAlgorithm const* const*,
                        int32_t) noexcept override {}
};

// refused: INetworkDefinition::addRaggedSoftMax: no operator does this
// refused: INetworkDefinition::addRNNv2, IRNNv2Layer::*: a model with an LSTM, GRU or RNN node is parsed
TEST(Refused, RaggedSoftMaxAndElderRecurrentLayers) {
  Maker maker;
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims2{1, 2});
  EXPECT_EQ(maker.network->addRaggedSoftMax(*x, *x), nullptr);
  EXPECT_TRUE(maker.logger.has("addRaggedSoftMax: no operator does this"));
#if NV_TENSORRT_MAJOR < 10
  EXPECT_EQ(maker.network->addRNNv2(*x, 1, 2, 3, RNNOperation::kLSTM), nullptr);
  EXPECT_TRUE(maker.logger.has("addRNNv2: recurrent layers are not made here"));
#endif
}

// refused: IBuilderConfig::setAlgorithmSelector, IBuilderConfig::getAlgorithmSelector, IAlgorithmSelector::*, IAlgorithmContext::*,
// IAlgorithm::*, IAlgorithmVariant::*, IAlgorithmIOInfo::*: no list of kernels is offered
TEST(Refused, AnAlgorithmSelectorIsNotKept) {
  Maker maker;
  Selector selector;
  maker.config->setAlgorithmSelector(nullptr);
  EXPECT_EQ(maker.logger.text, "");
  maker.config->setAlgorithmSelector(&selector);
  EXPECT_EQ(maker.config->getAlgorithmSelector(), nullptr);
  EXPECT_TRUE(maker.logger.has("setAlgorithmSelector: kernels are chosen by costs"))
      << maker.logger.text;
}

#if NV_TENSORRT_MAJOR >= 10
// refused: INetworkDefinition::addKVCacheUpdate, IKVCacheUpdateLayer::*: no output is written over its input
// refused: INetworkDefinition::addDynamicQuantize, INetworkDefinition::addDynamicQuantizeV2, IDynamicQuantizeLayer::*: no scale is computed
// while a network runs
// refused: INetworkDefinition::addMoE, IMoELayer::*: experts are made of their parts
TEST(Refused, LayersOfLanguageModels) {
  Maker maker;
  INetworkDefinition& n = *maker.network;
  ITensor* x = n.addInput("x", DataType::kFLOAT, Dims4{1, 2, 3, 4});
  EXPECT_EQ(n.addKVCacheUpdate(*x, *x, *x, KVCacheMode::kLINEAR), nullptr);
  EXPECT_TRUE(maker.logger.has("addKVCacheUpdate: no output is written over its input"));
  EXPECT_EQ(n.addDynamicQuantize(*x, 3, 16, DataType::kFP4, DataType::kFP8), nullptr);
  EXPECT_TRUE(maker.logger.has("addDynamicQuantize: no scale is computed while a network runs"));
  EXPECT_EQ(n.addDynamicQuantizeV2(*x, Dims4{1, 1, 1, 4}, DataType::kFP8, DataType::kFLOAT),
            nullptr);
  EXPECT_TRUE(maker.logger.has("addDynamicQuantizeV2: no scale is computed"));
  EXPECT_EQ(n.addMoE(*x, *x, *x), nullptr);
  EXPECT_TRUE(maker.logger.has("addMoE: experts are made of their parts"));
}

// refused: IQuantizeLayer::setBlockShape, IQuantizeLayer::getBlockShape, IDequantizeLayer::setBlockShape,
// IDequantizeLayer::getBlockShape: codes have one scale for a tensor or for each channel
TEST(Refused, ScalesOfBlocks) {
  static const std::vector<float> half = {0.5F};
  for (const bool quantizes : {true, false}) {
    Maker maker;
    INetworkDefinition& n = *maker.network;
    ITensor* x = n.addInput("x", DataType::kFLOAT, Dims2{2, 4});
    ITensor* scale = n.addConstant(Dims{0, {}}, weights_of(half))->getOutput(0);
    IQuantizeLayer* codes = n.addQuantize(*x, *scale);
    IDequantizeLayer* back = n.addDequantize(*codes->getOutput(0), *scale);
    if (quantizes) {
      EXPECT_TRUE(codes->setBlockShape(Dims2{1, 2}));
      EXPECT_EQ(sizes_of(codes->getBlockShape()), (std::vector<int64_t>{1, 2}));
    } else {
      EXPECT_TRUE(back->setBlockShape(Dims2{1, 2}));
      EXPECT_EQ(sizes_of(back->getBlockShape()), (std::vector<int64_t>{1, 2}));
    }
    n.markOutput(*back->getOutput(0));
    EXPECT_EQ(maker.build(), nullptr);
    EXPECT_TRUE(maker.logger.has("scales of blocks are not supported")) << maker.logger.text;
  }
}

// Of FP8 and INT4: as INT8 with the same scales they would be other numbers, without a word.
TEST(Refused, CodesOfOtherTypes) {
  static const std::vector<float> half = {0.5F};
  for (const DataType type : {DataType::kFP8, DataType::kINT4, DataType::kINT8}) {
    for (const DataType back : {DataType::kFLOAT, DataType::kINT32}) {
      Maker maker;
      INetworkDefinition& n = *maker.network;
      ITensor* x = n.addInput("x", DataType::kFLOAT, Dims2{2, 4});
      ITensor* scale = n.addConstant(Dims{0, {}}, weights_of(half))->getOutput(0);
      IQuantizeLayer* codes = n.addQuantize(*x, *scale, type);
      codes->setName("codes");
      IDequantizeLayer* reals = n.addDequantize(*codes->getOutput(0), *scale, back);
      n.markOutput(*reals->getOutput(0));
      const Own<ICudaEngine> engine = maker.build();
      if (type != DataType::kINT8) {
        EXPECT_EQ(engine, nullptr);
        EXPECT_TRUE(maker.logger.has("layer 'codes': codes of ")) << maker.logger.text;
      } else if (back == DataType::kINT32) {
        EXPECT_EQ(engine, nullptr);
        EXPECT_TRUE(maker.logger.has("codes become FP32, FP16 or BF16, not Int32"))
            << maker.logger.text;
      } else {
        EXPECT_NE(engine, nullptr) << maker.logger.text;
      }
    }
  }
}

// refused: ITimingCache::queryKeys, ITimingCache::query, ITimingCache::update: choices by layer are kept, no times by hash
TEST(Refused, TimingCachesHaveNoTactics) {
  Maker maker;
  const Own<ITimingCache> cache(maker.config->createTimingCache(nullptr, 0));
  EXPECT_EQ(cache->queryKeys(nullptr, 0), -1);
  EXPECT_EQ(cache->query({}).tacticHash, 0U);
  EXPECT_FALSE(cache->update({}, {}));
  for (const char* function : {"queryKeys", "query", "update"})
    EXPECT_TRUE(maker.logger.has(std::string("ITimingCache::") + function)) << maker.logger.text;
}

// refused: INetworkDefinition::markDebug, INetworkDefinition::unmarkDebug, INetworkDefinition::isDebugTensor,
// INetworkDefinition::markUnfusedTensorsAsDebugTensors, INetworkDefinition::unmarkUnfusedTensorsAsDebugTensors,
// ICudaEngine::isDebugTensor: tensors inside of an engine cannot be watched; mark them as outputs
TEST(Refused, DebugTensors) {
  Maker maker;
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims2{1, 2});
  EXPECT_FALSE(maker.network->markDebug(*x));
  EXPECT_FALSE(maker.network->unmarkDebug(*x));
  EXPECT_FALSE(maker.network->isDebugTensor(*x));
  EXPECT_FALSE(maker.network->markUnfusedTensorsAsDebugTensors());
  EXPECT_TRUE(maker.network->unmarkUnfusedTensorsAsDebugTensors());
  EXPECT_TRUE(maker.logger.has("'x' cannot be watched; mark it as an output"));
}
#endif

}  // namespace
}  // namespace trt_test
