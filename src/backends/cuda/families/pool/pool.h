// SPDX-License-Identifier: Apache-2.0
// What lowerings of pools of images ask of a node.
#pragma once

#include <string>
#include <vector>

#include "backends/cuda/families/pool/spec.h"
#include "backends/cuda/lower/product.h"
#include "ops/shared/pool.h"

namespace octet::cuda {

struct PoolStep {
  TensorType x, y;
  PoolGeometry geometry;
  pool::Kind kind = pool::Kind::average;
  Dtype rounded = Dtype::f32;
  s32 zero_point = 0;
  CodeEndSpec end{};
  std::vector<f32> multipliers{};  // of each output pixel; of reals: divisors

  bool multiplier_varies() const;
};

// Empty, or why no kernel takes it.
std::string read_pool(const LowerRequest& request, PoolStep& step);
PoolWindow pool_window(const PoolStep& step);
Candidate pool_candidate(const LowerRequest& request, const char* kernel, const PoolStep& step);

}  // namespace octet::cuda
