// SPDX-License-Identifier: Apache-2.0
// Plugins of version 3 and their creators, with what the tests of most do not care about: one class has all capabilities, its one result is
// of the first input's type, it has no fields, and each context gets a clone.
#pragma once

#include "NvInfer.h"

#if NV_TENSORRT_MAJOR >= 10
namespace trt_test {

// `Build` is nvinfer1's IPluginV3OneBuild or IPluginV3OneBuildV2.
template <class Build>
class PlainV3 : public nvinfer1::IPluginV3,
                public nvinfer1::IPluginV3OneCore,
                public Build,
                public nvinfer1::IPluginV3OneRuntime {
 public:
  nvinfer1::IPluginCapability* getCapabilityInterface(
      nvinfer1::PluginCapabilityType type) noexcept override {
    using nvinfer1::PluginCapabilityType;
    if (type == PluginCapabilityType::kCORE) return static_cast<nvinfer1::IPluginV3OneCore*>(this);
    if (type == PluginCapabilityType::kBUILD) return static_cast<Build*>(this);
    return static_cast<nvinfer1::IPluginV3OneRuntime*>(this);
  }
  char const* getPluginVersion() const noexcept override { return "1"; }
  char const* getPluginNamespace() const noexcept override { return ""; }
  int32_t getNbOutputs() const noexcept override { return 1; }
  int32_t configurePlugin(nvinfer1::DynamicPluginTensorDesc const*, int32_t,
                          nvinfer1::DynamicPluginTensorDesc const*, int32_t) noexcept override {
    return 0;
  }
  int32_t getOutputDataTypes(nvinfer1::DataType* types, int32_t, nvinfer1::DataType const* inputs,
                             int32_t) const noexcept override {
    types[0] = inputs[0];
    return 0;
  }
  int32_t onShapeChange(nvinfer1::PluginTensorDesc const*, int32_t,
                        nvinfer1::PluginTensorDesc const*, int32_t) noexcept override {
    return 0;
  }
  nvinfer1::IPluginV3* attachToContext(nvinfer1::IPluginResourceContext*) noexcept override {
    return this->clone();
  }
  nvinfer1::PluginFieldCollection const* getFieldsToSerialize() noexcept override { return &none_; }

 private:
  nvinfer1::PluginFieldCollection none_ = {0, nullptr};
};

template <class Plugin>
class PlainCreatorV3 : public nvinfer1::IPluginCreatorV3One {
 public:
  nvinfer1::IPluginV3* createPlugin(char const*, nvinfer1::PluginFieldCollection const*,
                                    nvinfer1::TensorRTPhase) noexcept override {
    return new Plugin;
  }
  nvinfer1::PluginFieldCollection const* getFieldNames() noexcept override { return nullptr; }
  char const* getPluginName() const noexcept override { return Plugin::kName; }
  char const* getPluginVersion() const noexcept override { return "1"; }
  char const* getPluginNamespace() const noexcept override { return Plugin::kSpace; }
};

}  // namespace trt_test
#endif
