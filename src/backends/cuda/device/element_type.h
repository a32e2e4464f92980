// SPDX-License-Identifier: Apache-2.0
// Types of elements as fields of a spec: device/element_type.cuh has the types.
#pragma once

#include "backends/cuda/contract.h"

namespace octet::cuda {

enum class ElementType : s32 { u8, s8, u16, s16, u32, s32, u64, s64, f32, f64, f32x4 };

}  // namespace octet::cuda
