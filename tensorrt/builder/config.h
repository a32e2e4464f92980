// SPDX-License-Identifier: Apache-2.0
// How an engine is built: what clients set, and profiles of sizes.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tensorrt/engine/plan_info.h"
#include "tensorrt/shared/handed.h"
#include "tensorrt/shared/report.h"

namespace octet_trt {

constexpr uint32_t kTf32 = 1U << static_cast<uint32_t>(BuilderFlag::kTF32);

class Profile final : public Handed<IOptimizationProfile> {
 public:
  explicit Profile(Reporter told) : reporter(told) {}
  bool setDimensions(char const* inputName, OptProfileSelector select,
                     Dims const& dims) noexcept override;
  Dims getDimensions(char const* inputName, OptProfileSelector select) const noexcept override;
  bool setShapeValues(char const* inputName, OptProfileSelector select, int32_t const* values,
                      int32_t nbValues) noexcept override;
  int32_t getNbShapeValues(char const* inputName) const noexcept override;
  int32_t const* getShapeValues(char const* inputName,
                                OptProfileSelector select) const noexcept override;
#if NV_TENSORRT_MAJOR >= 10
  bool setShapeValuesV2(char const* inputName, OptProfileSelector select, int64_t const* values,
                        int32_t nbValues) noexcept override;
  int64_t const* getShapeValuesV2(char const* inputName,
                                  OptProfileSelector select) const noexcept override;
#endif
  bool setExtraMemoryTarget(float target) noexcept override;
  float getExtraMemoryTarget() const noexcept override;
  bool isValid() const noexcept override;
  std::string problem() const;  // empty: it is valid

  ProfileInfo info;
  Reporter reporter;
  const Watched<const Profile> watched{this};

 private:
  mutable std::map<std::string, std::array<std::vector<int32_t>, 3>> narrow_;
  float extra_memory_ = 1;
};

class TimingCache final : public Handed<ITimingCache> {
 public:
  TimingCache(std::string json, Reporter told) : tuning(std::move(json)), reporter_(told) {}
  IHostMemory* serialize() const noexcept override;
  bool combine(ITimingCache const& inputCache, bool ignoreMismatch) noexcept override;
  bool reset() noexcept override;
#if NV_TENSORRT_MAJOR >= 10
  int64_t queryKeys(TimingCacheKey* keyBuffer, int64_t capacity) const noexcept override;
  TimingCacheValue query(TimingCacheKey const& key) const noexcept override;
  bool update(TimingCacheKey const& key, TimingCacheValue const& value) noexcept override;
#endif

  std::string tuning;  // of octet/tuning.h; empty: nothing measured yet
  const Watched<TimingCache> watched{this};

 private:
  void refuse_edit(const char* function) const;
  Reporter reporter_;
};

class Config final : public Handed<IBuilderConfig> {
 public:
  explicit Config(Reporter told) : reporter(told) {}
  void setAvgTimingIterations(int32_t avgTiming) noexcept override {
    avg_timing_iterations_ = avgTiming;
  }
  int32_t getAvgTimingIterations() const noexcept override { return avg_timing_iterations_; }
  void setEngineCapability(EngineCapability capability) noexcept override {
    take("setEngineCapability", engine_capability_, capability);
  }
  EngineCapability getEngineCapability() const noexcept override { return engine_capability_; }
  void setInt8Calibrator(IInt8Calibrator* calibrator) noexcept override {
    int8_calibrator_ = calibrator;
  }
  IInt8Calibrator* getInt8Calibrator() const noexcept override { return int8_calibrator_; }
  void setFlags(BuilderFlags builderFlags) noexcept override { flags_ = builderFlags; }
  BuilderFlags getFlags() const noexcept override { return flags_; }
  void clearFlag(BuilderFlag builderFlag) noexcept override;
  void setFlag(BuilderFlag builderFlag) noexcept override;
  bool getFlag(BuilderFlag builderFlag) const noexcept override;
  void setDeviceType(ILayer const* layer, DeviceType deviceType) noexcept override;
  DeviceType getDeviceType(ILayer const* layer) const noexcept override;
  bool isDeviceTypeSet(ILayer const* layer) const noexcept override;
  void resetDeviceType(ILayer const* layer) noexcept override;
  bool canRunOnDLA(ILayer const* layer) const noexcept override;
  void setDLACore(int32_t dlaCore) noexcept override { dla_core_ = dlaCore; }
  int32_t getDLACore() const noexcept override { return dla_core_; }
  void setDefaultDeviceType(DeviceType deviceType) noexcept override {
    take("setDefaultDeviceType", default_device_type_, deviceType);
  }
  DeviceType getDefaultDeviceType() const noexcept override { return default_device_type_; }
  void reset() noexcept override;
  void setProfileStream(cudaStream_t const stream) noexcept override { profile_stream_ = stream; }
  cudaStream_t getProfileStream() const noexcept override { return profile_stream_; }
  int32_t addOptimizationProfile(IOptimizationProfile const* profile) noexcept override;
  int32_t getNbOptimizationProfiles() const noexcept override;
  void setProfilingVerbosity(ProfilingVerbosity verbosity) noexcept override {
    take("setProfilingVerbosity", profiling_verbosity_, verbosity);
  }
  ProfilingVerbosity getProfilingVerbosity() const noexcept override {
    return profiling_verbosity_;
  }
  bool setCalibrationProfile(IOptimizationProfile const* profile) noexcept override;
  IOptimizationProfile const* getCalibrationProfile() noexcept override;
  void setQuantizationFlags(QuantizationFlags flags) noexcept override {
    quantization_flags_ = flags;
  }
  QuantizationFlags getQuantizationFlags() const noexcept override { return quantization_flags_; }
  void clearQuantizationFlag(QuantizationFlag flag) noexcept override;
  void setQuantizationFlag(QuantizationFlag flag) noexcept override;
  bool getQuantizationFlag(QuantizationFlag flag) const noexcept override;
  bool setTacticSources(TacticSources tacticSources) noexcept override {
    tactic_sources_ = tacticSources;
    return true;
  }
  TacticSources getTacticSources() const noexcept override { return tactic_sources_; }
  ITimingCache* createTimingCache(void const* blob, std::size_t size) const noexcept override;
  bool setTimingCache(ITimingCache const& cache, bool ignoreMismatch) noexcept override;
  ITimingCache const* getTimingCache() const noexcept override;
  void setMemoryPoolLimit(MemoryPoolType pool, std::size_t poolSize) noexcept override;
  std::size_t getMemoryPoolLimit(MemoryPoolType pool) const noexcept override;
  void setPreviewFeature(PreviewFeature feature, bool enable) noexcept override;
  bool getPreviewFeature(PreviewFeature feature) const noexcept override;
  void setBuilderOptimizationLevel(int32_t level) noexcept override {
    builder_optimization_level_ = level;
  }
  int32_t getBuilderOptimizationLevel() const noexcept override {
    return builder_optimization_level_;
  }
  void setHardwareCompatibilityLevel(HardwareCompatibilityLevel level) noexcept override {
    take("setHardwareCompatibilityLevel", hardware_compatibility_level_, level);
  }
  HardwareCompatibilityLevel getHardwareCompatibilityLevel() const noexcept override {
    return hardware_compatibility_level_;
  }
  void setPluginsToSerialize(char const* const* paths, int32_t nbPaths) noexcept override;
  char const* getPluginToSerialize(int32_t index) const noexcept override;
  int32_t getNbPluginsToSerialize() const noexcept override;
  void setMaxAuxStreams(int32_t nbStreams) noexcept override { max_aux_streams_ = nbStreams; }
  int32_t getMaxAuxStreams() const noexcept override { return max_aux_streams_; }
  void setAlgorithmSelector(IAlgorithmSelector* selector) noexcept override;
  IAlgorithmSelector* getAlgorithmSelector() const noexcept override { return nullptr; }
#if NV_TENSORRT_MAJOR >= 10
  void setProgressMonitor(IProgressMonitor* monitor) noexcept override {
    progress_monitor_ = monitor;
  }
  IProgressMonitor* getProgressMonitor() const noexcept override { return progress_monitor_; }
  void setRuntimePlatform(RuntimePlatform runtimePlatform) noexcept override {
    take("setRuntimePlatform", runtime_platform_, runtimePlatform);
  }
  RuntimePlatform getRuntimePlatform() const noexcept override { return runtime_platform_; }
  void setMaxNbTactics(int32_t maxNbTactics) noexcept override { max_nb_tactics_ = maxNbTactics; }
  int32_t getMaxNbTactics() const noexcept override { return max_nb_tactics_; }
  bool setTilingOptimizationLevel(TilingOptimizationLevel level) noexcept override {
    return take("setTilingOptimizationLevel", tiling_optimization_level_, level);
  }
  TilingOptimizationLevel getTilingOptimizationLevel() const noexcept override {
    return tiling_optimization_level_;
  }
  bool setL2LimitForTiling(int64_t size) noexcept override {
    l2_limit_for_tiling_ = size;
    return true;
  }
  int64_t getL2LimitForTiling() const noexcept override { return l2_limit_for_tiling_; }
  bool setRemoteAutoTuningConfig(char const* config) noexcept override;
  char const* getRemoteAutoTuningConfig() const noexcept override;
#else
  void setMinTimingIterations(int32_t minTiming) noexcept override {
    min_timing_iterations_ = minTiming;
  }
  int32_t getMinTimingIterations() const noexcept override { return min_timing_iterations_; }
  void setMaxWorkspaceSize(std::size_t workspaceSize) noexcept override;
  std::size_t getMaxWorkspaceSize() const noexcept override;
#endif

  bool has(BuilderFlag flag) const noexcept { return getFlag(flag); }
  const std::vector<ProfileInfo>& profiles() const { return profiles_; }
  // The client's, to which a build adds; null: none is set, or it is gone.
  TimingCache* timing_cache() const { return timing_cache_.get(); }
  const Profile* calibration_profile() const { return calibration_profile_.get(); }

  Reporter reporter;

 private:
  // Keeps a value that there is; another is told.
  template <class T>
  bool take(const char* function, T& kept, T value) noexcept {
    return guarded(reporter, "IBuilderConfig", false, [&] {
      need_right(value, function);
      kept = value;
      return true;
    });
  }
  // One bit of flags, which is nowhere for a flag that there is not.
  template <class Flag>
  uint32_t bit(const char* function, Flag flag) const noexcept {
    return guarded(reporter, "IBuilderConfig", uint32_t{0}, [&] {
      need_right(flag, function);
      return 1U << static_cast<uint32_t>(flag);
    });
  }

  int32_t avg_timing_iterations_ = 1;
  EngineCapability engine_capability_ = EngineCapability::kSTANDARD;
  IInt8Calibrator* int8_calibrator_ = nullptr;
  BuilderFlags flags_ = kTf32;
  int32_t dla_core_ = -1;
  DeviceType default_device_type_ = DeviceType::kGPU;
  cudaStream_t profile_stream_ = nullptr;
  ProfilingVerbosity profiling_verbosity_ = ProfilingVerbosity::kLAYER_NAMES_ONLY;
  QuantizationFlags quantization_flags_ = 0;
  TacticSources tactic_sources_ = 0x1f;
  int32_t builder_optimization_level_ = 3;
  HardwareCompatibilityLevel hardware_compatibility_level_ = HardwareCompatibilityLevel::kNONE;
  int32_t max_aux_streams_ = 0;
#if NV_TENSORRT_MAJOR >= 10
  IProgressMonitor* progress_monitor_ = nullptr;
  RuntimePlatform runtime_platform_ = RuntimePlatform::kSAME_AS_BUILD;
  int32_t max_nb_tactics_ = -1;
  TilingOptimizationLevel tiling_optimization_level_ = TilingOptimizationLevel::kNONE;
  int64_t l2_limit_for_tiling_ = 0;
#else
  int32_t min_timing_iterations_ = 1;
#endif
  std::vector<ProfileInfo> profiles_;
  Watch<const Profile> calibration_profile_;
  Watch<TimingCache> timing_cache_;
  std::map<const ILayer*, DeviceType> devices_;
  std::map<MemoryPoolType, std::size_t> pools_;
  std::set<PreviewFeature> features_;
  std::vector<std::string> plugins_;
  std::string remote_;
};

}  // namespace octet_trt
