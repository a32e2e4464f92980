// SPDX-License-Identifier: Apache-2.0
// Plugins of open sizes: on reals and on codes, how long they live, and what becomes of those that fail.
#include "plugin_support.h"

namespace trt_test {
namespace {

using Values = std::vector<float>;

// y = factor * x behind a convolution that changes nothing, and before another one.
struct FactorMaker : Maker {
  FactorMaker() : kernel(16, 0.0F) {
    for (size_t i = 0; i < 4; ++i) kernel[i * 5] = 1;
  }
  ITensor* convolution(ITensor& input) {
    auto* conv = network->addConvolutionNd(input, 4, DimsHW{1, 1}, weights_of(kernel), Weights{});
    return conv->getOutput(0);
  }
  // Whole numbers up to 127 are codes of their own.
  static ITensor* ranged(ITensor* tensor) {
    EXPECT_TRUE(tensor->setDynamicRange(-127, 127));
    return tensor;
  }
  void end(ITensor& tensor) {
    tensor.setName("y");
    network->markOutput(tensor);
  }
  Values kernel;
};

TEST_F(FactorTest, RunsOnOpenSizes) {
  FactorMaker maker;
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, dims_of({-1, 2, 3}));
  IPluginV2Layer* layer = add(*maker.network, {x, x}, 3);
  ASSERT_TRUE(layer) << maker.logger.text;
  EXPECT_EQ(sizes_of(layer->getOutput(0)->getDimensions()), (std::vector<int64_t>{-1, 2, 3}));
  maker.end(*layer->getOutput(0));
  IOptimizationProfile* profile = maker.builder->createOptimizationProfile();
  profile->setDimensions("x", OptProfileSelector::kMIN, Dims3{1, 2, 3});
  profile->setDimensions("x", OptProfileSelector::kOPT, Dims3{2, 2, 3});
  profile->setDimensions("x", OptProfileSelector::kMAX, Dims3{4, 2, 3});
  maker.config->addOptimizationProfile(profile);
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  const Own<IExecutionContext> context(engine->createExecutionContext());
  for (const int rows : {1, 4, 2, 4}) {
    Values in = counting(static_cast<size_t>(rows) * 6), out(in.size());
    ASSERT_TRUE(context->setInputShape("x", Dims3{rows, 2, 3}));
    ASSERT_TRUE(context->setTensorAddress("x", in.data()));
    ASSERT_TRUE(context->setTensorAddress("y", out.data()));
    ASSERT_TRUE(context->enqueueV3(nullptr)) << maker.logger.text;
    for (size_t i = 0; i < in.size(); ++i) EXPECT_EQ(out[i], 6 * in[i]);
    EXPECT_EQ(sizes_of(counts.last.at(2).dims), (std::vector<int64_t>{rows, 2, 3}));
  }
}

TEST_F(FactorTest, ComputesOnCodesWithTheScaleOfEachTensor) {
  for (const TensorFormat format :
       {TensorFormat::kLINEAR, TensorFormat::kCHW4, TensorFormat::kCHW32}) {
    factor_settings().codes = [=](int pos, const PluginTensorDesc* descs) {
      return descs[pos].format == format && (pos == 0 || descs[0].type == DataType::kINT8);
    };
    FactorMaker maker;
    maker.config->setFlag(BuilderFlag::kINT8);
    ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims4{1, 4, 2, 3});
    ITensor* a = FactorMaker::ranged(maker.convolution(*FactorMaker::ranged(x)));
    IPluginV2Layer* layer = add(*maker.network, {a}, 2);
    ASSERT_TRUE(layer) << maker.logger.text;
    layer->getOutput(0)->setDynamicRange(-254, 254);
    maker.end(*FactorMaker::ranged(maker.convolution(*layer->getOutput(0))));
    const Own<ICudaEngine> engine = maker.build();
    ASSERT_TRUE(engine) << maker.logger.text;
    Values in = counting(24, -12), wanted;
    for (const float value : in) wanted.push_back(2 * value);
    EXPECT_EQ(run(*engine, in), wanted);
    ASSERT_EQ(counts.last.size(), 2U);
    for (const PluginTensorDesc& desc : counts.last) {
      EXPECT_EQ(desc.type, DataType::kINT8);
      EXPECT_EQ(desc.format, format);
    }
    EXPECT_EQ(counts.last[0].scale, 1.0F);
    EXPECT_EQ(counts.last[1].scale, 2.0F);
  }
}

// 2^9 combinations, of which the last has codes everywhere.
// better: IPluginV2DynamicExt::supportsFormatCombination, IPluginV2IOExt::supportsFormatCombination: all combinations are looked for, up
// to 4096
TEST_F(FactorTest, CombinationsBeyondAHundredAreLookedFor) {
  factor_settings().codes = [](int pos, const PluginTensorDesc* descs) {
    return descs[pos].format == TensorFormat::kLINEAR;
  };
  FactorMaker maker;
  maker.config->setFlag(BuilderFlag::kINT8);
  ITensor* x =
      FactorMaker::ranged(maker.network->addInput("x", DataType::kFLOAT, Dims4{1, 4, 16, 16}));
  std::vector<ITensor*> inputs;
  for (int i = 0; i < 8; ++i) inputs.push_back(FactorMaker::ranged(maker.convolution(*x)));
  IPluginV2Layer* layer = add(*maker.network, inputs, 0.5F);
  ITensor* sum = FactorMaker::ranged(layer->getOutput(0));
  maker.end(*FactorMaker::ranged(maker.convolution(*sum)));
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  Values in(4 * 16 * 16);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 31);
  Values wanted;
  for (const float value : in) wanted.push_back(4 * value);
  EXPECT_EQ(run(*engine, in), wanted);
  for (const PluginTensorDesc& desc : counts.last) EXPECT_EQ(desc.type, DataType::kINT8);
}

TEST_F(FactorTest, OfHalvesAloneGetsHalves) {
  factor_settings().fault = Fault::kHalvesAlone;
  FactorMaker maker;
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims4{1, 4, 2, 3});
  IPluginV2Layer* layer = add(*maker.network, {x}, 2);
  EXPECT_EQ(layer->getOutput(0)->getType(), DataType::kFLOAT);
  maker.end(*layer->getOutput(0));
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  Values wanted;
  for (const float value : counting(24)) wanted.push_back(2 * value);
  EXPECT_EQ(run(*engine, counting(24)), wanted);
  EXPECT_EQ(counts.last.at(0).type, DataType::kHALF);
  EXPECT_EQ(counts.last.at(1).type, DataType::kHALF);
}

TEST_F(FactorTest, EndsWithWhatUsesIt) {
  FactorMaker maker;
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims4{1, 4, 2, 3});
  maker.end(*add(*maker.network, {x}, 2)->getOutput(0));
  Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  EXPECT_EQ(counts.deserialized, 1);
  maker.network.reset();
  const int of_engine = counts.alive;
  EXPECT_EQ(counts.attached, 0);
  Own<IExecutionContext> context(engine->createExecutionContext());
  Values in = counting(24), out(24);
  void* bindings[] = {in.data(), out.data()};
  ASSERT_TRUE(context->executeV2(bindings));
  ASSERT_TRUE(context->executeV2(bindings));
  EXPECT_EQ(counts.enqueued, 2);
  EXPECT_EQ(counts.initialized, 1);
  EXPECT_EQ(counts.attached, 1);
  EXPECT_EQ(counts.alive, of_engine + 1);
  engine.reset();
  ASSERT_TRUE(context->executeV2(bindings));
  context.reset();
  EXPECT_EQ(counts.initialized, 0);
  EXPECT_EQ(counts.alive, 0);
}

TEST_F(FactorTest, ABuiltEngineRunsWithoutItsPlan) {
  FactorMaker maker;
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims4{1, 4, 2, 3});
  maker.end(*add(*maker.network, {x}, 2)->getOutput(0));
  const Own<ICudaEngine> engine(
      maker.builder->buildEngineWithConfig(*maker.network, *maker.config));
  ASSERT_TRUE(engine) << maker.logger.text;
  EXPECT_EQ(run(*engine, Values(24, 3)), Values(24, 6));
}

TEST_F(FactorTest, APlanWithoutItsCreatorIsNamed) {
  FactorMaker maker;
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims4{1, 4, 2, 3});
  maker.end(*add(*maker.network, {x}, 2)->getOutput(0));
  ASSERT_TRUE(maker.build()) << maker.logger.text;
  maker.network.reset();
  IPluginCreator* creator = getPluginRegistry()->getPluginCreator("Factor_TEST", "2");
  getPluginRegistry()->deregisterCreator(*creator);
  const Own<IRuntime> runtime(createInferRuntime(maker.logger));
  EXPECT_EQ(runtime->deserializeCudaEngine(maker.plan_bytes.data(), maker.plan_bytes.size()),
            nullptr);
  EXPECT_TRUE(maker.logger.has("getPluginCreator could not find plugin: Factor_TEST version: 2"))
      << maker.logger.text;
  getPluginRegistry()->registerCreator(*creator, "");
}

struct FaultCase {
  Fault fault;
  const char* said;
};

// Nothing is built or run, and one line names the plugin and its function.
TEST_F(FactorTest, WhatAPluginDoesWrongIsOneNamedError) {
  const FaultCase cases[] = {
      {Fault::kNullClone, "clone() returned a null pointer"},
      {Fault::kThrowsInClone, "clone() let an exception out: no more of these"},
      {Fault::kReturnsItself, "clone() returned the plugin itself, not a clone"},
      {Fault::kThrowsInShapes, "getOutputDimensions() let an exception out: what shapes?"},
      {Fault::kNegativeSize, "a dimension of -3"},
      {Fault::kNoOutputs, "getNbOutputs() returned 0"},
      {Fault::kNoFormats,
       "could not find any supported formats consistent with input/output data types"},
      {Fault::kThrowsInFormats, "supportsFormatCombination() let an exception out: formats"},
      {Fault::kWritesMore, "serialize() wrote 109 bytes, and getSerializationSize() says 8"},
      {Fault::kThrowsInSerialize, "serialize() let an exception out"},
      {Fault::kFailsInitialize, "initialize() returned 7"},
      {Fault::kFailsEnqueue, "enqueue() returned -1"},
      {Fault::kThrowsInEnqueue, "enqueue() let an exception out: out of luck"},
      {Fault::kAsksForTooMuch, "getWorkspaceSize() says 18446744073709551615 bytes"},
      {Fault::kNullDeserialized, "deserializePlugin() returned a null pointer"},
  };
  for (const FaultCase& one : cases) {
    factor_settings().fault = one.fault;
    FactorMaker maker;
    ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims4{1, 4, 2, 3});
    bool ran = false;
    if (IPluginV2Layer* layer = add(*maker.network, {x}, 2); layer != nullptr) {
      maker.end(*layer->getOutput(0));
      const Own<ICudaEngine> engine = maker.build();
      if (engine != nullptr) {
        const Own<IExecutionContext> context(engine->createExecutionContext());
        Values in(24), out(24);
        void* bindings[] = {in.data(), out.data()};
        ran = context->executeV2(bindings);
      }
    }
    EXPECT_FALSE(ran) << one.said;
    EXPECT_TRUE(maker.logger.has(one.said)) << one.said << "\n" << maker.logger.text;
    EXPECT_TRUE(maker.logger.has("plugin 'Factor_TEST' version 2")) << maker.logger.text;
  }
  factor_settings().fault = Fault::kNone;
}

TEST_F(FactorTest, ARefusalShowsWhatWasOfferedAndRefused) {
  factor_settings().fault = Fault::kNoFormats;
  FactorMaker maker;
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims4{1, 4, 2, 3});
  maker.end(*add(*maker.network, {x}, 2)->getOutput(0));
  EXPECT_FALSE(maker.build());
  EXPECT_TRUE(maker.logger.has("input 0, Float [1,4,2,3]: [Float kLINEAR] [Float kHWC]"))
      << maker.logger.text;
  EXPECT_TRUE(maker.logger.has(" Half kCHW4")) << maker.logger.text;
}

#if NV_TENSORRT_MAJOR < 10
TEST_F(FactorTest, SizesThatTheLevelDoesNotHoldAreRefused) {
  factor_settings().fault = Fault::kLargeSize;
  Maker maker;
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims2{2, 3});
  IPluginV2Layer* layer = add(*maker.network, {x}, 2);
  EXPECT_EQ(layer->getOutput(0)->getDimensions().nbDims, -1);
  EXPECT_TRUE(maker.logger.has("a dimension of 1099511627776")) << maker.logger.text;
}
#endif

}  // namespace
}  // namespace trt_test
