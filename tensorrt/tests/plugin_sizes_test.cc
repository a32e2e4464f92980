// SPDX-License-Identifier: Apache-2.0
// Plugins of level 10 whose results data size: size tensors.
#include <algorithm>

#include "plain_v3.h"
#include "support.h"

#if NV_TENSORRT_MAJOR >= 10
namespace trt_test {
namespace {

using Values = std::vector<float>;

// What the first result is.
enum class Kept {
  kPositives,  // as many as the size tensor says
  kTwice,      // each of these twice
  kOthers,     // those that are not above 0: what is left of all
  kShares,     // all, divided by how many are above 0, rounded up: no size where none is
};

struct SizesAsked {
  Kept kept = Kept::kPositives;
  bool lies = false;
  int32_t names = 1;
  bool on_codes = false;  // too
};
SizesAsked sizes_asked;
int code_runs = 0;

// Numbers of x, and how many of them are above 0.
class Positives : public PlainV3<IPluginV3OneBuild> {
 public:
  static constexpr const char* kName = "Positives";
  static constexpr const char* kSpace = "test";

  IPluginV3* clone() noexcept override { return new Positives; }
  char const* getPluginName() const noexcept override { return kName; }
  char const* getPluginNamespace() const noexcept override { return kSpace; }
  int32_t getNbOutputs() const noexcept override { return 2; }
  int32_t getOutputDataTypes(DataType* types, int32_t, DataType const*,
                             int32_t) const noexcept override {
    types[0] = DataType::kFLOAT;
    types[1] = DataType::kINT32;
    return 0;
  }
  int32_t getOutputShapes(DimsExprs const* inputs, int32_t, DimsExprs const*, int32_t,
                          DimsExprs* outputs, int32_t, IExprBuilder& builder) noexcept override {
    const IDimensionExpr& most = all_of(inputs[0], builder);
    const IDimensionExpr* told = builder.declareSizeTensor(
        sizes_asked.names,
        *builder.operation(DimensionOperation::kFLOOR_DIV, most, *builder.constant(2)), most);
    EXPECT_EQ(told->isSizeTensor(), sizes_asked.names >= 0);
    const IDimensionExpr* least = builder.constant(INT64_MIN);
    EXPECT_EQ(builder.operation(DimensionOperation::kCEIL_DIV, *least, *builder.constant(2))
                  ->getConstantValue(),
              INT64_MIN / 2);
    EXPECT_NE(told->isConstant(), told->isSizeTensor());
    if (sizes_asked.kept == Kept::kTwice)
      told = builder.operation(DimensionOperation::kPROD, *told, *builder.constant(2));
    if (sizes_asked.kept == Kept::kOthers)
      told = builder.operation(DimensionOperation::kSUB, most, *told);
    if (sizes_asked.kept == Kept::kShares)
      told = builder.operation(DimensionOperation::kCEIL_DIV, most, *told);
    EXPECT_FALSE(sizes_asked.names >= 0 && told->isConstant());
    outputs[0].nbDims = 1;
    outputs[0].d[0] = told;
    outputs[1].nbDims = 0;
    return 0;
  }
  bool supportsFormatCombination(int32_t pos, DynamicPluginTensorDesc const* descs, int32_t,
                                 int32_t) noexcept override {
    const PluginTensorDesc& desc = descs[pos].desc;
    const DataType wanted = pos == 2 ? DataType::kINT32 : DataType::kFLOAT;
    const bool codes = sizes_asked.on_codes && desc.type == DataType::kINT8;
    return (codes || desc.type == wanted) && desc.format == TensorFormat::kLINEAR;
  }
  int32_t setTactic(int32_t) noexcept override { return 0; }
  int32_t enqueue(PluginTensorDesc const* in, PluginTensorDesc const*, void const* const* inputs,
                  void* const* outputs, void*, cudaStream_t) noexcept override {
    const bool codes = in->type == DataType::kINT8;
    code_runs += codes;
    auto* y = static_cast<float*>(outputs[0]);
    int32_t count = 0;
    for (int64_t i = 0; i < volume(in->dims); ++i) {
      const float real =
          codes ? in->scale * static_cast<float>(static_cast<const int8_t*>(inputs[0])[i])
                : static_cast<const float*>(inputs[0])[i];
      count += real > 0;
      const bool keeps = sizes_asked.kept == Kept::kShares   ? false
                         : sizes_asked.kept == Kept::kOthers ? real <= 0
                                                             : real > 0;
      if (keeps) *y++ = real;
      if (keeps && sizes_asked.kept == Kept::kTwice) *y++ = real;
    }
    const int64_t shares =
        sizes_asked.kept == Kept::kShares && count > 0 ? (volume(in->dims) + count - 1) / count : 0;
    std::fill_n(y, shares, 1.0F);
    *static_cast<int32_t*>(outputs[1]) = sizes_asked.lies ? 99 : count;
    return 0;
  }

 private:
  static const IDimensionExpr& all_of(const DimsExprs& dims, IExprBuilder& builder) {
    const IDimensionExpr* all = builder.constant(1);
    for (int32_t i = 0; i < dims.nbDims; ++i)
      all = builder.operation(DimensionOperation::kPROD, *all, *dims.d[i]);
    return *all;
  }
};

class Received : public IOutputAllocator {
 public:
  void* reallocateOutput(char const*, void*, uint64_t size, uint64_t) noexcept override {
    memory.resize(size / sizeof(float) + 1);
    return memory.data();
  }
  void notifyShape(char const*, Dims const& dims) noexcept override { sizes = sizes_of(dims); }
  std::vector<float> memory;
  std::vector<int64_t> sizes;
};

class PluginSizesTest : public ::testing::Test {
 protected:
  PluginSizesTest() {
    sizes_asked = {};
    EXPECT_TRUE(getPluginRegistry()->registerCreator(creator_, "test"));
  }
  ~PluginSizesTest() override { EXPECT_TRUE(getPluginRegistry()->deregisterCreator(creator_)); }

  // x [6] -> the plugin -> y, which is negated to z; and how many.
  static Own<ICudaEngine> build(Maker& maker) {
    ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims{1, {6}});
    Positives plugin;
    IPluginV3Layer* layer = maker.network->addPluginV3(&x, 1, nullptr, 0, plugin);
    if (layer == nullptr) return Own<ICudaEngine>();
    ITensor* z = maker.network->addUnary(*layer->getOutput(0), UnaryOperation::kNEG)->getOutput(0);
    z->setName("z");
    maker.network->markOutput(*z);
    layer->getOutput(1)->setName("count");
    maker.network->markOutput(*layer->getOutput(1));
    return maker.build();
  }

  static bool run(IExecutionContext& context, Values in, Received& z, int32_t& count) {
    EXPECT_TRUE(context.setTensorAddress("x", in.data()));
    EXPECT_TRUE(context.setTensorAddress("count", &count));
    EXPECT_TRUE(context.setOutputAllocator("z", &z));
    return context.enqueueV3(nullptr);
  }

 private:
  PlainCreatorV3<Positives> creator_;
};

TEST_F(PluginSizesTest, AreWhatTheRunSays) {
  for (const Kept kept : {Kept::kPositives, Kept::kTwice, Kept::kOthers, Kept::kShares}) {
    sizes_asked.kept = kept;
    Maker maker;
    const Own<ICudaEngine> engine = build(maker);
    ASSERT_TRUE(engine) << maker.logger.text;
    EXPECT_EQ(engine->getTensorShape("z").d[0], -1);
    const Own<IExecutionContext> context(engine->createExecutionContext());
    for (const Values& in :
         {Values{1, -2, 3, -4, 5, -6}, Values{-1, -1, -1, -1, -1, -1}, Values{1, 2, 3, 4, 5, 6}}) {
      if (kept == Kept::kShares && in[0] < 0) continue;
      Received z;
      int32_t count = -1;
      ASSERT_TRUE(run(*context, in, z, count)) << maker.logger.text;
      Values wanted;
      for (const float x : in) {
        if (kept == Kept::kOthers ? x <= 0 : x > 0 && kept != Kept::kShares) wanted.push_back(-x);
        if (kept == Kept::kTwice && x > 0) wanted.push_back(-x);
      }
      if (kept == Kept::kShares) wanted.assign(in[1] > 0 ? 1 : 2, -1);
      EXPECT_EQ(z.sizes, (std::vector<int64_t>{static_cast<int64_t>(wanted.size())}));
      EXPECT_EQ(count, std::ranges::count_if(in, [](float x) { return x > 0; }));
      z.memory.resize(wanted.size());
      EXPECT_EQ(z.memory, wanted);
    }
    maker.network.reset();
  }
}

TEST_F(PluginSizesTest, ASizeThatFollowsFromNoneIsAnError) {
  sizes_asked.kept = Kept::kShares;
  Maker maker;
  const Own<ICudaEngine> engine = build(maker);
  ASSERT_TRUE(engine) << maker.logger.text;
  const Own<IExecutionContext> context(engine->createExecutionContext());
  Received z;
  int32_t count = -1;
  EXPECT_FALSE(run(*context, Values(6, -1), z, count));
  EXPECT_TRUE(maker.logger.has("of the sizes 6 and 0 has no result")) << maker.logger.text;
  maker.network.reset();
}

// x -> a convolution -> the plugin, which gets codes of their own scale -> another of its kind behind it.
TEST_F(PluginSizesTest, ComeOfCodesAndOfOtherSuch) {
  sizes_asked.on_codes = true;
  code_runs = 0;
  Maker maker;
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims4{1, 2, 4, 4});
  const Values eye = {1, 0, 0, 1};
  ITensor* made =
      maker.network->addConvolutionNd(*x, 2, DimsHW{1, 1}, {DataType::kFLOAT, eye.data(), 4}, {})
          ->getOutput(0);
  Positives plugin;
  ITensor* some = maker.network->addPluginV3(&made, 1, nullptr, 0, plugin)->getOutput(0);
  ITensor* positive = maker.network->addUnary(*some, UnaryOperation::kNEG)->getOutput(0);
  positive = maker.network->addUnary(*positive, UnaryOperation::kABS)->getOutput(0);
  IPluginV3Layer* again = maker.network->addPluginV3(&positive, 1, nullptr, 0, plugin);
  ASSERT_NE(again, nullptr) << maker.logger.text;
  again->getOutput(0)->setName("z");
  maker.network->markOutput(*again->getOutput(0));
  again->getOutput(1)->setName("count");
  maker.network->markOutput(*again->getOutput(1));
  for (ITensor* tensor : {x, made, some, positive, again->getOutput(0)})
    ASSERT_TRUE(tensor->setDynamicRange(-12.7F, 12.7F));
  maker.config->setFlag(BuilderFlag::kINT8);
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  const Own<IExecutionContext> context(engine->createExecutionContext());
  Values in, wanted;
  for (int i = 0; i < 32; ++i) in.push_back(0.37F * static_cast<float>(i - 12));
  for (const float real : in)
    if (real > 0) wanted.push_back(real);
  Received z;
  int32_t count = -1;
  ASSERT_TRUE(run(*context, in, z, count)) << maker.logger.text;
  EXPECT_EQ(code_runs, 1);  // what stands behind the first has no codes
  EXPECT_EQ(count, static_cast<int32_t>(wanted.size()));
  ASSERT_EQ(z.sizes, (std::vector<int64_t>{static_cast<int64_t>(wanted.size())}));
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(z.memory[i], wanted[i], 0.051F) << i;
  maker.network.reset();
}

TEST_F(PluginSizesTest, WhatCannotBeIsNamed) {
  struct {
    int32_t names;
    const char* said;
  } const cases[] = {
      {0, "declareSizeTensor(0): that output is no INT32 or INT64"},
      {7, "declareSizeTensor(7): that output is no INT32 or INT64"},
      {-1, "declareSizeTensor(-1) names no output"},
  };
  for (const auto& one : cases) {
    sizes_asked.names = one.names;
    Maker maker;
    EXPECT_FALSE(build(maker)) << one.said;
    EXPECT_TRUE(maker.logger.has(one.said)) << one.said << "\n" << maker.logger.text;
    maker.network.reset();
  }
}

TEST_F(PluginSizesTest, MoreThanItsBoundIsAnError) {
  Maker maker;
  const Own<ICudaEngine> engine = build(maker);
  ASSERT_TRUE(engine) << maker.logger.text;
  sizes_asked.lies = true;
  const Own<IExecutionContext> context(engine->createExecutionContext());
  int32_t count = 0;
  Received z;
  EXPECT_FALSE(run(*context, Values(6, 1), z, count));
  EXPECT_TRUE(maker.logger.has("its shape rule at most 6")) << maker.logger.text;
  maker.network.reset();
}

}  // namespace
}  // namespace trt_test
#endif
