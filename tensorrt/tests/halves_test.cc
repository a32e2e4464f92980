// SPDX-License-Identifier: Apache-2.0
// Builder flags that let layers compute in 16 bits.
#include <type_traits>

#include "octet/tensor.h"
#include "support.h"

namespace trt_test {
namespace {

using Values = std::vector<float>;

// 1/3, times one weight of 1/3, where both are rounded to 16 bits or neither is.
struct ThirdMaker : Maker {
  explicit ThirdMaker(uint32_t flags = kExplicit) : Maker(flags) {
    ITensor* x = network->addInput("x", DataType::kFLOAT, Dims4{1, 1, 1, 1});
    auto* conv = network->addConvolutionNd(*x, 1, DimsHW{1, 1}, weights_of(third), Weights{});
    conv->setName("conv");
    network->markOutput(*conv->getOutput(0));
  }
  template <class Half>
  static Values product(const Half& a, const Half& b) {
    return {static_cast<float>(a) * static_cast<float>(b)};
  }
  const Values third = {1.0F / 3};
};

TEST(Halves, LayersHaveTheTypesThatFlagsAllow) {
  ThirdMaker plain, half;
  ASSERT_EQ(run(*plain.build(), plain.third), ThirdMaker::product(plain.third[0], plain.third[0]));
  half.config->setFlag(BuilderFlag::kFP16);
  const octet::f16 third(half.third[0]);
  const Own<ICudaEngine> engine = half.build();
  ASSERT_TRUE(engine) << half.logger.text;
  // The output of a network keeps its type, and its last layer rounds to its own.
  const Values rounded = {static_cast<float>(octet::f16(ThirdMaker::product(third, third)[0]))};
  EXPECT_EQ(run(*engine, half.third), rounded);
  EXPECT_NE(run(*engine, half.third), run(*plain.build(), half.third));
  EXPECT_EQ(half.logger.text, "");
#if NV_TENSORRT_MAJOR >= 10
  ThirdMaker brain;
  brain.config->setFlag(BuilderFlag::kBF16);
  const octet::bf16 short_third(brain.third[0]);
  const Own<ICudaEngine> other = brain.build();
  ASSERT_TRUE(other) << brain.logger.text;
  const float product = ThirdMaker::product(short_third, short_third)[0];
  EXPECT_EQ(run(*other, brain.third), Values{static_cast<float>(octet::bf16(product))});
#endif
}

// A layer that a client keeps in FP32, with its result, between layers of 16 bits: its reader rounds what it reads, as exporters of detectors
// ask for the Sigmoid of their scores.
TEST(Halves, AResultInF32IsObeyedBeforeAReaderOf16Bits) {
  ThirdMaker maker;
  ITensor* conv = maker.network->getOutput(0);
  maker.network->unmarkOutput(*conv);
  auto* sigmoid = maker.network->addActivation(*conv, ActivationType::kSIGMOID);
  sigmoid->setPrecision(DataType::kFLOAT);
  sigmoid->setOutputType(0, DataType::kFLOAT);
  auto* twice = maker.network->addElementWise(*sigmoid->getOutput(0), *sigmoid->getOutput(0),
                                              ElementWiseOperation::kSUM);
  maker.network->markOutput(*twice->getOutput(0));
  maker.config->setFlag(BuilderFlag::kFP16);
  maker.config->setFlag(BuilderFlag::kOBEY_PRECISION_CONSTRAINTS);
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  EXPECT_EQ(maker.logger.text, "");
}

TEST(Halves, StayThroughARefit) {
  ThirdMaker maker;
  maker.config->setFlag(BuilderFlag::kFP16);
  maker.config->setFlag(BuilderFlag::kREFIT);
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  const Values before = run(*engine, maker.third);
  const Own<IRefitter> refitter(createInferRefitter(*engine, maker.logger));
  EXPECT_TRUE(refitter->setWeights("conv", WeightsRole::kKERNEL, weights_of(maker.third)));
  ASSERT_TRUE(refitter->refitCudaEngine()) << maker.logger.text;
  EXPECT_EQ(run(*engine, maker.third), before);
}

#if NV_TENSORRT_MAJOR >= 10
TEST(Halves, AStronglyTypedNetworkHasItsOwnTypesAndTheLogSaysSo) {
  ThirdMaker maker(1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED));
  maker.config->setFlag(BuilderFlag::kFP16);
  maker.config->setFlag(BuilderFlag::kBF16);
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  EXPECT_EQ(run(*engine, maker.third), ThirdMaker::product(maker.third[0], maker.third[0]));
  const std::string said = "kFP16 and kBF16 without effect: the network is strongly typed";
  const size_t first = maker.logger.text.find(said);
  EXPECT_NE(first, std::string::npos) << maker.logger.text;
  EXPECT_EQ(maker.logger.text.find(said, first + 1), std::string::npos) << maker.logger.text;
}

// 16 bits of x times a third plus x, in a strongly typed network.
struct TypedMaker : Maker {
  enum class Reals : uint8_t { halves, floats, floats_behind };
  explicit TypedMaker(Reals reals)
      : Maker(1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED)) {
    ITensor* x = network->addInput("x", DataType::kHALF, Dims4{1, 1, 1, 1});
    if (reals == Reals::floats) x = in_f32(x);
    const Weights kernel =
        reals == Reals::floats ? weights_of(third) : Weights{DataType::kHALF, &half_third, 1};
    ITensor* factor = network->addConstant(Dims4{1, 1, 1, 1}, kernel)->getOutput(0);
    product = network->addElementWise(*x, *factor, ElementWiseOperation::kPROD)->getOutput(0);
    ITensor* left = product;
    if (reals == Reals::floats_behind) left = in_f32(left), x = in_f32(x);
    network->markOutput(
        *network->addElementWise(*left, *x, ElementWiseOperation::kSUM)->getOutput(0));
  }
  ITensor* in_f32(ITensor* x) { return network->addCast(*x, DataType::kFLOAT)->getOutput(0); }

  template <class Output>
  Output result(octet::f16 x) {
    Output got{};
    const Own<ICudaEngine> engine = build();
    EXPECT_TRUE(engine) << logger.text;
    if (!engine) return got;
    const bool is_half = std::is_same_v<Output, octet::f16>;
    EXPECT_EQ(engine->getTensorDataType(engine->getIOTensorName(1)),
              is_half ? DataType::kHALF : DataType::kFLOAT);
    const Own<IExecutionContext> context(engine->createExecutionContext());
    context->setTensorAddress(engine->getIOTensorName(0), &x);
    context->setTensorAddress(engine->getIOTensorName(1), &got);
    EXPECT_TRUE(context->enqueueV3(nullptr)) << logger.text;
    return got;
  }

  const Values third = {1.0F / 3};
  const octet::f16 half_third{1.0F / 3};
  ITensor* product = nullptr;
};

// As TensorRT has it: values, and what the network gives, have the types of inputs and weights, each layer computes in its own, and what lies behind
// conversions to f32 is f32.
TEST(Halves, AStronglyTypedNetworkComputesInTheTypesThatItCarries) {
  const octet::f16 x(0.9F);  // whose product, rounded or not, gives two sums
  const auto real = static_cast<float>(x);
  TypedMaker halves(TypedMaker::Reals::halves), floats(TypedMaker::Reals::floats),
      behind(TypedMaker::Reals::floats_behind);
  EXPECT_EQ(halves.product->getType(), DataType::kHALF);
  EXPECT_EQ(halves.network->getOutput(0)->getType(), DataType::kHALF);
  EXPECT_EQ(floats.product->getType(), DataType::kFLOAT);
  EXPECT_EQ(behind.product->getType(), DataType::kHALF);
  EXPECT_EQ(behind.network->getOutput(0)->getType(), DataType::kFLOAT);

  const auto product = static_cast<float>(octet::f16(real * static_cast<float>(halves.half_third)));
  EXPECT_EQ(halves.result<octet::f16>(x).bits, octet::f16(product + real).bits);
  EXPECT_EQ(floats.result<float>(x), real * floats.third[0] + real);
  EXPECT_EQ(behind.result<float>(x), product + real);
  EXPECT_EQ(behind.logger.text, "");
}

// Codes around a convolution and its activation, in f32 of a network that has a layer of f16 too: the f32 that they carry is no wish.
TEST(Halves, LayersBetweenCodesStayInt8BesideLayersOf16Bits) {
  const Values kernel(64, 0.25F), scale = {0.05F};
  Maker maker(1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED));
  INetworkDefinition& n = *maker.network;
  ITensor* step = n.addConstant(Dims{0, {}}, weights_of(scale))->getOutput(0);
  const auto through_codes = [&](ITensor* x) {
    ITensor* codes = n.addQuantize(*x, *step, DataType::kINT8)->getOutput(0);
    return n.addDequantize(*codes, *step, DataType::kFLOAT)->getOutput(0);
  };
  ITensor* x = through_codes(n.addInput("x", DataType::kFLOAT, Dims4{1, 8, 8, 8}));
  auto* conv = n.addConvolutionNd(*x, 8, DimsHW{1, 1}, weights_of(kernel), Weights{});
  auto* relu = n.addActivation(*conv->getOutput(0), ActivationType::kRELU);
  n.markOutput(*through_codes(relu->getOutput(0)));
  ITensor* half = n.addInput("half", DataType::kHALF, Dims2{1, 2});
  n.markOutput(*n.addUnary(*half, UnaryOperation::kABS)->getOutput(0));
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  const Own<IEngineInspector> inspector(engine->createEngineInspector());
  const std::string told = inspector->getEngineInformation(LayerInformationFormat::kJSON);
  EXPECT_NE(
      told.find("[Convolution] + (Unnamed Layer* 4) [Activation] + (Unnamed Layer* 5) [Quantize]"),
      std::string::npos)
      << told;
}

// The type that is asked for; else that of the scale.
TEST(Halves, CodesBecomeTheTypeThatIsAskedFor) {
  const octet::f16 half_scale(0.5F);
  const Values scale = {0.5F};
  for (const bool is_asked : {false, true}) {
    Maker maker(1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED));
    INetworkDefinition& n = *maker.network;
    ITensor* x = n.addInput("x", DataType::kFLOAT, Dims2{1, 2});
    const Weights weights = is_asked ? weights_of(scale) : Weights{DataType::kHALF, &half_scale, 1};
    ITensor* step = n.addConstant(Dims{0, {}}, weights)->getOutput(0);
    ITensor* codes = n.addQuantize(*x, *step, DataType::kINT8)->getOutput(0);
    const DataType asked = is_asked ? DataType::kHALF : DataType::kFLOAT;
    ITensor* reals = n.addDequantize(*codes, *step, asked)->getOutput(0);
    EXPECT_EQ(reals->getType(), DataType::kHALF) << is_asked;
    n.markOutput(*n.addUnary(*reals, UnaryOperation::kABS)->getOutput(0));
    EXPECT_TRUE(Own<ICudaEngine>(maker.build())) << maker.logger.text;
    EXPECT_EQ(n.getOutput(0)->getType(), DataType::kHALF) << is_asked;
  }
}
#endif

}  // namespace
}  // namespace trt_test
