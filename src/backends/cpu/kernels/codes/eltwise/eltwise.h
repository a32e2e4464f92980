// SPDX-License-Identifier: Apache-2.0
// QAdd, QMul and Min of u8 codes.
#pragma once

#include "backends/cpu/kernels/codes/eltwise/eltwise_args.h"
#include "backends/cpu/kernels/codes/kernel_row.h"

namespace octet {

using BinaryKernel = KernelRow<BinaryRun>;

// Best first.
inline constexpr BinaryKernel kAddKernels[] = {
    {"add_u8_vnni", Isa::vnni, add_u8_vnni},
    {"add_u8_avx2", Isa::avx2, add_u8_avx2},
    {"add_u8_neon", Isa::neon, add_u8_neon},
    {"add_u8_plain", Isa::none, add_u8_plain},
};
inline constexpr BinaryKernel kMinKernels[] = {
    {"min_u8_vnni", Isa::vnni, min_u8_vnni},
    {"min_u8_avx2", Isa::avx2, min_u8_avx2},
    {"min_u8_neon", Isa::neon, min_u8_neon},
    {"min_u8_plain", Isa::none, min_u8_plain},
};
inline constexpr BinaryKernel kMulKernels[] = {
    {"mul_u8_vnni", Isa::vnni, mul_u8_vnni},
    {"mul_u8_avx2", Isa::avx2, mul_u8_avx2},
    {"mul_u8_neon", Isa::neon, mul_u8_neon},
    {"mul_u8_plain", Isa::none, mul_u8_plain},
};

}  // namespace octet
