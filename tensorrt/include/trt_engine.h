// SPDX-License-Identifier: Apache-2.0
// An engine and its contexts.
#pragma once

#include "trt_runtime.h"

namespace nvinfer1 {

class ICudaEngine : public INoCopy {
 public:
  virtual ~ICudaEngine() noexcept = default;
  virtual Dims getTensorShape(char const* tensorName) const noexcept = 0;
  virtual DataType getTensorDataType(char const* tensorName) const noexcept = 0;
  virtual int32_t getNbLayers() const noexcept = 0;
  virtual IHostMemory* serialize() const noexcept = 0;
  virtual TensorLocation getTensorLocation(char const* tensorName) const noexcept = 0;
  virtual bool isShapeInferenceIO(char const* tensorName) const noexcept = 0;
  virtual TensorIOMode getTensorIOMode(char const* tensorName) const noexcept = 0;
  virtual int32_t getTensorBytesPerComponent(char const* tensorName) const noexcept = 0;
  virtual int32_t getTensorComponentsPerElement(char const* tensorName) const noexcept = 0;
  virtual TensorFormat getTensorFormat(char const* tensorName) const noexcept = 0;
  virtual char const* getTensorFormatDesc(char const* tensorName) const noexcept = 0;
  virtual int32_t getTensorVectorizedDim(char const* tensorName) const noexcept = 0;
  // The same of a profile; every profile has the same formats here.
  virtual int32_t getTensorBytesPerComponent(char const* tensorName,
                                             int32_t profileIndex) const noexcept = 0;
  virtual int32_t getTensorComponentsPerElement(char const* tensorName,
                                                int32_t profileIndex) const noexcept = 0;
  virtual TensorFormat getTensorFormat(char const* tensorName,
                                       int32_t profileIndex) const noexcept = 0;
  virtual char const* getTensorFormatDesc(char const* tensorName,
                                          int32_t profileIndex) const noexcept = 0;
  virtual int32_t getTensorVectorizedDim(char const* tensorName,
                                         int32_t profileIndex) const noexcept = 0;
  virtual char const* getName() const noexcept = 0;
  virtual int32_t getNbOptimizationProfiles() const noexcept = 0;
  virtual Dims getProfileShape(char const* tensorName, int32_t profileIndex,
                               OptProfileSelector select) const noexcept = 0;
  virtual EngineCapability getEngineCapability() const noexcept = 0;
  virtual void setErrorRecorder(IErrorRecorder* recorder) noexcept = 0;
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;
  virtual bool hasImplicitBatchDimension() const noexcept = 0;
  virtual TacticSources getTacticSources() const noexcept = 0;
  virtual ProfilingVerbosity getProfilingVerbosity() const noexcept = 0;
  virtual IEngineInspector* createEngineInspector() const noexcept = 0;
  virtual int32_t getNbIOTensors() const noexcept = 0;
  virtual char const* getIOTensorName(int32_t index) const noexcept = 0;
  virtual HardwareCompatibilityLevel getHardwareCompatibilityLevel() const noexcept = 0;
  virtual int32_t getNbAuxStreams() const noexcept = 0;
  virtual bool isRefittable() const noexcept = 0;
  virtual std::size_t getDeviceMemorySize() const noexcept = 0;
  virtual IExecutionContext* createExecutionContextWithoutDeviceMemory() noexcept = 0;
#if NV_TENSORRT_MAJOR >= 10
  virtual IExecutionContext* createExecutionContext(
      ExecutionContextAllocationStrategy strategy =
          ExecutionContextAllocationStrategy::kSTATIC) noexcept = 0;
  virtual IExecutionContext* createExecutionContext(IRuntimeConfig* config) noexcept = 0;
  virtual IRuntimeConfig* createRuntimeConfig() noexcept = 0;
  virtual ISerializationConfig* createSerializationConfig() noexcept = 0;
  virtual IHostMemory* serializeWithConfig(ISerializationConfig& config) const noexcept = 0;
  virtual std::size_t getDeviceMemorySizeForProfile(int32_t profileIndex) const noexcept = 0;
  virtual int64_t getDeviceMemorySizeV2() const noexcept = 0;
  virtual int64_t getDeviceMemorySizeForProfileV2(int32_t profileIndex) const noexcept = 0;
  virtual int64_t const* getProfileTensorValuesV2(char const* tensorName, int32_t profileIndex,
                                                  OptProfileSelector select) const noexcept = 0;
  virtual int64_t getStreamableWeightsSize() const noexcept = 0;
  virtual bool setWeightStreamingBudgetV2(int64_t gpuMemoryBudget) noexcept = 0;
  virtual int64_t getWeightStreamingBudgetV2() const noexcept = 0;
  virtual int64_t getWeightStreamingAutomaticBudget() const noexcept = 0;
  virtual int64_t getWeightStreamingScratchMemorySize() const noexcept = 0;
  virtual int64_t getWeightStreamingBudget() const noexcept = 0;
  virtual bool setWeightStreamingBudget(int64_t gpuMemoryBudget) noexcept = 0;
  virtual int64_t getMinimumWeightStreamingBudget() const noexcept = 0;
  virtual bool isDebugTensor(char const* name) const noexcept = 0;
  virtual char const* getAliasedInputTensor(char const* tensorName) const noexcept = 0;
  virtual int64_t getEngineStat(int32_t stat) const noexcept = 0;
#else
  virtual IExecutionContext* createExecutionContext() noexcept = 0;
  virtual int32_t getNbBindings() const noexcept = 0;
  virtual int32_t getBindingIndex(char const* name) const noexcept = 0;
  virtual char const* getBindingName(int32_t bindingIndex) const noexcept = 0;
  virtual bool bindingIsInput(int32_t bindingIndex) const noexcept = 0;
  virtual Dims getBindingDimensions(int32_t bindingIndex) const noexcept = 0;
  virtual DataType getBindingDataType(int32_t bindingIndex) const noexcept = 0;
  virtual int32_t getMaxBatchSize() const noexcept = 0;
  virtual TensorLocation getLocation(int32_t bindingIndex) const noexcept = 0;
  virtual int32_t getBindingBytesPerComponent(int32_t bindingIndex) const noexcept = 0;
  virtual int32_t getBindingComponentsPerElement(int32_t bindingIndex) const noexcept = 0;
  virtual TensorFormat getBindingFormat(int32_t bindingIndex) const noexcept = 0;
  virtual char const* getBindingFormatDesc(int32_t bindingIndex) const noexcept = 0;
  virtual int32_t getBindingVectorizedDim(int32_t bindingIndex) const noexcept = 0;
  virtual Dims getProfileDimensions(int32_t bindingIndex, int32_t profileIndex,
                                    OptProfileSelector select) const noexcept = 0;
  virtual int32_t const* getProfileShapeValues(int32_t profileIndex, int32_t inputIndex,
                                               OptProfileSelector select) const noexcept = 0;
  virtual bool isShapeBinding(int32_t bindingIndex) const noexcept = 0;
  virtual bool isExecutionBinding(int32_t bindingIndex) const noexcept = 0;
#endif
  virtual int32_t const* getProfileTensorValues(char const* tensorName, int32_t profileIndex,
                                                OptProfileSelector select) const noexcept = 0;
  OCTET_TRT_DESTROY
};

class IExecutionContext : public INoCopy {
 public:
  virtual ~IExecutionContext() noexcept = default;
  virtual void setDebugSync(bool sync) noexcept = 0;
  virtual bool getDebugSync() const noexcept = 0;
  virtual void setProfiler(IProfiler* profiler) noexcept = 0;
  virtual IProfiler* getProfiler() const noexcept = 0;
  virtual ICudaEngine const& getEngine() const noexcept = 0;
  virtual void setName(char const* name) noexcept = 0;
  virtual char const* getName() const noexcept = 0;
  virtual void setDeviceMemory(void* memory) noexcept = 0;
  virtual Dims getTensorStrides(char const* tensorName) const noexcept = 0;
  virtual int32_t getOptimizationProfile() const noexcept = 0;
  virtual bool setInputShape(char const* tensorName, Dims const& dims) noexcept = 0;
  virtual Dims getTensorShape(char const* tensorName) const noexcept = 0;
  virtual bool allInputDimensionsSpecified() const noexcept = 0;
  virtual bool allInputShapesSpecified() const noexcept = 0;
  virtual void setErrorRecorder(IErrorRecorder* recorder) noexcept = 0;
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;
  virtual bool executeV2(void* const* bindings) noexcept = 0;
  virtual bool setOptimizationProfileAsync(int32_t profileIndex, cudaStream_t stream) noexcept = 0;
  virtual void setEnqueueEmitsProfile(bool enqueueEmitsProfile) noexcept = 0;
  virtual bool getEnqueueEmitsProfile() const noexcept = 0;
  virtual bool reportToProfiler() const noexcept = 0;
  virtual bool setTensorAddress(char const* tensorName, void* data) noexcept = 0;
  virtual void const* getTensorAddress(char const* tensorName) const noexcept = 0;
  virtual bool setInputTensorAddress(char const* tensorName, void const* data) noexcept = 0;
  virtual void* getOutputTensorAddress(char const* tensorName) const noexcept = 0;
  virtual int32_t inferShapes(int32_t nbMaxNames, char const** tensorNames) noexcept = 0;
  virtual bool setInputConsumedEvent(cudaEvent_t event) noexcept = 0;
  virtual cudaEvent_t getInputConsumedEvent() const noexcept = 0;
  virtual bool setOutputAllocator(char const* tensorName,
                                  IOutputAllocator* outputAllocator) noexcept = 0;
  virtual IOutputAllocator* getOutputAllocator(char const* tensorName) const noexcept = 0;
  virtual int64_t getMaxOutputSize(char const* tensorName) const noexcept = 0;
  virtual bool setTemporaryStorageAllocator(IGpuAllocator* allocator) noexcept = 0;
  virtual IGpuAllocator* getTemporaryStorageAllocator() const noexcept = 0;
  virtual bool enqueueV3(cudaStream_t stream) noexcept = 0;
  virtual void setPersistentCacheLimit(std::size_t size) noexcept = 0;
  virtual std::size_t getPersistentCacheLimit() const noexcept = 0;
  virtual bool setNvtxVerbosity(ProfilingVerbosity verbosity) noexcept = 0;
  virtual ProfilingVerbosity getNvtxVerbosity() const noexcept = 0;
  virtual void setAuxStreams(cudaStream_t* auxStreams, int32_t nbStreams) noexcept = 0;
#if NV_TENSORRT_MAJOR >= 10
  virtual bool setOutputTensorAddress(char const* tensorName, void* data) noexcept = 0;
  virtual void setDeviceMemoryV2(void* memory, int64_t size) noexcept = 0;
  virtual std::size_t updateDeviceMemorySizeForShapes() noexcept = 0;
  virtual bool setDebugListener(IDebugListener* listener) noexcept = 0;
  virtual IDebugListener* getDebugListener() noexcept = 0;
  virtual bool setTensorDebugState(char const* name, bool flag) noexcept = 0;
  virtual bool setAllTensorsDebugState(bool flag) noexcept = 0;
  virtual bool getDebugState(char const* name) const noexcept = 0;
  virtual bool setUnfusedTensorsDebugState(bool flag) noexcept = 0;
  virtual bool getUnfusedTensorsDebugState() const noexcept = 0;
  virtual IRuntimeConfig* getRuntimeConfig() const noexcept = 0;
#else
  virtual bool execute(int32_t batchSize, void* const* bindings) noexcept = 0;
  virtual bool enqueue(int32_t batchSize, void* const* bindings, cudaStream_t stream,
                       cudaEvent_t* inputConsumed) noexcept = 0;
  virtual bool enqueueV2(void* const* bindings, cudaStream_t stream,
                         cudaEvent_t* inputConsumed) noexcept = 0;
  virtual bool setOptimizationProfile(int32_t profileIndex) noexcept = 0;
  virtual bool setBindingDimensions(int32_t bindingIndex, Dims dimensions) noexcept = 0;
  virtual Dims getBindingDimensions(int32_t bindingIndex) const noexcept = 0;
  virtual Dims getStrides(int32_t bindingIndex) const noexcept = 0;
  virtual bool setInputShapeBinding(int32_t bindingIndex, int32_t const* data) noexcept = 0;
  virtual bool getShapeBinding(int32_t bindingIndex, int32_t* data) const noexcept = 0;
#endif
  OCTET_TRT_DESTROY
};

}  // namespace nvinfer1
