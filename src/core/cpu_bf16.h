// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace octet {

// Whether the CPU has products of bf16 (AVX512_BF16; every CPU with tiles of bf16 has it, too) and the instruction set is not capped
// below AVX-512.
bool cpu_multiplies_bf16();

}  // namespace octet
