// SPDX-License-Identifier: Apache-2.0
// A transposed convolution as plain ones: outputs that lie a stride apart (a phase) are a convolution with the taps that reach them.
#pragma once

#include <vector>

#include "octet/tensor.h"
#include "ops/shared/conv.h"

namespace octet {

struct ConvPhase {
  ConvGeometry geometry;  // of the plain convolution
  // Of each axis of the window: the phase has the outputs first, first + stride, ...
  s64 first[3] = {0, 0, 0};
  std::vector<s64> taps;  // of the given kernel, in the order of the phase's
};

// How many there are, a billion at most.
s64 phase_count(const ConvGeometry& transposed);

// All phases, which together have every output once. None: no tap reaches some outputs, or the first of a phase reads nothing of the first input.
std::vector<ConvPhase> phases_of(const ConvGeometry& transposed);

// Of given weights, [C, O / group, taps...], those of a phase as a convolution has them: [O, C / group, taps].
Tensor phase_weights(const Tensor& given, const ConvPhase& phase);

}  // namespace octet
