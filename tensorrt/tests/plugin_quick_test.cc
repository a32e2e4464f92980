// SPDX-License-Identifier: Apache-2.0
// Plugins as TensorRT's Python makes them of functions: their formats are a list, their types are told before sizes, and they have no workspace.
#include "model_bytes.h"
#include "support.h"

#if NV_TENSORRT_MAJOR >= 10
namespace trt_test {
namespace {

struct QuickFacts {
  int alive = 0, listed = 0, configured = 0, tactic = -1;
  std::vector<std::string> asked;
  std::vector<std::string> made;  // what the creator was asked for
  std::vector<Dims> strides;
  std::vector<PluginTensorDesc> last;
  bool in_halves = false, channels_last = false, fails_types = false, fails_list = false,
       lists_too_many = false, compiled_ahead = false, is_of_another_kind = false, aliases = false;
};
QuickFacts quick;

// y = x * factor, with as many rows.
class QuickScale : public IPluginV3,
                   public IPluginV3QuickCore,
                   public IPluginV3QuickBuild,
                   public IPluginV3QuickRuntime {
 public:
  explicit QuickScale(float factor) : factor_(factor) {
    quick.alive += 1;
    field_ = {"factor", &factor_, PluginFieldType::kFLOAT32, 1};
    fields_ = {1, &field_};
  }
  ~QuickScale() override { quick.alive -= 1; }
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"PLUGIN", 1, 0}; }
  IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override {
    if (type == PluginCapabilityType::kCORE) return &core_;
    if (type == PluginCapabilityType::kBUILD) return static_cast<IPluginV3QuickBuild*>(this);
    if (quick.compiled_ahead) return nullptr;
    return static_cast<IPluginV3QuickRuntime*>(this);
  }
  IPluginV3* clone() noexcept override { return new QuickScale(*this); }
  char const* getPluginName() const noexcept override { return "QuickScale"; }
  char const* getPluginVersion() const noexcept override { return "1"; }
  char const* getPluginNamespace() const noexcept override { return "quick"; }
  int32_t getNbOutputs() const noexcept override { return 1; }
  int32_t getOutputDataTypes(DataType* types, int32_t, DataType const* inputs, int32_t const* ranks,
                             int32_t) const noexcept override {
    quick.asked.push_back("types of " + std::to_string(ranks[0]));
    types_known_ = true;
    types[0] = inputs[0];
    return quick.fails_types ? 5 : 0;
  }
  int32_t getOutputShapes(DimsExprs const* inputs, int32_t, DimsExprs const*, int32_t,
                          DimsExprs* outputs, int32_t, IExprBuilder&) noexcept override {
    if (!types_known_) return 6;
    quick.asked.push_back("sizes");
    outputs[0] = inputs[0];
    return 0;
  }
  int32_t configurePlugin(DynamicPluginTensorDesc const* in, int32_t,
                          DynamicPluginTensorDesc const*, int32_t) noexcept override {
    quick.configured += 1;
    configured_for_ = in->desc.type;
    return 0;
  }
  int32_t getNbSupportedFormatCombinations(DynamicPluginTensorDesc const*, int32_t,
                                           int32_t) noexcept override {
    quick.listed += 1;
    if (quick.lists_too_many) return 1 << 20;
    return 3;
  }
  int32_t getSupportedFormatCombinations(DynamicPluginTensorDesc const*, int32_t, int32_t,
                                         PluginTensorDesc* to, int32_t count) noexcept override {
    if (quick.fails_list || count != 3) return 7;
    const TensorFormat first = quick.channels_last ? TensorFormat::kHWC : TensorFormat::kLINEAR;
    const DataType real = quick.in_halves ? DataType::kHALF : DataType::kFLOAT;
    for (int32_t i = 0; i < 2; ++i) {
      to[i] = {Dims{}, real, first, 0};
      to[2 + i] = {Dims{}, DataType::kINT8, TensorFormat::kCHW32, 0};  // whose strides nobody tells
      to[4 + i] = {Dims{}, DataType::kINT32, TensorFormat::kLINEAR, 0};
    }
    return 0;
  }
  int32_t getAliasedInput(int32_t) noexcept override { return quick.aliases ? 0 : -1; }
  int32_t getNbTactics() noexcept override { return 1; }
  int32_t getValidTactics(int32_t* tactics, int32_t) noexcept override {
    tactics[0] = configured_for_ == DataType::kHALF ? 16 : 32;
    return 0;
  }
  int32_t setTactic(int32_t tactic) noexcept override {
    quick.tactic = tactic;
    return 0;
  }
  int32_t enqueue(PluginTensorDesc const* in, PluginTensorDesc const* out,
                  void const* const* inputs, void* const* outputs, Dims const* in_strides,
                  Dims const* out_strides, int32_t in_count, int32_t out_count,
                  cudaStream_t) noexcept override {
    if (in_count != 1 || out_count != 1 || (quick.aliases && inputs[0] != outputs[0])) return 8;
    quick.strides = {*in_strides, *out_strides};
    quick.last = {*in, *out};
    const int64_t count = volume(in->dims);
    for (int64_t i = 0; i < count; ++i) {
      if (in->type == DataType::kFLOAT)
        static_cast<float*>(outputs[0])[i] = static_cast<const float*>(inputs[0])[i] * factor_;
      else  // a half has its exponent in bits 10 to 14: twice as much is one more
        static_cast<uint16_t*>(outputs[0])[i] =
            static_cast<uint16_t>(static_cast<const uint16_t*>(inputs[0])[i] +
                                  (static_cast<const uint16_t*>(inputs[0])[i] == 0 ? 0 : 0x400));
    }
    return 0;
  }
  PluginFieldCollection const* getFieldsToSerialize() noexcept override { return &fields_; }

 private:
  // By itself, so that it may say that it is of another kind.
  struct Core final : IPluginV3QuickCore {
    InterfaceInfo getInterfaceInfo() const noexcept override {
      return {quick.is_of_another_kind ? "PLUGIN_V4" : "PLUGIN_V3QUICK_CORE", 1, 0};
    }
    char const* getPluginName() const noexcept override { return "QuickScale"; }
    char const* getPluginVersion() const noexcept override { return "1"; }
    char const* getPluginNamespace() const noexcept override { return "quick"; }
  };

  QuickScale(const QuickScale& other) : QuickScale(other.factor_) {
    types_known_ = other.types_known_;
    configured_for_ = other.configured_for_;
  }

  float factor_;
  Core core_;
  mutable bool types_known_ = false;
  DataType configured_for_ = DataType::kBOOL;
  PluginField field_;
  PluginFieldCollection fields_;
};

class QuickCreator : public IPluginCreatorV3Quick {
 public:
  IPluginV3* createPlugin(char const* name, char const* space, PluginFieldCollection const* fields,
                          TensorRTPhase phase,
                          QuickPluginCreationRequest request) noexcept override {
    quick.made.push_back(std::string(name) + " of " + space + ", phase " +
                         std::to_string(static_cast<int>(phase)) + ", request " +
                         std::to_string(static_cast<int>(request)));
    if (fields->nbFields != 1 || std::string(fields->fields[0].name) != "factor") return nullptr;
    return new QuickScale(*static_cast<const float*>(fields->fields[0].data));
  }
  PluginFieldCollection const* getFieldNames() noexcept override {
    field_ = {"factor", nullptr, PluginFieldType::kFLOAT32, 1};
    fields_ = {1, &field_};
    return &fields_;
  }
  char const* getPluginName() const noexcept override { return "QuickScale"; }
  char const* getPluginVersion() const noexcept override { return "1"; }
  char const* getPluginNamespace() const noexcept override { return "quick"; }

 private:
  PluginField field_;
  PluginFieldCollection fields_;
};

class QuickTest : public ::testing::Test {
 protected:
  QuickTest() {
    quick = {};
    EXPECT_TRUE(getPluginRegistry()->registerCreator(creator_, "quick"));
  }
  ~QuickTest() override {
    EXPECT_EQ(quick.alive, 0);
    EXPECT_TRUE(getPluginRegistry()->deregisterCreator(creator_));
  }
  static bool add(Maker& maker, const Dims& dims) {
    QuickScale plugin(2);
    ITensor* x = maker.network->addInput("x", DataType::kFLOAT, dims);
    IPluginV3Layer* layer = maker.network->addPluginV3(&x, 1, nullptr, 0, plugin);
    if (layer == nullptr) return false;
    maker.network->markOutput(*layer->getOutput(0));
    return true;
  }
  static std::vector<float> twice(std::vector<float> values) {
    for (float& value : values) value *= 2;
    return values;
  }
  static std::vector<int64_t> listed(const Dims& dims) { return {dims.d, dims.d + dims.nbDims}; }

  QuickCreator creator_;
};

// accepted without effect: IPluginV3QuickBuild::getTimingCacheID, IPluginV3QuickBuild::getMetadataString: nothing is measured
TEST_F(QuickTest, DefaultsOfCapabilities) {
  QuickScale plugin(1);
  IPluginV3QuickBuild& build = plugin;
  EXPECT_EQ(build.getTimingCacheID(), nullptr);
  EXPECT_EQ(build.getMetadataString(), nullptr);
  EXPECT_STREQ(build.IPluginV3QuickBuild::getInterfaceInfo().kind, "PLUGIN_V3QUICK_BUILD");
  IPluginV3QuickRuntime& runtime = plugin;
  EXPECT_STREQ(runtime.IPluginV3QuickRuntime::getInterfaceInfo().kind, "PLUGIN_V3QUICK_RUNTIME");
  IPluginV3QuickCore& core = plugin;
  EXPECT_STREQ(core.IPluginV3QuickCore::getInterfaceInfo().kind, "PLUGIN_V3QUICK_CORE");
  EXPECT_STREQ(core.getPluginName(), "QuickScale");
  EXPECT_EQ(getPluginRegistry()->getCreator("QuickScale", "1", "quick"), &creator_);
}

TEST_F(QuickTest, RunsFromAPlanWithItsFieldsItsTacticAndStrides) {
  Maker maker;
  ASSERT_TRUE(add(maker, Dims2{2, 3})) << maker.logger.text;
  {
    const Own<ICudaEngine> engine = maker.build();
    ASSERT_TRUE(engine) << maker.logger.text;
    EXPECT_EQ(run(*engine, counting(6)), twice(counting(6)));
  }
  EXPECT_EQ(quick.made, std::vector<std::string>{"QuickScale of quick, phase 1, request 3"});
  EXPECT_EQ(quick.tactic, 32);
  EXPECT_EQ(quick.asked.front(), "types of 2");
  ASSERT_EQ(quick.strides.size(), 2U);
  EXPECT_EQ(listed(quick.strides[0]), (std::vector<int64_t>{3, 1}));
  maker.network.reset();
}

TEST_F(QuickTest, ChannelsLastHaveTheirStrides) {
  quick.channels_last = true;
  Maker maker;
  ASSERT_TRUE(add(maker, Dims4{1, 4, 2, 3})) << maker.logger.text;
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  EXPECT_EQ(run(*engine, counting(24)), twice(counting(24)));
  ASSERT_EQ(quick.strides.size(), 2U);
  EXPECT_EQ(listed(quick.strides[0]), (std::vector<int64_t>{24, 1, 12, 4}));
  EXPECT_EQ(quick.last[1].format, TensorFormat::kHWC);
  maker.network.reset();
}

TEST_F(QuickTest, HalvesAreItsTacticToo) {
  quick.in_halves = true;
  Maker maker;
  ASSERT_TRUE(add(maker, Dims2{2, 3})) << maker.logger.text;
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  EXPECT_EQ(run(*engine, counting(6)), twice(counting(6)));
  EXPECT_EQ(quick.tactic, 16);
  maker.network.reset();
}

// What a cache lacks is not known with plugins, so that a build that must know it fails.
TEST_F(QuickTest, ATimingCacheThatMustBeCompleteIsRefused) {
  Maker maker;
  ASSERT_TRUE(add(maker, Dims2{2, 3})) << maker.logger.text;
  const Own<ITimingCache> cache(maker.config->createTimingCache(nullptr, 0));
  ASSERT_TRUE(maker.config->setTimingCache(*cache, false));
  maker.config->setFlag(BuilderFlag::kERROR_ON_TIMING_CACHE_MISS);
  EXPECT_EQ(maker.build(), nullptr);
  EXPECT_TRUE(maker.logger.has("nobody can tell which choices the timing cache lacks"))
      << maker.logger.text;
  maker.config->clearFlag(BuilderFlag::kERROR_ON_TIMING_CACHE_MISS);
  EXPECT_NE(maker.build(), nullptr) << maker.logger.text;
  maker.network.reset();
}

TEST_F(QuickTest, AnOutputMayLieWhereItsInputDoes) {
  quick.aliases = true;
  Maker maker;
  ASSERT_TRUE(add(maker, Dims2{2, 3})) << maker.logger.text;
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  EXPECT_EQ(run(*engine, counting(6)), twice(counting(6)));
  maker.network.reset();
}

TEST_F(QuickTest, ANodeThatNamesItsNamespaceIsSuchAPlugin) {
  const std::string attributes =
      text(5, text(1, "factor") + real(2, 2) + number(20, 1)) +
      text(5, text(1, "plugin_namespace") + text(4, "quick") + number(20, 3));
  const std::string model = model_of_node(node("QuickScale", {"x"}, "y", attributes));
  Maker maker;
  Own<nvonnxparser::IParser> parser(nvonnxparser::createParser(*maker.network, maker.logger));
  ASSERT_TRUE(parser->parse(model.data(), model.size())) << maker.logger.text;
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  EXPECT_EQ(run(*engine, counting(4)), twice(counting(4)));
  EXPECT_EQ(quick.made.front(), "QuickScale of quick, phase 0, request 3");
  parser.reset();
  maker.network.reset();
}

TEST_F(QuickTest, WhatFailsIsNamed) {
  struct {
    bool QuickFacts::*fault;
    const char* said;
  } const cases[] = {
      {&QuickFacts::fails_types, "getOutputDataTypes() returned 5"},
      {&QuickFacts::fails_list, "getSupportedFormatCombinations() returned 7"},
      {&QuickFacts::lists_too_many,
       "getNbSupportedFormatCombinations() returned 1048576; expected 0 to 4096"},
      {&QuickFacts::compiled_ahead, "compiled ahead of time (aot_impl), which are not launched"},
      {&QuickFacts::is_of_another_kind, "its capability is 'PLUGIN_V4'"},
  };
  for (const auto& one : cases) {
    quick.*one.fault = true;
    Maker maker;
    if (add(maker, Dims2{2, 3})) {
      EXPECT_FALSE(maker.build()) << one.said;
    }
    EXPECT_TRUE(maker.logger.has(one.said)) << one.said << "\n" << maker.logger.text;
    quick.*one.fault = false;
    maker.network.reset();
  }
}

}  // namespace
}  // namespace trt_test
#endif
