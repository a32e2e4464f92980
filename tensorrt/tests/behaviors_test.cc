// SPDX-License-Identifier: Apache-2.0
// What programs rely on without saying so, in the order in which they come to it: bindings, batches, lifetimes, calibration, names, flags.
#include "support.h"

namespace trt_test {
namespace {

using Values = std::vector<float>;

// b - a, in two outputs of which the second is marked first.
void add_difference(INetworkDefinition& network, const Dims& sizes) {
  ITensor* b = network.addInput("b", DataType::kFLOAT, sizes);
  ITensor* a = network.addInput("a", DataType::kFLOAT, sizes);
  ITensor* same = network.addIdentity(*b)->getOutput(0);
  ITensor* difference = network.addElementWise(*b, *a, ElementWiseOperation::kSUB)->getOutput(0);
  difference->setName("difference");
  same->setName("same");
  network.markOutput(*difference);
  network.markOutput(*same);
}

TEST(Behavior, BindingsAreInputsAsAddedThenOutputsAsMarked) {
  Maker maker;
  add_difference(*maker.network, Dims2{1, 2});
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  const char* const names[] = {"b", "a", "difference", "same"};
  ASSERT_EQ(engine->getNbIOTensors(), 4);
  for (int32_t i = 0; i < 4; ++i) {
    EXPECT_STREQ(engine->getIOTensorName(i), names[i]);
    EXPECT_EQ(engine->getTensorIOMode(names[i]),
              i < 2 ? TensorIOMode::kINPUT : TensorIOMode::kOUTPUT);
  }
  EXPECT_EQ(engine->getTensorIOMode("none"), TensorIOMode::kNONE);
#if NV_TENSORRT_MAJOR < 10
  EXPECT_EQ(engine->getNbBindings(), 4);
  EXPECT_EQ(engine->getBindingIndex("a"), 1);
  EXPECT_EQ(engine->getBindingIndex("difference"), 2);
  EXPECT_EQ(engine->getBindingIndex("none"), -1);
#endif
  const Own<IExecutionContext> context(engine->createExecutionContext());
  Values b = {5, 7}, a = {1, 2}, difference(2), same(2);
  void* bindings[] = {b.data(), a.data(), difference.data(), same.data()};
  ASSERT_TRUE(context->executeV2(bindings));
  EXPECT_EQ(difference, (Values{4, 5}));
  EXPECT_EQ(same, b);
}

#if NV_TENSORRT_MAJOR < 10
TEST(Behavior, AnImplicitBatchIsSeenNowhere) {
  Maker maker(0);
  add_difference(*maker.network, Dims3{1, 1, 2});
  EXPECT_TRUE(maker.network->hasImplicitBatchDimension());
  const Own<ICudaEngine> one = maker.build();
  ASSERT_TRUE(one) << maker.logger.text;
  EXPECT_EQ(one->getMaxBatchSize(), 1);
  EXPECT_TRUE(one->hasImplicitBatchDimension());
  EXPECT_EQ(one->getBindingDimensions(0).nbDims, 3);
  maker.builder->setMaxBatchSize(3);
  const Own<ICudaEngine> engine = maker.build();
  const Own<IExecutionContext> context(engine->createExecutionContext());
  Values b = {5, 7, 9, 11}, a = {1, 2, 3, 4}, difference(4), same(4);
  void* bindings[] = {b.data(), a.data(), difference.data(), same.data()};
  EXPECT_TRUE(context->enqueue(2, bindings, nullptr, nullptr));
  EXPECT_EQ(difference, (Values{4, 5, 6, 7}));
  EXPECT_FALSE(context->enqueue(4, bindings, nullptr, nullptr));
}

TEST(Behavior, DestroyIsTheSameAsDelete) {
  Logger logger;
  IBuilder* builder = createInferBuilder(logger);
  INetworkDefinition* network = builder->createNetworkV2(1U);
  IBuilderConfig* config = builder->createBuilderConfig();
  add_difference(*network, Dims2{1, 2});
  IHostMemory* plan = builder->buildSerializedNetwork(*network, *config);
  ASSERT_NE(plan, nullptr) << logger.text;
  network->destroy();
  config->destroy();
  builder->destroy();
  IRuntime* runtime = createInferRuntime(logger);
  ICudaEngine* engine = runtime->deserializeCudaEngine(plan->data(), plan->size(), nullptr);
  plan->destroy();
  runtime->destroy();
  IExecutionContext* context = engine->createExecutionContext();
  EXPECT_EQ(&context->getEngine(), engine);
  context->destroy();
  engine->destroy();
}
#endif

// Network, configuration, builder, plan and runtime may all be gone before the engine runs.
TEST(Behavior, AnEngineNeedsNothingOfWhatMadeIt) {
  Own<ICudaEngine> engine;
  {
    auto weights = std::make_unique<Values>(1, 2.0F);
    Maker maker;
    IOptimizationProfile* unused = maker.builder->createOptimizationProfile();
    EXPECT_TRUE(unused->isValid());
    ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims4{1, 1, 1, 2});
    auto* conv =
        maker.network->addConvolutionNd(*x, 1, DimsHW{1, 1}, weights_of(*weights), Weights{});
    maker.network->markOutput(*conv->getOutput(0));
    engine = maker.build();
    ASSERT_TRUE(engine) << maker.logger.text;
  }
  const Own<IHostMemory> plan(engine->serialize());
  EXPECT_GT(plan->size(), 0U);
}

class BatchCalibrator : public IInt8EntropyCalibrator2 {
 public:
  explicit BatchCalibrator(int batch)
      : batch_(batch), data_(static_cast<size_t>(batch) * 4, 0.5F) {}
  int32_t getBatchSize() const noexcept override { return batch_; }
  bool getBatch(void* bindings[], char const* names[], int32_t count) noexcept override {
    EXPECT_EQ(count, 1);
    EXPECT_STREQ(names[0], "x");
    bindings[0] = data_.data();
    return given_++ < 2;
  }
  void const* readCalibrationCache(size_t& length) noexcept override {
    length = 0;
    return nullptr;
  }
  void writeCalibrationCache(void const*, size_t) noexcept override { ++written; }
  int written = 0;

 private:
  int batch_, given_ = 0;
  Values data_;
};

// An open batch, the one profile for inference is of one row, and calibration has eight.
TEST(Behavior, TheCalibrationProfileIsItsOwn) {
  const Values kernel(4, 0.25F);
  Maker maker;
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims4{-1, 4, 1, 1});
  auto* conv = maker.network->addConvolutionNd(*x, 1, DimsHW{1, 1}, weights_of(kernel), Weights{});
  maker.network->markOutput(*conv->getOutput(0));
  const auto profile_of = [&](int rows) {
    IOptimizationProfile* profile = maker.builder->createOptimizationProfile();
    for (auto select :
         {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX})
      EXPECT_TRUE(profile->setDimensions("x", select, Dims4{rows, 4, 1, 1}));
    return profile;
  };
  EXPECT_EQ(maker.config->addOptimizationProfile(profile_of(1)), 0);
  EXPECT_TRUE(maker.config->setCalibrationProfile(profile_of(8)));
  BatchCalibrator calibrator(8);
  maker.config->setFlag(BuilderFlag::kINT8);
  maker.config->setInt8Calibrator(&calibrator);
  EXPECT_EQ(maker.config->getInt8Calibrator(), &calibrator);
  ASSERT_TRUE(maker.build()) << maker.logger.text;
  EXPECT_EQ(calibrator.written, 1);
}

TEST(Behavior, NoCalibratorIsLegalAndTypesWithoutFlagsAreHints) {
  const Values kernel(4, 0.25F);
  Maker maker;
  maker.config->setInt8Calibrator(nullptr);
  maker.config->setFlag(BuilderFlag::kINT8);
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims4{1, 4, 1, 1});
  x->setDynamicRange(-1, 1);
  auto* conv = maker.network->addConvolutionNd(*x, 1, DimsHW{1, 1}, weights_of(kernel), Weights{});
  conv->setPrecision(DataType::kINT8);
  conv->setOutputType(0, DataType::kINT8);
  conv->getOutput(0)->setDynamicRange(-1, 1);
  conv->getOutput(0)->setName("y");
  maker.network->markOutput(*conv->getOutput(0));
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  EXPECT_EQ(engine->getTensorDataType("y"), DataType::kFLOAT);
}

TEST(Behavior, ParsedLayersKeepTheirNamesAndKinds) {
  Maker maker;
  const Own<nvonnxparser::IParser> parser(nvonnxparser::createParser(*maker.network, maker.logger));
  const std::string path = std::string(OCTET_SOURCE_DIR) + "/examples/digits/digits.onnx";
  ASSERT_TRUE(parser->parseFromFile(path.c_str(), 0)) << maker.logger.text;
  int activations = 0;
  for (int32_t i = 0; i < maker.network->getNbLayers(); ++i) {
    const ILayer* layer = maker.network->getLayer(i);
    EXPECT_NE(std::string(layer->getName()), "");
    activations += layer->getType() == LayerType::kACTIVATION ? 1 : 0;
  }
  EXPECT_GT(activations, 0);
  maker.network->getOutput(0)->setName("renamed");
  IOptimizationProfile* profile = maker.builder->createOptimizationProfile();
  for (auto select : {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX})
    profile->setDimensions("image", select, Dims4{1, 1, 8, 8});
  maker.config->addOptimizationProfile(profile);
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  EXPECT_STREQ(engine->getIOTensorName(1), "renamed");
}

TEST(Behavior, FailuresAreNullOrFalse) {
  Maker maker;
  EXPECT_EQ(maker.builder->buildSerializedNetwork(*maker.network, *maker.config), nullptr);
  const Own<nvonnxparser::IParser> parser(nvonnxparser::createParser(*maker.network, maker.logger));
  EXPECT_FALSE(parser->parse("", 0));
  EXPECT_GT(parser->getNbErrors(), 0);
  const Own<IRuntime> runtime(createInferRuntime(maker.logger));
  EXPECT_EQ(runtime->deserializeCudaEngine("ftrt a plan of another", 22), nullptr);
  EXPECT_EQ(runtime->deserializeCudaEngine(nullptr, 0), nullptr);
  add_difference(*maker.network, Dims2{1, 2});
  const Own<ICudaEngine> engine = maker.build();
  const Own<IExecutionContext> context(engine->createExecutionContext());
  EXPECT_FALSE(context->enqueueV3(nullptr));
  EXPECT_TRUE(maker.logger.has("Neither address or allocator is set for input tensor b"))
      << maker.logger.text;
}

// Flags are numbers that programs shift by hand; at level 10 the bit of explicit batch means nothing.
TEST(Behavior, FlagsAreNumbersThatProgramsShift) {
  const auto bit = 1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kEXPLICIT_BATCH);
  EXPECT_EQ(bit, 1U);
  Logger logger;
  const Own<IBuilder> builder(createInferBuilder(logger));
  const Own<INetworkDefinition> network(builder->createNetworkV2(bit));
  EXPECT_FALSE(network->hasImplicitBatchDimension());
#if NV_TENSORRT_MAJOR >= 10
  EXPECT_TRUE(network->getFlag(NetworkDefinitionCreationFlag::kEXPLICIT_BATCH));
  const Own<INetworkDefinition> typed(builder->createNetworkV2(
      1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED)));
  EXPECT_EQ(typed->getFlags(), 2U);
  EXPECT_FALSE(typed->hasImplicitBatchDimension());
#endif
}

// As programs put the version together to choose between code for old and new.
TEST(Behavior, VersionsChooseTheRightBranches) {
  const int version = NV_TENSORRT_MAJOR * 1000 + NV_TENSORRT_MINOR * 100 + NV_TENSORRT_PATCH * 10 +
                      NV_TENSORRT_BUILD;
#if NV_TENSORRT_MAJOR >= 10
  EXPECT_GE(version, 11200);
#else
  EXPECT_EQ(version, 8616);
#endif
}

TEST(Behavior, ThereIsNoDlaAndInt8IsFast) {
  Maker maker;
  EXPECT_EQ(maker.builder->getNbDLACores(), 0);
  EXPECT_TRUE(maker.builder->platformHasFastInt8());
  const Own<IRuntime> runtime(createInferRuntime(maker.logger));
  EXPECT_EQ(runtime->getNbDLACores(), 0);
  // Plugin headers name these types without including anything of theirs.
  cudnnContext* cudnn = nullptr;
  cublasContext* cublas = nullptr;
  EXPECT_EQ(static_cast<void*>(cudnn), static_cast<void*>(cublas));
}

}  // namespace
}  // namespace trt_test
