// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/float/vec_neon.h"

#define OCTET_ISA(name) name##_neon
#include "backends/cpu/kernels/float/rows_body.h"
// After the bodies that it is made of.
#include "backends/cpu/kernels/float/code_rows_body.h"

namespace octet {

void max_pool_f32_neon(const PoolArgs* args) { max_pool<float>(args); }

}  // namespace octet
