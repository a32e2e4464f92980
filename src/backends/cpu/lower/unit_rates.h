// SPDX-License-Identifier: Apache-2.0
// Multiplications that a unit of this processor family does in a cycle at best: Candidate::macs_per_cycle.
#pragma once

#include "arch/isa.h"
#include "backends/cpu/kernels/codes/conv/conv.h"
#include "core/types.h"

namespace octet {

// u8 by s8. 16 rows x 16 columns x 64 bytes in 16 cycles; two vpdpbusd of 64, or of 32; one vpmaddwd of 16 in 0.7 cycles.
inline f64 code_unit_rate(Isa isa) {
  if (isa.has(Isa::amx)) return 1024;
  if (isa.has(Isa::vnni)) return 128;
  if (isa.has(Isa::avx_vnni)) return 64;
  if (isa.has(Isa::avx2)) return 23;
  // Two usmmla of 32, or sdot of 16, or one smlal of 4, in a cycle of a Neoverse V1 and N1 and a Cortex-A53 (their optimization guides).
  if (isa.has(Isa::i8mm)) return 64;
  if (isa.has(Isa::dotprod)) return 32;
  return isa.has(Isa::neon) ? 4 : 1;
}
inline f64 conv_unit_rate(const ConvKernel& kernel) {
  // vpmaddubsw and what follows it for 32 products in 1.09 cycles.
  constexpr f64 kPairsRate = 29;
  return kernel.pairs ? kPairsRate : code_unit_rate(kernel.isa);
}
// 36 products by 16 multiplications of vpmaddwd.
inline constexpr f64 kWinogradRate = 52;

// f32: two fused multiply-adds of 16 numbers, of 8, or of 4.
inline f64 real_unit_rate(Isa isa) {
  if (isa.has(Isa::vnni)) return 32;
  return isa.has(Isa::avx2) ? 16 : isa.has(Isa::neon) ? 8 : 1;
}

}  // namespace octet
