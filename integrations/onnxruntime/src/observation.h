// SPDX-License-Identifier: Apache-2.0
// What the first runs were given: the data of a calibration.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "octet/data.h"
#include "octet/tensor.h"

namespace octet_ort {

class Observation {
 public:
  Observation(int64_t runs, int64_t bytes) : most_runs_(runs), most_bytes_(bytes) {}

  // Keeps a run's inputs, in the order of the engine's. True for the one call after which there are enough: so many runs, or as many
  // bytes as may be kept. Any threads may call it.
  bool add(std::vector<octet::Tensor> inputs);
  // Whether inputs are still kept.
  bool open() const;

  int64_t runs() const;
  bool short_of_memory() const;

  // What was kept, from its beginning, for whoever calibrates once add() has said that there is enough.
  octet::SampleSource samples();
  // Keeps nothing from here on, and lets go of what was kept.
  void close();

 private:
  const int64_t most_runs_;
  const int64_t most_bytes_;
  mutable std::mutex mutex_;
  std::vector<std::vector<octet::Tensor>> kept_;
  int64_t runs_ = 0;
  int64_t bytes_ = 0;
  bool closed_ = false;
};

}  // namespace octet_ort
