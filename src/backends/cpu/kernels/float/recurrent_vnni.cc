// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/float/vec_vnni.h"
// After the words that it is made of.
#include "backends/cpu/kernels/float/fold_avx.h"

#define OCTET_ISA(name) name##_vnni
#include "backends/cpu/kernels/float/recurrent_body.h"
