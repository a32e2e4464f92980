// SPDX-License-Identifier: Apache-2.0
// Binaries that were compiled with TensorRT 10's own headers call functions by place: here the headers are held to a table of these places,
// objects to their sizes. tensorrt/tests/abi_client.cc calls them so.
#include <cstring>

#include "NvOnnxConfig.h"
#include "support.h"

namespace trt_test {
namespace {
#if NV_TENSORRT_MAJOR >= 10

using namespace nvinfer1::apiv;  // NOLINT: the names of the table
using nvonnxparser::IOnnxConfig;
using nvonnxparser::IParser;
using nvonnxparser::IParserError;
using nvonnxparser::IParserRefitter;

// A pointer to a virtual function is 1 + 8 * its place.
template <class Function>
int place_of(Function function) {
  struct {
    uintptr_t pointer;
    ptrdiff_t adjustment;
  } raw{};
  static_assert(sizeof raw == sizeof function);
  std::memcpy(&raw, &function, sizeof raw);
  EXPECT_EQ(raw.adjustment, 0);
  EXPECT_EQ(raw.pointer % 8, 1U);
  return static_cast<int>(raw.pointer / 8);
}

TEST(BinaryInterface, FunctionsStandWhereTensorrtHasThem) {
#define SLOT(Class, place, function) \
  EXPECT_EQ(place_of(&Class::function), place) << #Class "::" #function;
#define SLOT_AS(Class, place, function, label, ...) \
  EXPECT_EQ(place_of(static_cast<__VA_ARGS__>(&Class::function)), place) << #Class "::" #label;
#include "abi_slots.def"
#undef SLOT
#undef SLOT_AS
}

TEST(BinaryInterface, HandlesHaveTensorrtsSizes) {
  EXPECT_EQ(sizeof(IRuntime), 16U);
  EXPECT_EQ(sizeof(IExecutionContext), 16U);
  EXPECT_EQ(sizeof(INetworkDefinition), 16U);
  EXPECT_EQ(sizeof(ITensor), 16U);
  EXPECT_EQ(sizeof(ILayer), 16U);
  EXPECT_EQ(sizeof(IConvolutionLayer), 24U);
  EXPECT_EQ(sizeof(IIdentityLayer), 24U);
  EXPECT_EQ(sizeof(ILoopBoundaryLayer), 24U);
  EXPECT_EQ(sizeof(ITripLimitLayer), 32U);
  EXPECT_EQ(sizeof(IConditionLayer), 32U);
  EXPECT_EQ(sizeof(IAttentionInputLayer), 32U);
  EXPECT_EQ(sizeof(IAttention), 16U);
  EXPECT_EQ(sizeof(Dims), 72U);
  EXPECT_EQ(sizeof(Weights), 24U);
  EXPECT_EQ(sizeof(PluginTensorDesc), 88U);
  EXPECT_EQ(sizeof(DynamicPluginTensorDesc), 304U);
  EXPECT_EQ(sizeof(PluginField), 24U);
  EXPECT_EQ(sizeof(InterfaceInfo), 16U);
  EXPECT_EQ(sizeof(TimingCacheValue), 16U);
  // Programs make empty ones.
  const IExecutionContext empty;
  static_cast<void>(empty);
}

// refused: INetworkDefinition::addDistCollective, IExecutionContext::setCommunicator: an engine runs in one process
// accepted without effect: setInternalLibraryPath: there are no parts to look for
TEST(BinaryInterface, OneProcessRunsAnEngine) {
  Maker maker;
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims2{1, 2});
  ILayer* layer = maker.network->addIdentity(*x);
  EXPECT_TRUE(layer->setNbRanks(1));
  EXPECT_FALSE(layer->setNbRanks(2));
  EXPECT_EQ(layer->getNbRanks(), 1);
  EXPECT_EQ(maker.network->addDistCollective(*x, CollectiveOperation::kALL_REDUCE,
                                             ReduceOperation::kSUM, 0, nullptr, 0),
            nullptr);
  setInternalLibraryPath("/nowhere");
  maker.network->markOutput(*layer->getOutput(0));
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine);
  const Own<IExecutionContext> context(engine->createExecutionContext());
  EXPECT_TRUE(context->setCommunicator(nullptr));
  EXPECT_FALSE(context->setCommunicator(context.get()));
}

#endif
}  // namespace
}  // namespace trt_test
