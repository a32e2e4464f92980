// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/grid_sample.h"

namespace octet {
f32 grid_reflected(f32 x, f32 low, f32 high) {
  const f32 range = high - low;
  if (range <= 0.0f) return low;
  const f32 distance = x < low ? low - x : x - low;
  const f32 rest = std::fmod(distance, 2.0f * range);
  return rest <= range ? low + rest : high - (rest - range);
}

}  // namespace octet
