// SPDX-License-Identifier: Apache-2.0
// Two rows of pixels into folded ones, four at a time.
#include "backends/cpu/kernels/codes/conv/tile_args.h"
#include "backends/cpu/kernels/codes/simd_vnni.h"

namespace octet {

void fold_rows_amx(const FoldJob& job) {
  const __m512i order = _mm512_loadu_si512(job.order);
  u8* dst = job.dst;
  for (s64 i = 0; i < job.pixels; i += 4, dst += 64) {
    const __m512i upper = _mm512_loadu_si512(job.upper + i * job.pair);
    const __m512i lower = _mm512_loadu_si512(job.lower + i * job.pair);
    _mm512_storeu_si512(dst, _mm512_permutex2var_epi8(upper, order, lower));
  }
}

}  // namespace octet
