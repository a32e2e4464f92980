// SPDX-License-Identifier: Apache-2.0
// Tables with tbl: all 256 codes stay in 16 registers.
#include "backends/cpu/kernels/codes/simd_neon.h"
#include "backends/cpu/kernels/codes/table/table_args.h"

namespace octet {

void table_u8_neon(const TableRun& run) {
  uint8x16x4_t part[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) part[i] = vld1q_u8_x4(run.table + 64 * i);
  const uint8x16_t step = vdupq_n_u8(64);
  for (s64 i = 0; i < run.count; i += 16) {
    const s64 count = run.count - i;
    uint8x16_t codes = load_bytes16(run.src + i, count);
    uint8x16_t found = vqtbl4q_u8(part[0], codes);
#pragma GCC unroll 3
    for (int p = 1; p < 4; ++p) {
      codes = vsubq_u8(codes, step);
      found = vqtbx4q_u8(found, part[p], codes);
    }
    store_bytes16(found, run.dst + i, count);
  }
}

}  // namespace octet
