// SPDX-License-Identifier: Apache-2.0
// AMX instructions with literal register numbers from template arguments, and the configuration of the registers. Included
// by instruction-set files, all of internal linkage.
#pragma once

#include <immintrin.h>
#include <string.h>

#include "core/types.h"

namespace octet {
namespace {

template <int kTile>
inline void amx_load(const void* src, s64 stride) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(src), "r"(stride), "i"(kTile));
}
template <int kTile>
inline void amx_store(void* dst, s64 stride) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(dst), "r"(stride), "i"(kTile) : "memory");
}
template <int kTile>
inline void amx_zero() {
  asm volatile("tilezero %%tmm%c0" ::"i"(kTile));
}
// kSum += kLeft (u8) * kRight (s8)
template <int kSum, int kLeft, int kRight>
inline void amx_dot_us() {
  asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kLeft), "i"(kRight));
}
// kSum += kLeft (u8) * kRight (u8)
template <int kSum, int kLeft, int kRight>
inline void amx_dot_uu() {
  asm volatile("tdpbuud %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kLeft), "i"(kRight));
}

struct alignas(64) AmxConfig {
  u8 palette;
  u8 start_row;
  u8 reserved[14];
  u16 column_bytes[16];
  u8 rows[16];
};
static_assert(sizeof(AmxConfig) == 64, "the layout is the hardware's");

// Tiles 0-5, sums and left operands, have `rows` rows of 64 bytes; 6 and 7, right operands, 16.
inline void amx_configure(s64 rows) {
  AmxConfig config;
  memset(&config, 0, sizeof(config));
  config.palette = 1;
  for (int t = 0; t < 8; ++t) {
    config.rows[t] = static_cast<u8>(t < 6 ? rows : 16);
    config.column_bytes[t] = 64;
  }
  // g++ 12 believes that only 8 bytes of the operand are read and would drop the stores above.
  asm volatile("" ::: "memory");
  _tile_loadconfig(&config);
}

}  // namespace
}  // namespace octet
