// SPDX-License-Identifier: Apache-2.0
// Tables of engines and contexts.
#pragma once

#include "trt_tables_types.h"

namespace nvinfer1 {
namespace apiv {

class VCudaEngine : public VRoot {
 public:
  virtual ICudaEngine* getPImpl() noexcept = 0;
  virtual int32_t getNbLayers() const noexcept = 0;
  virtual IHostMemory* serialize() const noexcept = 0;
  virtual IExecutionContext* createExecutionContext(
      ExecutionContextAllocationStrategy) noexcept = 0;
  virtual IExecutionContext* createExecutionContextWithoutDeviceMemory() noexcept = 0;
  virtual std::size_t getDeviceMemorySize() const noexcept = 0;
  virtual bool isRefittable() const noexcept = 0;
  virtual char const* getName() const noexcept = 0;
  virtual int32_t getNbOptimizationProfiles() const noexcept = 0;
  virtual int32_t const* getProfileTensorValues(char const*, int32_t,
                                                OptProfileSelector) const noexcept = 0;
  virtual EngineCapability getEngineCapability() const noexcept = 0;
  virtual void setErrorRecorder(IErrorRecorder*) noexcept = 0;
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;
  virtual bool hasImplicitBatchDimension() const noexcept = 0;
  virtual uint32_t getTacticSources() const noexcept = 0;
  virtual ProfilingVerbosity getProfilingVerbosity() const noexcept = 0;
  virtual IEngineInspector* createEngineInspector() const noexcept = 0;
  virtual Dims getTensorShape(char const*) const noexcept = 0;
  virtual DataType getTensorDataType(char const*) const noexcept = 0;
  virtual TensorLocation getTensorLocation(char const*) const noexcept = 0;
  virtual bool isShapeInferenceIO(char const*) const noexcept = 0;
  virtual TensorIOMode getTensorIOMode(char const*) const noexcept = 0;
  virtual int32_t getTensorBytesPerComponent(char const*) const noexcept = 0;
  virtual int32_t getTensorComponentsPerElement(char const*) const noexcept = 0;
  virtual TensorFormat getTensorFormat(char const*) const noexcept = 0;
  virtual char const* getTensorFormatDesc(char const*) const noexcept = 0;
  virtual int32_t getTensorVectorizedDim(char const*) const noexcept = 0;
  virtual Dims getProfileShape(char const*, int32_t, OptProfileSelector) const noexcept = 0;
  virtual int32_t getNbIOTensors() const noexcept = 0;
  virtual char const* getIOTensorName(int32_t) const noexcept = 0;
  virtual HardwareCompatibilityLevel getHardwareCompatibilityLevel() const noexcept = 0;
  virtual int32_t getNbAuxStreams() const noexcept = 0;
  virtual int32_t getTensorBytesPerComponentV2(char const*, int32_t) const noexcept = 0;
  virtual int32_t getTensorComponentsPerElementV2(char const*, int32_t) const noexcept = 0;
  virtual TensorFormat getTensorFormatV2(char const*, int32_t) const noexcept = 0;
  virtual char const* getTensorFormatDescV2(char const*, int32_t) const noexcept = 0;
  virtual int32_t getTensorVectorizedDimV2(char const*, int32_t) const noexcept = 0;
  virtual ISerializationConfig* createSerializationConfig() noexcept = 0;
  virtual IHostMemory* serializeWithConfig(ISerializationConfig&) const noexcept = 0;
  virtual std::size_t getDeviceMemorySizeForProfile(int32_t) const noexcept = 0;
  virtual IRefitter* createRefitter(ILogger&) noexcept = 0;
  virtual bool setWeightStreamingBudget(int64_t) noexcept = 0;
  virtual int64_t getWeightStreamingBudget() const noexcept = 0;
  virtual int64_t getMinimumWeightStreamingBudget() const noexcept = 0;
  virtual int64_t getStreamableWeightsSize() const noexcept = 0;
  virtual bool isDebugTensor(char const*) const noexcept = 0;
  virtual bool setWeightStreamingBudgetV2(int64_t) noexcept = 0;
  virtual int64_t getWeightStreamingBudgetV2() const noexcept = 0;
  virtual int64_t getWeightStreamingAutomaticBudget() const noexcept = 0;
  virtual int64_t getWeightStreamingScratchMemorySize() const noexcept = 0;
  virtual int64_t getDeviceMemorySizeV2() const noexcept = 0;
  virtual int64_t getDeviceMemorySizeForProfileV2(int32_t) const noexcept = 0;
  virtual int64_t const* getProfileTensorValuesV2(char const*, int32_t,
                                                  OptProfileSelector) const noexcept = 0;
  virtual IExecutionContext* createExecutionContextWithRuntimeConfig(IRuntimeConfig*) noexcept = 0;
  virtual IRuntimeConfig* createRuntimeConfig() noexcept = 0;
  virtual int64_t getEngineStat(EngineStat) const noexcept = 0;
  virtual char const* getAliasedInputTensor(char const*) const noexcept = 0;
};

class VExecutionContext : public VRoot {
 public:
  virtual IExecutionContext* getPImpl() noexcept = 0;
  virtual void setDebugSync(bool) noexcept = 0;
  virtual bool getDebugSync() const noexcept = 0;
  virtual void setProfiler(IProfiler*) noexcept = 0;
  virtual IProfiler* getProfiler() const noexcept = 0;
  virtual ICudaEngine const& getEngine() const noexcept = 0;
  virtual void setName(char const*) noexcept = 0;
  virtual char const* getName() const noexcept = 0;
  virtual void setDeviceMemory(void*) noexcept = 0;
  virtual int32_t getOptimizationProfile() const noexcept = 0;
  virtual bool allInputDimensionsSpecified() const noexcept = 0;
  virtual bool allInputShapesSpecified() const noexcept = 0;
  virtual void setErrorRecorder(IErrorRecorder*) noexcept = 0;
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;
  virtual bool executeV2(void* const*) noexcept = 0;
  virtual bool setOptimizationProfileAsync(int32_t, cudaStream_t) noexcept = 0;
  virtual void setEnqueueEmitsProfile(bool) noexcept = 0;
  virtual bool getEnqueueEmitsProfile() const noexcept = 0;
  virtual bool reportToProfiler() const noexcept = 0;
  virtual bool setInputShape(char const*, Dims const&) noexcept = 0;
  virtual Dims getTensorShape(char const*) const noexcept = 0;
  virtual Dims getTensorStrides(char const*) const noexcept = 0;
  virtual bool setTensorAddress(char const*, void*) noexcept = 0;
  virtual void const* getTensorAddress(char const*) const noexcept = 0;
  virtual bool setInputTensorAddress(char const*, void const*) noexcept = 0;
  virtual bool setOutputTensorAddress(char const*, void*) noexcept = 0;
  virtual int32_t inferShapes(int32_t, char const**) noexcept = 0;
  virtual bool setInputConsumedEvent(cudaEvent_t) noexcept = 0;
  virtual cudaEvent_t getInputConsumedEvent() const noexcept = 0;
  virtual void* getOutputTensorAddress(char const*) const noexcept = 0;
  virtual bool setOutputAllocator(char const*, IOutputAllocator*) noexcept = 0;
  virtual IOutputAllocator* getOutputAllocator(char const*) noexcept = 0;
  virtual int64_t getMaxOutputSize(char const*) const noexcept = 0;
  virtual bool setTemporaryStorageAllocator(IGpuAllocator*) noexcept = 0;
  virtual IGpuAllocator* getTemporaryStorageAllocator() const noexcept = 0;
  virtual bool enqueueV3(cudaStream_t) noexcept = 0;
  virtual void setPersistentCacheLimit(std::size_t) noexcept = 0;
  virtual std::size_t getPersistentCacheLimit() const noexcept = 0;
  virtual bool setNvtxVerbosity(ProfilingVerbosity) noexcept = 0;
  virtual ProfilingVerbosity getNvtxVerbosity() const noexcept = 0;
  virtual void setAuxStreams(cudaStream_t*, int32_t) noexcept = 0;
  virtual bool setDebugListener(IDebugListener*) noexcept = 0;
  virtual IDebugListener* getDebugListener() noexcept = 0;
  virtual bool setTensorDebugState(char const*, bool) noexcept = 0;
  virtual bool getDebugState(char const*) const noexcept = 0;
  virtual bool setAllTensorsDebugState(bool) noexcept = 0;
  virtual std::size_t updateDeviceMemorySizeForShapes() noexcept = 0;
  virtual void setDeviceMemoryV2(void*, int64_t) noexcept = 0;
  virtual IRuntimeConfig* getRuntimeConfig() const noexcept = 0;
  virtual bool setUnfusedTensorsDebugState(bool) noexcept = 0;
  virtual bool getUnfusedTensorsDebugState() const noexcept = 0;
  virtual bool setCommunicator(void*) noexcept = 0;
};

}  // namespace apiv
}  // namespace nvinfer1
