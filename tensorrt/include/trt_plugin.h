// SPDX-License-Identifier: Apache-2.0
// Plugins: what they are made from, and the classes of fixed sizes that clients derive from. Dynamic ones: trt_plugin_dynamic.h.
#pragma once

#include "trt_network.h"

namespace nvinfer1 {

enum class PluginFieldType : int32_t {
  kFLOAT16 = 0,
  kFLOAT32 = 1,
  kFLOAT64 = 2,
  kINT8 = 3,
  kINT16 = 4,
  kINT32 = 5,
  kCHAR = 6,
  kDIMS = 7,
  kUNKNOWN = 8,
#if NV_TENSORRT_MAJOR >= 10
  kBF16 = 9,
  kINT64 = 10,
  kFP8 = 11,
  kINT4 = 12,
  kFP4 = 13,
#endif
};

class PluginField {
 public:
  AsciiChar const* name;
  void const* data;
  PluginFieldType type;
  int32_t length;
  PluginField(AsciiChar const* name_ = nullptr, void const* data_ = nullptr,
              PluginFieldType type_ = PluginFieldType::kUNKNOWN, int32_t length_ = 0) noexcept
      : name(name_), data(data_), type(type_), length(length_) {}
};

struct PluginFieldCollection {
  int32_t nbFields;
  PluginField const* fields;
};

struct PluginTensorDesc {
  Dims dims;
  DataType type;
  TensorFormat format;
  float scale;
};

enum class PluginVersion : uint8_t {
  kV2 = 0,
  kV2_EXT = 1,
  kV2_IOEXT = 2,
  kV2_DYNAMICEXT = 3,
};

// Which class a plugin derives from stands in the highest byte of its version: no run-time type information is needed.
#define OCTET_TRT_PLUGIN_VERSION(kind) \
  (static_cast<int32_t>((static_cast<uint32_t>(kind) << 24) | (NV_TENSORRT_VERSION & 0xFFFFFF)))

class IPluginV2 {
 public:
  virtual int32_t getTensorRTVersion() const noexcept {
    return OCTET_TRT_PLUGIN_VERSION(PluginVersion::kV2);
  }
  virtual AsciiChar const* getPluginType() const TRTNOEXCEPT = 0;
  virtual AsciiChar const* getPluginVersion() const TRTNOEXCEPT = 0;
  virtual int32_t getNbOutputs() const TRTNOEXCEPT = 0;
  virtual Dims getOutputDimensions(int32_t index, Dims const* inputs,
                                   int32_t nbInputDims) TRTNOEXCEPT = 0;
  virtual bool supportsFormat(DataType type, PluginFormat format) const TRTNOEXCEPT = 0;
  virtual void configureWithFormat(Dims const* inputDims, int32_t nbInputs, Dims const* outputDims,
                                   int32_t nbOutputs, DataType type, PluginFormat format,
                                   int32_t maxBatchSize) TRTNOEXCEPT = 0;
  virtual int32_t initialize() TRTNOEXCEPT = 0;
  virtual void terminate() TRTNOEXCEPT = 0;
  virtual size_t getWorkspaceSize(int32_t maxBatchSize) const TRTNOEXCEPT = 0;
  virtual int32_t enqueue(int32_t batchSize, void const* const* inputs, void* const* outputs,
                          void* workspace, cudaStream_t stream) TRTNOEXCEPT = 0;
  virtual size_t getSerializationSize() const TRTNOEXCEPT = 0;
  virtual void serialize(void* buffer) const TRTNOEXCEPT = 0;
  virtual void destroy() TRTNOEXCEPT = 0;
  virtual IPluginV2* clone() const TRTNOEXCEPT = 0;
  virtual void setPluginNamespace(AsciiChar const* pluginNamespace) TRTNOEXCEPT = 0;
  virtual AsciiChar const* getPluginNamespace() const TRTNOEXCEPT = 0;
  IPluginV2() = default;
  virtual ~IPluginV2() noexcept = default;

 protected:
  IPluginV2(IPluginV2 const&) = default;
  IPluginV2(IPluginV2&&) = default;
  IPluginV2& operator=(IPluginV2 const&) & = default;
  IPluginV2& operator=(IPluginV2&&) & = default;
};

class IPluginV2Ext : public IPluginV2 {
 public:
  int32_t getTensorRTVersion() const noexcept override {
    return OCTET_TRT_PLUGIN_VERSION(PluginVersion::kV2_EXT);
  }
  virtual DataType getOutputDataType(int32_t index, DataType const* inputTypes,
                                     int32_t nbInputs) const TRTNOEXCEPT = 0;
  virtual bool isOutputBroadcastAcrossBatch(int32_t, bool const*, int32_t) const TRTNOEXCEPT {
    return false;
  }
  virtual bool canBroadcastInputAcrossBatch(int32_t) const TRTNOEXCEPT { return false; }
  virtual void configurePlugin(Dims const* inputDims, int32_t nbInputs, Dims const* outputDims,
                               int32_t nbOutputs, DataType const* inputTypes,
                               DataType const* outputTypes, bool const* inputIsBroadcast,
                               bool const* outputIsBroadcast, PluginFormat floatFormat,
                               int32_t maxBatchSize) TRTNOEXCEPT = 0;
  virtual void attachToContext(cudnnContext*, cublasContext*, IGpuAllocator*) TRTNOEXCEPT {}
  virtual void detachFromContext() TRTNOEXCEPT {}
  IPluginV2Ext* clone() const TRTNOEXCEPT override = 0;
  void configureWithFormat(Dims const*, int32_t, Dims const*, int32_t, DataType, PluginFormat,
                           int32_t) TRTNOEXCEPT override {}
};

class IPluginV2IOExt : public IPluginV2Ext {
 public:
  int32_t getTensorRTVersion() const noexcept override {
    return OCTET_TRT_PLUGIN_VERSION(PluginVersion::kV2_IOEXT);
  }
  virtual void configurePlugin(PluginTensorDesc const* in, int32_t nbInput,
                               PluginTensorDesc const* out, int32_t nbOutput) TRTNOEXCEPT = 0;
  virtual bool supportsFormatCombination(int32_t pos, PluginTensorDesc const* inOut,
                                         int32_t nbInputs, int32_t nbOutputs) const TRTNOEXCEPT = 0;

 private:
  void configurePlugin(Dims const*, int32_t, Dims const*, int32_t, DataType const*, DataType const*,
                       bool const*, bool const*, PluginFormat, int32_t) TRTNOEXCEPT final {}
  bool supportsFormat(DataType, PluginFormat) const TRTNOEXCEPT final { return false; }
};

class IPluginV2Layer : public ILayer {
  OCTET_TRT_HANDLE(VPluginV2Layer)
 public:
  OCTET_TRT_CALL(IPluginV2&, getPlugin, (), ())
};

}  // namespace nvinfer1
