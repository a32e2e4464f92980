// SPDX-License-Identifier: Apache-2.0
// Plugins of level 10: one object that shows a capability for each phase.
#pragma once

#include "trt_plugin_dynamic.h"

#if NV_TENSORRT_MAJOR >= 10
namespace nvinfer1 {

enum class PluginCapabilityType : int32_t { kCORE = 0, kBUILD = 1, kRUNTIME = 2 };
OCTET_TRT_ENUM_MAX(PluginCapabilityType, 3)

OCTET_TRT_V1_BEGIN

class IPluginCapability : public IVersionedInterface {};

// What plugins share: counted by the registry, released with its last user.
class IPluginResource : public IVersionedInterface {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"IPluginResource", 1, 0};
  }
  virtual int32_t release() TRTNOEXCEPT = 0;
  virtual IPluginResource* clone() TRTNOEXCEPT = 0;
  ~IPluginResource() noexcept override = default;
  IPluginResource() = default;
};

OCTET_TRT_V1_END

class IPluginResourceContext {
 public:
  virtual IGpuAllocator* getGpuAllocator() const noexcept = 0;
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;
  virtual ~IPluginResourceContext() noexcept = default;
};

OCTET_TRT_V1_BEGIN

class IPluginV3 : public IVersionedInterface {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"PLUGIN", 1, 0}; }
  virtual IPluginCapability* getCapabilityInterface(PluginCapabilityType type) TRTNOEXCEPT = 0;
  virtual IPluginV3* clone() TRTNOEXCEPT = 0;
};

class IPluginV3OneCore : public IPluginCapability {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"PLUGIN_V3ONE_CORE", 1, 0};
  }
  virtual AsciiChar const* getPluginName() const TRTNOEXCEPT = 0;
  virtual AsciiChar const* getPluginVersion() const TRTNOEXCEPT = 0;
  virtual AsciiChar const* getPluginNamespace() const TRTNOEXCEPT = 0;
};

class IPluginV3OneBuild : public IPluginCapability {
 public:
  static constexpr int32_t kDEFAULT_FORMAT_COMBINATION_LIMIT = 100;
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"PLUGIN_V3ONE_BUILD", 1, 0};
  }
  virtual int32_t configurePlugin(DynamicPluginTensorDesc const* in, int32_t nbInputs,
                                  DynamicPluginTensorDesc const* out,
                                  int32_t nbOutputs) TRTNOEXCEPT = 0;
  virtual int32_t getOutputDataTypes(DataType* outputTypes, int32_t nbOutputs,
                                     DataType const* inputTypes,
                                     int32_t nbInputs) const TRTNOEXCEPT = 0;
  virtual int32_t getOutputShapes(DimsExprs const* inputs, int32_t nbInputs,
                                  DimsExprs const* shapeInputs, int32_t nbShapeInputs,
                                  DimsExprs* outputs, int32_t nbOutputs,
                                  IExprBuilder& exprBuilder) TRTNOEXCEPT = 0;
  virtual bool supportsFormatCombination(int32_t pos, DynamicPluginTensorDesc const* inOut,
                                         int32_t nbInputs, int32_t nbOutputs) TRTNOEXCEPT = 0;
  virtual int32_t getNbOutputs() const TRTNOEXCEPT = 0;
  virtual size_t getWorkspaceSize(DynamicPluginTensorDesc const*, int32_t,
                                  DynamicPluginTensorDesc const*, int32_t) const TRTNOEXCEPT {
    return 0;
  }
  virtual int32_t getValidTactics(int32_t*, int32_t) TRTNOEXCEPT { return 0; }
  virtual int32_t getNbTactics() TRTNOEXCEPT { return 0; }
  virtual char const* getTimingCacheID() TRTNOEXCEPT { return nullptr; }
  virtual int32_t getFormatCombinationLimit() TRTNOEXCEPT {
    return kDEFAULT_FORMAT_COMBINATION_LIMIT;
  }
  virtual char const* getMetadataString() TRTNOEXCEPT { return nullptr; }
};

class IPluginV3OneBuildV2 : public IPluginV3OneBuild {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"PLUGIN_V3ONE_BUILD", 2, 0};
  }
  virtual int32_t getAliasedInput(int32_t) TRTNOEXCEPT { return -1; }
};

class IPluginV3OneRuntime : public IPluginCapability {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"PLUGIN_V3ONE_RUNTIME", 1, 0};
  }
  virtual int32_t setTactic(int32_t) TRTNOEXCEPT { return 0; }
  virtual int32_t onShapeChange(PluginTensorDesc const* in, int32_t nbInputs,
                                PluginTensorDesc const* out, int32_t nbOutputs) TRTNOEXCEPT = 0;
  virtual int32_t enqueue(PluginTensorDesc const* inputDesc, PluginTensorDesc const* outputDesc,
                          void const* const* inputs, void* const* outputs, void* workspace,
                          cudaStream_t stream) TRTNOEXCEPT = 0;
  virtual IPluginV3* attachToContext(IPluginResourceContext* context) TRTNOEXCEPT = 0;
  virtual PluginFieldCollection const* getFieldsToSerialize() TRTNOEXCEPT = 0;
};

OCTET_TRT_V1_END

class IPluginV3Layer : public ILayer {
  OCTET_TRT_HANDLE(VPluginV3Layer)
 public:
  OCTET_TRT_CALL(IPluginV3&, getPlugin, (), ())
};

}  // namespace nvinfer1
#endif
