// SPDX-License-Identifier: Apache-2.0
// f32 -> u8 codes and back, per tensor.
#pragma once

#include "backends/cpu/kernels/codes/kernel_row.h"
#include "backends/cpu/kernels/codes/quantize/quantize_args.h"
#include "core/thread_pool.h"
#include "octet/tensor.h"
#include "plan/offer.h"

namespace octet {

struct QuantizeKernel {
  const char* name;
  Isa isa;
  void (*run)(const QuantizeRun&);
  void (*interleave3)(const InterleaveRun&);
};
using DequantizeKernel = KernelRow<DequantizeRun>;

// Best first.
inline constexpr QuantizeKernel kQuantizeKernels[] = {
    {"quantize_f32_u8_vnni", Isa::vnni, quantize_f32_u8_vnni, interleave3_u8_vnni},
    {"quantize_f32_u8_avx2", Isa::avx2, quantize_f32_u8_avx2, interleave3_u8_plain},
    {"quantize_f32_u8_neon", Isa::neon, quantize_f32_u8_neon, interleave3_u8_neon},
    {"quantize_f32_u8_plain", Isa::none, quantize_f32_u8_plain, interleave3_u8_plain},
};
inline constexpr DequantizeKernel kDequantizeKernels[] = {
    {"dequantize_u8_f32_vnni", Isa::vnni, dequantize_u8_f32_vnni},
    {"dequantize_u8_f32_avx2", Isa::avx2, dequantize_u8_f32_avx2},
    {"dequantize_u8_f32_neon", Isa::neon, dequantize_u8_f32_neon},
    {"dequantize_u8_f32_plain", Isa::none, dequantize_u8_f32_plain},
};

// Of 16-bit codes; without plain rows.
using QuantizeWideKernel = KernelRow<QuantizeWideRun>;
using DequantizeWideKernel = KernelRow<DequantizeWideRun>;
inline constexpr QuantizeWideKernel kQuantizeWideKernels[] = {
    {"quantize_f32_wide_avx2", Isa::avx2, quantize_f32_wide_avx2},
    {"quantize_f32_wide_neon", Isa::neon, quantize_f32_wide_neon},
};
inline constexpr DequantizeWideKernel kDequantizeWideKernels[] = {
    {"dequantize_wide_f32_avx2", Isa::avx2, dequantize_wide_f32_avx2},
    {"dequantize_wide_f32_neon", Isa::neon, dequantize_wide_f32_neon},
};

// What the kernels may use instead of dividing by `scale`; zeros where not every code would be the same.
NearQuotient near_quotient(f32 scale, s32 zero_point);

// A dense [N, C, H, W] f32 image to nhwc codes in one pass: what stands at the head of most models.
struct PlanarQuantize {
  const QuantizeKernel* kernel;
  Shape shape;
  f32 scale;
  s32 zero_point;
  NearQuotient near;
  Placement output;

  void run(const f32* x, u8* y, ThreadPool& pool) const noexcept;
};

}  // namespace octet
