// SPDX-License-Identifier: Apache-2.0
// Engines that exist: load, look into, run, refit.
#pragma once

#include "trt_callbacks.h"

namespace nvinfer1 {

class ICudaEngine;
class IExecutionContext;
class IEngineInspector;

class IHostMemory : public INoCopy {
 public:
  virtual ~IHostMemory() noexcept = default;
  virtual void* data() const noexcept = 0;
  virtual std::size_t size() const noexcept = 0;
  virtual DataType type() const noexcept = 0;
  OCTET_TRT_DESTROY
};

class IOptimizationProfile : public INoCopy {
 public:
  virtual bool setDimensions(char const* inputName, OptProfileSelector select,
                             Dims const& dims) noexcept = 0;
  virtual Dims getDimensions(char const* inputName, OptProfileSelector select) const noexcept = 0;
  virtual bool setShapeValues(char const* inputName, OptProfileSelector select,
                              int32_t const* values, int32_t nbValues) noexcept = 0;
  virtual int32_t getNbShapeValues(char const* inputName) const noexcept = 0;
  virtual int32_t const* getShapeValues(char const* inputName,
                                        OptProfileSelector select) const noexcept = 0;
#if NV_TENSORRT_MAJOR >= 10
  virtual bool setShapeValuesV2(char const* inputName, OptProfileSelector select,
                                int64_t const* values, int32_t nbValues) noexcept = 0;
  virtual int64_t const* getShapeValuesV2(char const* inputName,
                                          OptProfileSelector select) const noexcept = 0;
#endif
  virtual bool setExtraMemoryTarget(float target) noexcept = 0;
  virtual float getExtraMemoryTarget() const noexcept = 0;
  virtual bool isValid() const noexcept = 0;
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
 public:
  virtual ~ISerializationConfig() noexcept = default;
  virtual bool setFlags(SerializationFlags flags) noexcept = 0;
  virtual SerializationFlags getFlags() const noexcept = 0;
  virtual bool clearFlag(SerializationFlag flag) noexcept = 0;
  virtual bool setFlag(SerializationFlag flag) noexcept = 0;
  virtual bool getFlag(SerializationFlag flag) const noexcept = 0;
};

class IRuntimeConfig : public INoCopy {
 public:
  virtual ~IRuntimeConfig() noexcept = default;
  virtual void setExecutionContextAllocationStrategy(
      ExecutionContextAllocationStrategy strategy) noexcept = 0;
  virtual ExecutionContextAllocationStrategy getExecutionContextAllocationStrategy()
      const noexcept = 0;
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
 public:
  virtual ~IRuntime() noexcept = default;
#if NV_TENSORRT_MAJOR < 10
  virtual ICudaEngine* deserializeCudaEngine(void const* blob, std::size_t size,
                                             void* pluginFactory) noexcept = 0;
#else
  virtual ICudaEngine* deserializeCudaEngine(IStreamReader& streamReader) = 0;
  virtual ICudaEngine* deserializeCudaEngine(IStreamReaderV2& streamReader) = 0;
  virtual EngineValidity getEngineValidity(void const* blob, int64_t blobSize,
                                           uint64_t* diagnostics) const noexcept = 0;
  virtual int64_t getEngineHeaderSize() const noexcept = 0;
#endif
  virtual ICudaEngine* deserializeCudaEngine(void const* blob, std::size_t size) noexcept = 0;
  virtual void setDLACore(int32_t dlaCore) noexcept = 0;
  virtual int32_t getDLACore() const noexcept = 0;
  virtual int32_t getNbDLACores() const noexcept = 0;
  virtual void setGpuAllocator(IGpuAllocator* allocator) noexcept = 0;
  virtual void setErrorRecorder(IErrorRecorder* recorder) noexcept = 0;
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;
  virtual ILogger* getLogger() const noexcept = 0;
  virtual bool setMaxThreads(int32_t maxThreads) noexcept = 0;
  virtual int32_t getMaxThreads() const noexcept = 0;
  virtual void setTemporaryDirectory(char const* path) noexcept = 0;
  virtual char const* getTemporaryDirectory() const noexcept = 0;
  virtual void setTempfileControlFlags(TempfileControlFlags flags) noexcept = 0;
  virtual TempfileControlFlags getTempfileControlFlags() const noexcept = 0;
  virtual IPluginRegistry& getPluginRegistry() noexcept = 0;
  virtual IRuntime* loadRuntime(char const* path) noexcept = 0;
  virtual void setEngineHostCodeAllowed(bool allowed) noexcept = 0;
  virtual bool getEngineHostCodeAllowed() const noexcept = 0;
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
 public:
  virtual ~IRefitter() noexcept = default;
  virtual bool setWeights(char const* layerName, WeightsRole role, Weights weights) noexcept = 0;
  virtual bool refitCudaEngine() noexcept = 0;
  virtual int32_t getMissing(int32_t size, char const** layerNames,
                             WeightsRole* roles) noexcept = 0;
  virtual int32_t getAll(int32_t size, char const** layerNames, WeightsRole* roles) noexcept = 0;
  virtual bool setDynamicRange(char const* tensorName, float min, float max) noexcept = 0;
  virtual float getDynamicRangeMin(char const* tensorName) const noexcept = 0;
  virtual float getDynamicRangeMax(char const* tensorName) const noexcept = 0;
  virtual int32_t getTensorsWithDynamicRange(int32_t size,
                                             char const** tensorNames) const noexcept = 0;
  virtual void setErrorRecorder(IErrorRecorder* recorder) noexcept = 0;
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;
  virtual bool setNamedWeights(char const* name, Weights weights) noexcept = 0;
  virtual int32_t getMissingWeights(int32_t size, char const** weightsNames) noexcept = 0;
  virtual int32_t getAllWeights(int32_t size, char const** weightsNames) noexcept = 0;
  virtual ILogger* getLogger() const noexcept = 0;
  virtual bool setMaxThreads(int32_t maxThreads) noexcept = 0;
  virtual int32_t getMaxThreads() const noexcept = 0;
#if NV_TENSORRT_MAJOR >= 10
  virtual bool setNamedWeights(char const* name, Weights weights,
                               TensorLocation location) noexcept = 0;
  virtual Weights getNamedWeights(char const* weightsName) const noexcept = 0;
  virtual TensorLocation getWeightsLocation(char const* weightsName) const noexcept = 0;
  virtual bool unsetNamedWeights(char const* weightsName) noexcept = 0;
  virtual void setWeightsValidation(bool weightsValidation) noexcept = 0;
  virtual bool getWeightsValidation() const noexcept = 0;
  virtual bool refitCudaEngineAsync(cudaStream_t stream) noexcept = 0;
  virtual Weights getWeightsPrototype(char const* weightsName) const noexcept = 0;
#endif
  OCTET_TRT_DESTROY
};

class IEngineInspector : public INoCopy {
 public:
  virtual ~IEngineInspector() noexcept = default;
  virtual bool setExecutionContext(IExecutionContext const* context) noexcept = 0;
  virtual IExecutionContext const* getExecutionContext() const noexcept = 0;
  virtual AsciiChar const* getLayerInformation(int32_t layerIndex,
                                               LayerInformationFormat format) const noexcept = 0;
  virtual AsciiChar const* getEngineInformation(LayerInformationFormat format) const noexcept = 0;
  virtual void setErrorRecorder(IErrorRecorder* recorder) noexcept = 0;
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;
};

}  // namespace nvinfer1
