// SPDX-License-Identifier: Apache-2.0
// An INT8 engine's outputs beside those of the model in f32, on the few calibration samples that are kept for it: a build says what
// its ranges did, before anybody trusts the engine.
#pragma once

#include <string>
#include <vector>

#include "pipeline/float_model.h"

namespace octet {

// Of each f32 output, over all samples. None where calibration kept no samples (it came from a cache or an observation, was of sequences, or of
// samples too large to keep), where both engines do not fit into memory, and of outputs whose sizes data tell and codes changed.
std::vector<OutputLoss> output_losses(const FloatModel& model,
                                      const std::shared_ptr<const Model>& engine,
                                      const StageOptions& stage);

// A line for the user where outputs are beyond use; else nothing.
std::optional<std::string> warning_of(std::span<const OutputLoss> losses);

}  // namespace octet
