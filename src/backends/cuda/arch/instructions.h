// SPDX-License-Identifier: Apache-2.0
// Instructions that some chips have and others lack, as kernels and what chooses them ask for them.
#pragma once

#include <initializer_list>

#include "core/types.h"

namespace octet::cuda {

// INSTRUCTION(name, as users read it). What a kernel does otherwise where one is missing is decided in device/, by OCTET_WITHOUT_ and the name in capitals, which the
// compiler of kernels is given (options_for()).
#define OCTET_INSTRUCTIONS(INSTRUCTION)                                 \
  INSTRUCTION(dot_s8, "dp4a")                                           \
  INSTRUCTION(mma_s8, "mma of s8")                                      \
  INSTRUCTION(mma_f16, "mma of f16")                                    \
  INSTRUCTION(mma_bf16, "mma of bf16")                                  \
  INSTRUCTION(mma_long, "mma of 32 codes (m16n8k32) or 16 floats of k") \
  INSTRUCTION(half_pairs, "bf16 and comparisons that keep NaN")         \
  INSTRUCTION(cp_async, "cp.async")                                     \
  INSTRUCTION(mbarrier, "mbarrier")                                     \
  INSTRUCTION(tma, "tensor memory accelerator")                         \
  INSTRUCTION(pdl, "programmatic dependent launch")                     \
  INSTRUCTION(wgmma, "wgmma")

enum class Instruction : u8 {
#define OCTET_INSTRUCTION(name, text) name,
  OCTET_INSTRUCTIONS(OCTET_INSTRUCTION)
#undef OCTET_INSTRUCTION
};

const char* text_of(Instruction instruction);

class InstructionSet {
 public:
  constexpr InstructionSet(std::initializer_list<Instruction> list) {
    for (const Instruction each : list) bits_ |= bit(each);
  }
  constexpr bool has(Instruction instruction) const { return (bits_ & bit(instruction)) != 0; }
  constexpr bool has_all(InstructionSet others) const { return (others.bits_ & ~bits_) == 0; }
  constexpr InstructionSet with(InstructionSet others) const {
    InstructionSet both = *this;
    both.bits_ |= others.bits_;
    return both;
  }

 private:
  static constexpr u32 bit(Instruction instruction) {
    return u32{1} << static_cast<u32>(instruction);
  }

  u32 bits_ = 0;
};

}  // namespace octet::cuda
