// SPDX-License-Identifier: Apache-2.0
// Turing: T4, RTX 20. Products of 16 codes and of 8 floats of k (f16 alone), no copies behind the program's back, and half as many threads as an A100.
#pragma once

#include "backends/cuda/arch/architecture.h"

namespace octet::cuda {

inline constexpr InstructionSet kSm75Instructions{Instruction::dot_s8, Instruction::mma_s8,
                                                  Instruction::mma_f16};

inline constexpr Architecture kSm75{.id = ArchitectureId::sm_75,
                                    .target = "sm_75",
                                    .capability = {7, 5},
                                    .instructions = kSm75Instructions,
                                    .limits = {.threads = 1024,
                                               .shared_bytes = 64 << 10,
                                               .shared_bytes_per_block = 64 << 10,
                                               .reserved_shared_bytes = 0},
                                    .most_products_s8 = 1024,
                                    .costs_from = ArchitectureId::sm_86,
                                    .geforce_halves_f16 = true};

inline constexpr Architecture kCompute75{.id = ArchitectureId::compute_75,
                                         .target = "compute_75",
                                         .capability = {7, 5},
                                         .instructions = kSm75Instructions,
                                         .costs_from = ArchitectureId::sm_75};

}  // namespace octet::cuda
