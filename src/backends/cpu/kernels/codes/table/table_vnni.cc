// SPDX-License-Identifier: Apache-2.0
// Tables with vpermi2b (VBMI): two permutes and a blend for 64 codes.
#include "backends/cpu/kernels/codes/simd_vnni.h"
#include "backends/cpu/kernels/codes/table/table_args.h"

namespace octet {

void table_u8_vnni(const TableRun& run) {
  for (s64 i = 0; i < run.count; i += 64) {
    const __mmask64 mask = first_lanes64(run.count - i);
    const __m512i codes = _mm512_maskz_loadu_epi8(mask, run.src + i);
    _mm512_mask_storeu_epi8(run.dst + i, mask, look_up(codes, run.table));
  }
}

}  // namespace octet
