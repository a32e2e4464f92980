// SPDX-License-Identifier: Apache-2.0
// Optimization profiles: by their index, held against the network that is built with them.
#include "support.h"

namespace trt_test {
namespace {

// Two of them, of sizes and of numbers: each is asked for by its index.
TEST(Profiles, AreToldByTheirIndex) {
  Maker maker;
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims2{-1, 2});
  ITensor* sizes = maker.network->addInput("sizes", DataType::kINT32, dims_of({2}));
  for (ITensor* input : {x, sizes})
    maker.network->markOutput(*maker.network->addIdentity(*input)->getOutput(0));
  for (int32_t size : {1, 10}) {
    IOptimizationProfile* profile = maker.builder->createOptimizationProfile();
    for (int32_t end = 0; end < 3; ++end) {
      const auto select = static_cast<OptProfileSelector>(end);
      EXPECT_TRUE(profile->setDimensions("x", select, Dims2{size + end, 2}));
      EXPECT_TRUE(profile->setDimensions("nobody", select, Dims2{1, 2}));
      const int32_t values[2] = {2, size + end};
      EXPECT_TRUE(profile->setShapeValues("sizes", select, values, 2));
    }
    EXPECT_GE(maker.config->addOptimizationProfile(profile), 0);
  }
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  EXPECT_TRUE(maker.logger.has("'nobody', which is no input")) << maker.logger.text;
  std::vector<const int32_t*> told;
  for (int32_t profile : {0, 1}) {
    for (int32_t end = 0; end < 3; ++end) {
      const auto select = static_cast<OptProfileSelector>(end);
      told.push_back(engine->getProfileTensorValues("sizes", profile, select));
      EXPECT_EQ(engine->getProfileShape("x", profile, select).d[0], (profile == 0 ? 1 : 10) + end);
    }
  }
  for (int32_t i = 0; i < 6; ++i)
    EXPECT_EQ(told[static_cast<size_t>(i)][1], (i < 3 ? 1 : 10) + i % 3) << i;
  EXPECT_EQ(engine->getProfileTensorValues("sizes", 2, OptProfileSelector::kMIN), nullptr);
  EXPECT_EQ(engine->getProfileTensorValues(nullptr, 0, OptProfileSelector::kMIN), nullptr);
}

TEST(Profiles, ThatDoNotFitTheirInputAreRefused) {
  Maker maker;
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims4{-1, 4, 8, 8});
  maker.network->markOutput(*maker.network->addIdentity(*x)->getOutput(0));
  IOptimizationProfile* profile = maker.builder->createOptimizationProfile();
  for (int32_t end = 0; end < 3; ++end)
    profile->setDimensions("x", static_cast<OptProfileSelector>(end), Dims4{4, 4, 8, 9});
  EXPECT_GE(maker.config->addOptimizationProfile(profile), 0);
  EXPECT_EQ(maker.build(), nullptr);
  EXPECT_TRUE(maker.logger.has("9 to 9 at axis 3; the input is ?x4x8x8")) << maker.logger.text;
  profile->setDimensions("x", OptProfileSelector::kMAX, Dims4{3, 4, 8, 8});
  EXPECT_EQ(maker.config->addOptimizationProfile(profile), -1);
  EXPECT_TRUE(maker.logger.has("min 4, opt 4, max 3 at axis 0")) << maker.logger.text;
}

}  // namespace
}  // namespace trt_test
