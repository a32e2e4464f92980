// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/quantize/quantize_args.h"
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

}  // namespace octet
