// SPDX-License-Identifier: Apache-2.0
// Creators of plugins, and the registry that finds them by name.
#pragma once

#include "trt_plugin_quick.h"

namespace nvinfer1 {

OCTET_TRT_V1_BEGIN

class IPluginCreatorInterface : public IVersionedInterface {
 public:
  ~IPluginCreatorInterface() noexcept override = default;
};

class IPluginCreator : public IPluginCreatorInterface {
 public:
#if NV_TENSORRT_MAJOR < 10
  virtual int32_t getTensorRTVersion() const noexcept { return NV_TENSORRT_VERSION; }
#endif
  virtual AsciiChar const* getPluginName() const TRTNOEXCEPT = 0;
  virtual AsciiChar const* getPluginVersion() const TRTNOEXCEPT = 0;
  virtual PluginFieldCollection const* getFieldNames() TRTNOEXCEPT = 0;
  virtual IPluginV2* createPlugin(AsciiChar const* name,
                                  PluginFieldCollection const* fc) TRTNOEXCEPT = 0;
  virtual IPluginV2* deserializePlugin(AsciiChar const* name, void const* serialData,
                                       size_t serialLength) TRTNOEXCEPT = 0;
  virtual void setPluginNamespace(AsciiChar const* pluginNamespace) TRTNOEXCEPT = 0;
  virtual AsciiChar const* getPluginNamespace() const TRTNOEXCEPT = 0;
  IPluginCreator() = default;
  ~IPluginCreator() override = default;
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"PLUGIN CREATOR_V1", 1, 0};
  }
};

#if NV_TENSORRT_MAJOR >= 10
class IPluginCreatorV3One : public IPluginCreatorInterface {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"PLUGIN CREATOR_V3ONE", 1, 0};
  }
  virtual IPluginV3* createPlugin(AsciiChar const* name, PluginFieldCollection const* fc,
                                  TensorRTPhase phase) TRTNOEXCEPT = 0;
  virtual PluginFieldCollection const* getFieldNames() TRTNOEXCEPT = 0;
  virtual AsciiChar const* getPluginName() const TRTNOEXCEPT = 0;
  virtual AsciiChar const* getPluginVersion() const TRTNOEXCEPT = 0;
  virtual AsciiChar const* getPluginNamespace() const TRTNOEXCEPT = 0;
  IPluginCreatorV3One() = default;
  ~IPluginCreatorV3One() override = default;
};

OCTET_TRT_V1_END

enum class QuickPluginCreationRequest : int32_t {
  kUNKNOWN = 0,
  kPREFER_JIT = 1,
  kPREFER_AOT = 2,
  kSTRICT_JIT = 3,
  kSTRICT_AOT = 4,
};
OCTET_TRT_ENUM_MAX(QuickPluginCreationRequest, 5)

OCTET_TRT_V1_BEGIN

class IPluginCreatorV3Quick : public IPluginCreatorInterface {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"PLUGIN CREATOR_V3QUICK", 1, 0};
  }
  virtual IPluginV3* createPlugin(
      AsciiChar const* name, AsciiChar const* nspace, PluginFieldCollection const* fc,
      TensorRTPhase phase, QuickPluginCreationRequest quickPluginCreationRequest) TRTNOEXCEPT = 0;
  virtual PluginFieldCollection const* getFieldNames() TRTNOEXCEPT = 0;
  virtual AsciiChar const* getPluginName() const TRTNOEXCEPT = 0;
  virtual AsciiChar const* getPluginVersion() const TRTNOEXCEPT = 0;
  virtual AsciiChar const* getPluginNamespace() const TRTNOEXCEPT = 0;
  IPluginCreatorV3Quick() = default;
  ~IPluginCreatorV3Quick() override = default;
};
#endif

OCTET_TRT_V1_END

// Called by place, as the tables are, with the destructor where TensorRT has it.
class IPluginRegistry {
 public:
  using PluginLibraryHandle = void*;
  virtual bool registerCreator(IPluginCreator& creator,
                               AsciiChar const* const pluginNamespace) noexcept = 0;
  virtual IPluginCreator* const* getPluginCreatorList(
      int32_t* const numCreators) const noexcept = 0;
  virtual IPluginCreator* getPluginCreator(
      AsciiChar const* const pluginName, AsciiChar const* const pluginVersion,
      AsciiChar const* const pluginNamespace = "") noexcept = 0;

 protected:
  virtual ~IPluginRegistry() noexcept = default;

 public:
  virtual void setErrorRecorder(IErrorRecorder* const recorder) noexcept = 0;
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;
  virtual bool deregisterCreator(IPluginCreator const& creator) noexcept = 0;
  virtual bool isParentSearchEnabled() const = 0;
  virtual void setParentSearchEnabled(bool const enabled) = 0;
  virtual PluginLibraryHandle loadLibrary(AsciiChar const* pluginPath) noexcept = 0;
  virtual void deregisterLibrary(PluginLibraryHandle handle) noexcept = 0;
#if NV_TENSORRT_MAJOR >= 10
  virtual bool registerCreator(IPluginCreatorInterface& creator,
                               AsciiChar const* const pluginNamespace) noexcept = 0;
  virtual IPluginCreatorInterface* const* getAllCreators(
      int32_t* const numCreators) const noexcept = 0;
  virtual IPluginCreatorInterface* getCreator(
      AsciiChar const* const pluginName, AsciiChar const* const pluginVersion,
      AsciiChar const* const pluginNamespace = "") noexcept = 0;
  virtual bool deregisterCreator(IPluginCreatorInterface const& creator) noexcept = 0;
  virtual IPluginResource* acquirePluginResource(AsciiChar const* key,
                                                 IPluginResource* resource) noexcept = 0;
  virtual int32_t releasePluginResource(AsciiChar const* key) noexcept = 0;
  virtual IPluginCreatorInterface* const* getAllCreatorsRecursive(
      int32_t* const numCreators) noexcept = 0;
#endif
};

template <typename T>
class PluginRegistrar {
 public:
  PluginRegistrar();

 private:
  T instance{};
};

}  // namespace nvinfer1

extern "C" nvinfer1::IPluginRegistry* getPluginRegistry() noexcept;

namespace nvinfer1 {
template <typename T>
PluginRegistrar<T>::PluginRegistrar() {
  ::getPluginRegistry()->registerCreator(instance, "");
}
}  // namespace nvinfer1

#define REGISTER_TENSORRT_PLUGIN(name) \
  static nvinfer1::PluginRegistrar<name> pluginRegistrar##name {}
