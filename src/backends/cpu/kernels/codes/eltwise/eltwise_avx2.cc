// SPDX-License-Identifier: Apache-2.0
// Binary elementwise kernels, 32 codes at a time.
#include "backends/cpu/kernels/codes/eltwise/eltwise_args.h"
#include "backends/cpu/kernels/codes/simd_avx2.h"

namespace octet {
namespace {

struct Add {
  static __m256 apply(const BinaryArgs& args, __m256i a, __m256i b) {
    const __m256 right = _mm256_mul_ps(_mm256_cvtepi32_ps(b), _mm256_set1_ps(args.multiplier_b));
    return _mm256_fmadd_ps(_mm256_cvtepi32_ps(a), _mm256_set1_ps(args.multiplier_a), right);
  }
};

struct Mul {
  static __m256 apply(const BinaryArgs& args, __m256i a, __m256i b) {
    const __m256i product = _mm256_mullo_epi32(a, b);
    return _mm256_mul_ps(_mm256_cvtepi32_ps(product), _mm256_set1_ps(args.multiplier_a));
  }
};

// 32 codes less their zero point, in the order of widen_in_lanes.
inline void load_centered(const u8* src, bool stands, s64 count, s32 zero, __m256i out[4]) {
  widen_in_lanes(stands ? _mm256_set1_epi8(static_cast<char>(*src)) : load_bytes32(src, count),
                 out);
  for (int v = 0; v < 4; ++v) out[v] = _mm256_sub_epi32(out[v], _mm256_set1_epi32(zero));
}

template <class Op>
void binary(const BinaryRun& run) {
  const BinaryArgs& args = *run.args;
  const EpilogueArgs& e = args.epilogue;
  for (s64 i = 0; i < run.count; i += 32) {
    const s64 count = run.count - i;
    __m256i a[4], b[4];
    load_centered(run.a + (run.a_stands ? 0 : i), run.a_stands, count, args.zero_a, a);
    load_centered(run.b + (run.b_stands ? 0 : i), run.b_stands, count, args.zero_b, b);
    __m256 t[4];
    for (int v = 0; v < 4; ++v) {
      t[v] = Op::apply(args, a[v], b[v]);
      if (e.leaky) t[v] = leaky(t[v], e.alpha);
    }
    store_bytes32(final_codes(e, t), run.dst + i, count);
  }
}

}  // namespace

void add_u8_avx2(const BinaryRun& run) { binary<Add>(run); }
void mul_u8_avx2(const BinaryRun& run) { binary<Mul>(run); }

}  // namespace octet
