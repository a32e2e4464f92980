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
// The report also gets a warning of outputs that are beyond use, and of an engine that does not run a sample on which it was calibrated.
void report_output_losses(const FloatModel& model, const std::shared_ptr<const Model>& engine,
                          const StageOptions& stage, CompileReport& report);

}  // namespace octet
