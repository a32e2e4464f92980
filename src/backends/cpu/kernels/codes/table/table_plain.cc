// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/codes/table/table_args.h"

namespace octet {

void table_u8_plain(const TableRun& run) {
  for (s64 i = 0; i < run.count; ++i) run.dst[i] = run.table[run.src[i]];
}

}  // namespace octet
