// SPDX-License-Identifier: Apache-2.0
// How an engine is built, and the builder.
#pragma once

#include "trt_network.h"

namespace nvinfer1 {

enum class BuilderFlag : int32_t {
#if NV_TENSORRT_MAJOR >= 10
  kFP16 = 0,
  kINT8 = 1,
  kDEBUG = 2,
  kGPU_FALLBACK = 3,
  kREFIT = 4,
  kDISABLE_TIMING_CACHE = 5,
  kTF32 = 6,
  kSPARSE_WEIGHTS = 7,
  kSAFETY_SCOPE = 8,
  kOBEY_PRECISION_CONSTRAINTS = 9,
  kPREFER_PRECISION_CONSTRAINTS = 10,
  kDIRECT_IO = 11,
  kREJECT_EMPTY_ALGORITHMS = 12,
  kVERSION_COMPATIBLE = 13,
  kEXCLUDE_LEAN_RUNTIME = 14,
  kFP8 = 15,
  kERROR_ON_TIMING_CACHE_MISS = 16,
  kBF16 = 17,
  kDISABLE_COMPILATION_CACHE = 18,
  kSTRIP_PLAN = 19,
  kWEIGHTLESS = kSTRIP_PLAN,
  kREFIT_IDENTICAL = 20,
  kWEIGHT_STREAMING = 21,
  kINT4 = 22,
  kREFIT_INDIVIDUAL = 23,
  kSTRICT_NANS = 24,
  kMONITOR_MEMORY = 25,
  kFP4 = 26,
  kEDITABLE_TIMING_CACHE = 27,
  kDISTRIBUTIVE_INDEPENDENCE = 28,
#else
  kFP16 = 0,
  kINT8 = 1,
  kDEBUG = 2,
  kGPU_FALLBACK = 3,
  kSTRICT_TYPES = 4,
  kREFIT = 5,
  kDISABLE_TIMING_CACHE = 6,
  kTF32 = 7,
  kSPARSE_WEIGHTS = 8,
  kSAFETY_SCOPE = 9,
  kOBEY_PRECISION_CONSTRAINTS = 10,
  kPREFER_PRECISION_CONSTRAINTS = 11,
  kDIRECT_IO = 12,
  kREJECT_EMPTY_ALGORITHMS = 13,
  kENABLE_TACTIC_HEURISTIC = 14,
  kVERSION_COMPATIBLE = 15,
  kEXCLUDE_LEAN_RUNTIME = 16,
  kFP8 = 17,
#endif
};
#if NV_TENSORRT_MAJOR >= 10
OCTET_TRT_ENUM_MAX(BuilderFlag, 29)
#else
OCTET_TRT_ENUM_MAX(BuilderFlag, 18)
#endif
using BuilderFlags = uint32_t;

enum class QuantizationFlag : int32_t { kCALIBRATE_BEFORE_FUSION = 0 };
OCTET_TRT_ENUM_MAX(QuantizationFlag, 1)
using QuantizationFlags = uint32_t;

enum class MemoryPoolType : int32_t {
  kWORKSPACE = 0,
  kDLA_MANAGED_SRAM = 1,
  kDLA_LOCAL_DRAM = 2,
  kDLA_GLOBAL_DRAM = 3,
  kTACTIC_DRAM = 4,
#if NV_TENSORRT_MAJOR >= 10
  kTACTIC_SHARED_MEMORY = 5,
#endif
};
#if NV_TENSORRT_MAJOR >= 10
OCTET_TRT_ENUM_MAX(MemoryPoolType, 6)
#else
OCTET_TRT_ENUM_MAX(MemoryPoolType, 5)
#endif

enum class PreviewFeature : int32_t {
#if NV_TENSORRT_MAJOR >= 10
  kPROFILE_SHARING_0806 = 0,
  kALIASED_PLUGIN_IO_10_03 = 1,
  kRUNTIME_ACTIVATION_RESIZE_10_10 = 2,
  kMULTIDEVICE_RUNTIME_10_16 = 3,
#else
  kFASTER_DYNAMIC_SHAPES_0805 = 0,
  kDISABLE_EXTERNAL_TACTIC_SOURCES_FOR_CORE_0805 = 1,
  kPROFILE_SHARING_0806 = 2,
#endif
};
OCTET_TRT_ENUM_MAX(PreviewFeature, NV_TENSORRT_MAJOR >= 10 ? 4 : 3)

#if NV_TENSORRT_MAJOR >= 10
enum class RuntimePlatform : int32_t { kSAME_AS_BUILD = 0, kWINDOWS_AMD64 = 1 };
OCTET_TRT_ENUM_MAX(RuntimePlatform, 2)
enum class TilingOptimizationLevel : int32_t { kNONE = 0, kFAST = 1, kMODERATE = 2, kFULL = 3 };
OCTET_TRT_ENUM_MAX(TilingOptimizationLevel, 4)
#endif

#if NV_TENSORRT_MAJOR >= 10
OCTET_TRT_V1_BEGIN
// What a measurement is kept under, and the measurement.
struct TimingCacheKey {
  uint8_t data[16];
};
struct TimingCacheValue {
  uint64_t tacticHash;
  float timingMSec;
};
OCTET_TRT_V1_END
#endif

class ITimingCache : public INoCopy {
  OCTET_TRT_HANDLE(VTimingCache)
 public:
  virtual ~ITimingCache() noexcept = default;
  OCTET_TRT_ASK(IHostMemory*, serialize, (), ())
  OCTET_TRT_CALL(bool, combine, (ITimingCache const& inputCache, bool ignoreMismatch),
                 (inputCache, ignoreMismatch))
  OCTET_TRT_CALL(bool, reset, (), ())
#if NV_TENSORRT_MAJOR >= 10
  OCTET_TRT_ASK(int64_t, queryKeys, (TimingCacheKey * keyBuffer, int64_t capacity),
                (keyBuffer, capacity))
  OCTET_TRT_ASK(TimingCacheValue, query, (TimingCacheKey const& key), (key))
  OCTET_TRT_CALL(bool, update, (TimingCacheKey const& key, TimingCacheValue const& value),
                 (key, value))
#endif
};

class IBuilderConfig : public INoCopy {
  OCTET_TRT_HANDLE(VBuilderConfig)
 public:
  virtual ~IBuilderConfig() noexcept = default;
  OCTET_TRT_CALL_OWN(void, setAvgTimingIterations, (int32_t avgTiming), (avgTiming))
  OCTET_TRT_ASK(int32_t, getAvgTimingIterations, (), ())
  OCTET_TRT_CALL(void, setEngineCapability, (EngineCapability capability), (capability))
  OCTET_TRT_ASK(EngineCapability, getEngineCapability, (), ())
  OCTET_TRT_CALL(void, setInt8Calibrator, (IInt8Calibrator * calibrator), (calibrator))
  OCTET_TRT_ASK(IInt8Calibrator*, getInt8Calibrator, (), ())
  OCTET_TRT_CALL(void, setFlags, (BuilderFlags builderFlags), (builderFlags))
  OCTET_TRT_ASK(BuilderFlags, getFlags, (), ())
  OCTET_TRT_CALL(void, clearFlag, (BuilderFlag builderFlag), (builderFlag))
  OCTET_TRT_CALL(void, setFlag, (BuilderFlag builderFlag), (builderFlag))
  OCTET_TRT_ASK(bool, getFlag, (BuilderFlag builderFlag), (builderFlag))
  OCTET_TRT_CALL(void, setDeviceType, (ILayer const* layer, DeviceType deviceType),
                 (layer, deviceType))
  OCTET_TRT_ASK(DeviceType, getDeviceType, (ILayer const* layer), (layer))
  OCTET_TRT_ASK(bool, isDeviceTypeSet, (ILayer const* layer), (layer))
  OCTET_TRT_CALL(void, resetDeviceType, (ILayer const* layer), (layer))
  OCTET_TRT_ASK(bool, canRunOnDLA, (ILayer const* layer), (layer))
  OCTET_TRT_CALL(void, setDLACore, (int32_t dlaCore), (dlaCore))
  OCTET_TRT_ASK(int32_t, getDLACore, (), ())
  OCTET_TRT_CALL(void, setDefaultDeviceType, (DeviceType deviceType), (deviceType))
  OCTET_TRT_ASK(DeviceType, getDefaultDeviceType, (), ())
  OCTET_TRT_CALL(void, reset, (), ())
  OCTET_TRT_CALL(void, setProfileStream, (cudaStream_t const stream), (stream))
  OCTET_TRT_ASK(cudaStream_t, getProfileStream, (), ())
  OCTET_TRT_CALL(int32_t, addOptimizationProfile, (IOptimizationProfile const* profile), (profile))
  OCTET_TRT_ASK(int32_t, getNbOptimizationProfiles, (), ())
  OCTET_TRT_CALL(void, setProfilingVerbosity, (ProfilingVerbosity verbosity), (verbosity))
  OCTET_TRT_ASK(ProfilingVerbosity, getProfilingVerbosity, (), ())
  OCTET_TRT_CALL(bool, setCalibrationProfile, (IOptimizationProfile const* profile), (profile))
  OCTET_TRT_CALL(IOptimizationProfile const*, getCalibrationProfile, (), ())
  OCTET_TRT_CALL(void, setQuantizationFlags, (QuantizationFlags flags), (flags))
  OCTET_TRT_ASK(QuantizationFlags, getQuantizationFlags, (), ())
  OCTET_TRT_CALL(void, clearQuantizationFlag, (QuantizationFlag flag), (flag))
  OCTET_TRT_CALL(void, setQuantizationFlag, (QuantizationFlag flag), (flag))
  OCTET_TRT_ASK(bool, getQuantizationFlag, (QuantizationFlag flag), (flag))
  OCTET_TRT_CALL(bool, setTacticSources, (TacticSources tacticSources), (tacticSources))
  OCTET_TRT_ASK(TacticSources, getTacticSources, (), ())
  OCTET_TRT_ASK(ITimingCache*, createTimingCache, (void const* blob, std::size_t size),
                (blob, size))
  OCTET_TRT_CALL(bool, setTimingCache, (ITimingCache const& cache, bool ignoreMismatch),
                 (cache, ignoreMismatch))
  OCTET_TRT_ASK(ITimingCache const*, getTimingCache, (), ())
  OCTET_TRT_CALL(void, setMemoryPoolLimit, (MemoryPoolType pool, std::size_t poolSize),
                 (pool, poolSize))
  OCTET_TRT_ASK(std::size_t, getMemoryPoolLimit, (MemoryPoolType pool), (pool))
  OCTET_TRT_CALL(void, setPreviewFeature, (PreviewFeature feature, bool enable), (feature, enable))
  OCTET_TRT_ASK(bool, getPreviewFeature, (PreviewFeature feature), (feature))
  OCTET_TRT_CALL(void, setBuilderOptimizationLevel, (int32_t level), (level))
  OCTET_TRT_ASK(int32_t, getBuilderOptimizationLevel, (), ())
  OCTET_TRT_CALL(void, setHardwareCompatibilityLevel, (HardwareCompatibilityLevel level), (level))
  OCTET_TRT_ASK(HardwareCompatibilityLevel, getHardwareCompatibilityLevel, (), ())
  OCTET_TRT_CALL(void, setPluginsToSerialize, (char const* const* paths, int32_t nbPaths),
                 (paths, nbPaths))
  OCTET_TRT_ASK(char const*, getPluginToSerialize, (int32_t index), (index))
  OCTET_TRT_ASK(int32_t, getNbPluginsToSerialize, (), ())
  OCTET_TRT_CALL(void, setMaxAuxStreams, (int32_t nbStreams), (nbStreams))
  OCTET_TRT_ASK(int32_t, getMaxAuxStreams, (), ())
  OCTET_TRT_CALL(void, setAlgorithmSelector, (IAlgorithmSelector * selector), (selector))
  OCTET_TRT_ASK(IAlgorithmSelector*, getAlgorithmSelector, (), ())
#if NV_TENSORRT_MAJOR >= 10
  OCTET_TRT_CALL(void, setProgressMonitor, (IProgressMonitor * monitor), (monitor))
  OCTET_TRT_ASK(IProgressMonitor*, getProgressMonitor, (), ())
  OCTET_TRT_CALL(void, setRuntimePlatform, (RuntimePlatform runtimePlatform), (runtimePlatform))
  OCTET_TRT_ASK(RuntimePlatform, getRuntimePlatform, (), ())
  OCTET_TRT_CALL(void, setMaxNbTactics, (int32_t maxNbTactics), (maxNbTactics))
  OCTET_TRT_ASK(int32_t, getMaxNbTactics, (), ())
  OCTET_TRT_CALL(bool, setTilingOptimizationLevel, (TilingOptimizationLevel level), (level))
  OCTET_TRT_ASK(TilingOptimizationLevel, getTilingOptimizationLevel, (), ())
  OCTET_TRT_CALL(bool, setL2LimitForTiling, (int64_t size), (size))
  OCTET_TRT_ASK(int64_t, getL2LimitForTiling, (), ())
  OCTET_TRT_CALL(bool, setRemoteAutoTuningConfig, (char const* config), (config))
  OCTET_TRT_ASK(char const*, getRemoteAutoTuningConfig, (), ())
#else
  OCTET_TRT_CALL(void, setMinTimingIterations, (int32_t minTiming), (minTiming))
  OCTET_TRT_ASK(int32_t, getMinTimingIterations, (), ())
  OCTET_TRT_CALL(void, setMaxWorkspaceSize, (std::size_t workspaceSize), (workspaceSize))
  OCTET_TRT_ASK(std::size_t, getMaxWorkspaceSize, (), ())
#endif
  OCTET_TRT_DESTROY
};

class IBuilder : public INoCopy {
  OCTET_TRT_HANDLE(VBuilder)
 public:
  virtual ~IBuilder() noexcept = default;
  OCTET_TRT_ASK(bool, platformHasFastFp16, (), ())
  OCTET_TRT_ASK(bool, platformHasFastInt8, (), ())
  OCTET_TRT_ASK(int32_t, getMaxDLABatchSize, (), ())
  OCTET_TRT_ASK(int32_t, getNbDLACores, (), ())
  OCTET_TRT_CALL(void, setGpuAllocator, (IGpuAllocator * allocator), (allocator))
  OCTET_TRT_CALL(IBuilderConfig*, createBuilderConfig, (), ())
  OCTET_TRT_CALL(INetworkDefinition*, createNetworkV2, (NetworkDefinitionCreationFlags flags),
                 (flags))
  OCTET_TRT_CALL(IOptimizationProfile*, createOptimizationProfile, (), ())
  OCTET_TRT_CALL(void, setErrorRecorder, (IErrorRecorder * recorder), (recorder))
  OCTET_TRT_ASK(IErrorRecorder*, getErrorRecorder, (), ())
  OCTET_TRT_CALL(void, reset, (), ())
  OCTET_TRT_ASK(bool, platformHasTf32, (), ())
  OCTET_TRT_CALL(IHostMemory*, buildSerializedNetwork,
                 (INetworkDefinition & network, IBuilderConfig& config), (network, config))
  OCTET_TRT_CALL(ICudaEngine*, buildEngineWithConfig,
                 (INetworkDefinition & network, IBuilderConfig& config), (network, config))
  OCTET_TRT_ASK(bool, isNetworkSupported,
                (INetworkDefinition const& network, IBuilderConfig const& config),
                (network, config))
  OCTET_TRT_ASK(ILogger*, getLogger, (), ())
  OCTET_TRT_CALL(bool, setMaxThreads, (int32_t maxThreads), (maxThreads))
  OCTET_TRT_ASK(int32_t, getMaxThreads, (), ())
  OCTET_TRT_CALL(IPluginRegistry&, getPluginRegistry, (), ())
#if NV_TENSORRT_MAJOR >= 10
  OCTET_TRT_CALL(bool, buildSerializedNetworkToStream,
                 (INetworkDefinition & network, IBuilderConfig& config, IStreamWriter& writer),
                 (network, config, writer))
  OCTET_TRT_CALL_AS(IHostMemory*, buildSerializedNetwork, buildSerializedNetworkWithKernelText,
                    (INetworkDefinition & network, IBuilderConfig& config,
                     IHostMemory*& kernelText),
                    (network, config, kernelText))
#else
  OCTET_TRT_CALL(void, setMaxBatchSize, (int32_t batchSize), (batchSize))
  OCTET_TRT_ASK(int32_t, getMaxBatchSize, (), ())
#endif
  OCTET_TRT_DESTROY
};

}  // namespace nvinfer1
