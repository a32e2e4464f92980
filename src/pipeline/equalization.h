// SPDX-License-Identifier: Apache-2.0
// Cross-layer equalization (precision/equalize.h) of what calibration saw.
#pragma once

#include <span>
#include <vector>

#include "octet/calibrate.h"
#include "pipeline/float_model.h"

namespace octet {

// Those of the values that have channels which nothing fixes: the histograms of their channels are needed.
std::vector<ValueId> values_to_equalize(const Graph& graph, std::span<const ValueId> values);

// Chooses the exponents of the model's channels, and turns what was seen of its values into what would have been seen with them. Values
// whose ranges are given by hand stay what they are. What was counted of channels is given back.
void equalize(const FloatModel& model, const CalibrationOptions& options, Calibration& calibration,
              int threads);

// Of a calibration that a cache gave: takes the exponents from the values whose ranges are given by hand, and throws where the caller wants none
// at all, which what was counted of equalized values cannot give.
void fit_exponents(const FloatModel& model, const CalibrationOptions& options,
                   Calibration& calibration, Ranges& ranges);

}  // namespace octet
