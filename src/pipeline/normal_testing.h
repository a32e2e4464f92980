// SPDX-License-Identifier: Apache-2.0
// Data for tests.
#pragma once

#include <random>

#include "octet/tensor.h"

namespace octet {

// Normal, around 0.
inline Tensor normal_tensor(const Shape& shape, u32 seed) {
  std::mt19937 random(seed);
  std::normal_distribution<f32> normal;
  Tensor tensor(Dtype::f32, shape);
  for (f32& x : tensor.mutable_as<f32>()) x = normal(random);
  return tensor;
}

}  // namespace octet
