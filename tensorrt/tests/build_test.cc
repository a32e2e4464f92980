// SPDX-License-Identifier: Apache-2.0
// Builds with calibrators, ranges and profiles, and what comes of them at run time.
#include "octet/engine.h"
#include "octet/inspect.h"
#include "support.h"

namespace trt_test {
namespace {

using Values = std::vector<float>;

int64_t int8_layers(const std::string& plan) {
  const auto engine =
      octet::Engine::load({reinterpret_cast<const std::byte*>(plan.data()), plan.size()});
  return octet::inspect(engine).coverage.int8_layers;
}

// Two convolutions with a ReLU between, whose output is named "y".
void add_two_convolutions(INetworkDefinition& network, const Dims& sizes, const Values& kernel) {
  ITensor* x = network.addInput("x", DataType::kFLOAT, sizes);
  auto* first = network.addConvolutionNd(*x, 4, DimsHW{3, 3}, weights_of(kernel), Weights{});
  first->setName("first");
  auto* relu = network.addActivation(*first->getOutput(0), ActivationType::kRELU);
  auto* second =
      network.addConvolutionNd(*relu->getOutput(0), 4, DimsHW{3, 3}, weights_of(kernel), Weights{});
  second->setName("second");
  second->getOutput(0)->setName("y");
  network.markOutput(*second->getOutput(0));
}

Values some_kernel() {
  Values kernel(4 * 4 * 9);
  for (size_t i = 0; i < kernel.size(); ++i)
    kernel[i] = static_cast<float>(static_cast<int>(i * 7 % 13) - 6) / 16;
  return kernel;
}

Values some_image(int seed) {
  Values image(4 * 8 * 8);
  for (size_t i = 0; i < image.size(); ++i)
    image[i] = static_cast<float>((i * 31 + static_cast<size_t>(seed) * 17) % 29) / 29;
  return image;
}

// As every tutorial has it: one device buffer, filled anew for each batch.
class Calibrator : public IInt8EntropyCalibrator2 {
 public:
  explicit Calibrator(int batches, std::string kept = "")
      : cache(std::move(kept)), batches_(batches) {
    cudaMalloc(&device_, 4 * 8 * 8 * sizeof(float));
  }
  ~Calibrator() override { cudaFree(device_); }
  int32_t getBatchSize() const noexcept override {
    calls.push_back("getBatchSize");
    return 1;
  }
  bool getBatch(void* bindings[], char const* names[], int32_t nbBindings) noexcept override {
    calls.push_back("getBatch");
    EXPECT_EQ(nbBindings, 1);
    EXPECT_STREQ(names[0], "x");
    if (given_ == batches_) return false;
    const Values image = some_image(given_++);
    cudaMemcpy(device_, image.data(), image.size() * 4, cudaMemcpyHostToDevice);
    if (!forgets) bindings[0] = device_;
    return true;
  }
  void const* readCalibrationCache(size_t& length) noexcept override {
    calls.push_back("readCalibrationCache");
    length = cache.size();
    return cache.empty() ? nullptr : cache.data();
  }
  void writeCalibrationCache(void const* ptr, size_t length) noexcept override {
    calls.push_back("writeCalibrationCache");
    cache.assign(static_cast<char const*>(ptr), length);
  }

  mutable std::vector<std::string> calls;
  std::string cache;
  bool forgets = false;

 private:
  int batches_;
  int given_ = 0;
  void* device_ = nullptr;
};

struct Int8Maker : Maker {
  explicit Int8Maker(Calibrator* calibrator, const Dims& sizes = Dims4{1, 4, 8, 8})
      : kernel(some_kernel()) {
    add_two_convolutions(*network, sizes, kernel);
    config->setFlag(BuilderFlag::kINT8);
    config->setInt8Calibrator(calibrator);
  }
  Values kernel;
};

TEST(Calibrator, IsAskedInTensorRtsOrder) {
  Calibrator calibrator(2);
  Int8Maker maker(&calibrator);
  ASSERT_TRUE(maker.build()) << maker.logger.text;
  const std::vector<std::string> order = {"getBatchSize", "readCalibrationCache",
                                          "getBatch",     "getBatch",
                                          "getBatch",     "writeCalibrationCache"};
  EXPECT_EQ(calibrator.calls, order);
  EXPECT_GT(int8_layers(maker.plan_bytes), 0);
  const std::string header =
      "TRT-" + std::to_string(NV_TENSORRT_VERSION) + "-EntropyCalibration2\n";
  EXPECT_EQ(calibrator.cache.substr(0, header.size()), header);
  EXPECT_NE(calibrator.cache.find("\nx: "), std::string::npos) << calibrator.cache;
}

// Weights as codes say nothing of the data's ranges.
void add_product_by_codes(INetworkDefinition& network) {
  static const std::vector<int8_t> codes(64, 3);
  static const Values scale = {0.5F};
  ITensor* x = network.addInput("x", DataType::kFLOAT, Dims4{1, 4, 8, 8});
  ITensor* weights =
      network.addConstant(Dims4{1, 1, 8, 8}, Weights{DataType::kINT8, codes.data(), 64})
          ->getOutput(0);
  ITensor* step = network.addConstant(Dims{0, {}}, weights_of(scale))->getOutput(0);
  ITensor* real = network.addDequantize(*weights, *step)->getOutput(0);
  network.markOutput(
      *network.addMatrixMultiply(*x, MatrixOperation::kNONE, *real, MatrixOperation::kNONE)
           ->getOutput(0));
}

TEST(Calibrator, IsAskedWhereWeightsAloneAreCodes) {
  Calibrator calibrator(2);
  Maker maker, uncalibrated;
  for (Maker* each : {&maker, &uncalibrated}) {
    add_product_by_codes(*each->network);
    each->config->setFlag(BuilderFlag::kINT8);
  }
  maker.config->setInt8Calibrator(&calibrator);
  ASSERT_TRUE(maker.build()) << maker.logger.text;
  EXPECT_FALSE(calibrator.calls.empty());
  EXPECT_GT(int8_layers(maker.plan_bytes), 0);
  ASSERT_TRUE(uncalibrated.build()) << uncalibrated.logger.text;
  EXPECT_EQ(int8_layers(uncalibrated.plan_bytes), 0);
}

TEST(Calibrator, ACacheIsEnough) {
  Calibrator first(4);
  Int8Maker maker(&first);
  const Own<ICudaEngine> engine = maker.build();
  Calibrator second(0, first.cache);
  Int8Maker again(&second);
  const Own<ICudaEngine> cached = again.build();
  ASSERT_TRUE(engine && cached) << again.logger.text;
  EXPECT_EQ(second.calls, (std::vector<std::string>{"getBatchSize", "readCalibrationCache"}));
  EXPECT_EQ(int8_layers(again.plan_bytes), int8_layers(maker.plan_bytes));
}

TEST(Calibrator, ScalesWithoutLeadingZerosAreRead) {
  Calibrator calibrator(0, "TRT-8501-EntropyCalibration2\nx: 3c010a14\n366: 0\n");
  Int8Maker maker(&calibrator);
  ASSERT_TRUE(maker.build()) << maker.logger.text;
  EXPECT_EQ(calibrator.calls, (std::vector<std::string>{"getBatchSize", "readCalibrationCache"}));
}

TEST(Calibrator, ACacheThatCannotBeReadIsNotReplaced) {
  const std::string text = "TRT-8601-EntropyCalibration2\nx: what is this\n";
  Calibrator calibrator(4, text);
  Int8Maker maker(&calibrator);
  EXPECT_EQ(maker.build(), nullptr);
  EXPECT_EQ(calibrator.calls, (std::vector<std::string>{"getBatchSize", "readCalibrationCache"}));
  EXPECT_EQ(calibrator.cache, text);
  EXPECT_TRUE(maker.logger.has("line 2: tensor 'x'")) << maker.logger.text;
  EXPECT_TRUE(maker.logger.has("writeCalibrationCache() is not called")) << maker.logger.text;
}

TEST(Calibrator, NoDataAndNullPointersAreOneMessageEach) {
  Calibrator none(0);
  Int8Maker maker(&none);
  EXPECT_EQ(maker.build(), nullptr);
  EXPECT_TRUE(maker.logger.has("end before the first sample")) << maker.logger.text;
  Calibrator null(1);
  null.forgets = true;
  Int8Maker other(&null);
  EXPECT_EQ(other.build(), nullptr);
  EXPECT_TRUE(other.logger.has("Tensor `x` is bound to nullptr")) << other.logger.text;
}

TEST(Calibrator, OfDynamicShapesReadsItsProfile) {
  Calibrator calibrator(2);
  Int8Maker maker(&calibrator, Dims4{-1, 4, 8, 8});
  IOptimizationProfile* profile = maker.builder->createOptimizationProfile();
  profile->setDimensions("x", OptProfileSelector::kMIN, Dims4{1, 4, 8, 8});
  profile->setDimensions("x", OptProfileSelector::kOPT, Dims4{1, 4, 8, 8});
  profile->setDimensions("x", OptProfileSelector::kMAX, Dims4{4, 4, 8, 8});
  EXPECT_EQ(maker.config->addOptimizationProfile(profile), 0);
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  EXPECT_EQ(sizes_of(engine->getTensorShape("x")), (std::vector<int64_t>{-1, 4, 8, 8}));
  EXPECT_EQ(sizes_of(engine->getProfileShape("x", 0, OptProfileSelector::kMAX)),
            (std::vector<int64_t>{4, 4, 8, 8}));
  const Own<IExecutionContext> context(engine->createExecutionContext());
  EXPECT_FALSE(context->allInputDimensionsSpecified());
  EXPECT_FALSE(context->setInputShape("x", Dims4{5, 4, 8, 8}));
  EXPECT_TRUE(maker.logger.has("do not satisfy optimization profile 0"));
  EXPECT_TRUE(context->setInputShape("x", Dims4{2, 4, 8, 8}));
  EXPECT_EQ(sizes_of(context->getTensorShape("y")), (std::vector<int64_t>{2, 4, 4, 4}));
}

TEST(Ranges, OfTensorsAreEnoughForInt8) {
  Int8Maker maker(nullptr);
  for (int32_t i = 0; i < maker.network->getNbLayers(); ++i) {
    ILayer* layer = maker.network->getLayer(i);
    for (int32_t j = 0; j < layer->getNbOutputs(); ++j)
      EXPECT_TRUE(layer->getOutput(j)->setDynamicRange(-4, 4));
  }
  EXPECT_TRUE(maker.network->getInput(0)->setDynamicRange(-1, 1));
  EXPECT_TRUE(maker.network->getInput(0)->dynamicRangeIsSet());
  ASSERT_TRUE(maker.build()) << maker.logger.text;
  EXPECT_GT(int8_layers(maker.plan_bytes), 0);
}

TEST(Ranges, WithoutAnyNothingIsInt8AndTheLogSaysSo) {
  Int8Maker maker(nullptr);
  ASSERT_TRUE(maker.build());
  EXPECT_EQ(int8_layers(maker.plan_bytes), 0);
  EXPECT_TRUE(maker.logger.has("Calibrator is not being used."));
}

TEST(Constraints, AreObeyedOrTheBuildFailsOrTheyAreHints) {
  const auto built = [](BuilderFlag* flag, std::string* plan, std::string* log) {
    Int8Maker maker(nullptr);
    for (ITensor* tensor : {maker.network->getInput(0), maker.network->getLayer(0)->getOutput(0),
                            maker.network->getLayer(1)->getOutput(0), maker.network->getOutput(0)})
      tensor->setDynamicRange(-4, 4);
    ILayer* first = maker.network->getLayer(0);
    first->setPrecision(DataType::kFLOAT);
    EXPECT_TRUE(first->precisionIsSet());
    if (flag != nullptr) maker.config->setFlag(*flag);
    const bool done = maker.build() != nullptr;
    *plan = maker.plan_bytes;
    *log = maker.logger.text;
    return done;
  };
  BuilderFlag obey = BuilderFlag::kOBEY_PRECISION_CONSTRAINTS;
  std::string hinted, obeyed, log;
  EXPECT_TRUE(built(nullptr, &hinted, &log)) << log;
  EXPECT_TRUE(built(&obey, &obeyed, &log)) << log;
  EXPECT_EQ(int8_layers(hinted), int8_layers(obeyed) + 1);
}

TEST(Constraints, TheTwoFlagsTogetherAreAnError) {
  Int8Maker maker(nullptr);
  maker.config->setFlag(BuilderFlag::kOBEY_PRECISION_CONSTRAINTS);
  maker.config->setFlag(BuilderFlag::kPREFER_PRECISION_CONSTRAINTS);
  EXPECT_EQ(maker.build(), nullptr);
  EXPECT_TRUE(maker.logger.has(
      "kPREFER_PRECISION_CONSTRAINTS cannot be set if kOBEY_PRECISION_CONSTRAINTS"));
}

TEST(Inspector, SpeaksTensorRtsSchema) {
  Maker maker;
  const Values kernel = some_kernel();
  add_two_convolutions(*maker.network, Dims4{1, 4, 8, 8}, kernel);
  maker.config->setProfilingVerbosity(ProfilingVerbosity::kDETAILED);
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  const Own<IExecutionContext> context(engine->createExecutionContext());
  const Own<IEngineInspector> inspector(engine->createEngineInspector());
  EXPECT_TRUE(inspector->setExecutionContext(context.get()));
  const std::string all = inspector->getEngineInformation(LayerInformationFormat::kJSON);
  EXPECT_NE(all.find("\"Layers\""), std::string::npos);
  EXPECT_NE(all.find("\"Bindings\""), std::string::npos);
  EXPECT_NE(all.find("first"), std::string::npos) << all;
  const std::string one = inspector->getLayerInformation(0, LayerInformationFormat::kJSON);
  EXPECT_NE(one.find("\"LayerType\""), std::string::npos) << one;
  EXPECT_EQ(inspector->getLayerInformation(1000, LayerInformationFormat::kJSON), nullptr);
}

class Profiler : public IProfiler {
 public:
  void reportLayerTime(char const* layerName, float ms) noexcept override {
    names.push_back(layerName);
    EXPECT_GE(ms, 0.0F);
  }
  std::vector<std::string> names;
};

TEST(Profiler, HearsOfEveryLayerOfARun) {
  Maker maker;
  const Values kernel = some_kernel();
  add_two_convolutions(*maker.network, Dims4{1, 4, 8, 8}, kernel);
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  const Own<IExecutionContext> context(engine->createExecutionContext());
  Profiler profiler;
  context->setProfiler(&profiler);
  Values in = some_image(0), out(4 * 4 * 4);
  void* bindings[] = {in.data(), out.data()};
  EXPECT_TRUE(context->executeV2(bindings));
  const size_t layers = profiler.names.size();
  EXPECT_GT(layers, 0U);
  context->setEnqueueEmitsProfile(false);
  EXPECT_TRUE(context->executeV2(bindings));
  EXPECT_EQ(profiler.names.size(), layers);
  EXPECT_TRUE(context->reportToProfiler());
  EXPECT_EQ(profiler.names.size(), 2 * layers);
}

TEST(Profiles, AreNeededForOpenSizes) {
  Maker maker;
  const Values kernel = some_kernel();
  add_two_convolutions(*maker.network, Dims4{-1, 4, 8, 8}, kernel);
  EXPECT_EQ(maker.build(), nullptr);
  EXPECT_TRUE(maker.logger.has(
      "Network has dynamic or shape inputs, but no optimization profile has been defined"));
}

TEST(Engine, BindingsComeInputsFirst) {
  Maker maker;
  ITensor* a = maker.network->addInput("a", DataType::kFLOAT, Dims2{1, 2});
  ITensor* b = maker.network->addInput("b", DataType::kFLOAT, Dims2{1, 2});
  ITensor* sum = maker.network->addElementWise(*a, *b, ElementWiseOperation::kSUM)->getOutput(0);
  ITensor* difference =
      maker.network->addElementWise(*a, *b, ElementWiseOperation::kSUB)->getOutput(0);
  difference->setName("difference");
  sum->setName("sum");
  maker.network->markOutput(*difference);
  maker.network->markOutput(*sum);
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  std::vector<std::string> names;
  for (int32_t i = 0; i < engine->getNbIOTensors(); ++i)
    names.push_back(engine->getIOTensorName(i));
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b", "difference", "sum"}));
  EXPECT_EQ(engine->getTensorIOMode("sum"), TensorIOMode::kOUTPUT);
  EXPECT_EQ(engine->getTensorIOMode("none"), TensorIOMode::kNONE);
  EXPECT_STREQ(engine->getTensorFormatDesc("a"), "Row major linear FP32 format (kLINEAR)");
  const Own<IExecutionContext> context(engine->createExecutionContext());
  Values in_a = {5, 7}, in_b = {1, 2}, out_difference(2), out_sum(2);
  EXPECT_FALSE(context->enqueueV3(nullptr));  // no addresses yet
  EXPECT_TRUE(context->setInputTensorAddress("a", in_a.data()));
  EXPECT_TRUE(context->setTensorAddress("b", in_b.data()));
  EXPECT_TRUE(context->setTensorAddress("difference", out_difference.data()));
  EXPECT_TRUE(context->setTensorAddress("sum", out_sum.data()));
  EXPECT_FALSE(context->setTensorAddress("none", out_sum.data()));
  EXPECT_TRUE(context->enqueueV3(nullptr));
  EXPECT_EQ(out_difference, (Values{4, 5}));
  EXPECT_EQ(out_sum, (Values{6, 9}));
}

TEST(Engine, WhatIsNoPlanIsNamed) {
  Logger logger;
  const Own<IRuntime> runtime(createInferRuntime(logger));
  const std::string text = "ftrt, and more of it than a header has bytes, all of them meaningless";
  EXPECT_EQ(runtime->deserializeCudaEngine(text.data(), text.size()), nullptr);
  EXPECT_TRUE(logger.has("not an Octet engine")) << logger.text;
}

void expect_refits(BuilderFlag flag) {
  Maker maker;
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims4{1, 1, 1, 1});
  const Values three = {3};
  auto* conv = maker.network->addConvolutionNd(*x, 1, DimsHW{1, 1}, weights_of(three), Weights{});
  conv->setName("conv");
  maker.network->markOutput(*conv->getOutput(0));
  maker.config->setFlag(flag);
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  EXPECT_TRUE(engine->isRefittable());
  const Own<IRefitter> refitter(createInferRefitter(*engine, maker.logger));
  ASSERT_TRUE(refitter);
  const char* names[4] = {};
  EXPECT_EQ(refitter->getAllWeights(4, names), 1);
  const Values seven = {7}, two = {1, 2};
  EXPECT_FALSE(refitter->setWeights("conv", WeightsRole::kKERNEL, weights_of(two)));
  EXPECT_FALSE(
      refitter->setWeights("conv", WeightsRole::kKERNEL, Weights{DataType::kFLOAT, nullptr, 1}));
  EXPECT_TRUE(maker.logger.has("were given as a null pointer")) << maker.logger.text;
  EXPECT_TRUE(refitter->setWeights("conv", WeightsRole::kKERNEL, weights_of(seven)));
  const char* const input = engine->getIOTensorName(0);
  EXPECT_TRUE(refitter->refitCudaEngine());
  EXPECT_EQ(engine->getIOTensorName(0), input) << "names live as long as the engine";
  EXPECT_EQ(run(*engine, {2}), Values{14});
}

TEST(Refit, NewWeightsGiveNewResults) {
  expect_refits(BuilderFlag::kREFIT);
#if NV_TENSORRT_MAJOR >= 10
  expect_refits(BuilderFlag::kREFIT_IDENTICAL);
  expect_refits(BuilderFlag::kSTRIP_PLAN);
#endif
}

}  // namespace
}  // namespace trt_test
