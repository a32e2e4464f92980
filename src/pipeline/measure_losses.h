// SPDX-License-Identifier: Apache-2.0
// What the codes of each layer alone do to the outputs of the model, measured on some samples (docs/adr/0010).
#pragma once

#include <string>
#include <vector>

#include "pipeline/float_model.h"
#include "precision/layer_losses.h"

namespace octet {

// Of convolutions, on Calibration::compared_samples: as many of these, and of the layers those that cost the least in f32, as take twice the time of all samples of
// the calibration. Nothing, and `notes` say why, where layers cannot be tried.
std::vector<LayerLoss> measure_losses(const FloatModel& model, const CalibrationOptions& options,
                                      const StageOptions& stage, std::vector<std::string>& notes);

}  // namespace octet
