// SPDX-License-Identifier: Apache-2.0
// The large Blackwell: B200. Neither wgmma nor, by any kernel so far, what has taken its place (tcgen05).
#pragma once

#include "backends/cuda/arch/sm90.h"

namespace octet::cuda {

inline constexpr Architecture kSm100{.id = ArchitectureId::sm_100,
                                     .target = "sm_100",
                                     .capability = {10, 0},
                                     .cuda_major = 12,
                                     .cuda_minor = 8,
                                     .instructions = kSm90PlainInstructions,
                                     .limits = kSm90Limits,
                                     .most_products_s8 = 8192,
                                     .costs_from = ArchitectureId::compute_90};

}  // namespace octet::cuda
