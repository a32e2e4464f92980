// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/builder/calibration.h"

#include <algorithm>
#include <cstring>

#include "octet/error.h"
#include "tensorrt/shared/gpu.h"

namespace octet_trt {
namespace {

const char* header_name(CalibrationAlgoType algorithm) {
  switch (algorithm) {
    case CalibrationAlgoType::kLEGACY_CALIBRATION:
      return "LegacyCalibration";
    case CalibrationAlgoType::kENTROPY_CALIBRATION:
      return "EntropyCalibration";
    case CalibrationAlgoType::kENTROPY_CALIBRATION_2:
      return "EntropyCalibration2";
    case CalibrationAlgoType::kMINMAX_CALIBRATION:
      return "MinMaxCalibration";
  }
  return "EntropyCalibration2";
}

octet::RangeMethod method_of(IInt8Calibrator& calibrator, CalibrationAlgoType algorithm) {
  switch (algorithm) {
    case CalibrationAlgoType::kENTROPY_CALIBRATION:
      return octet::RangeRule::tensorrt;
    case CalibrationAlgoType::kENTROPY_CALIBRATION_2:
      return octet::RangeRule::entropy;
    case CalibrationAlgoType::kMINMAX_CALIBRATION:
      return octet::RangeRule::minmax;
    case CalibrationAlgoType::kLEGACY_CALIBRATION:
      break;
  }
  const auto* legacy = dynamic_cast<const IInt8LegacyCalibrator*>(&calibrator);
  if (legacy == nullptr) return {octet::RangeRule::percentile, 99.99};
  return {octet::RangeRule::legacy, legacy->getQuantile(), legacy->getRegressionCutoff()};
}

// Data come as floats whatever the input is; indices come as they are.
octet::Dtype data_type(DataType type) {
  const bool is_real = type == DataType::kFLOAT || type == DataType::kHALF ||
                       type == DataType::kINT8 || to_octet(type) == octet::Dtype::bf16;
  return is_real ? octet::Dtype::f32 : to_octet(type);
}

// What octetCalibrationBytes() tells: of the call that this thread makes.
thread_local const std::vector<octet::Tensor>* asked_tensors = nullptr;

// Within the call `tensors` are what is asked for.
class Asking {
 public:
  explicit Asking(const std::vector<octet::Tensor>& tensors) { asked_tensors = &tensors; }
  ~Asking() { asked_tensors = nullptr; }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;
};

}  // namespace

int64_t asked_bytes(int32_t binding) {
  const auto i = static_cast<size_t>(binding);
  if (asked_tensors == nullptr || binding < 0 || i >= asked_tensors->size()) return -1;
  return static_cast<int64_t>((*asked_tensors)[i].bytes());
}

CalibrationSource::CalibrationSource(const Network& network, const Config& config,
                                     const std::vector<Binding>& bindings)
    : calibrator_(*config.getInt8Calibrator()),
      reporter_(config.reporter),
      network_(network),
      config_(config) {
  batch_ = calibrator_.getBatchSize();
  algorithm_ = calibrator_.getAlgorithm();
  cache_ = read_cache();
  for (const Binding& binding : bindings) {
    if (!binding.is_input) continue;
    names_.push_back(binding.name);
    types_.push_back(binding.type);
    if (reads_batches()) dims_.push_back(batch_dims(binding));
  }
  if (!dims_.empty()) compare_batches();
}

void CalibrationSource::compare_batches() const {
  const Dims& first = dims_.front();
  if (batch_ < 1 || first.nbDims == 0 || first.d[0] == batch_) return;
  reporter_.warn("the calibrator's batch size is " + std::to_string(batch_) + ", and input '" +
                 names_.front() + "' is calibrated with the sizes " + to_string(first) +
                 ": these are read of each batch. A calibration profile says otherwise");
}

Dims CalibrationSource::batch_dims(const Binding& binding) const {
  if (network_.is_implicit()) return with_front(std::max<int64_t>(1, batch_), binding.dims);
  const ProfileInfo* profile = nullptr;
  if (config_.calibration_profile() != nullptr) {
    profile = &config_.calibration_profile()->info;
  } else if (!config_.profiles().empty()) {
    profile = &config_.profiles()[0];
  }
  if (profile != nullptr) {
    const auto found = profile->shapes.find(binding.name);
    if (found != profile->shapes.end()) return to_dims(found->second[1]);
  }
  Dims dims = binding.dims;
  // A batch that is open is as large as the calibrator says.
  if (dims.nbDims > 0 && dims.d[0] < 0)
    dims.d[0] = static_cast<OctetSize>(std::max<int64_t>(1, batch_));
  if (volume(dims) < 0) {
    refuse("Calibration profile is not defined: input '" + binding.name + "' has the sizes " +
           to_string(binding.dims) +
           "; give them by setCalibrationProfile() or addOptimizationProfile()");
  }
  return dims;
}

std::shared_ptr<const octet::CalibrationCache> CalibrationSource::read_cache() const {
  std::size_t length = 0;
  const void* data = calibrator_.readCalibrationCache(length);
  if (data == nullptr || length == 0) return nullptr;
  try {
    auto cache = std::make_shared<octet::CalibrationCache>(octet::parse_calibration_cache(
        {static_cast<const char*>(data), length}, "the calibrator's cache"));
    const std::string algorithm = header_name(algorithm_);
    if (!cache->header.ends_with("-" + algorithm)) {
      reporter_.warn(
          "Calibration table does not match calibrator algorithm type. It begins with '" +
          cache->header + "', and the calibrator's algorithm is " + algorithm +
          "; the table is used as it is.");
    }
    return cache;
  } catch (octet::Error& error) {
    // Calibrating anew would end in writeCalibrationCache(), and the client's file be lost.
    error.add_context(
        "nothing is calibrated, and writeCalibrationCache() is not called: mend the cache, or let "
        "readCalibrationCache() return null where a new one is wanted in its place");
    throw;
  }
}

octet::CalibrationOptions CalibrationSource::options() {
  octet::CalibrationOptions options;
  options.cache = cache_;
  options.cache_of_any_model = true;
  if (!reads_batches()) return options;
  options.samples = [this](std::vector<octet::Tensor>& inputs) { return next(inputs); };
  options.method = method_of(calibrator_, algorithm_);
  options.make_cache = true;
  options.raw_pixels = true;
  options.constant_data = true;  // TensorRT takes them; what is doubtful is logged
  return options;
}

bool CalibrationSource::next(std::vector<octet::Tensor>& inputs) {
  std::vector<void*> bindings(names_.size(), nullptr);
  std::vector<const char*> names;
  for (const std::string& name : names_) names.push_back(name.c_str());
  std::vector<octet::Tensor> tensors;
  for (size_t i = 0; i < names_.size(); ++i)
    tensors.emplace_back(data_type(types_[i]), to_shape(dims_[i]));
  const Asking asking(tensors);
  if (!calibrator_.getBatch(bindings.data(), names.data(), static_cast<int32_t>(names.size())))
    return false;
  for (size_t i = 0; i < names_.size(); ++i) {
    if (bindings[i] == nullptr) {
      refuse("Tensor `" + names_[i] +
             "` is bound to nullptr: the calibrator's getBatch() returned true and set no pointer "
             "for this input");
    }
    copy_client(tensors[i].mutable_data(), bindings[i], static_cast<int64_t>(tensors[i].bytes()),
                {bindings[i], run_device(), nullptr});
  }
  inputs = tensors;
  return true;
}

void CalibrationSource::write_cache(const octet::CalibrationCache& cache) {
  octet::CalibrationCache out = cache;
  out.header = "TRT-" + std::to_string(NV_TENSORRT_VERSION) + "-" + header_name(algorithm_);
  const std::string text = octet::to_text(out);
  calibrator_.writeCalibrationCache(text.data(), text.size());
}

}  // namespace octet_trt
