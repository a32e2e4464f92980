// SPDX-License-Identifier: Apache-2.0
// Cross-layer equalization (precision/equalize.h) of what calibration saw.
#pragma once

#include "octet/calibrate.h"
#include "pipeline/float_model.h"

namespace octet {

// Chooses the exponents of the model's channels, and turns what was seen of its values into what would have been seen with them. Values
// whose ranges are given by hand stay what they are.
void equalize(const FloatModel& model, const CalibrationOptions& options, Calibration& calibration);

// Of a calibration that a cache gave: takes the exponents from the values whose ranges are given by hand, and throws where the caller wants none
// at all, which what was counted of equalized values cannot give.
void fit_exponents(const FloatModel& model, const CalibrationOptions& options,
                   Calibration& calibration, Ranges& ranges);

}  // namespace octet
