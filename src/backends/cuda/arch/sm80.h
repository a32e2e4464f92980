// SPDX-License-Identifier: Apache-2.0
// A100, what every chip since then runs, and the chip of Jetson Orin.
#pragma once

#include "backends/cuda/arch/sm75.h"

namespace octet::cuda {

inline constexpr InstructionSet kSm80Instructions =
    kSm75Instructions.with({Instruction::mma_bf16, Instruction::mma_long, Instruction::half_pairs,
                            Instruction::cp_async, Instruction::mbarrier});

inline constexpr Architecture kSm80{
    .id = ArchitectureId::sm_80,
    .target = "sm_80",
    .capability = {8, 0},
    .instructions = kSm80Instructions,
    .limits = {.threads = 2048, .shared_bytes = 164 << 10, .shared_bytes_per_block = 163 << 10},
    .most_products_s8 = 2048,
    .costs_from = ArchitectureId::sm_90};

inline constexpr Architecture kCompute80{.id = ArchitectureId::compute_80,
                                         .target = "compute_80",
                                         .capability = {8, 0},
                                         .instructions = kSm80Instructions,
                                         .costs_from = ArchitectureId::sm_80};

// As much shared memory as an A100 has, fewer threads, and a tenth of its memory's rate.
inline constexpr Architecture kSm87{
    .id = ArchitectureId::sm_87,
    .target = "sm_87",
    .capability = {8, 7},
    .instructions = kSm80Instructions,
    .limits = {.threads = 1536, .shared_bytes = 164 << 10, .shared_bytes_per_block = 163 << 10},
    .most_products_s8 = 2048,
    .costs_from = ArchitectureId::sm_80};

}  // namespace octet::cuda
