// SPDX-License-Identifier: Apache-2.0
// Plugins of sizes that only a run tells: expressions of sizes, and the class of explicit batch.
#pragma once

#include "trt_plugin.h"

namespace nvinfer1 {

enum class DimensionOperation : int32_t {
  kSUM = 0,
  kPROD = 1,
  kMAX = 2,
  kMIN = 3,
  kSUB = 4,
  kEQUAL = 5,
  kLESS = 6,
  kFLOOR_DIV = 7,
  kCEIL_DIV = 8,
};
OCTET_TRT_ENUM_MAX(DimensionOperation, 9)

// A size, or what will be one. It lives as long as its builder.
class IDimensionExpr : public INoCopy {
  OCTET_TRT_HANDLE(VDimensionExpr)
 public:
  OCTET_TRT_ASK(bool, isConstant, (), ())
  OCTET_TRT_ASK(OctetSize, getConstantValue, (), ())
#if NV_TENSORRT_MAJOR >= 10
  OCTET_TRT_ASK(bool, isSizeTensor, (), ())
#endif

 protected:
  virtual ~IDimensionExpr() noexcept = default;
};

class IExprBuilder : public INoCopy {
  OCTET_TRT_HANDLE(VExprBuilder)
 public:
  OCTET_TRT_CALL(IDimensionExpr const*, constant, (OctetSize value), (value))
  OCTET_TRT_CALL(IDimensionExpr const*, operation,
                 (DimensionOperation op, IDimensionExpr const& first, IDimensionExpr const& second),
                 (op, first, second))
#if NV_TENSORRT_MAJOR >= 10
  OCTET_TRT_CALL(IDimensionExpr const*, declareSizeTensor,
                 (int32_t outputIndex, IDimensionExpr const& opt, IDimensionExpr const& upper),
                 (outputIndex, opt, upper))
#endif

 protected:
  virtual ~IExprBuilder() noexcept = default;
};

class DimsExprs {
 public:
  int32_t nbDims;
  IDimensionExpr const* d[Dims::MAX_DIMS];
};

struct DynamicPluginTensorDesc {
  PluginTensorDesc desc;
  Dims min;
  Dims max;
#if NV_TENSORRT_MAJOR >= 10
  Dims opt;
#endif
};

class IPluginV2DynamicExt : public IPluginV2Ext {
 public:
  static constexpr int32_t kFORMAT_COMBINATION_LIMIT = 100;
  int32_t getTensorRTVersion() const noexcept override {
    return OCTET_TRT_PLUGIN_VERSION(PluginVersion::kV2_DYNAMICEXT);
  }
  IPluginV2DynamicExt* clone() const TRTNOEXCEPT override = 0;
  virtual DimsExprs getOutputDimensions(int32_t outputIndex, DimsExprs const* inputs,
                                        int32_t nbInputs,
                                        IExprBuilder& exprBuilder) TRTNOEXCEPT = 0;
  virtual bool supportsFormatCombination(int32_t pos, PluginTensorDesc const* inOut,
                                         int32_t nbInputs, int32_t nbOutputs) TRTNOEXCEPT = 0;
  virtual void configurePlugin(DynamicPluginTensorDesc const* in, int32_t nbInputs,
                               DynamicPluginTensorDesc const* out,
                               int32_t nbOutputs) TRTNOEXCEPT = 0;
  virtual size_t getWorkspaceSize(PluginTensorDesc const* inputs, int32_t nbInputs,
                                  PluginTensorDesc const* outputs,
                                  int32_t nbOutputs) const TRTNOEXCEPT = 0;
  virtual int32_t enqueue(PluginTensorDesc const* inputDesc, PluginTensorDesc const* outputDesc,
                          void const* const* inputs, void* const* outputs, void* workspace,
                          cudaStream_t stream) TRTNOEXCEPT = 0;

 private:
  // What fixed sizes are asked; nobody asks it here.
  Dims getOutputDimensions(int32_t, Dims const*, int32_t) TRTNOEXCEPT final { return Dims{-1, {}}; }
  bool isOutputBroadcastAcrossBatch(int32_t, bool const*, int32_t) const TRTNOEXCEPT final {
    return false;
  }
  bool canBroadcastInputAcrossBatch(int32_t) const TRTNOEXCEPT final { return false; }
  bool supportsFormat(DataType, PluginFormat) const TRTNOEXCEPT final { return false; }
  void configurePlugin(Dims const*, int32_t, Dims const*, int32_t, DataType const*, DataType const*,
                       bool const*, bool const*, PluginFormat, int32_t) TRTNOEXCEPT final {}
  size_t getWorkspaceSize(int32_t) const TRTNOEXCEPT final { return 0; }
  int32_t enqueue(int32_t, void const* const*, void* const*, void*,
                  cudaStream_t) TRTNOEXCEPT final {
    return 1;
  }
};

}  // namespace nvinfer1
