// SPDX-License-Identifier: Apache-2.0
// An engine and its contexts.
#pragma once

#include "trt_runtime.h"

namespace nvinfer1 {

class ICudaEngine : public INoCopy {
  OCTET_TRT_HANDLE(VCudaEngine)
 public:
  virtual ~ICudaEngine() noexcept = default;
  OCTET_TRT_ASK(Dims, getTensorShape, (char const* tensorName), (tensorName))
  OCTET_TRT_ASK(DataType, getTensorDataType, (char const* tensorName), (tensorName))
  OCTET_TRT_ASK(int32_t, getNbLayers, (), ())
  OCTET_TRT_ASK(IHostMemory*, serialize, (), ())
  OCTET_TRT_ASK(TensorLocation, getTensorLocation, (char const* tensorName), (tensorName))
  OCTET_TRT_ASK(bool, isShapeInferenceIO, (char const* tensorName), (tensorName))
  OCTET_TRT_ASK(TensorIOMode, getTensorIOMode, (char const* tensorName), (tensorName))
  OCTET_TRT_ASK(int32_t, getTensorBytesPerComponent, (char const* tensorName), (tensorName))
  OCTET_TRT_ASK(int32_t, getTensorComponentsPerElement, (char const* tensorName), (tensorName))
  OCTET_TRT_ASK(TensorFormat, getTensorFormat, (char const* tensorName), (tensorName))
  OCTET_TRT_ASK(char const*, getTensorFormatDesc, (char const* tensorName), (tensorName))
  OCTET_TRT_ASK(int32_t, getTensorVectorizedDim, (char const* tensorName), (tensorName))
  // The same of a profile; every profile has the same formats here.
  OCTET_TRT_ASK_AS(int32_t, getTensorBytesPerComponent, getTensorBytesPerComponentV2,
                   (char const* tensorName, int32_t profileIndex), (tensorName, profileIndex))
  OCTET_TRT_ASK_AS(int32_t, getTensorComponentsPerElement, getTensorComponentsPerElementV2,
                   (char const* tensorName, int32_t profileIndex), (tensorName, profileIndex))
  OCTET_TRT_ASK_AS(TensorFormat, getTensorFormat, getTensorFormatV2,
                   (char const* tensorName, int32_t profileIndex), (tensorName, profileIndex))
  OCTET_TRT_ASK_AS(char const*, getTensorFormatDesc, getTensorFormatDescV2,
                   (char const* tensorName, int32_t profileIndex), (tensorName, profileIndex))
  OCTET_TRT_ASK_AS(int32_t, getTensorVectorizedDim, getTensorVectorizedDimV2,
                   (char const* tensorName, int32_t profileIndex), (tensorName, profileIndex))
  OCTET_TRT_ASK(char const*, getName, (), ())
  OCTET_TRT_ASK(int32_t, getNbOptimizationProfiles, (), ())
  OCTET_TRT_ASK(Dims, getProfileShape,
                (char const* tensorName, int32_t profileIndex, OptProfileSelector select),
                (tensorName, profileIndex, select))
  OCTET_TRT_ASK(EngineCapability, getEngineCapability, (), ())
  OCTET_TRT_CALL(void, setErrorRecorder, (IErrorRecorder * recorder), (recorder))
  OCTET_TRT_ASK(IErrorRecorder*, getErrorRecorder, (), ())
  OCTET_TRT_ASK(bool, hasImplicitBatchDimension, (), ())
  OCTET_TRT_ASK(TacticSources, getTacticSources, (), ())
  OCTET_TRT_ASK(ProfilingVerbosity, getProfilingVerbosity, (), ())
  OCTET_TRT_ASK(IEngineInspector*, createEngineInspector, (), ())
  OCTET_TRT_ASK(int32_t, getNbIOTensors, (), ())
  OCTET_TRT_ASK(char const*, getIOTensorName, (int32_t index), (index))
  OCTET_TRT_ASK(HardwareCompatibilityLevel, getHardwareCompatibilityLevel, (), ())
  OCTET_TRT_ASK(int32_t, getNbAuxStreams, (), ())
  OCTET_TRT_ASK(bool, isRefittable, (), ())
  OCTET_TRT_ASK(std::size_t, getDeviceMemorySize, (), ())
  OCTET_TRT_CALL(IExecutionContext*, createExecutionContextWithoutDeviceMemory, (), ())
#if NV_TENSORRT_MAJOR >= 10
  OCTET_TRT_CALL(
      IExecutionContext*, createExecutionContext,
      (ExecutionContextAllocationStrategy strategy = ExecutionContextAllocationStrategy::kSTATIC),
      (strategy))
  OCTET_TRT_CALL_AS(IExecutionContext*, createExecutionContext,
                    createExecutionContextWithRuntimeConfig, (IRuntimeConfig * config), (config))
  OCTET_TRT_CALL(IRuntimeConfig*, createRuntimeConfig, (), ())
  OCTET_TRT_CALL(ISerializationConfig*, createSerializationConfig, (), ())
  OCTET_TRT_ASK(IHostMemory*, serializeWithConfig, (ISerializationConfig & config), (config))
  OCTET_TRT_ASK(std::size_t, getDeviceMemorySizeForProfile, (int32_t profileIndex), (profileIndex))
  OCTET_TRT_ASK(int64_t, getDeviceMemorySizeV2, (), ())
  OCTET_TRT_ASK(int64_t, getDeviceMemorySizeForProfileV2, (int32_t profileIndex), (profileIndex))
  OCTET_TRT_ASK(int64_t const*, getProfileTensorValuesV2,
                (char const* tensorName, int32_t profileIndex, OptProfileSelector select),
                (tensorName, profileIndex, select))
  OCTET_TRT_ASK(int64_t, getStreamableWeightsSize, (), ())
  OCTET_TRT_CALL(bool, setWeightStreamingBudgetV2, (int64_t gpuMemoryBudget), (gpuMemoryBudget))
  OCTET_TRT_ASK(int64_t, getWeightStreamingBudgetV2, (), ())
  OCTET_TRT_ASK(int64_t, getWeightStreamingAutomaticBudget, (), ())
  OCTET_TRT_ASK(int64_t, getWeightStreamingScratchMemorySize, (), ())
  OCTET_TRT_ASK(int64_t, getWeightStreamingBudget, (), ())
  OCTET_TRT_CALL(bool, setWeightStreamingBudget, (int64_t gpuMemoryBudget), (gpuMemoryBudget))
  OCTET_TRT_ASK(int64_t, getMinimumWeightStreamingBudget, (), ())
  OCTET_TRT_ASK(bool, isDebugTensor, (char const* name), (name))
  OCTET_TRT_ASK(char const*, getAliasedInputTensor, (char const* tensorName), (tensorName))
  OCTET_TRT_ASK(int64_t, getEngineStat, (EngineStat stat), (stat))
#else
  OCTET_TRT_CALL(IExecutionContext*, createExecutionContext, (), ())
  OCTET_TRT_ASK(int32_t, getNbBindings, (), ())
  OCTET_TRT_ASK(int32_t, getBindingIndex, (char const* name), (name))
  OCTET_TRT_ASK(char const*, getBindingName, (int32_t bindingIndex), (bindingIndex))
  OCTET_TRT_ASK(bool, bindingIsInput, (int32_t bindingIndex), (bindingIndex))
  OCTET_TRT_ASK(Dims, getBindingDimensions, (int32_t bindingIndex), (bindingIndex))
  OCTET_TRT_ASK(DataType, getBindingDataType, (int32_t bindingIndex), (bindingIndex))
  OCTET_TRT_ASK(int32_t, getMaxBatchSize, (), ())
  OCTET_TRT_ASK(TensorLocation, getLocation, (int32_t bindingIndex), (bindingIndex))
  OCTET_TRT_ASK(int32_t, getBindingBytesPerComponent, (int32_t bindingIndex), (bindingIndex))
  OCTET_TRT_ASK(int32_t, getBindingComponentsPerElement, (int32_t bindingIndex), (bindingIndex))
  OCTET_TRT_ASK(TensorFormat, getBindingFormat, (int32_t bindingIndex), (bindingIndex))
  OCTET_TRT_ASK(char const*, getBindingFormatDesc, (int32_t bindingIndex), (bindingIndex))
  OCTET_TRT_ASK(int32_t, getBindingVectorizedDim, (int32_t bindingIndex), (bindingIndex))
  OCTET_TRT_ASK(Dims, getProfileDimensions,
                (int32_t bindingIndex, int32_t profileIndex, OptProfileSelector select),
                (bindingIndex, profileIndex, select))
  OCTET_TRT_ASK(int32_t const*, getProfileShapeValues,
                (int32_t profileIndex, int32_t inputIndex, OptProfileSelector select),
                (profileIndex, inputIndex, select))
  OCTET_TRT_ASK(bool, isShapeBinding, (int32_t bindingIndex), (bindingIndex))
  OCTET_TRT_ASK(bool, isExecutionBinding, (int32_t bindingIndex), (bindingIndex))
#endif
  OCTET_TRT_ASK(int32_t const*, getProfileTensorValues,
                (char const* tensorName, int32_t profileIndex, OptProfileSelector select),
                (tensorName, profileIndex, select))
  OCTET_TRT_DESTROY
};

class IExecutionContext : public INoCopy {
  OCTET_TRT_HANDLE(VExecutionContext)
 public:
  virtual ~IExecutionContext() noexcept = default;
  OCTET_TRT_CALL(void, setDebugSync, (bool sync), (sync))
  OCTET_TRT_ASK(bool, getDebugSync, (), ())
  OCTET_TRT_CALL(void, setProfiler, (IProfiler * profiler), (profiler))
  OCTET_TRT_ASK(IProfiler*, getProfiler, (), ())
  OCTET_TRT_ASK(ICudaEngine const&, getEngine, (), ())
  OCTET_TRT_CALL(void, setName, (char const* name), (name))
  OCTET_TRT_ASK(char const*, getName, (), ())
  OCTET_TRT_CALL(void, setDeviceMemory, (void* memory), (memory))
  OCTET_TRT_ASK(Dims, getTensorStrides, (char const* tensorName), (tensorName))
  OCTET_TRT_ASK(int32_t, getOptimizationProfile, (), ())
  OCTET_TRT_CALL(bool, setInputShape, (char const* tensorName, Dims const& dims),
                 (tensorName, dims))
  OCTET_TRT_ASK(Dims, getTensorShape, (char const* tensorName), (tensorName))
  OCTET_TRT_ASK(bool, allInputDimensionsSpecified, (), ())
  OCTET_TRT_ASK(bool, allInputShapesSpecified, (), ())
  OCTET_TRT_CALL(void, setErrorRecorder, (IErrorRecorder * recorder), (recorder))
  OCTET_TRT_ASK(IErrorRecorder*, getErrorRecorder, (), ())
  OCTET_TRT_CALL(bool, executeV2, (void* const* bindings), (bindings))
  OCTET_TRT_CALL(bool, setOptimizationProfileAsync, (int32_t profileIndex, cudaStream_t stream),
                 (profileIndex, stream))
  OCTET_TRT_CALL(void, setEnqueueEmitsProfile, (bool enqueueEmitsProfile), (enqueueEmitsProfile))
  OCTET_TRT_ASK(bool, getEnqueueEmitsProfile, (), ())
  OCTET_TRT_ASK(bool, reportToProfiler, (), ())
  OCTET_TRT_CALL(bool, setTensorAddress, (char const* tensorName, void* data), (tensorName, data))
  OCTET_TRT_ASK(void const*, getTensorAddress, (char const* tensorName), (tensorName))
  OCTET_TRT_CALL(bool, setInputTensorAddress, (char const* tensorName, void const* data),
                 (tensorName, data))
  OCTET_TRT_ASK(void*, getOutputTensorAddress, (char const* tensorName), (tensorName))
  OCTET_TRT_CALL(int32_t, inferShapes, (int32_t nbMaxNames, char const** tensorNames),
                 (nbMaxNames, tensorNames))
  OCTET_TRT_CALL(bool, setInputConsumedEvent, (cudaEvent_t event), (event))
  OCTET_TRT_ASK(cudaEvent_t, getInputConsumedEvent, (), ())
  OCTET_TRT_CALL(bool, setOutputAllocator,
                 (char const* tensorName, IOutputAllocator* outputAllocator),
                 (tensorName, outputAllocator))
  OCTET_TRT_ASK(IOutputAllocator*, getOutputAllocator, (char const* tensorName), (tensorName))
  OCTET_TRT_ASK(int64_t, getMaxOutputSize, (char const* tensorName), (tensorName))
  OCTET_TRT_CALL(bool, setTemporaryStorageAllocator, (IGpuAllocator * allocator), (allocator))
  OCTET_TRT_ASK(IGpuAllocator*, getTemporaryStorageAllocator, (), ())
  OCTET_TRT_CALL(bool, enqueueV3, (cudaStream_t stream), (stream))
  OCTET_TRT_CALL(void, setPersistentCacheLimit, (std::size_t size), (size))
  OCTET_TRT_ASK(std::size_t, getPersistentCacheLimit, (), ())
  OCTET_TRT_CALL(bool, setNvtxVerbosity, (ProfilingVerbosity verbosity), (verbosity))
  OCTET_TRT_ASK(ProfilingVerbosity, getNvtxVerbosity, (), ())
  OCTET_TRT_CALL(void, setAuxStreams, (cudaStream_t * auxStreams, int32_t nbStreams),
                 (auxStreams, nbStreams))
#if NV_TENSORRT_MAJOR >= 10
  OCTET_TRT_CALL(bool, setOutputTensorAddress, (char const* tensorName, void* data),
                 (tensorName, data))
  OCTET_TRT_CALL(void, setDeviceMemoryV2, (void* memory, int64_t size), (memory, size))
  OCTET_TRT_CALL(std::size_t, updateDeviceMemorySizeForShapes, (), ())
  OCTET_TRT_CALL(bool, setDebugListener, (IDebugListener * listener), (listener))
  OCTET_TRT_CALL(IDebugListener*, getDebugListener, (), ())
  OCTET_TRT_CALL(bool, setTensorDebugState, (char const* name, bool flag), (name, flag))
  OCTET_TRT_CALL(bool, setAllTensorsDebugState, (bool flag), (flag))
  OCTET_TRT_ASK(bool, getDebugState, (char const* name), (name))
  OCTET_TRT_CALL(bool, setUnfusedTensorsDebugState, (bool flag), (flag))
  OCTET_TRT_ASK(bool, getUnfusedTensorsDebugState, (), ())
  OCTET_TRT_CALL(bool, setCommunicator, (void* communicator), (communicator))
  OCTET_TRT_ASK(IRuntimeConfig*, getRuntimeConfig, (), ())
#else
  OCTET_TRT_CALL(bool, execute, (int32_t batchSize, void* const* bindings), (batchSize, bindings))
  OCTET_TRT_CALL(bool, enqueue,
                 (int32_t batchSize, void* const* bindings, cudaStream_t stream,
                  cudaEvent_t* inputConsumed),
                 (batchSize, bindings, stream, inputConsumed))
  OCTET_TRT_CALL(bool, enqueueV2,
                 (void* const* bindings, cudaStream_t stream, cudaEvent_t* inputConsumed),
                 (bindings, stream, inputConsumed))
  OCTET_TRT_CALL(bool, setOptimizationProfile, (int32_t profileIndex), (profileIndex))
  OCTET_TRT_CALL(bool, setBindingDimensions, (int32_t bindingIndex, Dims dimensions),
                 (bindingIndex, dimensions))
  OCTET_TRT_ASK(Dims, getBindingDimensions, (int32_t bindingIndex), (bindingIndex))
  OCTET_TRT_ASK(Dims, getStrides, (int32_t bindingIndex), (bindingIndex))
  OCTET_TRT_CALL(bool, setInputShapeBinding, (int32_t bindingIndex, int32_t const* data),
                 (bindingIndex, data))
  OCTET_TRT_ASK(bool, getShapeBinding, (int32_t bindingIndex, int32_t* data), (bindingIndex, data))
#endif
  OCTET_TRT_DESTROY
};

}  // namespace nvinfer1
