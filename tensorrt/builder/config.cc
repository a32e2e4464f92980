// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/builder/config.h"

#include <algorithm>

#include "octet/tuning.h"
#include "tensorrt/builder/builder.h"
#include "tensorrt/shared/host_memory.h"

namespace octet_trt {

namespace {

size_t index_of(OptProfileSelector select) {
  need_right(select, "end of a range");
  return static_cast<size_t>(select);
}

template <class Number>
std::vector<Number> numbers_of(const Number* values, int32_t count) {
  if (count < 0) refuse(std::to_string(count) + " values");
  if (count > 0) need(values, "list of values");
  return {values, values + count};
}

// Those of one end of a range; null where none were set.
template <class All>
auto kept_numbers(const All& all, char const* name, OptProfileSelector select) {
  const size_t end = index_of(select);
  const auto found = all.find(name == nullptr ? "" : name);
  const bool is_none = found == all.end() || found->second[end].empty();
  return is_none ? nullptr : found->second[end].data();
}

}  // namespace

bool Profile::setDimensions(char const* inputName, OptProfileSelector select,
                            Dims const& dims) noexcept {
  return guarded(reporter, "IOptimizationProfile::setDimensions", false, [&] {
    need(inputName, "name of an input");
    need_right(dims, "sizes");
    for (int32_t i = 0; i < dims.nbDims && is_valid(dims); ++i)
      if (dims.d[i] < 0)
        refuse(std::string("sizes ") + to_string(dims) + " of a profile are fixed");
    const size_t end = index_of(select);
    info.shapes[inputName][end] = to_vector(dims);
    return true;
  });
}

Dims Profile::getDimensions(char const* inputName, OptProfileSelector select) const noexcept {
  return guarded(reporter, "IOptimizationProfile::getDimensions", no_dims(), [&] {
    const size_t end = index_of(select);
    const auto found = info.shapes.find(inputName == nullptr ? "" : inputName);
    return found == info.shapes.end() ? no_dims() : to_dims(found->second[end]);
  });
}

bool Profile::setShapeValues(char const* inputName, OptProfileSelector select,
                             int32_t const* values, int32_t nbValues) noexcept {
  return guarded(reporter, "IOptimizationProfile::setShapeValues", false, [&] {
    need(inputName, "name of an input");
    const size_t end = index_of(select);
    std::vector<int32_t> narrow = numbers_of(values, nbValues);
    info.values[inputName][end].assign(narrow.begin(), narrow.end());
    narrow_[inputName][end] = std::move(narrow);
    return true;
  });
}

int32_t Profile::getNbShapeValues(char const* inputName) const noexcept {
  const auto found = info.values.find(inputName == nullptr ? "" : inputName);
  return found == info.values.end() ? -1 : static_cast<int32_t>(found->second[0].size());
}

int32_t const* Profile::getShapeValues(char const* inputName,
                                       OptProfileSelector select) const noexcept {
  return guarded(reporter, "IOptimizationProfile::getShapeValues",
                 static_cast<int32_t const*>(nullptr),
                 [&] { return kept_numbers(narrow_, inputName, select); });
}

#if NV_TENSORRT_MAJOR >= 10
bool Profile::setShapeValuesV2(char const* inputName, OptProfileSelector select,
                               int64_t const* values, int32_t nbValues) noexcept {
  return guarded(reporter, "IOptimizationProfile::setShapeValuesV2", false, [&] {
    need(inputName, "name of an input");
    const size_t end = index_of(select);
    info.values[inputName][end] = numbers_of(values, nbValues);
    return true;
  });
}

int64_t const* Profile::getShapeValuesV2(char const* inputName,
                                         OptProfileSelector select) const noexcept {
  return guarded(reporter, "IOptimizationProfile::getShapeValuesV2",
                 static_cast<int64_t const*>(nullptr),
                 [&] { return kept_numbers(info.values, inputName, select); });
}
#endif

bool Profile::setExtraMemoryTarget(float target) noexcept {
  if (!(target >= 0 && target <= 1)) return false;
  extra_memory_ = target;
  return true;
}

float Profile::getExtraMemoryTarget() const noexcept { return extra_memory_; }

bool Profile::isValid() const noexcept { return problem().empty(); }

std::string Profile::problem() const {
  const auto told = [](const std::string& name, const std::string& wrong) {
    return wrong.empty() ? wrong : "'" + name + "': " + wrong;
  };
  for (const auto& [name, sizes] : info.shapes) {
    const std::string wrong = told(name, octet::profile_problem(sizes, octet::Shape::unknown()));
    if (!wrong.empty()) return wrong;
  }
  for (const auto& [name, values] : info.values) {
    const std::string wrong = told(name, octet::order_problem(values));
    if (!wrong.empty()) return wrong;
  }
  return {};
}

IHostMemory* TimingCache::serialize() const noexcept {
  const std::string text = tuning.empty() ? octet::to_json(octet::Tuning()) : tuning;
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return new HostMemory(std::vector<std::byte>(first, first + text.size()));
}

bool TimingCache::combine(ITimingCache const& inputCache, bool) noexcept {
  return guarded(reporter_, "ITimingCache::combine", false, [&] {
    need(&inputCache, "timing cache");
    const std::string& other = static_cast<const TimingCache&>(inputCache).tuning;
    if (other.empty()) return true;
    octet::Tuning all =
        tuning.empty() ? octet::Tuning() : octet::tuning_from_json(tuning, "the timing cache");
    const octet::Tuning more = octet::tuning_from_json(other, "the timing cache");
    for (const auto& [key, kernel] : more.kernels()) all.set(key, kernel);
    tuning = octet::to_json(all);
    return true;
  });
}

bool TimingCache::reset() noexcept {
  tuning.clear();
  return true;
}

#if NV_TENSORRT_MAJOR >= 10
void TimingCache::refuse_edit(const char* function) const {
  reporter_.error(ErrorCode::kUNSUPPORTED_STATE,
                  std::string("ITimingCache::") + function +
                      ": what is kept are choices of kernels by layer, not times of tactics by "
                      "hash; serialize() gives them as JSON that can be read and changed");
}
int64_t TimingCache::queryKeys(TimingCacheKey*, int64_t) const noexcept {
  refuse_edit("queryKeys");
  return -1;
}
TimingCacheValue TimingCache::query(TimingCacheKey const&) const noexcept {
  refuse_edit("query");
  return {0, -1.0F};
}
bool TimingCache::update(TimingCacheKey const&, TimingCacheValue const&) noexcept {
  refuse_edit("update");
  return false;
}
#endif

void Config::clearFlag(BuilderFlag builderFlag) noexcept {
  flags_ &= ~bit("clearFlag", builderFlag);
}
void Config::setFlag(BuilderFlag builderFlag) noexcept { flags_ |= bit("setFlag", builderFlag); }
bool Config::getFlag(BuilderFlag builderFlag) const noexcept {
  return (flags_ & bit("getFlag", builderFlag)) != 0;
}
void Config::clearQuantizationFlag(QuantizationFlag flag) noexcept {
  quantization_flags_ &= ~bit("clearQuantizationFlag", flag);
}
void Config::setQuantizationFlag(QuantizationFlag flag) noexcept {
  quantization_flags_ |= bit("setQuantizationFlag", flag);
}
bool Config::getQuantizationFlag(QuantizationFlag flag) const noexcept {
  return (quantization_flags_ & bit("getQuantizationFlag", flag)) != 0;
}

void Config::setDeviceType(ILayer const* layer, DeviceType deviceType) noexcept {
  guarded(reporter, "IBuilderConfig::setDeviceType", false, [&] {
    need(layer, "layer");
    need_right(deviceType, "device");
    devices_[layer] = deviceType;
    return true;
  });
}
DeviceType Config::getDeviceType(ILayer const* layer) const noexcept {
  const auto found = devices_.find(layer);
  return found == devices_.end() ? default_device_type_ : found->second;
}
bool Config::isDeviceTypeSet(ILayer const* layer) const noexcept {
  return devices_.contains(layer);
}
void Config::resetDeviceType(ILayer const* layer) noexcept { devices_.erase(layer); }
bool Config::canRunOnDLA(ILayer const*) const noexcept { return false; }

void Config::reset() noexcept {
  const Reporter told = reporter;
  this->~Config();
  new (this) Config(told);
}

int32_t Config::addOptimizationProfile(IOptimizationProfile const* profile) noexcept {
  return guarded(reporter, "IBuilderConfig::addOptimizationProfile", int32_t{-1}, [&] {
    if (profile == nullptr) refuse("an optimization profile that is a null pointer");
    const auto& own = static_cast<const Profile&>(*profile);
    if (const std::string wrong = own.problem(); !wrong.empty()) {
      refuse(
          "an optimization profile lacks sizes, or they do not grow from kMIN over kOPT to kMAX: " +
          wrong);
    }
    profiles_.push_back(own.info);
    return static_cast<int32_t>(profiles_.size()) - 1;
  });
}

int32_t Config::getNbOptimizationProfiles() const noexcept {
  return static_cast<int32_t>(profiles_.size());
}

bool Config::setCalibrationProfile(IOptimizationProfile const* profile) noexcept {
  return guarded(reporter, "IBuilderConfig::setCalibrationProfile", false, [&] {
    need(profile, "optimization profile");
    calibration_profile_ = Watch(static_cast<const Profile*>(profile)->watched);
    return true;
  });
}
IOptimizationProfile const* Config::getCalibrationProfile() noexcept {
  return calibration_profile_.get();
}

ITimingCache* Config::createTimingCache(void const* blob, std::size_t size) const noexcept {
  return guarded(reporter, "IBuilderConfig::createTimingCache", static_cast<ITimingCache*>(nullptr),
                 [&]() -> ITimingCache* {
                   if (blob == nullptr || size == 0) return new TimingCache("", reporter);
                   const std::string text(static_cast<const char*>(blob), size);
                   try {
                     octet::tuning_from_json(text, "the timing cache");
                   } catch (const octet::Error& error) {
                     refuse(std::string(error.what()) +
                            "; one of TensorRT's holds times of NVIDIA's kernels, and one of "
                            "Octet's begins empty, as createTimingCache(nullptr, 0) makes it");
                   }
                   return new TimingCache(text, reporter);
                 });
}

void Config::setAlgorithmSelector(IAlgorithmSelector* selector) noexcept {
  if (selector == nullptr) return;
  reporter.error(ErrorCode::kUNSUPPORTED_STATE,
                 "IBuilderConfig::setAlgorithmSelector: kernels are chosen by costs or by "
                 "a timing cache, and no list of them is offered; the selector "
                 "is not kept");
}

bool Config::setTimingCache(ITimingCache const& cache, bool) noexcept {
  return guarded(reporter, "IBuilderConfig::setTimingCache", false, [&] {
    need(&cache, "timing cache");
    timing_cache_ = Watch(static_cast<const TimingCache&>(cache).watched);
    return true;
  });
}
ITimingCache const* Config::getTimingCache() const noexcept { return timing_cache_.get(); }

void Config::setMemoryPoolLimit(MemoryPoolType pool, std::size_t poolSize) noexcept {
  if (bit("setMemoryPoolLimit", pool) != 0) pools_[pool] = poolSize;
}
std::size_t Config::getMemoryPoolLimit(MemoryPoolType pool) const noexcept {
  if (bit("getMemoryPoolLimit", pool) == 0) return 0;
  const auto found = pools_.find(pool);
  return found == pools_.end() ? std::size_t{0} : found->second;
}

void Config::setPreviewFeature(PreviewFeature feature, bool enable) noexcept {
  if (bit("setPreviewFeature", feature) == 0) return;
  enable ? void(features_.insert(feature)) : void(features_.erase(feature));
}
bool Config::getPreviewFeature(PreviewFeature feature) const noexcept {
  return bit("getPreviewFeature", feature) != 0 && features_.contains(feature);
}

void Config::setPluginsToSerialize(char const* const* paths, int32_t nbPaths) noexcept {
  guarded(reporter, "IBuilderConfig::setPluginsToSerialize", false, [&] {
    std::vector<std::string> given;
    for (int32_t i = 0; i < nbPaths; ++i) {
      need(paths, "list of paths");
      need(paths[i], "path");
      given.push_back(paths[i]);
    }
    plugins_ = std::move(given);
    return true;
  });
}
char const* Config::getPluginToSerialize(int32_t index) const noexcept {
  const bool is_one = index >= 0 && index < getNbPluginsToSerialize();
  return is_one ? plugins_[static_cast<size_t>(index)].c_str() : nullptr;
}
int32_t Config::getNbPluginsToSerialize() const noexcept {
  return static_cast<int32_t>(plugins_.size());
}

#if NV_TENSORRT_MAJOR >= 10
bool Config::setRemoteAutoTuningConfig(char const* config) noexcept {
  remote_ = config == nullptr ? "" : config;
  return true;
}
char const* Config::getRemoteAutoTuningConfig() const noexcept { return remote_.c_str(); }
#else
void Config::setMaxWorkspaceSize(std::size_t workspaceSize) noexcept {
  setMemoryPoolLimit(MemoryPoolType::kWORKSPACE, workspaceSize);
}
std::size_t Config::getMaxWorkspaceSize() const noexcept {
  return getMemoryPoolLimit(MemoryPoolType::kWORKSPACE);
}
#endif

}  // namespace octet_trt
