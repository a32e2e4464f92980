// SPDX-License-Identifier: Apache-2.0
// The portable kernels of QInstanceNormalization.
#include "backends/cpu/kernels/codes/norm/norm_args.h"
#include "backends/cpu/kernels/codes/scalar_epilogue.h"

namespace octet {

void code_sums_plain(const CodeSumsArgs& args) {
  for (s64 p = 0; p < args.pixels; ++p) {
    const u8* src = args.src + p * args.pixel_stride;
    for (s64 c = 0; c < args.channels; ++c) {
      args.sums[c] += src[c];
      args.squares[c] += src[c] * src[c];
    }
  }
}

void code_lines_plain(const CodeLinesArgs& args) {
  for (s64 p = 0; p < args.pixels; ++p) {
    const u8* src = args.src + p * args.src_stride;
    u8* dst = args.dst + p * args.dst_stride;
    for (s64 c = 0; c < args.channels; ++c) {
      const f32 t = std::fmaf(static_cast<f32>(src[c]), args.slope[c], args.offset[c]);
      dst[c] = code_of(*args.epilogue, t);
    }
  }
}

}  // namespace octet
