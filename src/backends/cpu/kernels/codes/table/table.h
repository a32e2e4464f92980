// SPDX-License-Identifier: Apache-2.0
// 256-entry tables over runs of u8 codes.
#pragma once

#include "backends/cpu/kernels/codes/kernel_row.h"
#include "backends/cpu/kernels/codes/table/table_args.h"

namespace octet {

using TableKernel = KernelRow<TableRun>;

// Best first.
inline constexpr TableKernel kTableKernels[] = {
    {"table_u8_vnni", Isa::vnni, table_u8_vnni},
    {"table_u8_avx2", Isa::avx2, table_u8_avx2},
    {"table_u8_neon", Isa::neon, table_u8_neon},
    {"table_u8_plain", Isa::none, table_u8_plain},
};

}  // namespace octet
