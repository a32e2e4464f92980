// SPDX-License-Identifier: Apache-2.0
// Inputs whose numbers are sizes: what an engine and its contexts tell of them ahead of a run.
#include "support.h"

namespace trt_test::shape_inputs {
namespace {

// r: x in the sizes that `sizes` has, copied; and what is not zero in x, of which only a run tells how much it is.
struct Network {
  Network() {
    INetworkDefinition& n = *maker.network;
    ITensor* x = n.addInput("x", DataType::kFLOAT, Dims2{-1, 6});
    ITensor* sizes = n.addInput("sizes", DataType::kINT32, Dims{1, {2}});
    IShuffleLayer* shuffle = n.addShuffle(*x);
    shuffle->setInput(1, *sizes);
    name(*shuffle->getOutput(0), "r");
    name(*n.addNonZero(*x)->getOutput(0), "places");
    EXPECT_TRUE(sizes->isShapeTensor());
    EXPECT_FALSE(x->isShapeTensor());
    IOptimizationProfile* profile = maker.builder->createOptimizationProfile();
    const int32_t least[2] = {1, 1}, usual[2] = {4, 3}, most[2] = {24, 24};
    EXPECT_TRUE(profile->setDimensions("x", OptProfileSelector::kMIN, Dims2{1, 6}));
    EXPECT_TRUE(profile->setDimensions("x", OptProfileSelector::kOPT, Dims2{2, 6}));
    EXPECT_TRUE(profile->setDimensions("x", OptProfileSelector::kMAX, Dims2{4, 6}));
    EXPECT_TRUE(profile->setShapeValues("sizes", OptProfileSelector::kMIN, least, 2));
    EXPECT_TRUE(profile->setShapeValues("sizes", OptProfileSelector::kOPT, usual, 2));
    EXPECT_TRUE(profile->setShapeValues("sizes", OptProfileSelector::kMAX, most, 2));
    EXPECT_EQ(maker.config->addOptimizationProfile(profile), 0);
    engine = maker.build();
    EXPECT_NE(engine, nullptr) << maker.logger.text;
  }
  void name(ITensor& tensor, const char* called) {
    tensor.setName(called);
    maker.network->markOutput(tensor);
  }
  Maker maker;
  Own<ICudaEngine> engine;
};

TEST(ShapeInputs, AreKnownByTheirProfiles) {
  const Network network;
  EXPECT_TRUE(network.engine->isShapeInferenceIO("sizes"));
  EXPECT_FALSE(network.engine->isShapeInferenceIO("x"));
  EXPECT_FALSE(network.engine->isShapeInferenceIO("nothing"));
  EXPECT_EQ(network.engine->getTensorLocation("sizes"), TensorLocation::kHOST);
  EXPECT_EQ(network.engine->getTensorLocation("x"), TensorLocation::kDEVICE);
}

TEST(ShapeInputs, TellSizesAheadOfARun) {
  Network network;
  const Own<IExecutionContext> context(network.engine->createExecutionContext());
  EXPECT_EQ(sizes_of(context->getTensorShape("r")), (std::vector<int64_t>{-1, -1}));
  ASSERT_TRUE(context->setInputShape("x", Dims2{2, 6}));
  const char* missing[2] = {};
  EXPECT_EQ(context->inferShapes(2, missing), 1);
  EXPECT_STREQ(missing[0], "sizes");
  int32_t sizes[2] = {6, 2};
  ASSERT_TRUE(context->setTensorAddress("sizes", sizes));
  EXPECT_EQ(context->inferShapes(2, missing), 0);
  EXPECT_EQ(sizes_of(context->getTensorShape("r")), (std::vector<int64_t>{6, 2}));
  // What data tell stays open.
  EXPECT_EQ(sizes_of(context->getTensorShape("places")), (std::vector<int64_t>{2, -1}));
  // Numbers count that lie there now.
  sizes[0] = 12;
  sizes[1] = 1;
  EXPECT_EQ(sizes_of(context->getTensorShape("r")), (std::vector<int64_t>{12, 1}));
  sizes[0] = 5;
  EXPECT_EQ(context->inferShapes(2, missing), -1);
  EXPECT_TRUE(network.maker.logger.has("inferShapes")) << network.maker.logger.text;
  EXPECT_EQ(context->getTensorShape("r").nbDims, -1);

  sizes[0] = 3;
  sizes[1] = 4;
  const std::vector<float> x = counting(12);
  std::vector<float> r(12);
  std::vector<int32_t> places(24);
  ASSERT_TRUE(context->setTensorAddress("x", const_cast<float*>(x.data())));
  ASSERT_TRUE(context->setTensorAddress("r", r.data()));
  ASSERT_TRUE(context->setTensorAddress("places", places.data()));
  ASSERT_TRUE(context->enqueueV3(nullptr)) << network.maker.logger.text;
  EXPECT_EQ(r, x);
  EXPECT_EQ(sizes_of(context->getTensorShape("r")), (std::vector<int64_t>{3, 4}));
  // Of 12 numbers from 0 on, 11 are not zero.
  EXPECT_EQ(sizes_of(context->getTensorShape("places")), (std::vector<int64_t>{2, 11}));

  // Another run has its own sizes, told ahead of it.
  sizes[0] = 6;
  sizes[1] = 2;
  const std::vector<float> ones(12, 1);
  ASSERT_TRUE(context->setTensorAddress("x", const_cast<float*>(ones.data())));
  EXPECT_EQ(sizes_of(context->getTensorShape("r")), (std::vector<int64_t>{6, 2}));
  ASSERT_TRUE(context->enqueueV3(nullptr)) << network.maker.logger.text;
  EXPECT_EQ(r, ones);
  EXPECT_EQ(sizes_of(context->getTensorShape("r")), (std::vector<int64_t>{6, 2}));
  EXPECT_EQ(sizes_of(context->getTensorShape("places")), (std::vector<int64_t>{2, 12}));
}

// How much a run gives follows from its data alone; the next run's data say it again.
TEST(ShapeInputs, RunsOfOtherDataHaveOtherSizes) {
  Maker maker;
  INetworkDefinition& n = *maker.network;
  ITensor* x = n.addInput("x", DataType::kFLOAT, Dims{1, {4}});
  ITensor* places = n.addNonZero(*x)->getOutput(0);
  places->setName("places");
  n.markOutput(*places);
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_NE(engine, nullptr) << maker.logger.text;
  const Own<IExecutionContext> context(engine->createExecutionContext());
  std::vector<float> given = {0, 0, 0, 1};
  std::vector<int32_t> found(4, -1);
  ASSERT_TRUE(context->setTensorAddress("x", given.data()));
  ASSERT_TRUE(context->setTensorAddress("places", found.data()));
  ASSERT_TRUE(context->enqueueV3(nullptr)) << maker.logger.text;
  EXPECT_EQ(found, (std::vector<int32_t>{3, -1, -1, -1}));
  given = {1, 1, 1, 0};
  ASSERT_TRUE(context->enqueueV3(nullptr)) << maker.logger.text;
  EXPECT_EQ(found, (std::vector<int32_t>{0, 1, 2, -1}));
  EXPECT_EQ(sizes_of(context->getTensorShape("places")), (std::vector<int64_t>{1, 3}));
}

// Numbers that are computed with before they are sizes, and such that are data alone.
TEST(ShapeInputs, AreThoseThatSizesRestOn) {
  Maker maker;
  INetworkDefinition& n = *maker.network;
  ITensor* x = n.addInput("x", DataType::kFLOAT, Dims2{2, 6});
  ITensor* less = n.addInput("less", DataType::kINT32, Dims{1, {2}});
  ITensor* which = n.addInput("which", DataType::kINT32, Dims{1, {2}});
  IShuffleLayer* shuffle = n.addShuffle(*n.addGather(*x, *which, 0)->getOutput(0));
  shuffle->setInput(1, *n.addElementWise(*less, *less, ElementWiseOperation::kSUM)->getOutput(0));
  EXPECT_TRUE(less->isShapeTensor());
  EXPECT_FALSE(less->isExecutionTensor());
  EXPECT_FALSE(which->isShapeTensor());
  EXPECT_TRUE(which->isExecutionTensor());
}

}  // namespace
}  // namespace trt_test::shape_inputs
