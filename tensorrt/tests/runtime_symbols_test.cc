// SPDX-License-Identifier: Apache-2.0
// What engines, contexts, runtimes, refitters and configurations answer beside what other tests ask them.
#include "plugin_support.h"

namespace trt_test {
namespace {

using Values = std::vector<float>;

// y = 3 * x through a convolution that can be refitted.
struct TripleMaker : Maker {
  TripleMaker() : three(1, 3) {
    ITensor* x = network->addInput("x", DataType::kFLOAT, Dims4{1, 1, 1, 2});
    auto* conv = network->addConvolutionNd(*x, 1, DimsHW{1, 1}, weights_of(three), Weights{});
    conv->setName("triple");
    network->setWeightsName(weights_of(three), "three");
    conv->getOutput(0)->setName("y");
    network->markOutput(*conv->getOutput(0));
    config->setFlag(BuilderFlag::kREFIT);
    engine = build();
    EXPECT_TRUE(engine) << logger.text;
  }
  Values three;
  Own<ICudaEngine> engine;
};

// accepted without effect: IBuilderConfig::setDeviceType, IBuilderConfig::getDeviceType, IBuilderConfig::isDeviceTypeSet,
// IBuilderConfig::resetDeviceType, IBuilderConfig::canRunOnDLA, IBuilderConfig::setDLACore, IBuilderConfig::getDLACore,
// IBuilderConfig::setDefaultDeviceType, IBuilderConfig::getDefaultDeviceType: there is no DLA
// accepted without effect: IBuilderConfig::setTacticSources, IBuilderConfig::getTacticSources, IBuilderConfig::setMaxNbTactics,
// IBuilderConfig::getMaxNbTactics, IBuilderConfig::setAvgTimingIterations, IBuilderConfig::getAvgTimingIterations,
// IBuilderConfig::setMinTimingIterations, IBuilderConfig::getMinTimingIterations, IBuilderConfig::setTilingOptimizationLevel,
// IBuilderConfig::getTilingOptimizationLevel, IBuilderConfig::setL2LimitForTiling, IBuilderConfig::getL2LimitForTiling,
// IBuilderConfig::setRemoteAutoTuningConfig, IBuilderConfig::getRemoteAutoTuningConfig: kernels are chosen by costs, or by a timing cache
// accepted without effect: IBuilderConfig::setMemoryPoolLimit, IBuilderConfig::getMemoryPoolLimit, IBuilderConfig::setMaxWorkspaceSize,
// IBuilderConfig::getMaxWorkspaceSize, IBuilderConfig::setMaxAuxStreams, IBuilderConfig::getMaxAuxStreams,
// IBuilderConfig::setProfileStream, IBuilderConfig::getProfileStream, IBuilderConfig::setPreviewFeature,
// IBuilderConfig::getPreviewFeature, IBuilderConfig::setHardwareCompatibilityLevel, IBuilderConfig::getHardwareCompatibilityLevel,
// IBuilderConfig::setRuntimePlatform, IBuilderConfig::getRuntimePlatform, IBuilderConfig::setEngineCapability,
// IBuilderConfig::getEngineCapability, IBuilderConfig::setQuantizationFlags, IBuilderConfig::getQuantizationFlags,
// IBuilderConfig::setQuantizationFlag, IBuilderConfig::getQuantizationFlag, IBuilderConfig::clearQuantizationFlag,
// IBuilderConfig::setPluginsToSerialize, IBuilderConfig::getPluginToSerialize, IBuilderConfig::getNbPluginsToSerialize: kept and given back
TEST(Config, KeepsWhatHasNoEffect) {
  Maker maker;
  IBuilderConfig& config = *maker.config;
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims2{1, 2});
  ILayer* layer = maker.network->addIdentity(*x);
  EXPECT_FALSE(config.canRunOnDLA(layer));
  EXPECT_FALSE(config.isDeviceTypeSet(layer));
  config.setDeviceType(layer, DeviceType::kGPU);
  EXPECT_EQ(config.getDeviceType(layer), DeviceType::kGPU);
  config.resetDeviceType(layer);
  EXPECT_FALSE(config.isDeviceTypeSet(layer));
  IOptimizationProfile* profile = maker.builder->createOptimizationProfile();
  EXPECT_TRUE(config.setCalibrationProfile(profile));
  EXPECT_EQ(config.getCalibrationProfile(), profile);
  config.setQuantizationFlags(1);
  EXPECT_EQ(config.getQuantizationFlags(), 1U);
  maker.network->markOutput(*layer->getOutput(0));
  EXPECT_TRUE(maker.builder->isNetworkSupported(*maker.network, config));
  maker.builder->setGpuAllocator(nullptr);
#if NV_TENSORRT_MAJOR >= 10
  EXPECT_EQ(config.getProgressMonitor(), nullptr);
  config.setRuntimePlatform(RuntimePlatform::kSAME_AS_BUILD);
  EXPECT_EQ(config.getRuntimePlatform(), RuntimePlatform::kSAME_AS_BUILD);
  config.setMaxNbTactics(3);
  EXPECT_EQ(config.getMaxNbTactics(), 3);
  EXPECT_TRUE(config.setTilingOptimizationLevel(TilingOptimizationLevel::kFAST));
  EXPECT_EQ(config.getTilingOptimizationLevel(), TilingOptimizationLevel::kFAST);
  EXPECT_TRUE(config.setL2LimitForTiling(1 << 20));
  EXPECT_EQ(config.getL2LimitForTiling(), 1 << 20);
  EXPECT_TRUE(config.setRemoteAutoTuningConfig("here"));
  EXPECT_STREQ(config.getRemoteAutoTuningConfig(), "here");
#endif
}

TEST(Engine, SaysHowItsMemoryLies) {
  TripleMaker maker;
  ICudaEngine& engine = *maker.engine;
  EXPECT_EQ(engine.getTensorBytesPerComponent("x"), -1);
  EXPECT_EQ(engine.getTensorComponentsPerElement("x"), -1);
  EXPECT_EQ(engine.getTensorVectorizedDim("x"), -1);
  EXPECT_EQ(engine.getTensorFormat("x"), TensorFormat::kLINEAR);
  EXPECT_STREQ(engine.getTensorFormatDesc("x"), "Row major linear FP32 format (kLINEAR)");
  EXPECT_EQ(engine.getTensorBytesPerComponent("x", 0), -1);
  EXPECT_EQ(engine.getTensorLocation("x"), TensorLocation::kDEVICE);
  EXPECT_FALSE(engine.isShapeInferenceIO("x"));
  EXPECT_GT(engine.getDeviceMemorySize(), 0U);
  EXPECT_EQ(engine.getProfileTensorValues("x", 0, OptProfileSelector::kMIN), nullptr);
  EXPECT_EQ(engine.getNbAuxStreams(), 0);
  EXPECT_TRUE(engine.isRefittable());
  EXPECT_EQ(engine.getEngineCapability(), EngineCapability::kSTANDARD);
  EXPECT_EQ(engine.getTacticSources(), 0U);
  EXPECT_EQ(engine.getHardwareCompatibilityLevel(), HardwareCompatibilityLevel::kNONE);
  const Own<IExecutionContext> without(engine.createExecutionContextWithoutDeviceMemory());
  ASSERT_TRUE(without);
  without->setDeviceMemory(nullptr);
  const Own<IHostMemory> plan(engine.serialize());
  EXPECT_EQ(plan->type(), DataType::kINT8);
#if NV_TENSORRT_MAJOR < 10
  EXPECT_EQ(engine.getLocation(0), TensorLocation::kDEVICE);
  EXPECT_EQ(engine.getBindingBytesPerComponent(0), -1);
  EXPECT_EQ(engine.getBindingComponentsPerElement(0), -1);
  EXPECT_EQ(engine.getBindingFormat(0), TensorFormat::kLINEAR);
  EXPECT_STREQ(engine.getBindingFormatDesc(0), "Row major linear FP32 format (kLINEAR)");
  EXPECT_EQ(sizes_of(engine.getProfileDimensions(0, 0, OptProfileSelector::kMAX)),
            (std::vector<int64_t>{1, 1, 1, 2}));
  EXPECT_EQ(engine.getProfileShapeValues(0, 0, OptProfileSelector::kMIN), nullptr);
  EXPECT_FALSE(engine.isShapeBinding(0));
  EXPECT_TRUE(engine.isExecutionBinding(0));
#endif
}

#if NV_TENSORRT_MAJOR >= 10
// accepted without effect: ICudaEngine::getStreamableWeightsSize, ICudaEngine::setWeightStreamingBudgetV2,
// ICudaEngine::getWeightStreamingBudgetV2, ICudaEngine::getWeightStreamingAutomaticBudget,
// ICudaEngine::getWeightStreamingScratchMemorySize, ICudaEngine::getWeightStreamingBudget, ICudaEngine::setWeightStreamingBudget,
// ICudaEngine::getMinimumWeightStreamingBudget: weights lie where they are used, none is streamed
// accepted without effect: ICudaEngine::getEngineStat, ICudaEngine::getAliasedInputTensor: there is none
TEST(Engine, OfLevelTenHasNothingToStream) {
  TripleMaker maker;
  ICudaEngine& engine = *maker.engine;
  EXPECT_EQ(engine.getStreamableWeightsSize(), 0);
  EXPECT_FALSE(engine.setWeightStreamingBudgetV2(1));
  EXPECT_EQ(engine.getWeightStreamingBudgetV2(), 0);
  EXPECT_EQ(engine.getWeightStreamingAutomaticBudget(), 0);
  EXPECT_EQ(engine.getWeightStreamingScratchMemorySize(), 0);
  EXPECT_EQ(engine.getWeightStreamingBudget(), 0);
  EXPECT_FALSE(engine.setWeightStreamingBudget(1));
  EXPECT_EQ(engine.getMinimumWeightStreamingBudget(), 0);
  EXPECT_FALSE(engine.isDebugTensor("x"));
  EXPECT_EQ(engine.getAliasedInputTensor("y"), nullptr);
  EXPECT_EQ(engine.getEngineStat(EngineStat::kTOTAL_WEIGHTS_SIZE), -1);
  const auto bytes = static_cast<int64_t>(engine.getDeviceMemorySize());
  EXPECT_EQ(engine.getDeviceMemorySizeV2(), bytes);
  EXPECT_EQ(engine.getDeviceMemorySizeForProfileV2(0), bytes);
  EXPECT_EQ(engine.getDeviceMemorySizeForProfile(0), static_cast<size_t>(bytes));
  EXPECT_EQ(engine.getProfileTensorValuesV2("x", 0, OptProfileSelector::kMIN), nullptr);
  const Own<IRuntimeConfig> config(engine.createRuntimeConfig());
  config->setExecutionContextAllocationStrategy(ExecutionContextAllocationStrategy::kUSER_MANAGED);
  EXPECT_EQ(config->getExecutionContextAllocationStrategy(),
            ExecutionContextAllocationStrategy::kUSER_MANAGED);
  const Own<IExecutionContext> context(engine.createExecutionContext(config.get()));
  ASSERT_TRUE(context);
  EXPECT_EQ(context->getRuntimeConfig()->getExecutionContextAllocationStrategy(),
            ExecutionContextAllocationStrategy::kUSER_MANAGED);
  const Own<ISerializationConfig> how(engine.createSerializationConfig());
  EXPECT_TRUE(how->setFlag(SerializationFlag::kEXCLUDE_WEIGHTS));
  EXPECT_TRUE(how->getFlag(SerializationFlag::kEXCLUDE_WEIGHTS));
  EXPECT_TRUE(how->clearFlag(SerializationFlag::kEXCLUDE_WEIGHTS));
  EXPECT_TRUE(how->setFlags(0));
  EXPECT_EQ(how->getFlags(), 0U);
  const Own<IHostMemory> plan(engine.serializeWithConfig(*how));
  EXPECT_GT(plan->size(), 0U);
}
#endif

// accepted without effect: IExecutionContext::setDebugSync, IExecutionContext::getDebugSync, IExecutionContext::setDeviceMemory,
// IExecutionContext::setDeviceMemoryV2, IExecutionContext::updateDeviceMemorySizeForShapes,
// IExecutionContext::setTemporaryStorageAllocator, IExecutionContext::getTemporaryStorageAllocator,
// IExecutionContext::setAuxStreams, IExecutionContext::setPersistentCacheLimit, IExecutionContext::getPersistentCacheLimit,
// IExecutionContext::setNvtxVerbosity, IExecutionContext::getNvtxVerbosity, IBuilder::setGpuAllocator,
// IRuntime::setGpuAllocator: Octet allocates the memory of contexts itself
// accepted without effect: IExecutionContext::setDebugListener, IExecutionContext::getDebugListener,
// IExecutionContext::setAllTensorsDebugState: no tensor can be marked, so that a listener has nothing to hear
// refused: IExecutionContext::setTensorDebugState, IExecutionContext::getDebugState, IExecutionContext::setUnfusedTensorsDebugState,
// IExecutionContext::getUnfusedTensorsDebugState, IDebugListener::processDebugTensor: tensors inside of an engine cannot be watched
TEST(Context, KeepsWhatItIsTold) {
  TripleMaker maker;
  const Own<IExecutionContext> context(maker.engine->createExecutionContext());
  context->setDebugSync(true);
  EXPECT_TRUE(context->getDebugSync());
  EXPECT_EQ(context->getProfiler(), nullptr);
  context->setEnqueueEmitsProfile(false);
  EXPECT_FALSE(context->getEnqueueEmitsProfile());
  EXPECT_TRUE(context->setInputConsumedEvent(nullptr));
  EXPECT_EQ(context->getInputConsumedEvent(), nullptr);
  EXPECT_TRUE(context->setTemporaryStorageAllocator(nullptr));
  EXPECT_EQ(context->getTemporaryStorageAllocator(), nullptr);
  context->setAuxStreams(nullptr, 0);
  context->setPersistentCacheLimit(64);
  EXPECT_EQ(context->getPersistentCacheLimit(), 64U);
  EXPECT_TRUE(context->setNvtxVerbosity(ProfilingVerbosity::kNONE));
  EXPECT_EQ(context->getNvtxVerbosity(), ProfilingVerbosity::kNONE);
  Values in = {1, 2}, out(2);
#if NV_TENSORRT_MAJOR >= 10
  context->setDeviceMemoryV2(nullptr, 0);
  EXPECT_EQ(context->updateDeviceMemorySizeForShapes(), maker.engine->getDeviceMemorySize());
  EXPECT_TRUE(context->setDebugListener(nullptr));
  EXPECT_EQ(context->getDebugListener(), nullptr);
  EXPECT_FALSE(context->setTensorDebugState("x", true));
  EXPECT_TRUE(context->setAllTensorsDebugState(true));
  EXPECT_TRUE(context->setAllTensorsDebugState(false));
  EXPECT_FALSE(context->getDebugState("x"));
  EXPECT_FALSE(context->setUnfusedTensorsDebugState(true));
  EXPECT_FALSE(context->getUnfusedTensorsDebugState());
  EXPECT_TRUE(context->setInputTensorAddress("x", in.data()));
  EXPECT_TRUE(context->setOutputTensorAddress("y", out.data()));
  EXPECT_FALSE(context->setOutputTensorAddress("x", in.data()));
  EXPECT_TRUE(context->enqueueV3(nullptr));
#else
  void* bindings[] = {in.data(), out.data()};
  EXPECT_TRUE(context->enqueueV2(bindings, nullptr, nullptr));
  EXPECT_TRUE(context->execute(1, bindings));
  EXPECT_TRUE(context->setOptimizationProfile(0));
  EXPECT_TRUE(context->setBindingDimensions(0, Dims4{1, 1, 1, 2}));
  EXPECT_EQ(sizes_of(context->getStrides(0)), (std::vector<int64_t>{2, 2, 2, 1}));
  EXPECT_FALSE(context->setInputShapeBinding(0, nullptr));
  EXPECT_FALSE(context->getShapeBinding(0, nullptr));
#endif
  EXPECT_EQ(out, (Values{3, 6}));
}

// accepted without effect: IRuntime::setTemporaryDirectory, IRuntime::getTemporaryDirectory, IRuntime::setTempfileControlFlags,
// IRuntime::getTempfileControlFlags, IRuntime::setEngineHostCodeAllowed, IRuntime::getEngineHostCodeAllowed,
// IRuntime::setDLACore, IRuntime::getDLACore, IRuntime::getNbDLACores: plans are data, and no code comes out of them
// better: IRuntime::loadRuntime, IRuntime::getEngineHeaderSize: one runtime reads the plans of all versions
TEST(Runtime, KeepsWhatItIsTold) {
  Maker maker;
  const Own<IRuntime> runtime(createInferRuntime(maker.logger));
  runtime->setGpuAllocator(nullptr);
  runtime->setTemporaryDirectory("/somewhere");
  EXPECT_STREQ(runtime->getTemporaryDirectory(), "/somewhere");
  runtime->setTempfileControlFlags(1);
  EXPECT_EQ(runtime->getTempfileControlFlags(), 1U);
  runtime->setEngineHostCodeAllowed(true);
  EXPECT_TRUE(runtime->getEngineHostCodeAllowed());
  const Own<IRuntime> other(runtime->loadRuntime("any"));
  EXPECT_TRUE(other);
#if NV_TENSORRT_MAJOR >= 10
  EXPECT_GT(runtime->getEngineHeaderSize(), 0);
#endif
}

TEST(Refitter, TellsWhatThereIs) {
  TripleMaker maker;
  const Own<IRefitter> refitter(createInferRefitter(*maker.engine, maker.logger));
  ASSERT_TRUE(refitter);
  const char* names[4] = {};
  WeightsRole roles[4] = {};
  EXPECT_EQ(refitter->getAll(4, names, roles), 1);
  EXPECT_EQ(refitter->getMissing(4, names, roles), 0);
  EXPECT_EQ(refitter->getTensorsWithDynamicRange(4, names), 0);
  EXPECT_TRUE(std::isnan(refitter->getDynamicRangeMin("x")));
  EXPECT_TRUE(std::isnan(refitter->getDynamicRangeMax("x")));
#if NV_TENSORRT_MAJOR >= 10
  const Values five = {5};
  EXPECT_TRUE(refitter->setNamedWeights("three", weights_of(five), TensorLocation::kHOST));
  EXPECT_EQ(static_cast<const float*>(refitter->getNamedWeights("three").values)[0], 5);
  EXPECT_EQ(refitter->getWeightsLocation("three"), TensorLocation::kHOST);
  EXPECT_EQ(refitter->getWeightsPrototype("three").count, 1);
  refitter->setWeightsValidation(false);
  EXPECT_FALSE(refitter->getWeightsValidation());
  EXPECT_TRUE(refitter->refitCudaEngineAsync(nullptr)) << maker.logger.text;
  EXPECT_EQ(run(*maker.engine, {1, 2}), (Values{5, 10}));
  EXPECT_TRUE(refitter->setNamedWeights("three", weights_of(five)));
  EXPECT_TRUE(refitter->unsetNamedWeights("three"));
#endif
}

TEST(Inspector, KeepsItsContext) {
  TripleMaker maker;
  const Own<IEngineInspector> inspector(maker.engine->createEngineInspector());
  const Own<IExecutionContext> context(maker.engine->createExecutionContext());
  EXPECT_TRUE(inspector->setExecutionContext(context.get()));
  EXPECT_EQ(inspector->getExecutionContext(), context.get());
}

TEST(Calibrators, SayTheirAlgorithm) {
  struct Legacy : IInt8LegacyCalibrator {
    int32_t getBatchSize() const noexcept override { return 1; }
    bool getBatch(void*[], char const*[], int32_t) noexcept override { return false; }
    void const* readCalibrationCache(size_t&) noexcept override { return nullptr; }
    void writeCalibrationCache(void const*, size_t) noexcept override {}
    double getQuantile() const noexcept override { return 0.999; }
    double getRegressionCutoff() const noexcept override { return 0.5; }
    void const* readHistogramCache(size_t&) noexcept override { return nullptr; }
    void writeHistogramCache(void const*, size_t) noexcept override {}
  } legacy;
  IInt8LegacyCalibrator& asked = legacy;
  EXPECT_EQ(asked.getAlgorithm(), CalibrationAlgoType::kLEGACY_CALIBRATION);
  EXPECT_EQ(asked.getQuantile(), 0.999);
  EXPECT_EQ(asked.getRegressionCutoff(), 0.5);
  size_t length = 0;
  EXPECT_EQ(asked.readHistogramCache(length), nullptr);
  asked.writeHistogramCache(nullptr, 0);
}

TEST(Registry, SearchesItsParentWhereItIsTold) {
  IPluginRegistry& registry = *getPluginRegistry();
  registry.setParentSearchEnabled(false);
  EXPECT_FALSE(registry.isParentSearchEnabled());
  registry.setParentSearchEnabled(true);
}

#if NV_TENSORRT_MAJOR >= 10
TEST(Network, WeightsAreMarkedForRefits) {
  Maker maker;
  EXPECT_TRUE(maker.network->markWeightsRefittable("w"));
  EXPECT_TRUE(maker.network->areWeightsMarkedRefittable("w"));
  EXPECT_TRUE(maker.network->unmarkWeightsRefittable("w"));
  EXPECT_FALSE(maker.network->areWeightsMarkedRefittable("w"));
}
#endif

}  // namespace
}  // namespace trt_test
