// SPDX-License-Identifier: Apache-2.0
// From a real to a code:
//   y = CodeEnd<PartOf<Made, &Spec::end>>::code(t);
#pragma once

#include "backends/cuda/device/code_end.h"
#include "backends/cuda/device/elements.cuh"

namespace octet::cuda {

template <class Own>
struct CodeEnd {
  static constexpr CodeEndSpec s = Own::spec();

  static __device__ __forceinline__ s32 code(f32 t) {
    if constexpr (s.leaky) t = leaky(t, value_of(s.alpha));
    return code_of_real(t, s.zero_point, s.lo, s.hi);
  }
};

}  // namespace octet::cuda
