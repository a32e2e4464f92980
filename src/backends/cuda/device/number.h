// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/cuda/contract.h"

namespace octet::cuda {

// How numbers lie in memory.
enum class Number : s32 { f32, f16, bf16, u8, s8 };
constexpr s32 bytes_of(Number n) {
  return n == Number::f32 ? 4 : n == Number::f16 || n == Number::bf16 ? 2 : 1;
}
constexpr bool is_code(Number n) { return n == Number::u8 || n == Number::s8; }

}  // namespace octet::cuda
