// SPDX-License-Identifier: Apache-2.0
// The large Blackwell: B200, B300, and that of Jetson Thor. Neither wgmma nor, by any kernel so far, what has taken its place (tcgen05).
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

// Its tensor units have given up most of their products of s8: 530 operations in a cycle (150 TOPS of a B300).
inline constexpr Architecture kSm103{.id = ArchitectureId::sm_103,
                                     .target = "sm_103",
                                     .capability = {10, 3},
                                     .cuda_major = 12,
                                     .cuda_minor = 9,
                                     .instructions = kSm90PlainInstructions,
                                     .limits = kSm90Limits,
                                     .most_products_s8 = 265,
                                     .costs_from = ArchitectureId::sm_100};

// Its limits are those of 10.0 by NVIDIA's occupancy table of CUDA 13.0; its rates were not found.
inline constexpr Architecture kSm110{
    .id = ArchitectureId::sm_110,
    .target = "sm_110",
    .capability = {11, 0},
    .cuda_major = 13,
    .cuda_minor = 0,
    .instructions = kSm90PlainInstructions,
    .limits = {.threads = 1536, .shared_bytes = 228 << 10, .shared_bytes_per_block = 227 << 10},
    .costs_from = ArchitectureId::sm_100};

}  // namespace octet::cuda
