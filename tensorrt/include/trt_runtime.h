// SPDX-License-Identifier: Apache-2.0
// Engines that exist: load, look into, run, refit.
#pragma once

#include "trt_callbacks.h"
#if NV_TENSORRT_MAJOR >= 10
#include "../include-10/trt_tables_builder.h"
#include "../include-10/trt_tables_engine.h"
#include "../include-10/trt_tables_layers.h"
#include "../include-10/trt_tables_layers_more.h"
#include "../include-10/trt_tables_network.h"
#include "../include-10/trt_tables_runtime.h"

// Octet's own, behind what TensorRT 10's table of a runtime does not have.
extern "C" int32_t octetEngineValidity(void const* blob, int64_t blobSize,
                                       uint64_t* diagnostics) noexcept;
#endif

namespace nvinfer1 {

class ICudaEngine;
class IExecutionContext;
class IEngineInspector;

class IHostMemory : public INoCopy {
  OCTET_TRT_HANDLE(VHostMemory)
 public:
  virtual ~IHostMemory() noexcept = default;
  OCTET_TRT_ASK(void*, data, (), ())
  OCTET_TRT_ASK(std::size_t, size, (), ())
  OCTET_TRT_ASK(DataType, type, (), ())
  OCTET_TRT_DESTROY
};

class IOptimizationProfile : public INoCopy {
  OCTET_TRT_HANDLE(VOptimizationProfile)
 public:
  OCTET_TRT_CALL(bool, setDimensions,
                 (char const* inputName, OptProfileSelector select, Dims const& dims),
                 (inputName, select, dims))
  OCTET_TRT_ASK(Dims, getDimensions, (char const* inputName, OptProfileSelector select),
                (inputName, select))
  OCTET_TRT_CALL(bool, setShapeValues,
                 (char const* inputName, OptProfileSelector select, int32_t const* values,
                  int32_t nbValues),
                 (inputName, select, values, nbValues))
  OCTET_TRT_ASK(int32_t, getNbShapeValues, (char const* inputName), (inputName))
  OCTET_TRT_ASK(int32_t const*, getShapeValues, (char const* inputName, OptProfileSelector select),
                (inputName, select))
#if NV_TENSORRT_MAJOR >= 10
  OCTET_TRT_CALL(bool, setShapeValuesV2,
                 (char const* inputName, OptProfileSelector select, int64_t const* values,
                  int32_t nbValues),
                 (inputName, select, values, nbValues))
  OCTET_TRT_ASK(int64_t const*, getShapeValuesV2,
                (char const* inputName, OptProfileSelector select), (inputName, select))
#endif
  OCTET_TRT_CALL(bool, setExtraMemoryTarget, (float target), (target))
  OCTET_TRT_ASK(float, getExtraMemoryTarget, (), ())
  OCTET_TRT_ASK(bool, isValid, (), ())
  virtual ~IOptimizationProfile() noexcept = default;
};

enum class ExecutionContextAllocationStrategy : int32_t {
  kSTATIC = 0,
  kON_PROFILE_CHANGE = 1,
  kUSER_MANAGED = 2,
};
OCTET_TRT_ENUM_MAX(ExecutionContextAllocationStrategy, 3)

enum class SerializationFlag : int32_t {
  kEXCLUDE_WEIGHTS = 0,
  kEXCLUDE_LEAN_RUNTIME = 1,
  kINCLUDE_REFIT = 2,
};
OCTET_TRT_ENUM_MAX(SerializationFlag, 3)
using SerializationFlags = uint32_t;

class ISerializationConfig : public INoCopy {
  OCTET_TRT_HANDLE(VSerializationConfig)
 public:
  virtual ~ISerializationConfig() noexcept = default;
  OCTET_TRT_CALL(bool, setFlags, (SerializationFlags flags), (flags))
  OCTET_TRT_ASK(SerializationFlags, getFlags, (), ())
  OCTET_TRT_CALL(bool, clearFlag, (SerializationFlag flag), (flag))
  OCTET_TRT_CALL(bool, setFlag, (SerializationFlag flag), (flag))
  OCTET_TRT_ASK(bool, getFlag, (SerializationFlag flag), (flag))
};

class IRuntimeConfig : public INoCopy {
  OCTET_TRT_HANDLE(VRuntimeConfig)
 public:
  virtual ~IRuntimeConfig() noexcept = default;
  OCTET_TRT_CALL(void, setExecutionContextAllocationStrategy,
                 (ExecutionContextAllocationStrategy strategy), (strategy))
  OCTET_TRT_ASK(ExecutionContextAllocationStrategy, getExecutionContextAllocationStrategy, (), ())
};

enum class HardwareCompatibilityLevel : int32_t {
  kNONE = 0,
  kAMPERE_PLUS = 1,
#if NV_TENSORRT_MAJOR >= 10
  kSAME_COMPUTE_CAPABILITY = 2,
#endif
};
#if NV_TENSORRT_MAJOR >= 10
OCTET_TRT_ENUM_MAX(HardwareCompatibilityLevel, 3)
enum class EngineValidity : int32_t { kVALID = 0, kSUBOPTIMAL = 1, kINVALID = 2 };
OCTET_TRT_ENUM_MAX(EngineValidity, 3)
enum class EngineStat : int32_t { kTOTAL_WEIGHTS_SIZE = 0, kSTRIPPED_WEIGHTS_SIZE = 1 };
OCTET_TRT_ENUM_MAX(EngineStat, 2)
enum class EngineInvalidityDiagnostics : int32_t {
  kVERSION_MISMATCH = 1,
  kUNSUPPORTED_CC = 2,
  kOLD_CUDA_DRIVER = 4,
  kOLD_CUDA_RUNTIME = 8,
  kINSUFFICIENT_GPU_MEMORY = 16,
  kMALFORMED_ENGINE = 32,
  kCUDA_ERROR = 64,
};
#else
OCTET_TRT_ENUM_MAX(HardwareCompatibilityLevel, 2)
#endif

#if NV_TENSORRT_MAJOR >= 10
enum class TensorRTPhase : int32_t { kBUILD = 0, kRUNTIME = 1 };
OCTET_TRT_ENUM_MAX(TensorRTPhase, 2)
#endif

class IRuntime : public INoCopy {
  OCTET_TRT_HANDLE(VRuntime)
 public:
  virtual ~IRuntime() noexcept = default;
#if NV_TENSORRT_MAJOR < 10
  OCTET_TRT_CALL(ICudaEngine*, deserializeCudaEngine,
                 (void const* blob, std::size_t size, void* pluginFactory),
                 (blob, size, pluginFactory))
#else
  OCTET_TRT_CALL(ICudaEngine*, deserializeCudaEngine, (IStreamReader & streamReader),
                 (streamReader))
  OCTET_TRT_CALL_AS(ICudaEngine*, deserializeCudaEngine, deserializeCudaEngineV2,
                    (IStreamReaderV2 & streamReader), (streamReader))
  EngineValidity getEngineValidity(void const* blob, int64_t blobSize,
                                   uint64_t* diagnostics) const noexcept {
    return static_cast<EngineValidity>(octetEngineValidity(blob, blobSize, diagnostics));
  }
  int64_t getEngineHeaderSize() const noexcept { return 128; }
#endif
  OCTET_TRT_CALL(ICudaEngine*, deserializeCudaEngine, (void const* blob, std::size_t size),
                 (blob, size))
  OCTET_TRT_CALL(void, setDLACore, (int32_t dlaCore), (dlaCore))
  OCTET_TRT_ASK(int32_t, getDLACore, (), ())
  OCTET_TRT_ASK(int32_t, getNbDLACores, (), ())
  OCTET_TRT_CALL(void, setGpuAllocator, (IGpuAllocator * allocator), (allocator))
  OCTET_TRT_CALL(void, setErrorRecorder, (IErrorRecorder * recorder), (recorder))
  OCTET_TRT_ASK(IErrorRecorder*, getErrorRecorder, (), ())
  OCTET_TRT_ASK(ILogger*, getLogger, (), ())
  OCTET_TRT_CALL(bool, setMaxThreads, (int32_t maxThreads), (maxThreads))
  OCTET_TRT_ASK(int32_t, getMaxThreads, (), ())
  OCTET_TRT_CALL(void, setTemporaryDirectory, (char const* path), (path))
  OCTET_TRT_ASK(char const*, getTemporaryDirectory, (), ())
  OCTET_TRT_CALL(void, setTempfileControlFlags, (TempfileControlFlags flags), (flags))
  OCTET_TRT_ASK(TempfileControlFlags, getTempfileControlFlags, (), ())
  OCTET_TRT_CALL(IPluginRegistry&, getPluginRegistry, (), ())
  OCTET_TRT_CALL(IRuntime*, loadRuntime, (char const* path), (path))
  OCTET_TRT_CALL(void, setEngineHostCodeAllowed, (bool allowed), (allowed))
  OCTET_TRT_ASK(bool, getEngineHostCodeAllowed, (), ())
  OCTET_TRT_DESTROY
};

enum class WeightsRole : int32_t {
  kKERNEL = 0,
  kBIAS = 1,
  kSHIFT = 2,
  kSCALE = 3,
  kCONSTANT = 4,
  kANY = 5,
};
OCTET_TRT_ENUM_MAX(WeightsRole, 6)

class IRefitter : public INoCopy {
  OCTET_TRT_HANDLE(VRefitter)
 public:
  virtual ~IRefitter() noexcept = default;
  OCTET_TRT_CALL(bool, setWeights, (char const* layerName, WeightsRole role, Weights weights),
                 (layerName, role, weights))
  OCTET_TRT_CALL(bool, refitCudaEngine, (), ())
  OCTET_TRT_CALL(int32_t, getMissing, (int32_t size, char const** layerNames, WeightsRole* roles),
                 (size, layerNames, roles))
  OCTET_TRT_CALL(int32_t, getAll, (int32_t size, char const** layerNames, WeightsRole* roles),
                 (size, layerNames, roles))
  OCTET_TRT_CALL(bool, setDynamicRange, (char const* tensorName, float min, float max),
                 (tensorName, min, max))
  OCTET_TRT_ASK(float, getDynamicRangeMin, (char const* tensorName), (tensorName))
  OCTET_TRT_ASK(float, getDynamicRangeMax, (char const* tensorName), (tensorName))
  OCTET_TRT_ASK(int32_t, getTensorsWithDynamicRange, (int32_t size, char const** tensorNames),
                (size, tensorNames))
  OCTET_TRT_CALL(void, setErrorRecorder, (IErrorRecorder * recorder), (recorder))
  OCTET_TRT_ASK(IErrorRecorder*, getErrorRecorder, (), ())
  OCTET_TRT_CALL(bool, setNamedWeights, (char const* name, Weights weights), (name, weights))
  OCTET_TRT_CALL(int32_t, getMissingWeights, (int32_t size, char const** weightsNames),
                 (size, weightsNames))
  OCTET_TRT_CALL(int32_t, getAllWeights, (int32_t size, char const** weightsNames),
                 (size, weightsNames))
  OCTET_TRT_ASK(ILogger*, getLogger, (), ())
  OCTET_TRT_CALL(bool, setMaxThreads, (int32_t maxThreads), (maxThreads))
  OCTET_TRT_ASK(int32_t, getMaxThreads, (), ())
#if NV_TENSORRT_MAJOR >= 10
  OCTET_TRT_CALL_AS(bool, setNamedWeights, setNamedWeightsWithLocation,
                    (char const* name, Weights weights, TensorLocation location),
                    (name, weights, location))
  OCTET_TRT_ASK(Weights, getNamedWeights, (char const* weightsName), (weightsName))
  OCTET_TRT_ASK(TensorLocation, getWeightsLocation, (char const* weightsName), (weightsName))
  OCTET_TRT_CALL(bool, unsetNamedWeights, (char const* weightsName), (weightsName))
  OCTET_TRT_CALL(void, setWeightsValidation, (bool weightsValidation), (weightsValidation))
  OCTET_TRT_ASK(bool, getWeightsValidation, (), ())
  OCTET_TRT_CALL(bool, refitCudaEngineAsync, (cudaStream_t stream), (stream))
  OCTET_TRT_ASK(Weights, getWeightsPrototype, (char const* weightsName), (weightsName))
#endif
  OCTET_TRT_DESTROY
};

class IEngineInspector : public INoCopy {
  OCTET_TRT_HANDLE(VEngineInspector)
 public:
  virtual ~IEngineInspector() noexcept = default;
  OCTET_TRT_CALL(bool, setExecutionContext, (IExecutionContext const* context), (context))
  OCTET_TRT_ASK(IExecutionContext const*, getExecutionContext, (), ())
  OCTET_TRT_ASK(AsciiChar const*, getLayerInformation,
                (int32_t layerIndex, LayerInformationFormat format), (layerIndex, format))
  OCTET_TRT_ASK(AsciiChar const*, getEngineInformation, (LayerInformationFormat format), (format))
  OCTET_TRT_CALL(void, setErrorRecorder, (IErrorRecorder * recorder), (recorder))
  OCTET_TRT_ASK(IErrorRecorder*, getErrorRecorder, (), ())
};

}  // namespace nvinfer1
