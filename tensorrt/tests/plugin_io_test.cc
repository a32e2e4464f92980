// SPDX-License-Identifier: Apache-2.0
// A plugin of IPluginV2IOExt on codes: it knows the scales that it was configured with, and no others.
#include <cmath>

#include "support.h"

namespace trt_test {
namespace {

using Values = std::vector<float>;

// y = 2x.
class TwicePlugin : public IPluginV2IOExt {
 public:
  char const* getPluginType() const noexcept override { return "Twice_TEST"; }
  char const* getPluginVersion() const noexcept override { return "1"; }
  int32_t getNbOutputs() const noexcept override { return 1; }
  Dims getOutputDimensions(int32_t, Dims const* inputs, int32_t) noexcept override {
    return inputs[0];
  }
  DataType getOutputDataType(int32_t, DataType const* types, int32_t) const noexcept override {
    return types[0];
  }
  bool supportsFormatCombination(int32_t pos, PluginTensorDesc const* descs, int32_t,
                                 int32_t) const noexcept override {
    const PluginTensorDesc& desc = descs[pos];
    return desc.format == TensorFormat::kLINEAR && desc.type == descs[0].type &&
           (desc.type == DataType::kFLOAT || desc.type == DataType::kINT8);
  }
  void configurePlugin(PluginTensorDesc const* in, int32_t, PluginTensorDesc const* out,
                       int32_t) noexcept override {
    in_ = *in;
    out_ = *out;
    size_ = volume(in->dims);
  }
  size_t getWorkspaceSize(int32_t) const noexcept override { return 0; }
  int32_t enqueue(int32_t, void const* const* inputs, void* const* outputs, void*,
                  cudaStream_t) noexcept override {
    for (int64_t i = 0; i < size_; ++i) {
      if (in_.type == DataType::kFLOAT) {
        static_cast<float*>(outputs[0])[i] = 2 * static_cast<const float*>(inputs[0])[i];
        continue;
      }
      const auto code = static_cast<float>(static_cast<const int8_t*>(inputs[0])[i]);
      static_cast<int8_t*>(outputs[0])[i] =
          static_cast<int8_t>(std::nearbyint(2 * code * in_.scale / out_.scale));
    }
    return 0;
  }
  int32_t initialize() noexcept override { return 0; }
  void terminate() noexcept override {}
  size_t getSerializationSize() const noexcept override { return sizeof size_; }
  void serialize(void* buffer) const noexcept override {
    std::memcpy(buffer, &size_, sizeof size_);
  }
  void destroy() noexcept override { delete this; }
  IPluginV2IOExt* clone() const noexcept override { return new TwicePlugin(*this); }
  void setPluginNamespace(char const*) noexcept override {}
  char const* getPluginNamespace() const noexcept override { return ""; }

  void set_size(int64_t size) { size_ = size; }

 private:
  int64_t size_ = 0;
  PluginTensorDesc in_{}, out_{};
};

class TwiceCreator : public IPluginCreator {
 public:
  char const* getPluginName() const noexcept override { return "Twice_TEST"; }
  char const* getPluginVersion() const noexcept override { return "1"; }
  PluginFieldCollection const* getFieldNames() noexcept override { return nullptr; }
  IPluginV2* createPlugin(char const*, PluginFieldCollection const*) noexcept override {
    return new TwicePlugin;
  }
  IPluginV2* deserializePlugin(char const*, void const* data, size_t) noexcept override {
    auto* plugin = new TwicePlugin;
    int64_t size;
    std::memcpy(&size, data, sizeof size);
    plugin->set_size(size);
    return plugin;
  }
  void setPluginNamespace(char const*) noexcept override {}
  char const* getPluginNamespace() const noexcept override { return ""; }
};

// Between convolutions that change nothing: on codes where `int8`, and on reals else.
struct TwiceMaker : Maker {
  explicit TwiceMaker(bool int8) : kernel(16, 0.0F) {
    for (size_t i = 0; i < 4; ++i) kernel[i * 5] = 1;
    if (int8) config->setFlag(BuilderFlag::kINT8);
    ITensor* x = network->addInput("x", DataType::kFLOAT, Dims4{1, 4, 2, 3});
    x->setDynamicRange(-127, 127);
    ITensor* in = same(*x);
    TwicePlugin plugin;
    ITensor* out = network->addPluginV2(&in, 1, plugin)->getOutput(0);
    out->setDynamicRange(-127, 127);
    network->markOutput(*same(*out));
  }
  ITensor* same(ITensor& input) {
    ITensor* output =
        network->addConvolutionNd(input, 4, DimsHW{1, 1}, weights_of(kernel), Weights{})
            ->getOutput(0);
    output->setDynamicRange(-127, 127);
    return output;
  }
  Values kernel;
};

// To the process they are one plugin, which has to be configured for each engine's tensors.
TEST(IoPlugin, RunsInEnginesOfRealsAndOfCodesByTurns) {
  TwiceCreator creator;
  ASSERT_TRUE(getPluginRegistry()->registerCreator(creator, ""));
  {
    TwiceMaker reals(false), codes(true);
    const Own<ICudaEngine> first = reals.build(), second = codes.build();
    ASSERT_TRUE(first && second) << reals.logger.text << codes.logger.text;
    Values wanted;
    for (const float value : counting(24, -12)) wanted.push_back(2 * value);
    for (int turn = 0; turn < 3; ++turn) {
      EXPECT_EQ(run(*first, counting(24, -12)), wanted);
      EXPECT_EQ(run(*second, counting(24, -12)), wanted);
    }
  }
  getPluginRegistry()->deregisterCreator(creator);
}

}  // namespace
}  // namespace trt_test
