// SPDX-License-Identifier: Apache-2.0
// What calibration measured of layers, and which of them are worth their time in f32 for it (docs/adr/0010).
#pragma once

#include <span>
#include <vector>

#include "core/layer_loss.h"

namespace octet {

// With four bits: numbers that differ in their last bits between instruction sets are equal, but for few.
f64 coarse(f64 value);

// Which of the layers stay real: those that lose most for the time that they take so, until what is left is little, as long as together they make the engine
// slower by no more than `most_slower`; and any that alone loses too much.
std::vector<bool> worth_reals(std::span<const LayerLoss> layers, f64 most_slower);

}  // namespace octet
