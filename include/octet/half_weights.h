// SPDX-License-Identifier: Apache-2.0
// What 16-bit floats make of a layer's weights.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "octet/precision.h"

namespace octet {

// Weights of a layer that f16 does not hold as normal numbers.
struct HalfWeights {
  std::string tensor;
  std::string layer;
  std::vector<std::string> nodes;  // ONNX nodes in the layer
  int64_t elements = 0;
  int64_t subnormal = 0;  // keep less than 11 bits
  int64_t flushed = 0;    // become 0
  int64_t infinite = 0;   // beyond the largest: they become that
  // Error of the layer's result that comes of its weights in f16: sqrt(sum of squared differences / sum of squares), over calibration
  // samples; absent: no data.
  std::optional<double> error = {};
  // What the build did about it; empty: nothing was asked for, or f16 holds these weights best.
  std::string remedy = {};
  Precision type = Precision::f16;  // that the layer has then
};

}  // namespace octet
