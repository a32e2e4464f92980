// SPDX-License-Identifier: Apache-2.0
// How far outputs are from those of the float model, as a share of their power.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/types.h"
#include "octet/tensor.h"

namespace octet {

// Outputs of one model for each sample.
using SampleOutputsView = std::span<const std::vector<Tensor>>;

// Sums of squares: of an output's errors, and of what they are errors of.
struct ErrorPower {
  double error = 0, power = 0;
};

// Of one real output over all samples that `got` has. Nothing where no number says how far apart they are: sizes differ, or one of two numbers is
// infinite, or NaN.
std::optional<ErrorPower> error_power(SampleOutputsView truth, SampleOutputsView got,
                                      size_t output);

// The power of the differences of all real outputs over the power of the outputs: 0 where they are equal, 1 where no number says how far apart they
// are. Of the samples that `got` has.
f64 relative_error(SampleOutputsView truth, SampleOutputsView got);

// The same of each real output by itself, as their mean: one of small numbers counts like any other. Nothing where no number says it.
std::optional<f64> mean_relative_error(SampleOutputsView truth, SampleOutputsView got);

}  // namespace octet
