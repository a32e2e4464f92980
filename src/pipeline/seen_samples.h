// SPDX-License-Identifier: Apache-2.0
// What octet/observation.h hides: all that calibration keeps of samples.
#pragma once

#include <string>
#include <vector>

#include "core/content_hash.h"
#include "data/input_statistics.h"
#include "octet/input_profile.h"
#include "octet/observation.h"
#include "pipeline/float_model.h"
#include "pipeline/observe.h"

namespace octet {

struct SeenSamples {
  explicit SeenSamples(std::span<const TensorInfo> inputs)
      : statistics(inputs), watch(KnownInputs{{inputs.begin(), inputs.end()}}) {}

  std::vector<TensorObservation> values;
  std::vector<std::vector<TensorObservation>> bodies;
  s64 samples = 0;
  ContentDigest data_hash;
  InputStatistics statistics;
  InputWatch watch;
};

// In every body, what is observed of it.
std::vector<BodyValues> body_values(const FloatModel& model);

// Throws Error(invalid_argument) where it is of another model, or of nothing.
const SeenSamples& seen_for(const Observation& observation, const FloatModel& model,
                            const CalibrationOptions& options);

}  // namespace octet
