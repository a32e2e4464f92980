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
// What a measurement is kept under, and the measurement.
struct TimingCacheKey {
  uint8_t data[16];
};
struct TimingCacheValue {
  uint64_t tacticHash;
  float timingMSec;
};
#endif

class ITimingCache : public INoCopy {
 public:
  virtual ~ITimingCache() noexcept = default;
  virtual IHostMemory* serialize() const noexcept = 0;
  virtual bool combine(ITimingCache const& inputCache, bool ignoreMismatch) noexcept = 0;
  virtual bool reset() noexcept = 0;
#if NV_TENSORRT_MAJOR >= 10
  virtual int64_t queryKeys(TimingCacheKey* keyBuffer, int64_t capacity) const noexcept = 0;
  virtual TimingCacheValue query(TimingCacheKey const& key) const noexcept = 0;
  virtual bool update(TimingCacheKey const& key, TimingCacheValue const& value) noexcept = 0;
#endif
};

class IBuilderConfig : public INoCopy {
 public:
  virtual ~IBuilderConfig() noexcept = default;
  virtual void setAvgTimingIterations(int32_t avgTiming) noexcept = 0;
  virtual int32_t getAvgTimingIterations() const noexcept = 0;
  virtual void setEngineCapability(EngineCapability capability) noexcept = 0;
  virtual EngineCapability getEngineCapability() const noexcept = 0;
  virtual void setInt8Calibrator(IInt8Calibrator* calibrator) noexcept = 0;
  virtual IInt8Calibrator* getInt8Calibrator() const noexcept = 0;
  virtual void setFlags(BuilderFlags builderFlags) noexcept = 0;
  virtual BuilderFlags getFlags() const noexcept = 0;
  virtual void clearFlag(BuilderFlag builderFlag) noexcept = 0;
  virtual void setFlag(BuilderFlag builderFlag) noexcept = 0;
  virtual bool getFlag(BuilderFlag builderFlag) const noexcept = 0;
  virtual void setDeviceType(ILayer const* layer, DeviceType deviceType) noexcept = 0;
  virtual DeviceType getDeviceType(ILayer const* layer) const noexcept = 0;
  virtual bool isDeviceTypeSet(ILayer const* layer) const noexcept = 0;
  virtual void resetDeviceType(ILayer const* layer) noexcept = 0;
  virtual bool canRunOnDLA(ILayer const* layer) const noexcept = 0;
  virtual void setDLACore(int32_t dlaCore) noexcept = 0;
  virtual int32_t getDLACore() const noexcept = 0;
  virtual void setDefaultDeviceType(DeviceType deviceType) noexcept = 0;
  virtual DeviceType getDefaultDeviceType() const noexcept = 0;
  virtual void reset() noexcept = 0;
  virtual void setProfileStream(cudaStream_t const stream) noexcept = 0;
  virtual cudaStream_t getProfileStream() const noexcept = 0;
  virtual int32_t addOptimizationProfile(IOptimizationProfile const* profile) noexcept = 0;
  virtual int32_t getNbOptimizationProfiles() const noexcept = 0;
  virtual void setProfilingVerbosity(ProfilingVerbosity verbosity) noexcept = 0;
  virtual ProfilingVerbosity getProfilingVerbosity() const noexcept = 0;
  virtual bool setCalibrationProfile(IOptimizationProfile const* profile) noexcept = 0;
  virtual IOptimizationProfile const* getCalibrationProfile() noexcept = 0;
  virtual void setQuantizationFlags(QuantizationFlags flags) noexcept = 0;
  virtual QuantizationFlags getQuantizationFlags() const noexcept = 0;
  virtual void clearQuantizationFlag(QuantizationFlag flag) noexcept = 0;
  virtual void setQuantizationFlag(QuantizationFlag flag) noexcept = 0;
  virtual bool getQuantizationFlag(QuantizationFlag flag) const noexcept = 0;
  virtual bool setTacticSources(TacticSources tacticSources) noexcept = 0;
  virtual TacticSources getTacticSources() const noexcept = 0;
  virtual ITimingCache* createTimingCache(void const* blob, std::size_t size) const noexcept = 0;
  virtual bool setTimingCache(ITimingCache const& cache, bool ignoreMismatch) noexcept = 0;
  virtual ITimingCache const* getTimingCache() const noexcept = 0;
  virtual void setMemoryPoolLimit(MemoryPoolType pool, std::size_t poolSize) noexcept = 0;
  virtual std::size_t getMemoryPoolLimit(MemoryPoolType pool) const noexcept = 0;
  virtual void setPreviewFeature(PreviewFeature feature, bool enable) noexcept = 0;
  virtual bool getPreviewFeature(PreviewFeature feature) const noexcept = 0;
  virtual void setBuilderOptimizationLevel(int32_t level) noexcept = 0;
  virtual int32_t getBuilderOptimizationLevel() const noexcept = 0;
  virtual void setHardwareCompatibilityLevel(HardwareCompatibilityLevel level) noexcept = 0;
  virtual HardwareCompatibilityLevel getHardwareCompatibilityLevel() const noexcept = 0;
  virtual void setPluginsToSerialize(char const* const* paths, int32_t nbPaths) noexcept = 0;
  virtual char const* getPluginToSerialize(int32_t index) const noexcept = 0;
  virtual int32_t getNbPluginsToSerialize() const noexcept = 0;
  virtual void setMaxAuxStreams(int32_t nbStreams) noexcept = 0;
  virtual int32_t getMaxAuxStreams() const noexcept = 0;
  virtual void setAlgorithmSelector(IAlgorithmSelector* selector) noexcept = 0;
  virtual IAlgorithmSelector* getAlgorithmSelector() const noexcept = 0;
#if NV_TENSORRT_MAJOR >= 10
  virtual void setProgressMonitor(IProgressMonitor* monitor) noexcept = 0;
  virtual IProgressMonitor* getProgressMonitor() const noexcept = 0;
  virtual void setRuntimePlatform(RuntimePlatform runtimePlatform) noexcept = 0;
  virtual RuntimePlatform getRuntimePlatform() const noexcept = 0;
  virtual void setMaxNbTactics(int32_t maxNbTactics) noexcept = 0;
  virtual int32_t getMaxNbTactics() const noexcept = 0;
  virtual bool setTilingOptimizationLevel(TilingOptimizationLevel level) noexcept = 0;
  virtual TilingOptimizationLevel getTilingOptimizationLevel() const noexcept = 0;
  virtual bool setL2LimitForTiling(int64_t size) noexcept = 0;
  virtual int64_t getL2LimitForTiling() const noexcept = 0;
  virtual bool setRemoteAutoTuningConfig(char const* config) noexcept = 0;
  virtual char const* getRemoteAutoTuningConfig() const noexcept = 0;
#else
  virtual void setMinTimingIterations(int32_t minTiming) noexcept = 0;
  virtual int32_t getMinTimingIterations() const noexcept = 0;
  virtual void setMaxWorkspaceSize(std::size_t workspaceSize) noexcept = 0;
  virtual std::size_t getMaxWorkspaceSize() const noexcept = 0;
#endif
  OCTET_TRT_DESTROY
};

class IBuilder : public INoCopy {
 public:
  virtual ~IBuilder() noexcept = default;
  virtual bool platformHasFastFp16() const noexcept = 0;
  virtual bool platformHasFastInt8() const noexcept = 0;
  virtual int32_t getMaxDLABatchSize() const noexcept = 0;
  virtual int32_t getNbDLACores() const noexcept = 0;
  virtual void setGpuAllocator(IGpuAllocator* allocator) noexcept = 0;
  virtual IBuilderConfig* createBuilderConfig() noexcept = 0;
  virtual INetworkDefinition* createNetworkV2(NetworkDefinitionCreationFlags flags) noexcept = 0;
  virtual IOptimizationProfile* createOptimizationProfile() noexcept = 0;
  virtual void setErrorRecorder(IErrorRecorder* recorder) noexcept = 0;
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;
  virtual void reset() noexcept = 0;
  virtual bool platformHasTf32() const noexcept = 0;
  virtual IHostMemory* buildSerializedNetwork(INetworkDefinition& network,
                                              IBuilderConfig& config) noexcept = 0;
  virtual ICudaEngine* buildEngineWithConfig(INetworkDefinition& network,
                                             IBuilderConfig& config) noexcept = 0;
  virtual bool isNetworkSupported(INetworkDefinition const& network,
                                  IBuilderConfig const& config) const noexcept = 0;
  virtual ILogger* getLogger() const noexcept = 0;
  virtual bool setMaxThreads(int32_t maxThreads) noexcept = 0;
  virtual int32_t getMaxThreads() const noexcept = 0;
  virtual IPluginRegistry& getPluginRegistry() noexcept = 0;
#if NV_TENSORRT_MAJOR >= 10
  virtual bool buildSerializedNetworkToStream(INetworkDefinition& network, IBuilderConfig& config,
                                              IStreamWriter& writer) noexcept = 0;
  IHostMemory* buildSerializedNetwork(INetworkDefinition& network, IBuilderConfig& config,
                                      IHostMemory*& kernelText) noexcept {
    kernelText = nullptr;
    return buildSerializedNetwork(network, config);
  }
#else
  virtual void setMaxBatchSize(int32_t batchSize) noexcept = 0;
  virtual int32_t getMaxBatchSize() const noexcept = 0;
#endif
  OCTET_TRT_DESTROY
};

}  // namespace nvinfer1
