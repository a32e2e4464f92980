// SPDX-License-Identifier: Apache-2.0
// Hopper: H100, H200. Its code for wgmma runs on no other chip, older or newer; what else it has, later chips have as well.
#pragma once

#include "backends/cuda/arch/sm80.h"

namespace octet::cuda {

inline constexpr InstructionSet kSm90PlainInstructions =
    kSm80Instructions.with({Instruction::tma, Instruction::pdl});
inline constexpr ArchitectureLimits kSm90Limits{
    .threads = 2048, .shared_bytes = 228 << 10, .shared_bytes_per_block = 227 << 10};

inline constexpr Architecture kSm90{
    .id = ArchitectureId::sm_90,
    .target = "sm_90a",
    .capability = {9, 0},
    .instructions = kSm90PlainInstructions.with({Instruction::wgmma}),
    .limits = kSm90Limits,
    .most_products_s8 = 4096,
    .costs_from = ArchitectureId::sm_90};

inline constexpr Architecture kCompute90{.id = ArchitectureId::compute_90,
                                         .target = "compute_90",
                                         .capability = {9, 0},
                                         .instructions = kSm90PlainInstructions,
                                         .costs_from = ArchitectureId::sm_90};

}  // namespace octet::cuda
