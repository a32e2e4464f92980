// SPDX-License-Identifier: Apache-2.0
// What planning needs from a backend: its offers, the fallback that always works, and layout conversion.
#pragma once

#include <span>
#include <string_view>

#include "plan/offer.h"

namespace octet {

struct Backend {
  std::string_view name;
  std::span<const Lowering> lowerings;  // of one operator: in order, best first
  // Runs any operator through its scalar reference, on linear tensors.
  Candidate (*reference)(const LowerRequest&) = nullptr;
  // Copies a tensor from one layout to the other (or between two buffers of one layout).
  Candidate (*convert)(const TensorType& type, Layout from, Layout to,
                       const Target& target) = nullptr;
  // Its kernels want s8 activations relabelled as u8 with zero_point + 128.
  bool relabel_s8 = false;
};

}  // namespace octet
