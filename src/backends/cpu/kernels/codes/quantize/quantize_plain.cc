// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/codes/quantize/quantize_args.h"
#include "core/rounding.h"

namespace octet {

void quantize_f32_u8_plain(const QuantizeRun& run) {
  for (s64 i = 0; i < run.count; ++i) {
    run.dst[i] = static_cast<u8>(quantize(run.src[i], run.scale, run.zero_point, 0, 255));
  }
}

void dequantize_u8_f32_plain(const DequantizeRun& run) {
  for (s64 i = 0; i < run.count; ++i) {
    run.dst[i] = dequantize(run.src[i], run.scale, run.zero_point);
  }
}

void interleave3_u8_plain(const InterleaveRun& run) {
  u8* dst = run.dst;
  for (s64 i = 0; i < run.count; ++i, dst += 3) {
    dst[0] = run.planes[i];
    dst[1] = run.planes[run.stride + i];
    dst[2] = run.planes[2 * run.stride + i];
  }
}

}  // namespace octet
