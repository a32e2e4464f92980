// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/float/vec_vnni.h"

namespace octet {
namespace {

inline V panel_product(V x, V weights, V sum) { return v_fma(x, weights, sum); }

}  // namespace
}  // namespace octet

#define OCTET_ISA(name) name##_vnni
#include "backends/cpu/kernels/float/panel_body.h"
