// SPDX-License-Identifier: Apache-2.0
// The small Blackwell: RTX 50, RTX PRO 6000, and the chip of the DGX Spark. Multiprocessors as those of 8.9, products of s8 by mma.sync at their full rate.
#pragma once

#include "backends/cuda/arch/sm86.h"
#include "backends/cuda/arch/sm90.h"

namespace octet::cuda {

inline constexpr Architecture kSm120{.id = ArchitectureId::sm_120,
                                     .target = "sm_120",
                                     .capability = {12, 0},
                                     .cuda_major = 12,
                                     .cuda_minor = 8,
                                     .instructions = kSm90PlainInstructions,
                                     .limits = kSm86Limits,
                                     .most_products_s8 = 1024,
                                     .costs_from = ArchitectureId::sm_89,
                                     .geforce_halves_f16 = true};

inline constexpr Architecture kSm121{.id = ArchitectureId::sm_121,
                                     .target = "sm_121",
                                     .capability = {12, 1},
                                     .cuda_major = 12,
                                     .cuda_minor = 9,
                                     .instructions = kSm90PlainInstructions,
                                     .limits = kSm86Limits,
                                     .most_products_s8 = 1024,
                                     .costs_from = ArchitectureId::sm_120};

}  // namespace octet::cuda
