// SPDX-License-Identifier: Apache-2.0
// Plugins of the eldest classes, which have one type and format for all reals.
#include <algorithm>

#include "support.h"

namespace trt_test {
namespace {

using Values = std::vector<float>;

struct ElderCounts {
  int configured = 0, broadcasts = 0, max_batch = 0;
  DataType type = DataType::kINT32;
};
ElderCounts elder;

// y = x + 1, of any class whose configuration is its own.
template <class Base>
class PlusOne : public Base {
 public:
  char const* getPluginType() const noexcept override { return "PlusOne_TEST"; }
  char const* getPluginVersion() const noexcept override { return "1"; }
  int32_t getNbOutputs() const noexcept override { return 1; }
  Dims getOutputDimensions(int32_t, Dims const* inputs, int32_t) noexcept override {
    return inputs[0];
  }
  bool supportsFormat(DataType type, PluginFormat format) const noexcept override {
    return type == DataType::kFLOAT && format == PluginFormat::kLINEAR;
  }
  void configureWithFormat(Dims const* inputs, int32_t, Dims const*, int32_t, DataType type,
                           PluginFormat, int32_t max_batch) noexcept override {
    elder.configured += 1;
    elder.max_batch = max_batch;
    elder.type = type;
    size_ = static_cast<int>(volume(inputs[0]));
  }
  int32_t initialize() noexcept override { return 0; }
  void terminate() noexcept override {}
  size_t getWorkspaceSize(int32_t) const noexcept override { return 0; }
  int32_t enqueue(int32_t batch, void const* const* inputs, void* const* outputs, void*,
                  cudaStream_t) noexcept override {
    const auto* x = static_cast<const float*>(inputs[0]);
    std::transform(x, x + batch * size_, static_cast<float*>(outputs[0]),
                   [](float v) { return v + 1; });
    return 0;
  }
  size_t getSerializationSize() const noexcept override { return sizeof size_; }
  void serialize(void* buffer) const noexcept override {
    std::memcpy(buffer, &size_, sizeof size_);
  }
  void destroy() noexcept override { delete this; }
  void setPluginNamespace(char const*) noexcept override {}
  char const* getPluginNamespace() const noexcept override { return ""; }
  void set_size(int size) { size_ = size; }

 protected:
  int size_ = 0;
};

class Plain : public PlusOne<IPluginV2> {
 public:
  IPluginV2* clone() const noexcept override {
    auto* other = new Plain;
    other->set_size(size_);
    return other;
  }
};

class Extended : public PlusOne<IPluginV2Ext> {
 public:
  IPluginV2Ext* clone() const noexcept override {
    auto* other = new Extended;
    other->set_size(size_);
    return other;
  }
  DataType getOutputDataType(int32_t, DataType const* types, int32_t) const noexcept override {
    return types[0];
  }
  bool isOutputBroadcastAcrossBatch(int32_t, bool const*, int32_t) const noexcept override {
    return false;
  }
  bool canBroadcastInputAcrossBatch(int32_t) const noexcept override { return false; }
  void configurePlugin(Dims const* inputs, int32_t, Dims const*, int32_t, DataType const* types,
                       DataType const*, bool const* in_broadcast, bool const*, PluginFormat,
                       int32_t) noexcept override {
    elder.configured += 1;
    elder.broadcasts += in_broadcast[0] ? 1 : 0;
    elder.type = types[0];
    size_ = static_cast<int>(volume(inputs[0]));
  }
};

template <class Plugin>
class ElderCreator : public IPluginCreator {
 public:
  char const* getPluginName() const noexcept override { return "PlusOne_TEST"; }
  char const* getPluginVersion() const noexcept override { return "1"; }
  PluginFieldCollection const* getFieldNames() noexcept override { return nullptr; }
  IPluginV2* createPlugin(char const*, PluginFieldCollection const*) noexcept override {
    return new Plugin;
  }
  IPluginV2* deserializePlugin(char const*, void const* data, size_t) noexcept override {
    auto* plugin = new Plugin;
    int size;
    std::memcpy(&size, data, sizeof size);
    plugin->set_size(size);
    return plugin;
  }
  void setPluginNamespace(char const*) noexcept override {}
  char const* getPluginNamespace() const noexcept override { return ""; }
};

template <class Plugin>
void expect_plus_one() {
  elder = {};
  ElderCreator<Plugin> creator;
  ASSERT_TRUE(getPluginRegistry()->registerCreator(creator, ""));
  Maker maker;
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims2{2, 3});
  Plugin plugin;
  IPluginV2Layer* layer = maker.network->addPluginV2(&x, 1, plugin);
  ASSERT_TRUE(layer) << maker.logger.text;
  maker.network->markOutput(*layer->getOutput(0));
  {
    const Own<ICudaEngine> engine = maker.build();
    ASSERT_TRUE(engine) << maker.logger.text;
    EXPECT_EQ(run(*engine, counting(6)), counting(6, 1));
  }
  EXPECT_EQ(elder.configured, 1);
  EXPECT_EQ(elder.broadcasts, 0);
  EXPECT_EQ(elder.type, DataType::kFLOAT);
  getPluginRegistry()->deregisterCreator(creator);
}

#if NV_TENSORRT_MAJOR < 10
// Objects that ran a small batch are told of no larger one.
TEST(ElderPlugin, IsConfiguredForTheLargestBatch) {
  elder = {};
  ElderCreator<Plain> creator;
  ASSERT_TRUE(getPluginRegistry()->registerCreator(creator, ""));
  Maker maker(0);
  maker.builder->setMaxBatchSize(4);
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims2{2, 3});
  Plain plugin;
  maker.network->markOutput(*maker.network->addPluginV2(&x, 1, plugin)->getOutput(0));
  {
    const Own<ICudaEngine> engine = maker.build();
    ASSERT_TRUE(engine) << maker.logger.text;
    EXPECT_EQ(elder.max_batch, 4);
    const Own<IExecutionContext> context(engine->createExecutionContext());
    for (const int32_t batch : {1, 4, 2}) {
      const auto values = static_cast<size_t>(6 * batch);
      Values in = counting(values), out(values);
      void* bindings[] = {in.data(), out.data()};
      ASSERT_TRUE(context->execute(batch, bindings)) << maker.logger.text;
      EXPECT_EQ(out, counting(values, 1));
    }
  }
  getPluginRegistry()->deregisterCreator(creator);
}
#endif

// accepted without effect: IPluginV2Ext::isOutputBroadcastAcrossBatch, IPluginV2Ext::canBroadcastInputAcrossBatch,
// ITensor::setBroadcastAcrossBatch, ITensor::getBroadcastAcrossBatch: nothing is broadcast
TEST(ElderPlugin, OfTheFirstClassIsConfiguredWithAFormat) { expect_plus_one<Plain>(); }
TEST(ElderPlugin, OfTheSecondClassIsConfiguredWithTypes) { expect_plus_one<Extended>(); }

TEST(ElderPlugin, NeedsSizesThatAreKnown) {
  Maker maker;
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims2{-1, 3});
  Plain plugin;
  IPluginV2Layer* layer = maker.network->addPluginV2(&x, 1, plugin);
  EXPECT_EQ(layer->getOutput(0)->getDimensions().nbDims, -1);
  EXPECT_TRUE(maker.logger.has(
      "PluginV2Layer must be V2DynamicExt when there are runtime input dimensions"))
      << maker.logger.text;
}

// Which class a plugin has stands in its version; clients never override it.
TEST(ElderPlugin, SaysItsClass) {
  const auto kind = [](const IPluginV2& plugin) {
    return static_cast<PluginVersion>(static_cast<uint32_t>(plugin.getTensorRTVersion()) >> 24);
  };
  EXPECT_EQ(kind(Plain()), PluginVersion::kV2);
  EXPECT_EQ(kind(Extended()), PluginVersion::kV2_EXT);
}

}  // namespace
}  // namespace trt_test
