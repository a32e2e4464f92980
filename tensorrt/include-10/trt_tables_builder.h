// SPDX-License-Identifier: Apache-2.0
// Tables of builders and their configuration.
#pragma once

#include "trt_tables_types.h"

namespace nvinfer1 {
namespace apiv {

class VTimingCache : public VRoot {
 public:
  virtual IHostMemory* serialize() const noexcept = 0;
  virtual bool combine(ITimingCache const&, bool) noexcept = 0;
  virtual bool reset() noexcept = 0;
  virtual int64_t queryKeys(TimingCacheKey*, int64_t) const noexcept = 0;
  virtual TimingCacheValue query(TimingCacheKey const&) const noexcept = 0;
  virtual bool update(TimingCacheKey const&, TimingCacheValue const&) noexcept = 0;
};

class VBuilderConfig : public VRoot {
 public:
  virtual void setAvgTimingIterations(int32_t) noexcept = 0;
  virtual int32_t getAvgTimingIterations() const noexcept = 0;
  virtual void setEngineCapability(EngineCapability) noexcept = 0;
  virtual EngineCapability getEngineCapability() const noexcept = 0;
  virtual void setInt8Calibrator(IInt8Calibrator*) noexcept = 0;
  virtual IInt8Calibrator* getInt8Calibrator() const noexcept = 0;
  virtual void setFlags(uint32_t) noexcept = 0;
  virtual uint32_t getFlags() const noexcept = 0;
  virtual void clearFlag(BuilderFlag) noexcept = 0;
  virtual void setFlag(BuilderFlag) noexcept = 0;
  virtual bool getFlag(BuilderFlag) const noexcept = 0;
  virtual void setDeviceType(ILayer const*, DeviceType) noexcept = 0;
  virtual DeviceType getDeviceType(ILayer const*) const noexcept = 0;
  virtual bool isDeviceTypeSet(ILayer const*) const noexcept = 0;
  virtual void resetDeviceType(ILayer const*) noexcept = 0;
  virtual bool canRunOnDLA(ILayer const*) const noexcept = 0;
  virtual void setDLACore(int32_t) noexcept = 0;
  virtual int32_t getDLACore() const noexcept = 0;
  virtual void setDefaultDeviceType(DeviceType) noexcept = 0;
  virtual DeviceType getDefaultDeviceType() const noexcept = 0;
  virtual void reset() noexcept = 0;
  virtual void setProfileStream(cudaStream_t) noexcept = 0;
  virtual cudaStream_t getProfileStream() const noexcept = 0;
  virtual int32_t addOptimizationProfile(IOptimizationProfile const*) noexcept = 0;
  virtual int32_t getNbOptimizationProfiles() const noexcept = 0;
  virtual void setProfilingVerbosity(ProfilingVerbosity) noexcept = 0;
  virtual ProfilingVerbosity getProfilingVerbosity() const noexcept = 0;
  virtual void setAlgorithmSelector(IAlgorithmSelector*) noexcept = 0;
  virtual IAlgorithmSelector* getAlgorithmSelector() const noexcept = 0;
  virtual bool setCalibrationProfile(IOptimizationProfile const*) noexcept = 0;
  virtual IOptimizationProfile const* getCalibrationProfile() noexcept = 0;
  virtual void setQuantizationFlags(uint32_t) noexcept = 0;
  virtual uint32_t getQuantizationFlags() const noexcept = 0;
  virtual void clearQuantizationFlag(QuantizationFlag) noexcept = 0;
  virtual void setQuantizationFlag(QuantizationFlag) noexcept = 0;
  virtual bool getQuantizationFlag(QuantizationFlag) const noexcept = 0;
  virtual bool setTacticSources(uint32_t) noexcept = 0;
  virtual uint32_t getTacticSources() const noexcept = 0;
  virtual ITimingCache* createTimingCache(void const*, std::size_t) const noexcept = 0;
  virtual bool setTimingCache(ITimingCache const&, bool) noexcept = 0;
  virtual ITimingCache const* getTimingCache() const noexcept = 0;
  virtual void setMemoryPoolLimit(MemoryPoolType, std::size_t) noexcept = 0;
  virtual std::size_t getMemoryPoolLimit(MemoryPoolType) const noexcept = 0;
  virtual void setPreviewFeature(PreviewFeature, bool) noexcept = 0;
  virtual bool getPreviewFeature(PreviewFeature) const noexcept = 0;
  virtual void setBuilderOptimizationLevel(int32_t) noexcept = 0;
  virtual int32_t getBuilderOptimizationLevel() const noexcept = 0;
  virtual void setHardwareCompatibilityLevel(HardwareCompatibilityLevel) noexcept = 0;
  virtual HardwareCompatibilityLevel getHardwareCompatibilityLevel() const noexcept = 0;
  virtual void setPluginsToSerialize(char const* const*, int32_t) noexcept = 0;
  virtual char const* getPluginToSerialize(int32_t) const noexcept = 0;
  virtual int32_t getNbPluginsToSerialize() const noexcept = 0;
  virtual void setMaxAuxStreams(int32_t) noexcept = 0;
  virtual int32_t getMaxAuxStreams() const noexcept = 0;
  virtual void setProgressMonitor(IProgressMonitor*) noexcept = 0;
  virtual IProgressMonitor* getProgressMonitor() const noexcept = 0;
  virtual void setRuntimePlatform(RuntimePlatform) noexcept = 0;
  virtual RuntimePlatform getRuntimePlatform() const noexcept = 0;
  virtual void setMaxNbTactics(int32_t) noexcept = 0;
  virtual int32_t getMaxNbTactics() const noexcept = 0;
  virtual bool setTilingOptimizationLevel(TilingOptimizationLevel) noexcept = 0;
  virtual TilingOptimizationLevel getTilingOptimizationLevel() const noexcept = 0;
  virtual bool setL2LimitForTiling(int64_t) noexcept = 0;
  virtual int64_t getL2LimitForTiling() const noexcept = 0;
  virtual bool setRemoteAutoTuningConfig(char const*) noexcept = 0;
  virtual char const* getRemoteAutoTuningConfig() const noexcept = 0;
};

class VBuilder : public VRoot {
 public:
  virtual bool platformHasFastFp16() const noexcept = 0;
  virtual bool platformHasFastInt8() const noexcept = 0;
  virtual int32_t getMaxDLABatchSize() const noexcept = 0;
  virtual int32_t getNbDLACores() const noexcept = 0;
  virtual void setGpuAllocator(IGpuAllocator*) noexcept = 0;
  virtual IBuilderConfig* createBuilderConfig() noexcept = 0;
  virtual INetworkDefinition* createNetworkV2(uint32_t) noexcept = 0;
  virtual IOptimizationProfile* createOptimizationProfile() noexcept = 0;
  virtual void setErrorRecorder(IErrorRecorder*) noexcept = 0;
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;
  virtual void reset() noexcept = 0;
  virtual bool platformHasTf32() const noexcept = 0;
  virtual IHostMemory* buildSerializedNetwork(INetworkDefinition&, IBuilderConfig&) noexcept = 0;
  virtual bool isNetworkSupported(INetworkDefinition const&,
                                  IBuilderConfig const&) const noexcept = 0;
  virtual ILogger* getLogger() const noexcept = 0;
  virtual bool setMaxThreads(int32_t) noexcept = 0;
  virtual int32_t getMaxThreads() const noexcept = 0;
  virtual IPluginRegistry& getPluginRegistry() noexcept = 0;
  virtual ICudaEngine* buildEngineWithConfig(INetworkDefinition&, IBuilderConfig&) noexcept = 0;
  virtual bool buildSerializedNetworkToStream(INetworkDefinition&, IBuilderConfig&,
                                              IStreamWriter&) noexcept = 0;
  virtual IHostMemory* buildSerializedNetworkWithKernelText(INetworkDefinition&, IBuilderConfig&,
                                                            IHostMemory*&) noexcept = 0;
};

class VAlgorithmIOInfo : public VRoot {
 public:
  virtual DataType getDataType() const noexcept = 0;
  virtual Dims getStrides() const noexcept = 0;
  virtual int64_t getVectorizedDim() const noexcept = 0;
  virtual int64_t getComponentsPerElement() const noexcept = 0;
};

class VAlgorithmVariant : public VRoot {
 public:
  virtual int64_t getImplementation() const noexcept = 0;
  virtual int64_t getTactic() const noexcept = 0;
};

class VAlgorithmContext : public VRoot {
 public:
  virtual char const* getName() const noexcept = 0;
  virtual Dims getDimensions(int32_t, OptProfileSelector) const noexcept = 0;
  virtual int32_t getNbInputs() const noexcept = 0;
  virtual int32_t getNbOutputs() const noexcept = 0;
};

class VAlgorithm : public VRoot {
 public:
  virtual IAlgorithmVariant const& getAlgorithmVariant() const noexcept = 0;
  virtual float getTimingMSec() const noexcept = 0;
  virtual std::size_t getWorkspaceSize() const noexcept = 0;
  virtual IAlgorithmIOInfo const* getAlgorithmIOInfoByIndex(int32_t) const noexcept = 0;
};

}  // namespace apiv
}  // namespace nvinfer1
