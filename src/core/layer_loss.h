// SPDX-License-Identifier: Apache-2.0
// What calibration measures of a layer.
#pragma once

#include <string>

#include "core/types.h"

namespace octet {

// A layer whose codes alone were tried: everything else was real.
struct LayerLoss {
  std::string layer;
  f64 lost = 0;    // of the model's outputs, as a part of their power
  f64 slower = 0;  // by what part an INT8 engine is slower with the layer in f32, as its work tells
  f64 macs = 0;    // of the model's multiplications
};

}  // namespace octet
