// SPDX-License-Identifier: Apache-2.0
// RangeRule::automatic: tries several methods on each tensor, and takes the one whose codes disturb the results of the layers that
// read it least; then tries these choices, and each method for all tensors, on the whole model, and keeps what disturbs its outputs
// least.
#pragma once

#include <span>
#include <vector>

#include "pipeline/float_model.h"

namespace octet {

// `known` with the ranges of `values` (positions in Calibration::values). First each reader runs alone, in f32, on what it gets from
// the float model, with codes in place of one of its inputs; its squared error counts relative to its result. A tensor that no
// layer computes with gets RangeRule::mse. Then the INT8 models of the candidates run as wholes.
Ranges with_automatic_ranges(const FloatModel& model, Ranges known, std::span<const size_t> values,
                             const StageOptions& stage);

}  // namespace octet
