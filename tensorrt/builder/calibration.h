// SPDX-License-Identifier: Apache-2.0
// A client's calibrator as Octet's source of samples, and its cache.
#pragma once

#include "octet/calibrate.h"
#include "tensorrt/builder/config.h"
#include "tensorrt/network/network.h"

namespace octet_trt {

// octetCalibrationBytes().
int64_t asked_bytes(int32_t binding);

// What a calibrator is asked, in this order: batch size, cache, batches until there are none, and at last to write the cache.
class CalibrationSource {
 public:
  CalibrationSource(const Network& network, const Config& config,
                    const std::vector<Binding>& bindings);

  // Ranges of the calibrator's cache where it has one, else of its batches.
  octet::CalibrationOptions options();
  bool reads_batches() const { return cache_ == nullptr; }
  void write_cache(const octet::CalibrationCache& cache);

 private:
  bool next(std::vector<octet::Tensor>& inputs);
  Dims batch_dims(const Binding& binding) const;
  // Warns where a batch of the calibrator is not what is read of it.
  void compare_batches() const;
  std::shared_ptr<const octet::CalibrationCache> read_cache() const;

  IInt8Calibrator& calibrator_;
  Reporter reporter_;
  std::vector<std::string> names_;
  std::vector<Dims> dims_;
  std::vector<DataType> types_;
  const Network& network_;
  const Config& config_;
  int64_t batch_ = 1;
  CalibrationAlgoType algorithm_ = CalibrationAlgoType::kENTROPY_CALIBRATION_2;
  std::shared_ptr<const octet::CalibrationCache> cache_;
};

}  // namespace octet_trt
