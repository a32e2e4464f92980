// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/float/recurrent_codes.h"
#include "backends/cpu/kernels/float/vec_neon.h"

namespace octet {
namespace {

constexpr int kMostBlocks = 2;  // by several vectors: 32 registers hold their sums and operands

inline I i_load(const void* p) {
  const int* from = static_cast<const int*>(p);
  return {vld1q_s32(from), vld1q_s32(from + 4)};
}
// Pairs of s16, whose products fit.
inline int32x4_t add_pairs(int32x4_t sum, int32x4_t codes, int32x4_t weights) {
  const int16x8_t a = vreinterpretq_s16_s32(codes), b = vreinterpretq_s16_s32(weights);
  const int32x4_t low = vmull_s16(vget_low_s16(a), vget_low_s16(b));
  return vaddq_s32(sum, vpaddq_s32(low, vmull_high_s16(a, b)));
}
inline I add_products(I sum, I codes, I weights) {
  return {add_pairs(sum.low, codes.low, weights.low),
          add_pairs(sum.high, codes.high, weights.high)};
}

// Integral reals of 0 to 255.
inline void store_codes(int* out, long i, V x) {
  vst1q_u16(reinterpret_cast<unsigned short*>(out) + i, v_code_words(x));
}

inline void place(int* out, const unsigned char* codes, long count) {
  unsigned short* words = reinterpret_cast<unsigned short*>(out);
  long i = 0;
  for (; i + 8 <= count; i += 8) vst1q_u16(words + i, vmovl_u8(vld1_u8(codes + i)));
  for (; i < count; ++i) words[i] = codes[i];
  if (i % 2 != 0) words[i] = 0;
}

}  // namespace
}  // namespace octet

#define OCTET_ISA(name) name##_neon
#include "backends/cpu/kernels/float/recurrent_codes_body.h"
