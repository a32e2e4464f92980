// SPDX-License-Identifier: Apache-2.0
// Symbols that clients call beside those of the other tests: what is set is what is got, and what listens is told.
#include "NvInferPlugin.h"
#include "support.h"

namespace trt_test {
namespace {

using Values = std::vector<float>;

TEST(Config, KeepsWhatItIsTold) {
  Maker maker;
  IBuilderConfig& config = *maker.config;
  EXPECT_TRUE(config.getFlag(BuilderFlag::kTF32));
  config.setFlag(BuilderFlag::kFP16);
  config.clearFlag(BuilderFlag::kTF32);
  EXPECT_EQ(config.getFlags(), 1U << static_cast<uint32_t>(BuilderFlag::kFP16));
  config.setFlags(1U << static_cast<uint32_t>(BuilderFlag::kINT8));
  EXPECT_TRUE(config.getFlag(BuilderFlag::kINT8));
  config.setMemoryPoolLimit(MemoryPoolType::kWORKSPACE, 1U << 20);
  EXPECT_EQ(config.getMemoryPoolLimit(MemoryPoolType::kWORKSPACE), 1U << 20);
  config.setBuilderOptimizationLevel(5);
  EXPECT_EQ(config.getBuilderOptimizationLevel(), 5);
  config.setAvgTimingIterations(8);
  EXPECT_EQ(config.getAvgTimingIterations(), 8);
  config.setProfilingVerbosity(ProfilingVerbosity::kDETAILED);
  EXPECT_EQ(config.getProfilingVerbosity(), ProfilingVerbosity::kDETAILED);
  config.setDefaultDeviceType(DeviceType::kDLA);
  EXPECT_EQ(config.getDefaultDeviceType(), DeviceType::kDLA);
  config.setDLACore(0);
  EXPECT_EQ(config.getDLACore(), 0);
  EXPECT_TRUE(config.setTacticSources(1U << static_cast<uint32_t>(TacticSource::kCUDNN)));
  EXPECT_EQ(config.getTacticSources(), 1U << static_cast<uint32_t>(TacticSource::kCUDNN));
  config.setQuantizationFlag(QuantizationFlag::kCALIBRATE_BEFORE_FUSION);
  EXPECT_TRUE(config.getQuantizationFlag(QuantizationFlag::kCALIBRATE_BEFORE_FUSION));
  config.clearQuantizationFlag(QuantizationFlag::kCALIBRATE_BEFORE_FUSION);
  EXPECT_EQ(config.getQuantizationFlags(), 0U);
  config.setEngineCapability(EngineCapability::kSTANDARD);
  EXPECT_EQ(config.getEngineCapability(), EngineCapability::kSTANDARD);
  config.setProfileStream(nullptr);
  EXPECT_EQ(config.getProfileStream(), nullptr);
  config.setHardwareCompatibilityLevel(HardwareCompatibilityLevel::kAMPERE_PLUS);
  EXPECT_EQ(config.getHardwareCompatibilityLevel(), HardwareCompatibilityLevel::kAMPERE_PLUS);
  config.setMaxAuxStreams(2);
  EXPECT_EQ(config.getMaxAuxStreams(), 2);
  config.setPreviewFeature(PreviewFeature::kPROFILE_SHARING_0806, true);
  EXPECT_TRUE(config.getPreviewFeature(PreviewFeature::kPROFILE_SHARING_0806));
  const char* paths[] = {"a.so"};
  config.setPluginsToSerialize(paths, 1);
  EXPECT_EQ(config.getNbPluginsToSerialize(), 1);
  EXPECT_STREQ(config.getPluginToSerialize(0), "a.so");
  config.setInt8Calibrator(nullptr);
  EXPECT_EQ(config.getInt8Calibrator(), nullptr);
  config.reset();
  EXPECT_EQ(config.getBuilderOptimizationLevel(), 3);
}

TEST(Config, TimingCachesAreKeptAndRefused) {
  Maker maker;
  const Own<ITimingCache> cache(maker.config->createTimingCache(nullptr, 0));
  ASSERT_TRUE(cache);
  const Own<IHostMemory> bytes(cache->serialize());
  const Own<ITimingCache> again(maker.config->createTimingCache(bytes->data(), bytes->size()));
  ASSERT_TRUE(again);
  EXPECT_TRUE(cache->combine(*again, false));
  EXPECT_TRUE(maker.config->setTimingCache(*cache, false));
  EXPECT_EQ(maker.config->getTimingCache(), cache.get());
  EXPECT_TRUE(cache->reset());
  EXPECT_EQ(maker.config->createTimingCache("nonsense", 8), nullptr);
  EXPECT_TRUE(maker.logger.has("the timing cache")) << maker.logger.text;
}

TEST(Builder, SaysWhatThePlatformHas) {
  Maker maker;
  EXPECT_TRUE(maker.builder->platformHasFastInt8());
  EXPECT_TRUE(maker.builder->platformHasFastFp16());
  EXPECT_FALSE(maker.builder->platformHasTf32());
  EXPECT_EQ(maker.builder->getNbDLACores(), 0);
  EXPECT_EQ(maker.builder->getMaxDLABatchSize(), 0);
  EXPECT_EQ(maker.builder->getLogger(), &maker.logger);
  EXPECT_TRUE(maker.builder->setMaxThreads(2));
  EXPECT_EQ(maker.builder->getMaxThreads(), 2);
  EXPECT_FALSE(maker.builder->setMaxThreads(0));
  EXPECT_EQ(&maker.builder->getPluginRegistry(), getPluginRegistry());
}

class Recorder : public IErrorRecorder {
 public:
  int32_t getNbErrors() const noexcept override { return static_cast<int32_t>(texts.size()); }
  ErrorCode getErrorCode(int32_t i) const noexcept override {
    return codes[static_cast<size_t>(i)];
  }
  ErrorDesc getErrorDesc(int32_t i) const noexcept override {
    return texts[static_cast<size_t>(i)].c_str();
  }
  bool hasOverflowed() const noexcept override { return false; }
  void clear() noexcept override { texts.clear(); }
  bool reportError(ErrorCode code, ErrorDesc desc) noexcept override {
    codes.push_back(code);
    texts.push_back(desc);
    return true;
  }
  RefCount incRefCount() noexcept override { return 1; }
  RefCount decRefCount() noexcept override { return 1; }
  std::vector<ErrorCode> codes;
  std::vector<std::string> texts;
};

TEST(Recorder, GetsTheWholeReason) {
  Maker maker;
  Recorder recorder;
  maker.builder->setErrorRecorder(&recorder);
  EXPECT_EQ(maker.builder->getErrorRecorder(), &recorder);
  EXPECT_EQ(maker.build(), nullptr);
  ASSERT_EQ(recorder.getNbErrors(), 1);
  EXPECT_EQ(recorder.getErrorCode(0), ErrorCode::kINVALID_ARGUMENT);
  EXPECT_NE(std::string(recorder.getErrorDesc(0)).find("the network has no outputs"),
            std::string::npos);
}

// As large as the data make it.
ITensor* add_non_zero(INetworkDefinition& network) {
  ITensor* x = network.addInput("x", DataType::kFLOAT, Dims2{2, 3});
  ITensor* y = network.addNonZero(*x)->getOutput(0);
  y->setName("y");
  network.markOutput(*y);
  return y;
}

class Allocator : public IOutputAllocator {
 public:
  void* reallocateOutput(char const* name, void*, uint64_t size, uint64_t) noexcept override {
    EXPECT_STREQ(name, "y");
    memory.resize(size / 4);
    return memory.data();
  }
  void notifyShape(char const*, Dims const& dims) noexcept override { shape = sizes_of(dims); }
  std::vector<int32_t> memory;
  std::vector<int64_t> shape;
};

TEST(OutputAllocator, IsAskedWhenTheSizeIsKnown) {
  Maker maker;
  add_non_zero(*maker.network);
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  EXPECT_EQ(engine->getTensorDataType("y"), DataType::kINT32);
  const Own<IExecutionContext> context(engine->createExecutionContext());
  Values x = {0, 5, 0, 0, 0, 6};
  Allocator allocator;
  EXPECT_TRUE(context->setInputTensorAddress("x", x.data()));
  EXPECT_TRUE(context->setOutputAllocator("y", &allocator));
  EXPECT_FALSE(context->setOutputAllocator("x", &allocator));
  EXPECT_EQ(context->getOutputAllocator("y"), &allocator);
  ASSERT_TRUE(context->enqueueV3(nullptr)) << maker.logger.text;
  EXPECT_EQ(allocator.shape, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(allocator.memory, (std::vector<int32_t>{0, 1, 1, 2}));
}

TEST(Context, TellsSizesStridesAndAddresses) {
  Maker maker;
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims3{2, 3, 4});
  ITensor* y = maker.network->addActivation(*x, ActivationType::kRELU)->getOutput(0);
  y->setName("y");
  maker.network->markOutput(*y);
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  const Own<IExecutionContext> context(engine->createExecutionContext());
  EXPECT_EQ(&context->getEngine(), engine.get());
  EXPECT_TRUE(context->allInputDimensionsSpecified());
  EXPECT_TRUE(context->allInputShapesSpecified());
  EXPECT_EQ(sizes_of(context->getTensorStrides("x")), (std::vector<int64_t>{12, 4, 1}));
  EXPECT_EQ(context->getMaxOutputSize("y"), 96);
  EXPECT_EQ(context->inferShapes(0, nullptr), 0);
  context->setName("one");
  EXPECT_STREQ(context->getName(), "one");
  EXPECT_EQ(context->getOptimizationProfile(), 0);
  EXPECT_TRUE(context->setOptimizationProfileAsync(0, nullptr));
  EXPECT_FALSE(context->setOptimizationProfileAsync(1, nullptr));
  float memory = 0;
  EXPECT_TRUE(context->setTensorAddress("y", &memory));
  EXPECT_EQ(context->getOutputTensorAddress("y"), &memory);
  EXPECT_EQ(context->getTensorAddress("y"), &memory);
  EXPECT_EQ(context->getTensorAddress("x"), nullptr);
  context->setPersistentCacheLimit(16);
  EXPECT_EQ(context->getPersistentCacheLimit(), 16U);
  EXPECT_TRUE(context->setNvtxVerbosity(ProfilingVerbosity::kNONE));
  EXPECT_EQ(context->getNvtxVerbosity(), ProfilingVerbosity::kNONE);
  EXPECT_GT(engine->getNbLayers(), 0);
  EXPECT_EQ(engine->getNbOptimizationProfiles(), 1);
  EXPECT_FALSE(engine->isRefittable());
  EXPECT_EQ(engine->getNbAuxStreams(), 0);
  EXPECT_EQ(engine->getTensorVectorizedDim("x"), -1);
  EXPECT_EQ(engine->getTensorComponentsPerElement("x"), -1);
  EXPECT_EQ(engine->getTensorLocation("x"), TensorLocation::kDEVICE);
  EXPECT_FALSE(engine->isShapeInferenceIO("x"));
  const Own<IHostMemory> plan(engine->serialize());
  EXPECT_EQ(plan->size(), maker.plan_bytes.size());
}

TEST(Border, Int8InBlocksOfChannels) {
  Maker maker;
  ITensor* x = maker.network->addInput("x", DataType::kINT8, Dims4{1, 2, 1, 2});
  x->setDynamicRange(-127, 127);
  x->setAllowedFormats(1U << static_cast<uint32_t>(TensorFormat::kCHW4));
  ITensor* y = maker.network->addActivation(*x, ActivationType::kRELU)->getOutput(0);
  y->setName("y");
  maker.network->markOutput(*y);
  y->setType(DataType::kINT8);
  y->setDynamicRange(-254, 254);
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  EXPECT_EQ(engine->getTensorDataType("x"), DataType::kINT8);
  EXPECT_EQ(engine->getTensorFormat("x"), TensorFormat::kCHW4);
  EXPECT_EQ(engine->getTensorVectorizedDim("x"), 1);
  EXPECT_EQ(engine->getTensorComponentsPerElement("x"), 4);
  const Own<IExecutionContext> context(engine->createExecutionContext());
  // Two pixels of four channels, two of which are the tensor's.
  std::vector<int8_t> in = {10, -20, 0, 0, 30, 40, 0, 0}, out(4);
  void* bindings[] = {in.data(), out.data()};
  EXPECT_TRUE(context->executeV2(bindings)) << maker.logger.text;
  EXPECT_EQ(out, (std::vector<int8_t>{5, 15, 0, 20}));
}

TEST(Weights, HaveTheNameTheyAreGiven) {
  Maker maker;
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims4{1, 1, 1, 1});
  const Values three = {3};
  auto* conv = maker.network->addConvolutionNd(*x, 1, DimsHW{1, 1}, weights_of(three), Weights{});
  EXPECT_TRUE(maker.network->setWeightsName(weights_of(three), "three"));
  maker.network->markOutput(*conv->getOutput(0));
  maker.config->setFlag(BuilderFlag::kREFIT);
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  const Own<IRefitter> refitter(createInferRefitter(*engine, maker.logger));
  const Values nine = {9};
  EXPECT_TRUE(refitter->setNamedWeights("three", weights_of(nine)));
  EXPECT_FALSE(refitter->setNamedWeights("four", weights_of(nine)));
  EXPECT_EQ(refitter->getMissingWeights(0, nullptr), 0);
  EXPECT_TRUE(refitter->refitCudaEngine());
  EXPECT_EQ(run(*engine, {1}), Values{9});
}

TEST(Registry, RegistersOnceWithoutALogger) {
  IPluginRegistry* registry = getPluginRegistry();
  ASSERT_NE(registry, nullptr);
  EXPECT_EQ(registry->getPluginCreator("None", "1"), nullptr);
  int32_t count = -1;
  registry->getPluginCreatorList(&count);
  EXPECT_GE(count, 0);
}

#if NV_TENSORRT_MAJOR >= 10
class Monitor : public IProgressMonitor {
 public:
  void phaseStart(char const* name, char const* parent, int32_t steps) noexcept override {
    EXPECT_GE(steps, 1);
    EXPECT_EQ(parent == nullptr, open.empty());
    open.push_back(name);
  }
  bool stepComplete(char const* name, int32_t) noexcept override {
    EXPECT_EQ(open.back(), name);
    ++steps_done;
    return !cancels;
  }
  void phaseFinish(char const* name) noexcept override {
    EXPECT_EQ(open.back(), name);
    open.pop_back();
  }
  std::vector<std::string> open;
  int steps_done = 0;
  bool cancels = false;
};

TEST(ProgressMonitor, FollowsABuildAndEndsIt) {
  for (const bool cancels : {false, true}) {
    Maker maker;
    Monitor monitor;
    monitor.cancels = cancels;
    add_non_zero(*maker.network);
    maker.config->setProgressMonitor(&monitor);
    EXPECT_EQ(maker.build() == nullptr, cancels);
    EXPECT_GT(monitor.steps_done, 0);
    EXPECT_TRUE(monitor.open.empty());
  }
}

class Reader : public IStreamReader {
 public:
  explicit Reader(const std::string& bytes) : bytes_(bytes) {}
  int64_t read(void* destination, int64_t count) override {
    const auto take = std::min(static_cast<size_t>(count), bytes_.size() - at_);
    std::memcpy(destination, bytes_.data() + at_, take);
    at_ += take;
    return static_cast<int64_t>(take);
  }

 private:
  const std::string& bytes_;
  size_t at_ = 0;
};

class Writer : public IStreamWriter {
 public:
  int64_t write(void const* data, int64_t count) override {
    bytes.append(static_cast<char const*>(data), static_cast<size_t>(count));
    return count;
  }
  std::string bytes;
};

TEST(Streams, CarryPlans) {
  Maker maker;
  add_non_zero(*maker.network);
  Writer writer;
  ASSERT_TRUE(maker.builder->buildSerializedNetworkToStream(*maker.network, *maker.config, writer));
  Reader reader(writer.bytes);
  const Own<IRuntime> runtime(createInferRuntime(maker.logger));
  const Own<ICudaEngine> engine(runtime->deserializeCudaEngine(reader));
  EXPECT_TRUE(engine) << maker.logger.text;
  uint64_t diagnostics = 1;
  EXPECT_EQ(runtime->getEngineValidity(writer.bytes.data(),
                                       static_cast<int64_t>(writer.bytes.size()), &diagnostics),
            EngineValidity::kVALID);
  EXPECT_EQ(diagnostics, 0U);
}

TEST(Builder, HasNoTextOfKernels) {
  Maker maker;
  add_non_zero(*maker.network);
  IHostMemory* text = reinterpret_cast<IHostMemory*>(&maker);
  const Own<IHostMemory> plan(
      maker.builder->buildSerializedNetwork(*maker.network, *maker.config, text));
  EXPECT_TRUE(plan) << maker.logger.text;
  EXPECT_EQ(text, nullptr);
}

TEST(Config, KeepsFlagsOfTheLastVersion) {
  Maker maker;
  maker.config->setPreviewFeature(PreviewFeature::kMULTIDEVICE_RUNTIME_10_16, true);
  EXPECT_TRUE(maker.config->getPreviewFeature(PreviewFeature::kMULTIDEVICE_RUNTIME_10_16));
}
#else
TEST(Config, OfLevelEightHasAWorkspace) {
  Maker maker;
  maker.config->setMaxWorkspaceSize(1U << 20);
  EXPECT_EQ(maker.config->getMaxWorkspaceSize(), 1U << 20);
  maker.config->setMinTimingIterations(3);
  EXPECT_EQ(maker.config->getMinTimingIterations(), 3);
  IBuilderConfig* other = maker.builder->createBuilderConfig();
  other->destroy();
}

TEST(Engine, HasBindingsByNumberAtLevelEight) {
  Maker maker;
  add_non_zero(*maker.network);
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  EXPECT_EQ(engine->getNbBindings(), 2);
  EXPECT_STREQ(engine->getBindingName(1), "y");
  EXPECT_TRUE(engine->bindingIsInput(0));
  EXPECT_EQ(engine->getBindingDataType(1), DataType::kINT32);
  EXPECT_EQ(engine->getBindingVectorizedDim(0), -1);
  EXPECT_FALSE(engine->hasImplicitBatchDimension());
}
#endif

}  // namespace
}  // namespace trt_test
