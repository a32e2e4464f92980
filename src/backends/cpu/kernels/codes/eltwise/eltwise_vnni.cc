// SPDX-License-Identifier: Apache-2.0
// Binary elementwise kernels, 64 codes at a time.
#include "backends/cpu/kernels/codes/eltwise/eltwise_args.h"
#include "backends/cpu/kernels/codes/simd_vnni.h"

namespace octet {
namespace {

struct Add {
  static __m512 apply(const BinaryArgs& args, __m512i a, __m512i b) {
    const __m512 right = _mm512_mul_ps(_mm512_cvtepi32_ps(b), _mm512_set1_ps(args.multiplier_b));
    return _mm512_fmadd_ps(_mm512_cvtepi32_ps(a), _mm512_set1_ps(args.multiplier_a), right);
  }
};

struct Mul {
  // Factors lie within +-255: their low 16 bits are all that vpmaddwd needs (the high half of b is cleared).
  static __m512 apply(const BinaryArgs& args, __m512i a, __m512i b) {
    const __m512i low = _mm512_and_si512(b, _mm512_set1_epi32(0xffff));
    const __m512i product = _mm512_madd_epi16(a, low);
    return _mm512_mul_ps(_mm512_cvtepi32_ps(product), _mm512_set1_ps(args.multiplier_a));
  }
};

// 64 codes less their zero point, in the order of widen_in_lanes.
inline void load_centered(const u8* src, bool stands, __mmask64 mask, s32 zero, __m512i out[4]) {
  const __m512i codes =
      stands ? _mm512_set1_epi8(static_cast<char>(*src)) : _mm512_maskz_loadu_epi8(mask, src);
  widen_in_lanes(codes, out);
  for (int v = 0; v < 4; ++v) out[v] = _mm512_sub_epi32(out[v], _mm512_set1_epi32(zero));
}

template <class Op>
void binary(const BinaryRun& run) {
  const BinaryArgs& args = *run.args;
  const EpilogueArgs& e = args.epilogue;
  for (s64 i = 0; i < run.count; i += 64) {
    const __mmask64 mask = first_lanes64(run.count - i);
    __m512i a[4], b[4];
    load_centered(run.a + (run.a_stands ? 0 : i), run.a_stands, mask, args.zero_a, a);
    load_centered(run.b + (run.b_stands ? 0 : i), run.b_stands, mask, args.zero_b, b);
    __m512 t[4];
    for (int v = 0; v < 4; ++v) {
      t[v] = Op::apply(args, a[v], b[v]);
      if (e.leaky) t[v] = leaky(t[v], e.alpha);
    }
    __m512i codes = codes_of(e, t);
    if (e.table != nullptr) codes = look_up(codes, e.table);
    _mm512_mask_storeu_epi8(run.dst + i, mask, codes);
  }
}

}  // namespace

void add_u8_vnni(const BinaryRun& run) { binary<Add>(run); }
void mul_u8_vnni(const BinaryRun& run) { binary<Mul>(run); }

}  // namespace octet
