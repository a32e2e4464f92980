// SPDX-License-Identifier: Apache-2.0
// GA10x (RTX 30, A10) and AD10x (RTX 40, L4, L40S): what kernels know of the two is the same, but for their second-level caches, which the driver tells.
#pragma once

#include "backends/cuda/arch/sm80.h"

namespace octet::cuda {

inline constexpr ArchitectureLimits kSm86Limits{
    .threads = 1536, .shared_bytes = 100 << 10, .shared_bytes_per_block = 99 << 10};

inline constexpr Architecture kSm86{.id = ArchitectureId::sm_86,
                                    .target = "sm_86",
                                    .capability = {8, 6},
                                    .instructions = kSm80Instructions,
                                    .limits = kSm86Limits,
                                    .most_products_s8 = 1024,
                                    .costs_from = ArchitectureId::sm_80,
                                    .geforce_halves_f16 = true};

inline constexpr Architecture kSm89{.id = ArchitectureId::sm_89,
                                    .target = "sm_89",
                                    .capability = {8, 9},
                                    .instructions = kSm80Instructions,
                                    .limits = kSm86Limits,
                                    .most_products_s8 = 1024,
                                    .costs_from = ArchitectureId::sm_86,
                                    .geforce_halves_f16 = true};

}  // namespace octet::cuda
