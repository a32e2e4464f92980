// SPDX-License-Identifier: Apache-2.0
// What one call of a table kernel gets. Included by instruction-set files.
#pragma once

#include "arch/kernel.h"
#include "core/types.h"

namespace octet {

struct TableRun {
  const u8* src;
  u8* dst;  // may be src
  s64 count;
  const u8* table;  // 256 codes
};

void table_u8_plain(const TableRun& run);
OCTET_X86_64(void, table_u8_avx2, const TableRun& run);
OCTET_X86_64(void, table_u8_vnni, const TableRun& run);
OCTET_AARCH64(void, table_u8_neon, const TableRun& run);

}  // namespace octet
