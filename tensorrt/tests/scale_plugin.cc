// SPDX-License-Identifier: Apache-2.0
// A library of one plugin of TensorRT, y = factor * x, as trtexec --dynamicPlugins loads it (tests/cli/trtexec_plan_test.py).
#include <cstring>
#include <string>

#include "NvInfer.h"

namespace {

using namespace nvinfer1;

class Scale : public IPluginV2DynamicExt {
 public:
  explicit Scale(float factor) : factor_(factor) {}
  IPluginV2DynamicExt* clone() const noexcept override { return new Scale(factor_); }
  DimsExprs getOutputDimensions(int32_t, DimsExprs const* inputs, int32_t,
                                IExprBuilder&) noexcept override {
    return inputs[0];
  }
  bool supportsFormatCombination(int32_t pos, PluginTensorDesc const* inOut, int32_t,
                                 int32_t) noexcept override {
    return inOut[pos].type == DataType::kFLOAT && inOut[pos].format == TensorFormat::kLINEAR;
  }
  void configurePlugin(DynamicPluginTensorDesc const*, int32_t, DynamicPluginTensorDesc const*,
                       int32_t) noexcept override {}
  size_t getWorkspaceSize(PluginTensorDesc const*, int32_t, PluginTensorDesc const*,
                          int32_t) const noexcept override {
    return 0;
  }
  int32_t enqueue(PluginTensorDesc const* in, PluginTensorDesc const*, void const* const* inputs,
                  void* const* outputs, void*, cudaStream_t) noexcept override {
    int64_t count = 1;
    for (int32_t i = 0; i < in[0].dims.nbDims; ++i) count *= in[0].dims.d[i];
    for (int64_t i = 0; i < count; ++i)
      static_cast<float*>(outputs[0])[i] = factor_ * static_cast<const float*>(inputs[0])[i];
    return 0;
  }
  DataType getOutputDataType(int32_t, DataType const* types, int32_t) const noexcept override {
    return types[0];
  }
  char const* getPluginType() const noexcept override { return "ScaleBy"; }
  char const* getPluginVersion() const noexcept override { return "1"; }
  int32_t getNbOutputs() const noexcept override { return 1; }
  int32_t initialize() noexcept override { return 0; }
  void terminate() noexcept override {}
  size_t getSerializationSize() const noexcept override { return sizeof factor_; }
  void serialize(void* buffer) const noexcept override {
    std::memcpy(buffer, &factor_, sizeof factor_);
  }
  void destroy() noexcept override { delete this; }
  void setPluginNamespace(char const*) noexcept override {}
  char const* getPluginNamespace() const noexcept override { return ""; }

 private:
  float factor_;
};

class ScaleCreator : public IPluginCreator {
 public:
  char const* getPluginName() const noexcept override { return "ScaleBy"; }
  char const* getPluginVersion() const noexcept override { return "1"; }
  PluginFieldCollection const* getFieldNames() noexcept override {
    static const PluginField field{"factor", nullptr, PluginFieldType::kFLOAT32, 1};
    static const PluginFieldCollection fields{1, &field};
    return &fields;
  }
  IPluginV2* createPlugin(char const*, PluginFieldCollection const* fields) noexcept override {
    if (fields->nbFields != 1) return nullptr;
    return new Scale(*static_cast<const float*>(fields->fields[0].data));
  }
  IPluginV2* deserializePlugin(char const*, void const* data, size_t length) noexcept override {
    float factor = 0;
    if (length != sizeof factor) return nullptr;
    std::memcpy(&factor, data, sizeof factor);
    return new Scale(factor);
  }
  void setPluginNamespace(char const*) noexcept override {}
  char const* getPluginNamespace() const noexcept override { return ""; }
};

REGISTER_TENSORRT_PLUGIN(ScaleCreator);

}  // namespace
