// SPDX-License-Identifier: Apache-2.0
// Tables of runtimes, refitters, profiles and sizes.
#pragma once

#include "trt_tables_types.h"

namespace nvinfer1 {
namespace apiv {

class VHostMemory : public VRoot {
 public:
  virtual void* data() const noexcept = 0;
  virtual std::size_t size() const noexcept = 0;
  virtual DataType type() const noexcept = 0;
};

class VOptimizationProfile : public VRoot {
 public:
  virtual bool setDimensions(char const*, OptProfileSelector, Dims const&) noexcept = 0;
  virtual Dims getDimensions(char const*, OptProfileSelector) const noexcept = 0;
  virtual bool setShapeValues(char const*, OptProfileSelector, int32_t const*,
                              int32_t) noexcept = 0;
  virtual int32_t getNbShapeValues(char const*) const noexcept = 0;
  virtual int32_t const* getShapeValues(char const*, OptProfileSelector) const noexcept = 0;
  virtual bool setExtraMemoryTarget(float) noexcept = 0;
  virtual float getExtraMemoryTarget() const noexcept = 0;
  virtual bool isValid() const noexcept = 0;
  virtual bool setShapeValuesV2(char const*, OptProfileSelector, int64_t const*,
                                int32_t) noexcept = 0;
  virtual int64_t const* getShapeValuesV2(char const*, OptProfileSelector) const noexcept = 0;
};

class VSerializationConfig : public VRoot {
 public:
  virtual bool setFlags(uint32_t) noexcept = 0;
  virtual uint32_t getFlags() const noexcept = 0;
  virtual bool clearFlag(SerializationFlag) noexcept = 0;
  virtual bool setFlag(SerializationFlag) noexcept = 0;
  virtual bool getFlag(SerializationFlag) const noexcept = 0;
};

class VRuntimeConfig : public VRoot {
 public:
  virtual IRuntimeConfig* getPImpl() noexcept = 0;
  virtual void setExecutionContextAllocationStrategy(
      ExecutionContextAllocationStrategy) noexcept = 0;
  virtual ExecutionContextAllocationStrategy getExecutionContextAllocationStrategy()
      const noexcept = 0;
};

class VRuntime : public VRoot {
 public:
  virtual IRuntime* getPImpl() noexcept = 0;
  virtual ICudaEngine* deserializeCudaEngine(void const*, std::size_t) noexcept = 0;
  virtual ICudaEngine* deserializeCudaEngine(IStreamReader&) = 0;
  virtual void setDLACore(int32_t) noexcept = 0;
  virtual int32_t getDLACore() const noexcept = 0;
  virtual int32_t getNbDLACores() const noexcept = 0;
  virtual void setGpuAllocator(IGpuAllocator*) noexcept = 0;
  virtual void setErrorRecorder(IErrorRecorder*) noexcept = 0;
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;
  virtual ILogger* getLogger() const noexcept = 0;
  virtual bool setMaxThreads(int32_t) noexcept = 0;
  virtual int32_t getMaxThreads() const noexcept = 0;
  virtual void setTemporaryDirectory(char const*) noexcept = 0;
  virtual char const* getTemporaryDirectory() const noexcept = 0;
  virtual void setTempfileControlFlags(uint32_t) noexcept = 0;
  virtual uint32_t getTempfileControlFlags() const noexcept = 0;
  virtual IPluginRegistry& getPluginRegistry() noexcept = 0;
  virtual void setPluginRegistryParent(IPluginRegistry*) noexcept = 0;
  virtual IRuntime* loadRuntime(char const*) noexcept = 0;
  virtual void setEngineHostCodeAllowed(bool) noexcept = 0;
  virtual bool getEngineHostCodeAllowed() const noexcept = 0;
  virtual ICudaEngine* deserializeCudaEngineV2(IStreamReaderV2&) = 0;
};

class VRefitter : public VRoot {
 public:
  virtual IRefitter* getPImpl() noexcept = 0;
  virtual bool setWeights(char const*, WeightsRole, Weights) noexcept = 0;
  virtual bool refitCudaEngine() noexcept = 0;
  virtual int32_t getMissing(int32_t, char const**, WeightsRole*) noexcept = 0;
  virtual int32_t getAll(int32_t, char const**, WeightsRole*) noexcept = 0;
  virtual bool setDynamicRange(char const*, float, float) noexcept = 0;
  virtual float getDynamicRangeMin(char const*) const noexcept = 0;
  virtual float getDynamicRangeMax(char const*) const noexcept = 0;
  virtual int32_t getTensorsWithDynamicRange(int32_t, char const**) const noexcept = 0;
  virtual void setErrorRecorder(IErrorRecorder*) noexcept = 0;
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;
  virtual bool setNamedWeights(char const*, Weights) noexcept = 0;
  virtual int32_t getMissingWeights(int32_t, char const**) noexcept = 0;
  virtual int32_t getAllWeights(int32_t, char const**) noexcept = 0;
  virtual ILogger* getLogger() const noexcept = 0;
  virtual bool setMaxThreads(int32_t) noexcept = 0;
  virtual int32_t getMaxThreads() const noexcept = 0;
  virtual bool setNamedWeightsWithLocation(char const*, Weights, TensorLocation) noexcept = 0;
  virtual Weights getNamedWeights(char const*) const noexcept = 0;
  virtual TensorLocation getWeightsLocation(char const*) const noexcept = 0;
  virtual bool unsetNamedWeights(char const*) noexcept = 0;
  virtual void setWeightsValidation(bool) noexcept = 0;
  virtual bool getWeightsValidation() const noexcept = 0;
  virtual bool refitCudaEngineAsync(cudaStream_t) noexcept = 0;
  virtual Weights getWeightsPrototype(char const*) const noexcept = 0;
};

class VEngineInspector : public VRoot {
 public:
  virtual IEngineInspector* getPImpl() noexcept = 0;
  virtual bool setExecutionContext(IExecutionContext const*) noexcept = 0;
  virtual IExecutionContext const* getExecutionContext() const noexcept = 0;
  virtual char const* getLayerInformation(int32_t, LayerInformationFormat) const noexcept = 0;
  virtual char const* getEngineInformation(LayerInformationFormat) const noexcept = 0;
  virtual void setErrorRecorder(IErrorRecorder*) noexcept = 0;
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;
};

class VDimensionExpr : public VRoot {
 public:
  virtual bool isConstant() const noexcept = 0;
  virtual int64_t getConstantValue() const noexcept = 0;
  virtual bool isSizeTensor() const noexcept = 0;
};

class VExprBuilder : public VRoot {
 public:
  virtual IDimensionExpr const* constant(int64_t) noexcept = 0;
  virtual IDimensionExpr const* operation(DimensionOperation, IDimensionExpr const&,
                                          IDimensionExpr const&) noexcept = 0;
  virtual IDimensionExpr const* declareSizeTensor(int32_t, IDimensionExpr const&,
                                                  IDimensionExpr const&) noexcept = 0;
};

}  // namespace apiv
}  // namespace nvinfer1
