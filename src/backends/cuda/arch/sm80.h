// SPDX-License-Identifier: Apache-2.0
// A100, and what every chip since then runs.
#pragma once

#include "backends/cuda/arch/architecture.h"

namespace octet::cuda {

inline constexpr InstructionSet kSm80Instructions{Instruction::dot_s8, Instruction::mma_s8,
                                                  Instruction::cp_async, Instruction::mbarrier};

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

}  // namespace octet::cuda
