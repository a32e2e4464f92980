// SPDX-License-Identifier: Apache-2.0
// Ranges without data: a layer that rests on a channel which one scale for all rounds to nothing stays in FP32.
#include <algorithm>

#include "support.h"

namespace trt_test {
namespace {

// Channel 1 is made 500 times as quiet as channel 0, and as loud again by the depthwise convolution.
std::vector<float> through_a_quiet_channel(bool asked_for_int8, float loud, float quiet) {
  static const std::vector<float> first{1, 0, 0, 0.002F}, second{1, 500};
  Maker maker;
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims4{1, 2, 4, 4});
  IConvolutionLayer* before =
      maker.network->addConvolutionNd(*x, 2, Dims2{1, 1}, weights_of(first), Weights{});
  IConvolutionLayer* depthwise = maker.network->addConvolutionNd(
      *before->getOutput(0), 2, Dims2{1, 1}, weights_of(second), Weights{});
  depthwise->setNbGroups(2);
  depthwise->setName("depthwise");
  if (asked_for_int8) depthwise->setPrecision(DataType::kINT8);
  ITensor* y = depthwise->getOutput(0);
  y->setName("y");
  maker.network->markOutput(*y);
  for (ITensor* tensor : {x, before->getOutput(0), y}) tensor->setDynamicRange(-1, 1);
  maker.config->setFlag(BuilderFlag::kINT8);
  const Own<ICudaEngine> engine = maker.build();
  EXPECT_TRUE(engine) << maker.logger.text;
  std::vector<float> input(32, loud);
  std::fill(input.begin() + 16, input.end(), quiet);
  return engine == nullptr ? std::vector<float>(32) : run(*engine, input);
}

TEST(QuietChannels, StayWhereRangesComeWithoutData) {
  const std::vector<float> out = through_a_quiet_channel(false, 0.75F, 0.5F);
  EXPECT_NEAR(out[0], 0.75F, 0.01F);
  EXPECT_NEAR(out[16], 0.5F, 0.01F);
}

TEST(QuietChannels, AreLostWhereInt8IsAskedFor) {
  const std::vector<float> out = through_a_quiet_channel(true, 0.75F, 0.5F);
  EXPECT_NEAR(out[0], 0.75F, 0.01F);
  EXPECT_EQ(out[16], 0);
}

}  // namespace
}  // namespace trt_test
