// SPDX-License-Identifier: Apache-2.0
// RangeRule::automatic: tries several methods on each tensor, and keeps the one whose codes disturb the results of the layers that
// read it least.
#pragma once

#include <span>
#include <vector>

#include "pipeline/float_model.h"

namespace octet {

// How many samples are tried: the error of a layer is a mean over all its elements, and settles soon.
inline constexpr size_t kTriedSamples = 8;

// The ranges of `values` (positions in Calibration::values), in their order. Each reader runs alone, in f32, on what it gets from the
// float model, with codes in place of one of its inputs; its squared error counts relative to its result. A tensor that no
// layer computes with gets RangeRule::mse.
std::vector<Range> automatic_ranges(const FloatModel& model, std::span<const size_t> values,
                                    const StageOptions& stage);

}  // namespace octet
