// SPDX-License-Identifier: Apache-2.0
// Timing caches: what one holds goes into plans, and a thorough build measures what it lacks.
#include "octet/engine.h"
#include "octet/selection.h"
#include "octet/tensorrt_plan.h"
#include "octet/tuning.h"
#include "support.h"

namespace trt_test {
namespace {

std::string json_of(const ITimingCache& cache) {
  const Own<IHostMemory> bytes(cache.serialize());
  return {static_cast<const char*>(bytes->data()), bytes->size()};
}

size_t choices_in(const std::string& json) {
  return json.empty() ? 0 : octet::tuning_from_json(json, "a test").kernels().size();
}

// A product that several kernels of the CPU take, between a flag and a cache.
struct Tuned {
  Tuned() : cache(maker.config->createTimingCache(nullptr, 0)) {
    for (int i = 0; i < 64 * 64; ++i) kernel.push_back(static_cast<float>(i % 5 - 2));
    ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims4{1, 64, 8, 8});
    auto* conv =
        maker.network->addConvolutionNd(*x, 64, DimsHW{1, 1}, weights_of(kernel), Weights{});
    maker.network->markOutput(*conv->getOutput(0));
    EXPECT_TRUE(maker.config->setTimingCache(*cache, false));
  }
  // What the plan of a build carries; nothing where the build fails.
  std::string carried() {
    if (maker.build() == nullptr) return "no plan";
    const auto plan = octet::tensorrt_plan(octet::Engine::load(
        std::as_bytes(std::span(maker.plan_bytes.data(), maker.plan_bytes.size()))));
    EXPECT_TRUE(plan.has_value());
    return plan ? plan->tuning : "";
  }
  void give(const std::string& json) {
    cache.reset(maker.config->createTimingCache(json.data(), json.size()));
    ASSERT_TRUE(cache) << maker.logger.text;
    EXPECT_TRUE(maker.config->setTimingCache(*cache, false));
  }

  Maker maker;
  std::vector<float> kernel;
  Own<ITimingCache> cache;
};

TEST(TimingCache, AThoroughBuildMeasuresWhatItLacks) {
  Tuned usual;
  EXPECT_EQ(usual.carried(), "");
  EXPECT_EQ(choices_in(json_of(*usual.cache)), 0U);

  Tuned thorough;
  thorough.maker.config->setBuilderOptimizationLevel(4);
  const std::string carried = thorough.carried();
  ASSERT_EQ(choices_in(carried), 1U) << thorough.maker.logger.text;
  EXPECT_EQ(json_of(*thorough.cache), carried);
  EXPECT_EQ(json_of(*thorough.maker.config->getTimingCache()), carried);
  EXPECT_NE(carried.find("Conv"), std::string::npos) << carried;
}

// Whatever the machine finds fast, a context takes what the cache says.
TEST(TimingCache, ContextsTakeItsChoices) {
  Tuned thorough;
  thorough.maker.config->setBuilderOptimizationLevel(4);
  const octet::Tuning measured = octet::tuning_from_json(thorough.carried(), "a test");
  ASSERT_EQ(measured.kernels().size(), 1U);
  const octet::TuningKey key = measured.kernels().begin()->first;
  octet::SelectionOptions options;
  options.threads = key.threads;
  for (const octet::KernelTime& kernel : octet::measure_layer(key.layer, options).kernels) {
    octet::Tuning chosen;
    chosen.set(key, {kernel.kernel, 1});
    Tuned told;
    told.maker.config->setProfilingVerbosity(ProfilingVerbosity::kDETAILED);
    told.give(octet::to_json(chosen));
    EXPECT_EQ(told.carried(), octet::to_json(chosen));
    const Own<ICudaEngine> engine = told.maker.build();
    ASSERT_TRUE(engine);
    const Own<IEngineInspector> inspector(engine->createEngineInspector());
    const std::string text = inspector->getEngineInformation(LayerInformationFormat::kJSON);
    EXPECT_NE(text.find("\"" + kernel.kernel + "\""), std::string::npos) << kernel.kernel << text;
  }
}

TEST(TimingCache, FlagsOfIt) {
  Tuned thorough;
  thorough.maker.config->setBuilderOptimizationLevel(5);
  const std::string measured = thorough.carried();
  ASSERT_EQ(choices_in(measured), 1U);

  Tuned disabled;
  disabled.give(measured);
  disabled.maker.config->setFlag(BuilderFlag::kDISABLE_TIMING_CACHE);
  EXPECT_EQ(disabled.carried(), "");
#if NV_TENSORRT_MAJOR >= 10
  Tuned missing;
  missing.maker.config->setFlag(BuilderFlag::kERROR_ON_TIMING_CACHE_MISS);
  EXPECT_EQ(missing.carried(), "no plan");
  EXPECT_TRUE(missing.maker.logger.has("the timing cache has no choice for layer"))
      << missing.maker.logger.text;
  Tuned full;
  full.give(measured);
  full.maker.config->setFlag(BuilderFlag::kERROR_ON_TIMING_CACHE_MISS);
  EXPECT_EQ(full.carried(), measured);
#endif
}

// Kernels of a concatenation that want other layouts cannot take each other's place, and none is measured: a measured cache is complete
// all the same, and a build that lacks nothing measures nothing.
TEST(TimingCache, AMeasuredOneLacksNothing) {
  const auto joined = [](Tuned& tuned) {
    INetworkDefinition& network = *tuned.maker.network;
    ITensor* conv = network.getLayer(0)->getOutput(0);
    ITensor* parts[] = {conv, network.getInput(0)};
    ITensor* once = network.addConcatenation(parts, 2)->getOutput(0);
    network.markOutput(*network.addPoolingNd(*once, PoolingType::kMAX, DimsHW{2, 2})->getOutput(0));
    ITensor* rows[] = {conv, conv};
    auto* tall = network.addConcatenation(rows, 2);
    tall->setAxis(2);
    network.markOutput(*tall->getOutput(0));
  };
  Tuned thorough;
  joined(thorough);
  thorough.maker.config->setBuilderOptimizationLevel(4);
  const std::string measured = thorough.carried();
  ASSERT_GE(choices_in(measured), 1U) << thorough.maker.logger.text;

  Tuned again;
  joined(again);
  again.give(measured);
  again.maker.config->setBuilderOptimizationLevel(4);
  EXPECT_EQ(again.carried(), measured);
#if NV_TENSORRT_MAJOR >= 10
  Tuned full;
  joined(full);
  full.give(measured);
  full.maker.config->setFlag(BuilderFlag::kERROR_ON_TIMING_CACHE_MISS);
  EXPECT_EQ(full.carried(), measured) << full.maker.logger.text;
#endif
}

// Of which zeros would be none that the network takes.
TEST(TimingCache, SizesThatAreInputsAreMeasuredAsTheProfileHasThem) {
  Tuned thorough;
  INetworkDefinition& network = *thorough.maker.network;
  ITensor* sizes = network.addInput("sizes", DataType::kINT32, dims_of({2}));
  IShuffleLayer* matrix = network.addShuffle(*network.getLayer(0)->getOutput(0));
  matrix->setInput(1, *sizes);
  network.markOutput(*matrix->getOutput(0));
  IOptimizationProfile* profile = thorough.maker.builder->createOptimizationProfile();
  for (int32_t end = 0; end < 3; ++end) {
    const int32_t values[2] = {32 << end, 64};  // kOPT alone has as many elements
    EXPECT_TRUE(profile->setShapeValues("sizes", static_cast<OptProfileSelector>(end), values, 2));
  }
  ASSERT_GE(thorough.maker.config->addOptimizationProfile(profile), 0);
  thorough.maker.config->setBuilderOptimizationLevel(4);
  EXPECT_GE(choices_in(thorough.carried()), 1U) << thorough.maker.logger.text;
  EXPECT_FALSE(thorough.maker.logger.has("could not be measured")) << thorough.maker.logger.text;
}

TEST(TimingCache, OneOfAnotherKindIsRefused) {
  Maker maker;
  const std::string theirs("\x00ptrt\x01\x00\x00\x00", 9);
  EXPECT_EQ(maker.config->createTimingCache(theirs.data(), theirs.size()), nullptr);
  EXPECT_TRUE(maker.logger.has("one of TensorRT's holds times of NVIDIA's kernels"))
      << maker.logger.text;
}

}  // namespace
}  // namespace trt_test
