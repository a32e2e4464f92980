// SPDX-License-Identifier: Apache-2.0
// Tables with vpshufb, a row of 16 codes at a time.
#include "backends/cpu/kernels/codes/simd_avx2.h"
#include "backends/cpu/kernels/codes/table/table_args.h"

namespace octet {

void table_u8_avx2(const TableRun& run) {
  for (s64 i = 0; i < run.count; i += 32) {
    const s64 count = run.count - i;
    store_bytes32(look_up(load_bytes32(run.src + i, count), run.table), run.dst + i, count);
  }
}

}  // namespace octet
