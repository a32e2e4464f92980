// SPDX-License-Identifier: Apache-2.0
// Plugins of level 10: one class with three capabilities, made by a creator of its own kind.
#include "plain_v3.h"
#include "support.h"

#if NV_TENSORRT_MAJOR >= 10
namespace trt_test {
namespace {

using Values = std::vector<float>;

struct V3Counts {
  int alive = 0, attached = 0, shapes = 0, tactic = -1, enqueued = 0;
  std::vector<PluginTensorDesc> last;
  bool aliases = false;
  bool fails_shapes = false, null_attach = false, attaches_itself = false, aliases_other = false,
       needs_data_size = false;
  bool hides_build = false;  // in the runtime phase
  bool makes_no_builder = false;
  std::vector<TensorRTPhase> phases;
  IPluginResourceContext* context = nullptr;
};
V3Counts v3;

// y = x * factor, or what x is written over with.
class ScaleV3 : public PlainV3<IPluginV3OneBuildV2> {
 public:
  explicit ScaleV3(float factor, TensorRTPhase phase = TensorRTPhase::kBUILD)
      : factor_(factor), phase_(phase) {
    v3.alive += 1;
    field_ = {"factor", &factor_, PluginFieldType::kFLOAT32, 1};
    fields_ = {1, &field_};
  }
  ~ScaleV3() override { v3.alive -= 1; }
  IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override {
    const bool hides = v3.hides_build && phase_ == TensorRTPhase::kRUNTIME;
    if (type == PluginCapabilityType::kBUILD && hides) return nullptr;
    return PlainV3::getCapabilityInterface(type);
  }
  IPluginV3* clone() noexcept override { return new ScaleV3(factor_, phase_); }
  char const* getPluginName() const noexcept override { return "Scale_V3"; }
  char const* getPluginNamespace() const noexcept override { return "test"; }
  int32_t getOutputShapes(DimsExprs const* inputs, int32_t, DimsExprs const*, int32_t,
                          DimsExprs* outputs, int32_t, IExprBuilder& builder) noexcept override {
    outputs[0] = inputs[0];
    if (inputs[0].d[0]->isConstant() && inputs[0].d[0]->getConstantValue() < 0) return 4;
    if (v3.needs_data_size) {
      outputs[0].d[0] = builder.declareSizeTensor(0, *inputs[0].d[0], *inputs[0].d[0]);
    } else {
      // The same size by another way.
      outputs[0].d[0] = builder.operation(
          DimensionOperation::kFLOOR_DIV,
          *builder.operation(DimensionOperation::kPROD, *inputs[0].d[0], *builder.constant(6)),
          *builder.constant(6));
    }
    if (v3.aliases_other) outputs[0].d[1] = builder.constant(2);
    return v3.fails_shapes ? 3 : 0;
  }
  bool supportsFormatCombination(int32_t pos, DynamicPluginTensorDesc const* descs, int32_t,
                                 int32_t) noexcept override {
    const PluginTensorDesc& desc = descs[pos].desc;
    const bool is_real = desc.type == DataType::kFLOAT && desc.format == TensorFormat::kLINEAR;
    const bool is_code = desc.type == DataType::kINT8 && desc.format == TensorFormat::kCHW32;
    return (is_real || is_code) && (pos == 0 || desc.type == descs[0].desc.type);
  }
  int32_t getAliasedInput(int32_t) noexcept override {
    return v3.aliases || v3.aliases_other ? 0 : -1;
  }
  int32_t getNbTactics() noexcept override { return 2; }
  int32_t getValidTactics(int32_t* tactics, int32_t count) noexcept override {
    for (int32_t i = 0; i < count; ++i) tactics[i] = 40 + i;
    return 0;
  }
  int32_t setTactic(int32_t tactic) noexcept override {
    v3.tactic = tactic;
    return 0;
  }
  int32_t onShapeChange(PluginTensorDesc const*, int32_t, PluginTensorDesc const*,
                        int32_t) noexcept override {
    v3.shapes += 1;
    return 0;
  }
  int32_t enqueue(PluginTensorDesc const* in, PluginTensorDesc const* out,
                  void const* const* inputs, void* const* outputs, void*,
                  cudaStream_t) noexcept override {
    v3.enqueued += 1;
    v3.last = {*in, *out};
    if (v3.aliases && inputs[0] != outputs[0]) return 9;
    if (in->type == DataType::kINT8) return codes(*in, *out, inputs[0], outputs[0]);
    for (int64_t i = 0; i < volume(in->dims); ++i)
      static_cast<float*>(outputs[0])[i] = static_cast<const float*>(inputs[0])[i] * factor_;
    return 0;
  }
  IPluginV3* attachToContext(IPluginResourceContext* context) noexcept override {
    if (context == nullptr || v3.null_attach || context->getGpuAllocator() != nullptr)
      return nullptr;
    v3.attached += 1;
    v3.context = context;
    if (v3.attaches_itself) return this;
    return clone();
  }
  PluginFieldCollection const* getFieldsToSerialize() noexcept override { return &fields_; }

 private:
  int32_t codes(PluginTensorDesc const& in, PluginTensorDesc const& out, void const* from,
                void* to) const {
    const int64_t places = volume(in.dims) / in.dims.d[1] * 32;
    for (int64_t i = 0; i < places; ++i) {
      const float real = static_cast<float>(static_cast<const int8_t*>(from)[i]) * in.scale;
      static_cast<int8_t*>(to)[i] = static_cast<int8_t>(real * factor_ / out.scale);
    }
    return 0;
  }

  float factor_;
  TensorRTPhase phase_;
  PluginField field_;
  PluginFieldCollection fields_;
};

class ScaleV3Creator : public IPluginCreatorV3One {
 public:
  IPluginV3* createPlugin(char const*, PluginFieldCollection const* fields,
                          TensorRTPhase phase) noexcept override {
    v3.phases.push_back(phase);
    if (fields->nbFields != 1 || std::string(fields->fields[0].name) != "factor") return nullptr;
    if (v3.makes_no_builder && phase == TensorRTPhase::kBUILD) return nullptr;
    return new ScaleV3(*static_cast<const float*>(fields->fields[0].data), phase);
  }
  PluginFieldCollection const* getFieldNames() noexcept override { return nullptr; }
  char const* getPluginName() const noexcept override { return "Scale_V3"; }
  char const* getPluginVersion() const noexcept override { return "1"; }
  char const* getPluginNamespace() const noexcept override { return "test"; }
};

class V3Test : public ::testing::Test {
 protected:
  V3Test() {
    v3 = {};
    EXPECT_TRUE(getPluginRegistry()->registerCreator(creator_, "test"));
  }
  ~V3Test() override {
    EXPECT_EQ(v3.alive, 0);
    EXPECT_TRUE(getPluginRegistry()->deregisterCreator(creator_));
  }
  static ITensor* add(Maker& maker, ITensor* x) {
    ScaleV3 plugin(2);
    IPluginV3Layer* layer = maker.network->addPluginV3(&x, 1, nullptr, 0, plugin);
    if (layer == nullptr) return nullptr;
    EXPECT_EQ(layer->getType(), LayerType::kPLUGIN_V3);
    EXPECT_NE(&layer->getPlugin(), nullptr);
    return layer->getOutput(0);
  }

 private:
  ScaleV3Creator creator_;
};

// better: IPluginV3OneBuild::getFormatCombinationLimit: combinations are looked for up to 4096, whatever it says
// accepted without effect: IPluginV3OneBuild::getTimingCacheID, IPluginV3OneBuild::getMetadataString: nothing is measured
// accepted without effect: IPluginResourceContext::getGpuAllocator, IPluginResourceContext::getErrorRecorder: both are null
TEST_F(V3Test, DefaultsOfCapabilities) {
  ScaleV3 plugin(1);
  IPluginV3OneBuild& build = plugin;
  EXPECT_EQ(build.getFormatCombinationLimit(), 100);
  EXPECT_EQ(build.getTimingCacheID(), nullptr);
  EXPECT_EQ(build.getMetadataString(), nullptr);
}

TEST_F(V3Test, RunsWithItsFieldsAndItsTactic) {
  Maker maker;
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims2{2, 3});
  maker.network->markOutput(*add(maker, x));
  {
    const Own<ICudaEngine> engine = maker.build();
    ASSERT_TRUE(engine) << maker.logger.text;
    EXPECT_EQ(run(*engine, counting(6)), (Values{0, 2, 4, 6, 8, 10}));
  }
  EXPECT_EQ(v3.phases, std::vector<TensorRTPhase>{TensorRTPhase::kRUNTIME});
  EXPECT_EQ(v3.tactic, 40);
  EXPECT_EQ(v3.attached, 1);
  EXPECT_EQ(v3.shapes, 1);
  maker.network.reset();
  // What a plugin of a later version calls behind the last function.
  using Later = void* (*)(void*);
  ASSERT_NE(v3.context, nullptr);
  const auto later = (*reinterpret_cast<Later* const*>(v3.context))[4];
  testing::internal::CaptureStderr();
  EXPECT_EQ(later(v3.context), nullptr);
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_NE(told.find("later version"), std::string::npos) << told;
}

// In the runtime phase a plugin need not show how it is built.
TEST_F(V3Test, ShowsHowItIsBuiltInTheBuildPhaseAlone) {
  v3.hides_build = true;
  Maker maker;
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims2{2, 3});
  maker.network->markOutput(*add(maker, x));
  {
    const Own<ICudaEngine> engine = maker.build();
    ASSERT_TRUE(engine) << maker.logger.text;
    EXPECT_EQ(run(*engine, counting(6)), (Values{0, 2, 4, 6, 8, 10}));
  }
  EXPECT_EQ(v3.phases,
            (std::vector<TensorRTPhase>{TensorRTPhase::kRUNTIME, TensorRTPhase::kBUILD}));
  EXPECT_EQ(v3.tactic, 40);
  v3.makes_no_builder = true;
  EXPECT_FALSE(maker.build());
  EXPECT_TRUE(maker.logger.has("it shows no capability kBUILD, and createPlugin() makes none"))
      << maker.logger.text;
  maker.network.reset();
}

TEST_F(V3Test, ComputesOnCodesInBlocks) {
  Maker maker;
  maker.config->setFlag(BuilderFlag::kINT8);
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims4{1, 4, 2, 3});
  Values kernel(16, 0.0F);
  for (size_t i = 0; i < 4; ++i) kernel[i * 5] = 1;
  const auto convolution = [&](ITensor& input) {
    auto* conv =
        maker.network->addConvolutionNd(input, 4, DimsHW{1, 1}, weights_of(kernel), Weights{});
    conv->getOutput(0)->setDynamicRange(-127, 127);
    return conv->getOutput(0);
  };
  x->setDynamicRange(-127, 127);
  ITensor* y = add(maker, convolution(*x));
  y->setDynamicRange(-127, 127);
  maker.network->markOutput(*convolution(*y));
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  Values wanted;
  for (const float value : counting(24, -12)) wanted.push_back(2 * value);
  EXPECT_EQ(run(*engine, counting(24, -12)), wanted);
  ASSERT_EQ(v3.last.size(), 2U);
  EXPECT_EQ(v3.last[0].type, DataType::kINT8);
  EXPECT_EQ(v3.last[1].format, TensorFormat::kCHW32);
  maker.network.reset();
}

TEST_F(V3Test, AnOutputMayLieWhereItsInputDoes) {
  v3.aliases = true;
  Maker maker;
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims2{2, 3});
  maker.network->markOutput(*add(maker, x));
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  Values in = counting(6), out(6);
  const Own<IExecutionContext> context(engine->createExecutionContext());
  void* bindings[] = {in.data(), out.data()};
  ASSERT_TRUE(context->executeV2(bindings)) << maker.logger.text;
  EXPECT_EQ(out, (Values{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(in, counting(6));
  maker.network.reset();
}

TEST_F(V3Test, WhatFailsIsNamed) {
  struct {
    bool V3Counts::*fault;
    const char* said;
  } const cases[] = {
      {&V3Counts::fails_shapes, "getOutputShapes() returned 3"},
      {&V3Counts::null_attach, "attachToContext() returned a null pointer"},
      {&V3Counts::attaches_itself, "attachToContext() returned the plugin itself, not a clone"},
      {&V3Counts::aliases_other, "getAliasedInput(0) returned 0, no input of the output's sizes"},
      {&V3Counts::needs_data_size,
       "declareSizeTensor(0): that output is no INT32 or INT64 of no dimensions"},
  };
  for (const auto& one : cases) {
    v3.*one.fault = true;
    Maker maker;
    ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims2{2, 3});
    maker.network->markOutput(*add(maker, x));
    if (const Own<ICudaEngine> engine = maker.build(); engine != nullptr) {
      const Own<IExecutionContext> context(engine->createExecutionContext());
      Values in(6), out(6);
      void* bindings[] = {in.data(), out.data()};
      EXPECT_FALSE(context->executeV2(bindings));
    }
    EXPECT_TRUE(maker.logger.has(one.said)) << one.said << "\n" << maker.logger.text;
    EXPECT_TRUE(maker.logger.has("plugin 'Scale_V3' version 1")) << maker.logger.text;
    v3.*one.fault = false;
    maker.network.reset();
  }
}

class Shared : public IPluginResource {
 public:
  explicit Shared(int* released) : released_(released) {}
  int32_t release() noexcept override {
    *released_ += 1;
    return 0;
  }
  IPluginResource* clone() noexcept override { return new Shared(released_); }

 private:
  int* released_;
};

TEST_F(V3Test, ResourcesAreSharedUntilTheLastUser) {
  int released = 0;
  Shared first(&released), second(&released);
  IPluginRegistry& registry = *getPluginRegistry();
  IPluginResource* kept = registry.acquirePluginResource("key", &first);
  ASSERT_NE(kept, nullptr);
  EXPECT_NE(kept, &first);
  EXPECT_EQ(registry.acquirePluginResource("key", &second), kept);
  EXPECT_EQ(registry.releasePluginResource("key"), 0);
  EXPECT_EQ(released, 0);
  EXPECT_EQ(registry.releasePluginResource("key"), 0);
  EXPECT_EQ(released, 1);
  EXPECT_EQ(registry.releasePluginResource("key"), -1);
}

TEST_F(V3Test, TheRegistryShowsCreatorsOfAllKinds) {
  IPluginRegistry& registry = *getPluginRegistry();
  IPluginCreatorInterface* found = registry.getCreator("Scale_V3", "1", "test");
  ASSERT_NE(found, nullptr);
  EXPECT_STREQ(found->getInterfaceInfo().kind, "PLUGIN CREATOR_V3ONE");
  EXPECT_EQ(registry.getPluginCreator("Scale_V3", "1", "test"), nullptr);
  int32_t count = 0, all = 0;
  registry.getPluginCreatorList(&count);
  registry.getAllCreators(&all);
  EXPECT_GT(all, count);
  int32_t recursive = 0;
  registry.getAllCreatorsRecursive(&recursive);
  EXPECT_EQ(recursive, all);
}

}  // namespace
}  // namespace trt_test
#endif
