// SPDX-License-Identifier: Apache-2.0
// What the layers that few programs use compute, on whole numbers, and that each keeps the properties that it is given.
#include "kept.h"
#include "support.h"

namespace trt_test {
namespace {

using Values = std::vector<float>;

ITensor* as_float(INetworkDefinition& n, ITensor& tensor) {
  ICastLayer* cast = n.addCast(tensor, DataType::kFLOAT);
  EXPECT_EQ(cast->getToType(), DataType::kFLOAT);
  return cast->getOutput(0);
}

ITensor* integers(INetworkDefinition& n, const Dims& sizes, const std::vector<int32_t>& values) {
  IConstantLayer* constant = n.addConstant(
      sizes, Weights{DataType::kINT32, values.data(), static_cast<int64_t>(values.size())});
  return constant->getOutput(0);
}

TEST(Layers, UnaryOperationsAreTheirNames) {
  struct {
    UnaryOperation operation;
    Values wanted;
  } const cases[] = {
      {UnaryOperation::kABS, {2, 0, 3}},
      {UnaryOperation::kNEG, {2, 0, -3}},
      {UnaryOperation::kSIGN, {-1, 0, 1}},
      {UnaryOperation::kFLOOR, {-2, 0, 3}},
      {UnaryOperation::kCEIL, {-2, 0, 3}},
      {UnaryOperation::kROUND, {-2, 0, 3}},
      {UnaryOperation::kSIN, {-0.9092974F, 0, 0.14112F}},
  };
  for (const auto& one : cases) {
    const Values y = layer_result({3}, {-2, 0, 3}, [&](INetworkDefinition& n, ITensor& x) {
      IUnaryLayer* layer = n.addUnary(x, UnaryOperation::kEXP);
      layer->setOperation(one.operation);
      EXPECT_EQ(layer->getOperation(), one.operation);
      return layer->getOutput(0);
    });
    for (size_t i = 0; i < 3; ++i) EXPECT_FLOAT_EQ(y.at(i), one.wanted[i]);
  }
}

TEST(Layers, WholeNumbersAreDividedDownOrTowardZero) {
  static const std::vector<int32_t> numbers = {-7, 7, -8, 7}, divisors = {2, -2, 2, 2};
  const auto divided = [](ElementWiseOperation operation) {
    return layer_result({4}, {0, 0, 0, 0}, [&](INetworkDefinition& n, ITensor& x) {
      const Dims four{1, {4}};
      ITensor* quotient =
          n.addElementWise(*integers(n, four, numbers), *integers(n, four, divisors), operation)
              ->getOutput(0);
      return n.addElementWise(x, *as_float(n, *quotient), ElementWiseOperation::kSUM)->getOutput(0);
    });
  };
  EXPECT_EQ(divided(ElementWiseOperation::kFLOOR_DIV), (Values{-4, -4, -4, 3}));
  EXPECT_EQ(divided(ElementWiseOperation::kDIV), (Values{-3, -3, -4, 3}));
}

TEST(Layers, GatherTakesRowsElementsAndPlaces) {
  static const std::vector<int32_t> rows = {1, 0}, elements = {0, 1, 1, 0}, places = {1, 1, 0, 0};
  const auto gathered = [](const std::vector<int32_t>& indices, const Dims& sizes,
                           GatherMode mode) {
    return layer_result({2, 2}, counting(4), [&](INetworkDefinition& n, ITensor& x) {
      ITensor* where = integers(n, sizes, indices);
      IGatherLayer* layer = n.addGatherV2(x, *where, GatherMode::kDEFAULT);
      EXPECT_KEPT(layer, Mode, mode);
      EXPECT_KEPT(layer, NbElementWiseDims, 0);
      EXPECT_KEPT(layer, GatherAxis, 0);
      return layer->getOutput(0);
    });
  };
  EXPECT_EQ(gathered(rows, dims_of({2}), GatherMode::kDEFAULT), (Values{2, 3, 0, 1}));
  EXPECT_EQ(gathered(elements, dims_of({2, 2}), GatherMode::kELEMENT), (Values{0, 3, 2, 1}));
  EXPECT_EQ(gathered(places, dims_of({2, 2}), GatherMode::kND), (Values{3, 0}));
  EXPECT_EQ(layer_result({2, 2}, counting(4),
                         [](INetworkDefinition& n, ITensor& x) {
                           return n.addGather(x, *integers(n, dims_of({2}), rows), 1)->getOutput(0);
                         }),
            (Values{1, 0, 3, 2}));
}

TEST(Layers, ScatterWritesWhereItIsTold) {
  static const std::vector<int32_t> where = {1, 0};
  static const Values updates = {7, 8};
  EXPECT_EQ(
      layer_result(
          {1, 2}, {1, 2},
          [](INetworkDefinition& n, ITensor& x) {
            ITensor* values = n.addConstant(dims_of({1, 2}), weights_of(updates))->getOutput(0);
            IScatterLayer* layer = n.addScatter(x, *integers(n, dims_of({1, 2}), where), *values,
                                                ScatterMode::kELEMENT);
            EXPECT_KEPT(layer, Mode, ScatterMode::kELEMENT);
            EXPECT_KEPT(layer, Axis, 1);
            return layer->getOutput(0);
          }),
      (Values{8, 7}));
}

TEST(Layers, SelectAndParametricRelu) {
  static const Values limit = {1, 1, 1}, other = {10, 20, 30}, slope = {2, 2, 2};
  const auto constant = [](INetworkDefinition& n, const Values& values) {
    return n.addConstant(dims_of({1, 3}), weights_of(values))->getOutput(0);
  };
  EXPECT_EQ(layer_result({1, 3}, {0, 1, 2},
                         [&](INetworkDefinition& n, ITensor& x) {
                           ITensor* greater = n.addElementWise(x, *constant(n, limit),
                                                               ElementWiseOperation::kGREATER)
                                                  ->getOutput(0);
                           return n.addSelect(*greater, x, *constant(n, other))->getOutput(0);
                         }),
            (Values{10, 20, 2}));
  EXPECT_EQ(layer_result({1, 3}, {-1, 0, 5},
                         [&](INetworkDefinition& n, ITensor& x) {
                           return n.addParametricReLU(x, *constant(n, slope))->getOutput(0);
                         }),
            (Values{-2, 0, 5}));
}

TEST(Layers, OneHotFillAndShape) {
  static const std::vector<int32_t> depth = {3};
  static const Values off_on = {0, 5};
  EXPECT_EQ(layer_result({2}, {2, 0},
                         [](INetworkDefinition& n, ITensor& x) {
                           ITensor* values =
                               n.addConstant(dims_of({2}), weights_of(off_on))->getOutput(0);
                           ITensor* which = n.addCast(x, DataType::kINT32)->getOutput(0);
                           IOneHotLayer* layer =
                               n.addOneHot(*which, *values, *integers(n, Dims{0, {}}, depth), -1);
                           EXPECT_KEPT(layer, Axis, -1);
                           return layer->getOutput(0);
                         }),
            (Values{0, 0, 5, 5, 0, 0}));
  EXPECT_EQ(layer_result({3}, {0, 0, 0},
                         [](INetworkDefinition& n, ITensor& x) {
                           IFillLayer* fill = n.addFill(dims_of({3}), FillOperation::kLINSPACE);
                           EXPECT_KEPT(fill, Operation, FillOperation::kLINSPACE);
                           EXPECT_KEPT(fill, Alpha, 4.0);
                           EXPECT_KEPT(fill, Beta, 2.0);
                           EXPECT_KEPT(fill, ToType, DataType::kFLOAT);
                           EXPECT_KEPT_SIZES(fill, Dimensions, dims_of({3}));
                           return n
                               .addElementWise(x, *fill->getOutput(0), ElementWiseOperation::kSUM)
                               ->getOutput(0);
                         }),
            (Values{4, 6, 8}));
  EXPECT_EQ(layer_result({2, 5}, counting(10),
                         [](INetworkDefinition& n, ITensor& x) {
                           return as_float(n, *n.addShape(x)->getOutput(0));
                         }),
            (Values{2, 5}));
}

TEST(Layers, EinsumAndNormalizations) {
  EXPECT_EQ(layer_result({2, 2}, counting(4),
                         [](INetworkDefinition& n, ITensor& x) {
                           ITensor* both[] = {&x, &x};
                           IEinsumLayer* layer = n.addEinsum(both, 2, "ij,ij->i");
                           EXPECT_TRUE(layer->setEquation("ij,jk->ik"));
                           EXPECT_STREQ(layer->getEquation(), "ij,jk->ik");
                           return layer->getOutput(0);
                         }),
            (Values{2, 3, 6, 11}));
  static const Values ones = {1}, zeros = {0};
  const Values y = layer_result({1, 1, 1, 2}, {1, 3}, [](INetworkDefinition& n, ITensor& x) {
    ITensor* scale = n.addConstant(Dims4{1, 1, 1, 1}, weights_of(ones))->getOutput(0);
    ITensor* bias = n.addConstant(Dims4{1, 1, 1, 1}, weights_of(zeros))->getOutput(0);
    INormalizationLayer* layer = n.addNormalization(x, *scale, *bias, 1U << 2 | 1U << 3);
    EXPECT_KEPT(layer, Epsilon, 0.0F);
    EXPECT_KEPT(layer, Axes, 12U);
    EXPECT_KEPT(layer, NbGroups, 1);
    EXPECT_KEPT(layer, ComputePrecision, DataType::kFLOAT);
    return layer->getOutput(0);
  });
  EXPECT_EQ(y, (Values{-1, 1}));
  const Values lrn = layer_result({1, 1, 1, 2}, {2, 4}, [](INetworkDefinition& n, ITensor& x) {
    ILRNLayer* layer = n.addLRN(x, 1, 0, 1, 2);
    EXPECT_KEPT(layer, WindowSize, 1);
    EXPECT_KEPT(layer, Alpha, 0.0F);
    EXPECT_KEPT(layer, Beta, 1.0F);
    EXPECT_KEPT(layer, K, 2.0F);
    return layer->getOutput(0);
  });
  EXPECT_EQ(lrn, (Values{1, 2}));
}

TEST(Layers, PaddingAndReverseSequence) {
  EXPECT_EQ(layer_result({1, 1, 1, 2}, {1, 2},
                         [](INetworkDefinition& n, ITensor& x) {
                           IPaddingLayer* layer = n.addPaddingNd(x, DimsHW{0, 0}, DimsHW{0, 0});
                           EXPECT_KEPT_SIZES(layer, PrePaddingNd, (DimsHW{0, 1}));
                           EXPECT_KEPT_SIZES(layer, PostPaddingNd, (DimsHW{1, 0}));
                           return layer->getOutput(0);
                         }),
            (Values{0, 1, 2, 0, 0, 0}));
  static const std::vector<int32_t> lengths = {2, 3};
  EXPECT_EQ(layer_result({3, 2}, counting(6),
                         [](INetworkDefinition& n, ITensor& x) {
                           IReverseSequenceLayer* layer =
                               n.addReverseSequence(x, *integers(n, dims_of({2}), lengths));
                           EXPECT_KEPT(layer, BatchAxis, 1);
                           EXPECT_KEPT(layer, SequenceAxis, 0);
                           return layer->getOutput(0);
                         }),
            (Values{2, 5, 0, 3, 4, 1}));
}

TEST(Layers, GridSampleTakesPlaces) {
  static const Values grid = {-1, -1, 1, 1};
  EXPECT_EQ(
      layer_result(
          {1, 1, 2, 2}, {1, 2, 3, 4},
          [](INetworkDefinition& n, ITensor& x) {
            ITensor* places = n.addConstant(Dims4{1, 1, 2, 2}, weights_of(grid))->getOutput(0);
            IGridSampleLayer* layer = n.addGridSample(x, *places);
            EXPECT_KEPT(layer, InterpolationMode, InterpolationMode::kNEAREST);
            EXPECT_KEPT(layer, AlignCorners, true);
            EXPECT_TRUE(layer->setSampleMode(SampleMode::kCLAMP));
            EXPECT_EQ(layer->getSampleMode(), SampleMode::kCLAMP);
            return layer->getOutput(0);
          }),
      (Values{1, 4}));
}

TEST(Layers, NmsKeepsTheBest) {
  static const std::vector<int32_t> most = {2};
  static const Values scores = {0.9F, 0.8F, 0.7F};
  const Values boxes = {0, 0, 1, 1, 0, 0, 1, 1.01F, 5, 5, 6, 6};
  static const Values threshold = {0.5F};
  const Values y = layer_result({1, 3, 4}, boxes, [](INetworkDefinition& n, ITensor& x) {
    ITensor* score = n.addConstant(Dims3{1, 3, 1}, weights_of(scores))->getOutput(0);
    INMSLayer* layer = n.addNMS(x, *score, *integers(n, Dims{0, {}}, most));
    layer->setInput(3, *n.addConstant(Dims{0, {}}, weights_of(threshold))->getOutput(0));
    EXPECT_KEPT(layer, BoundingBoxFormat, BoundingBoxFormat::kCORNER_PAIRS);
    EXPECT_KEPT(layer, TopKBoxLimit, 100);
    return as_float(n, *layer->getOutput(1));
  });
  EXPECT_EQ(y, Values{2});
}

TEST(Layers, AnAssertionLetsANetworkBe) {
  static const std::vector<int32_t> one = {1};
  EXPECT_EQ(
      layer_result(
          {1}, {3},
          [](INetworkDefinition& n, ITensor& x) {
            ITensor* number = integers(n, dims_of({1}), one);
            ITensor* same =
                n.addElementWise(*number, *number, ElementWiseOperation::kEQUAL)->getOutput(0);
            IAssertionLayer* layer = n.addAssertion(*same, "they differ");
            EXPECT_STREQ(layer->getMessage(), "they differ");
            layer->setMessage("so they do");
            EXPECT_STREQ(layer->getMessage(), "so they do");
            return &x;
          }),
      (Values{3}));
}

TEST(Layers, ScaleAlongAnyAxis) {
  static const Values scale = {1, 10}, shift = {0, 1};
  EXPECT_EQ(layer_result({1, 1, 1, 2}, {3, 4},
                         [](INetworkDefinition& n, ITensor& x) {
                           IScaleLayer* layer = n.addScaleNd(x, ScaleMode::kCHANNEL, Weights{},
                                                             weights_of(scale), Weights{}, 1);
                           EXPECT_KEPT(layer, ChannelAxis, 3);
                           EXPECT_EQ(layer->getMode(), ScaleMode::kCHANNEL);
                           EXPECT_KEPT_WEIGHTS(layer, Shift, weights_of(shift));
                           EXPECT_KEPT_WEIGHTS(layer, Scale, weights_of(scale));
                           EXPECT_EQ(layer->getPower().count, 0);
                           layer->setPower(Weights{DataType::kFLOAT, nullptr, 0});
                           return layer->getOutput(0);
                         }),
            (Values{3, 41}));
}

#if NV_TENSORRT_MAJOR >= 10
TEST(Layers, SqueezeUnsqueezeAndCumulative) {
  static const std::vector<int32_t> zero = {0};
  const Values y = layer_result({1, 3}, {1, 2, 3}, [](INetworkDefinition& n, ITensor& x) {
    ITensor* axes = integers(n, dims_of({1}), zero);
    ITensor* flat = n.addSqueeze(x, *axes)->getOutput(0);
    EXPECT_EQ(sizes_of(flat->getDimensions()), (std::vector<int64_t>{3}));
    ICumulativeLayer* sum = n.addCumulative(*flat, *integers(n, Dims{0, {}}, zero),
                                            CumulativeOperation::kSUM, true, true);
    EXPECT_TRUE(sum->setOperation(CumulativeOperation::kSUM));
    EXPECT_EQ(sum->getOperation(), CumulativeOperation::kSUM);
    EXPECT_KEPT(sum, Exclusive, false);
    EXPECT_KEPT(sum, Reverse, false);
    return n.addUnsqueeze(*sum->getOutput(0), *axes)->getOutput(0);
  });
  EXPECT_EQ(y, (Values{1, 3, 6}));
}
#endif

}  // namespace
}  // namespace trt_test
