// SPDX-License-Identifier: Apache-2.0
// Networks made layer by layer. Inputs and weights are small whole numbers, so results are exact.
#include <optional>

#include "support.h"

namespace trt_test {
namespace {

using Values = std::vector<float>;

TEST(Network, AConvolutionIsTheSumOfItsWindow) {
  const Values ones(9, 1), bias = {10};
  const Values y =
      layer_result({1, 1, 3, 3}, counting(9, 1), [&](INetworkDefinition& n, ITensor& x) {
        auto* conv = n.addConvolutionNd(x, 1, DimsHW{3, 3}, weights_of(ones), weights_of(bias));
        conv->setPaddingNd(DimsHW{1, 1});
        conv->setName("conv");
        EXPECT_EQ(conv->getType(), LayerType::kCONVOLUTION);
        EXPECT_EQ(sizes_of(conv->getStrideNd()), (std::vector<int64_t>{1, 1}));
        EXPECT_EQ(sizes_of(conv->getOutput(0)->getDimensions()),
                  (std::vector<int64_t>{1, 1, 3, 3}));
        conv->setStrideNd(DimsHW{2, 2});
        EXPECT_EQ(sizes_of(conv->getOutput(0)->getDimensions()),
                  (std::vector<int64_t>{1, 1, 2, 2}));
        return conv->getOutput(0);
      });
  EXPECT_EQ(y, (Values{22, 26, 34, 38}));
}

TEST(Network, WeightsMayGoAfterTheBuild) {
  Maker maker;
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims4{1, 1, 1, 1});
  auto values = std::make_unique<Values>(1, 3.0F);
  auto* conv = maker.network->addConvolutionNd(*x, 1, DimsHW{1, 1}, weights_of(*values),
                                               Weights{DataType::kFLOAT, nullptr, 0});
  maker.network->markOutput(*conv->getOutput(0));
  (*values)[0] = 5;  // read when the engine is built
  const Own<ICudaEngine> engine = maker.build();
  values.reset();
  maker.network.reset();
  EXPECT_EQ(run(*engine, {2}), Values{10});
}

TEST(Network, WrongWeightsAreOneMessage) {
  Maker maker;
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims4{1, 3, 4, 4});
  const Values few(5, 1);
  auto* conv = maker.network->addConvolutionNd(*x, 2, DimsHW{1, 1}, weights_of(few), Weights{});
  conv->setName("conv1");
  maker.network->markOutput(*conv->getOutput(0));
  EXPECT_EQ(maker.build(), nullptr);
  EXPECT_TRUE(
      maker.logger.has("layer 'conv1': its kernel weights have 5 values, and its sizes need 6"))
      << maker.logger.text;
}

TEST(Network, PoolingRoundsAsItIsTold) {
  const auto pooled = [](PaddingMode mode) {
    return layer_result({1, 1, 4, 4}, counting(16), [&](INetworkDefinition& n, ITensor& x) {
      auto* pool = n.addPoolingNd(x, PoolingType::kMAX, DimsHW{3, 3});
      pool->setStrideNd(DimsHW{2, 2});
      pool->setPaddingMode(mode);
      return pool->getOutput(0);
    });
  };
  EXPECT_EQ(pooled(PaddingMode::kEXPLICIT_ROUND_DOWN), (Values{10}));
  EXPECT_EQ(pooled(PaddingMode::kEXPLICIT_ROUND_UP), (Values{10, 11, 14, 15}));
}

TEST(Network, ScaleOfChannels) {
  const Values scale = {1, 2}, shift = {10, 20}, power = {1, 1};
  const Values y = layer_result({1, 2, 1, 2}, {1, 2, 3, 4}, [&](INetworkDefinition& n, ITensor& x) {
    return n
        .addScale(x, ScaleMode::kCHANNEL, weights_of(shift), weights_of(scale), weights_of(power))
        ->getOutput(0);
  });
  EXPECT_EQ(y, (Values{11, 12, 26, 28}));
}

TEST(Network, ScaleToAPower) {
  const Values power = {2}, shift = {1};
  const Values y = layer_result({1, 1, 1, 3}, {1, 2, 3}, [&](INetworkDefinition& n, ITensor& x) {
    return n.addScale(x, ScaleMode::kUNIFORM, weights_of(shift), Weights{}, weights_of(power))
        ->getOutput(0);
  });
  EXPECT_EQ(y, (Values{4, 9, 16}));
}

TEST(Network, DeconvolutionOfOnesIsNearestUpsampling) {
  const Values ones(2 * 4, 1);
  const Values y = layer_result({1, 2, 1, 2}, {1, 2, 3, 4}, [&](INetworkDefinition& n, ITensor& x) {
    auto* up = n.addDeconvolutionNd(x, 2, DimsHW{2, 2}, weights_of(ones), Weights{});
    up->setStrideNd(DimsHW{2, 2});
    up->setNbGroups(2);
    return up->getOutput(0);
  });
  EXPECT_EQ(y, (Values{1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4}));
}

TEST(Network, ShuffleTransposesReshapesTransposes) {
  const Values y = layer_result({2, 3}, counting(6), [](INetworkDefinition& n, ITensor& x) {
    auto* shuffle = n.addShuffle(x);
    shuffle->setFirstTranspose(Permutation{{1, 0}});
    shuffle->setReshapeDimensions(Dims2{2, -1});
    shuffle->setSecondTranspose(Permutation{{1, 0}});
    EXPECT_EQ(sizes_of(shuffle->getOutput(0)->getDimensions()), (std::vector<int64_t>{3, 2}));
    return shuffle->getOutput(0);
  });
  EXPECT_EQ(y, (Values{0, 4, 3, 2, 1, 5}));
}

// Level 8 counts elements with 32 bits: what does not fit is no size, and never another one.
TEST(Network, SizesThatDoNotFitAreNone) {
  Maker maker;
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims2{65536, 65536});
  auto* flat = maker.network->addShuffle(*x);
  flat->setReshapeDimensions(Dims{1, {-1}});
  const Dims dims = flat->getOutput(0)->getDimensions();
#if NV_TENSORRT_MAJOR >= 10
  EXPECT_EQ(dims.nbDims, 1);
  EXPECT_EQ(dims.d[0], int64_t{1} << 32);
#else
  EXPECT_EQ(dims.nbDims, -1);
  EXPECT_NE(maker.logger.text.find("a dimension of 4294967296 does not fit"), std::string::npos)
      << maker.logger.text;
#endif
}

TEST(Network, KernelsHaveTwoOrThreeDimensions) {
  Maker maker;
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims4{1, 1, 4, 4});
  const Dims one{1, {3}};
  EXPECT_EQ(maker.network->addConvolutionNd(*x, 1, one, {}, {}), nullptr);
  EXPECT_EQ(maker.network->addDeconvolutionNd(*x, 1, one, {}, {}), nullptr);
}

TEST(Network, SlicesOfTheFocusLayer) {
  const Values y = layer_result({1, 1, 4, 4}, counting(16), [](INetworkDefinition& n, ITensor& x) {
    ITensor* parts[4];
    const int starts[4][2] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}};
    for (int i = 0; i < 4; ++i)
      parts[i] = n.addSlice(x, Dims4{0, 0, starts[i][0], starts[i][1]}, Dims4{1, 1, 2, 2},
                            Dims4{1, 1, 2, 2})
                     ->getOutput(0);
    auto* concat = n.addConcatenation(parts, 4);
    EXPECT_EQ(concat->getAxis(), 1);
    return concat->getOutput(0);
  });
  EXPECT_EQ(y, (Values{0, 2, 8, 10, 4, 6, 12, 14, 1, 3, 9, 11, 5, 7, 13, 15}));
}

TEST(Network, SliceBeyondItsInputFills) {
  const Values y = layer_result({3}, {1, 2, 3}, [](INetworkDefinition& n, ITensor& x) {
    auto* slice = n.addSlice(x, dims_of({-1}), dims_of({5}), dims_of({1}));
    slice->setMode(SampleMode::kFILL);
    return slice->getOutput(0);
  });
  EXPECT_EQ(y, (Values{0, 1, 2, 3, 0}));
}

TEST(Network, AStepOfZeroRepeats) {
  const Values y = layer_result({2, 1, 3}, counting(6), [](INetworkDefinition& n, ITensor& x) {
    return n.addSlice(x, Dims3{1, 0, 0}, Dims3{1, 2, 3}, Dims3{1, 0, 1})->getOutput(0);
  });
  EXPECT_EQ(y, (Values{3, 4, 5, 3, 4, 5}));
  const Values outside = layer_result({3}, {1, 2, 3}, [](INetworkDefinition& n, ITensor& x) {
    auto* slice = n.addSlice(x, dims_of({-1}), dims_of({2}), dims_of({0}));
    slice->setMode(SampleMode::kFILL);
    return slice->getOutput(0);
  });
  EXPECT_EQ(outside, (Values{0, 0}));
}

// Start, size and step as onnx-tensorrt gives them: tensors, made by whatever layer.
struct SliceOfTensors {
  Values operator()(const Values& x, SampleMode mode) const {
    return layer_result({static_cast<int32_t>(x.size())}, x,
                        [&](INetworkDefinition& n, ITensor& input) {
                          auto* slice = n.addSlice(input, dims_of({0}), dims_of({1}), dims_of({1}));
                          slice->setInput(1, whole(n, start));
                          slice->setInput(2, whole(n, size));
                          if (step) slice->setInput(3, whole(n, *step));
                          slice->setMode(mode);
                          return slice->getOutput(0);
                        });
  }

  int32_t start = 0, size = 1;
  std::optional<int32_t> step = std::nullopt;

  static ITensor& whole(INetworkDefinition& n, const int32_t& value) {
    return *n.addConstant(dims_of({1}), Weights{DataType::kINT32, &value, 1})->getOutput(0);
  }
};

TEST(Network, SlicesOfTensors) {
  const Values x = {1, 2, 3};
  EXPECT_EQ((SliceOfTensors{-1, 5}(x, SampleMode::kFILL)), (Values{0, 1, 2, 3, 0}));
  EXPECT_EQ((SliceOfTensors{1, 4}(x, SampleMode::kCLAMP)), (Values{2, 3, 3, 3}));
  EXPECT_EQ((SliceOfTensors{1, 2}(x, SampleMode::kFILL)), (Values{2, 3}));
  EXPECT_EQ((SliceOfTensors{1, 3, 0}(x, SampleMode::kSTRICT_BOUNDS)), (Values{2, 2, 2}));
  EXPECT_EQ((SliceOfTensors{0, 2, 2}(x, SampleMode::kSTRICT_BOUNDS)), (Values{1, 3}));
  EXPECT_EQ((SliceOfTensors{2, 3, -1}(x, SampleMode::kSTRICT_BOUNDS)), (Values{3, 2, 1}));
}

// What a layer reads has sizes that the network's input tells, and that no guess for each alone would make fit.
TEST(Network, OpenSizesOfALayerFitTogether) {
  Maker maker;
  INetworkDefinition& n = *maker.network;
  ITensor* x = n.addInput("x", DataType::kFLOAT, Dims3{-1, -1, 2});
  auto* rows = n.addShuffle(*x);
  rows->setReshapeDimensions(Dims2{-1, 2});
  ITensor* soft = n.addSoftMax(*rows->getOutput(0))->getOutput(0);
  auto* back = n.addShuffle(*soft);
  back->setInput(1, *n.addShape(*x)->getOutput(0));
  const Dims dims = back->getOutput(0)->getDimensions();
  ASSERT_EQ(dims.nbDims, 3) << maker.logger.text;
  EXPECT_EQ(dims.d[0], -1);
  EXPECT_EQ(dims.d[1], -1);
  EXPECT_EQ(dims.d[2], 2);
}

TEST(Network, ElementsReductionsProducts) {
  const Values y = layer_result({2, 2}, {1, 2, 3, 4}, [](INetworkDefinition& n, ITensor& x) {
    static const Values two = {2};
    ITensor* constant = n.addConstant(Dims2{1, 1}, weights_of(two))->getOutput(0);
    ITensor* product = n.addElementWise(x, *constant, ElementWiseOperation::kPROD)->getOutput(0);
    ITensor* matrix =
        n.addMatrixMultiply(*product, MatrixOperation::kNONE, x, MatrixOperation::kTRANSPOSE)
            ->getOutput(0);
    return n.addReduce(*matrix, ReduceOperation::kSUM, 1U << 1, true)->getOutput(0);
  });
  EXPECT_EQ(y, (Values{32, 72}));
}

TEST(Network, ResizeByScales) {
  const Values y = layer_result({1, 1, 1, 2}, {5, 7}, [](INetworkDefinition& n, ITensor& x) {
    auto* resize = n.addResize(x);
    const float scales[] = {1, 1, 2, 2};
    resize->setScales(scales, 4);
    resize->setResizeMode(InterpolationMode::kNEAREST);
    return resize->getOutput(0);
  });
  EXPECT_EQ(y, (Values{5, 5, 7, 7, 5, 5, 7, 7}));
}

TEST(Network, TopKGathersAndCasts) {
  const Values y = layer_result({1, 4}, {3, 9, 1, 5}, [](INetworkDefinition& n, ITensor& x) {
    auto* top = n.addTopK(x, TopKOperation::kMAX, 2, 1U << 1);
    EXPECT_EQ(top->getOutput(1)->getType(), DataType::kINT32);
    auto* indices = n.addIdentity(*top->getOutput(1));
    indices->setOutputType(0, DataType::kFLOAT);
    return indices->getOutput(0);
  });
  EXPECT_EQ(y, (Values{1, 3}));
}

TEST(Network, ActivationsWithTheirNumbers) {
  const auto activated = [](ActivationType type, float alpha, float beta) {
    return layer_result({4}, {-4, -1, 2, 8}, [&](INetworkDefinition& n, ITensor& x) {
      auto* layer = n.addActivation(x, type);
      layer->setAlpha(alpha);
      layer->setBeta(beta);
      return layer->getOutput(0);
    });
  };
  EXPECT_EQ(activated(ActivationType::kRELU, 0, 0), (Values{0, 0, 2, 8}));
  EXPECT_EQ(activated(ActivationType::kLEAKY_RELU, 0.5F, 0), (Values{-2, -0.5F, 2, 8}));
  EXPECT_EQ(activated(ActivationType::kCLIP, -1, 6), (Values{-1, -1, 2, 6}));
  EXPECT_EQ(activated(ActivationType::kHARD_SIGMOID, 0.25F, 0.5F), (Values{0, 0.25F, 1, 1}));
}

TEST(Network, QuantizersOfTheNetworkKeepTheirScale) {
  const Values y = layer_result({4}, {0.1F, 1, 3, 1000}, [](INetworkDefinition& n, ITensor& x) {
    static const Values half = {0.5F};
    ITensor* scale = n.addConstant(Dims{0, {}}, weights_of(half))->getOutput(0);
    ITensor* codes = n.addQuantize(x, *scale)->getOutput(0);
    EXPECT_EQ(codes->getType(), DataType::kINT8);
    return n.addDequantize(*codes, *scale)->getOutput(0);
  });
  EXPECT_EQ(y, (Values{0, 1, 3, 63.5F}));
}

#if NV_TENSORRT_MAJOR < 10
TEST(Network, ImplicitBatchIsNotSeen) {
  Maker maker(0U);
  EXPECT_TRUE(maker.network->hasImplicitBatchDimension());
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims3{2, 1, 1});
  const Values kernel = {1, 2, 3, 4}, bias = {0, 100};
  auto* fc = maker.network->addFullyConnected(*x, 2, weights_of(kernel), weights_of(bias));
  EXPECT_EQ(sizes_of(fc->getOutput(0)->getDimensions()), (std::vector<int64_t>{2, 1, 1}));
  fc->getOutput(0)->setName("y");
  maker.network->markOutput(*fc->getOutput(0));
  maker.builder->setMaxBatchSize(4);
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  EXPECT_TRUE(engine->hasImplicitBatchDimension());
  EXPECT_EQ(engine->getMaxBatchSize(), 4);
  EXPECT_EQ(engine->getNbBindings(), 2);
  EXPECT_EQ(engine->getBindingIndex("y"), 1);
  EXPECT_EQ(engine->getBindingIndex("none"), -1);
  EXPECT_EQ(sizes_of(engine->getBindingDimensions(0)), (std::vector<int64_t>{2, 1, 1}));
  const Own<IExecutionContext> context(engine->createExecutionContext());
  Values in = {1, 1, 2, 2, 1, 0}, out(6, -1);
  void* bindings[] = {in.data(), out.data()};
  EXPECT_TRUE(context->enqueue(3, bindings, nullptr, nullptr));
  EXPECT_EQ(out, (Values{3, 107, 6, 114, 1, 103}));
  EXPECT_FALSE(context->enqueue(5, bindings, nullptr, nullptr));
  EXPECT_TRUE(maker.logger.has("batches up to 4"));
}
#endif

}  // namespace
}  // namespace trt_test
