// SPDX-License-Identifier: Apache-2.0
// The capabilities of plugins that TensorRT's Python makes of functions (tensorrt.plugin): the formats that they take are a list, and they are told strides.
// That one which compiles kernels ahead of time (IPluginV3QuickAOTBuild) is not declared.
#pragma once

#include "trt_plugin_v3.h"

#if NV_TENSORRT_MAJOR >= 10
namespace nvinfer1 {

OCTET_TRT_V1_BEGIN

class IPluginV3QuickCore : public IPluginCapability {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"PLUGIN_V3QUICK_CORE", 1, 0};
  }
  virtual AsciiChar const* getPluginName() const TRTNOEXCEPT = 0;
  virtual AsciiChar const* getPluginVersion() const TRTNOEXCEPT = 0;
  virtual AsciiChar const* getPluginNamespace() const TRTNOEXCEPT = 0;
};

class IPluginV3QuickBuild : public IPluginCapability {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"PLUGIN_V3QUICK_BUILD", 1, 0};
  }
  virtual int32_t getOutputDataTypes(DataType* outputTypes, int32_t nbOutputs,
                                     DataType const* inputTypes, int32_t const* inputRanks,
                                     int32_t nbInputs) const TRTNOEXCEPT = 0;
  virtual int32_t getOutputShapes(DimsExprs const* inputs, int32_t nbInputs,
                                  DimsExprs const* shapeInputs, int32_t nbShapeInputs,
                                  DimsExprs* outputs, int32_t nbOutputs,
                                  IExprBuilder& exprBuilder) TRTNOEXCEPT = 0;
  virtual int32_t configurePlugin(DynamicPluginTensorDesc const* in, int32_t nbInputs,
                                  DynamicPluginTensorDesc const* out,
                                  int32_t nbOutputs) TRTNOEXCEPT = 0;
  virtual int32_t getNbSupportedFormatCombinations(DynamicPluginTensorDesc const* inOut,
                                                   int32_t nbInputs,
                                                   int32_t nbOutputs) TRTNOEXCEPT = 0;
  virtual int32_t getSupportedFormatCombinations(DynamicPluginTensorDesc const* inOut,
                                                 int32_t nbInputs, int32_t nbOutputs,
                                                 PluginTensorDesc* supportedCombinations,
                                                 int32_t nbFormatCombinations) TRTNOEXCEPT = 0;
  virtual int32_t getNbOutputs() const TRTNOEXCEPT = 0;
  virtual int32_t getAliasedInput(int32_t) TRTNOEXCEPT { return -1; }
  virtual int32_t getValidTactics(int32_t*, int32_t) TRTNOEXCEPT { return 0; }
  virtual int32_t getNbTactics() TRTNOEXCEPT { return 0; }
  virtual char const* getTimingCacheID() TRTNOEXCEPT { return nullptr; }
  virtual char const* getMetadataString() TRTNOEXCEPT { return nullptr; }
};

class IPluginV3QuickRuntime : public IPluginCapability {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"PLUGIN_V3QUICK_RUNTIME", 1, 0};
  }
  virtual int32_t setTactic(int32_t) TRTNOEXCEPT { return 0; }
  virtual int32_t enqueue(PluginTensorDesc const* inputDesc, PluginTensorDesc const* outputDesc,
                          void const* const* inputs, void* const* outputs, Dims const* inputStrides,
                          Dims const* outputStrides, int32_t nbInputs, int32_t nbOutputs,
                          cudaStream_t stream) TRTNOEXCEPT = 0;
  virtual PluginFieldCollection const* getFieldsToSerialize() TRTNOEXCEPT = 0;
};

OCTET_TRT_V1_END

}  // namespace nvinfer1
#endif
