// SPDX-License-Identifier: Apache-2.0
#include "precision/layer_losses.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

namespace octet {
namespace {

// One layer loses too much, whatever it takes in f32: 17 dB.
constexpr f64 kMostLostOfLayer = 0.02;
// What all layers together may lose: 33 dB.
constexpr f64 kEnough = 5e-4;
// What layers that pay may be of all multiplications.
constexpr f64 kMostMacs = 0.05;
// One layer that loses more than half of what all lose, and is so little of the multiplications, is real where accuracy may take any time: its work in
// f32 is estimated too high for it to pay where a function follows, and nothing else brings back so much.
constexpr f64 kMostOfAll = 0.5;
constexpr f64 kFewMacs = 0.01;

// For each part by which the layer in f32 makes the engine slower.
f64 worth(const LayerLoss& layer) {
  if (layer.slower > 0) return layer.lost / layer.slower;
  return layer.lost > 0 ? std::numeric_limits<f64>::infinity() : 0;
}

}  // namespace

f64 coarse(f64 value) {
  constexpr f64 kSteps = 16;
  int exponent = 0;
  const f64 mantissa = std::frexp(value, &exponent);
  return std::ldexp(std::round(mantissa * kSteps) / kSteps, exponent);
}

std::vector<bool> worth_reals(std::span<const LayerLoss> layers, f64 most_slower) {
  std::vector<bool> real(layers.size(), false);
  std::vector<size_t> order(layers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return worth(layers[i]); });
  f64 left = 0, slower = 0, macs = 0;
  for (const LayerLoss& layer : layers) left += layer.lost;
  const f64 half =
      most_slower > 0 ? std::max(kEnough, left) * kMostOfAll : std::numeric_limits<f64>::infinity();
  for (const size_t i : order) {
    const LayerLoss& layer = layers[i];
    const bool fits = slower + layer.slower <= most_slower && macs + layer.macs <= kMostMacs;
    const bool pays = left > kEnough && layer.lost > 0;
    const bool too_much =
        layer.lost > kMostLostOfLayer || (pays && layer.lost > half && layer.macs <= kFewMacs);
    real[i] = too_much || (fits && pays);
    if (!real[i]) continue;
    left -= layer.lost;
    // What is real in any case leaves the others their time.
    if (too_much) continue;
    slower += layer.slower;
    macs += layer.macs;
  }
  return real;
}

}  // namespace octet
