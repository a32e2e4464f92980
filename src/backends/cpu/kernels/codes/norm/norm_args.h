// SPDX-License-Identifier: Apache-2.0
// What one call of the kernels of QInstanceNormalization gets: a run of pixels. Included by instruction-set files.
#pragma once

#include "arch/kernel.h"
#include "backends/cpu/kernels/codes/epilogue_args.h"
#include "core/types.h"

namespace octet {

// Adds each channel's codes and their squares to `sums` and `squares`.
struct CodeSumsArgs {
  const u8* src;
  s64 pixel_stride, pixels, channels;
  s64* sums;
  s64* squares;
};

// dst = code of fma(src, slope[c], offset[c]). Both arrays are padded to a multiple of 64 channels.
struct CodeLinesArgs {
  const u8* src;
  s64 src_stride;
  u8* dst;
  s64 dst_stride;
  s64 pixels, channels;
  const f32* slope;
  const f32* offset;
  const EpilogueArgs* epilogue;
};

void code_sums_plain(const CodeSumsArgs& args);
OCTET_X86_64(void, code_sums_avx2, const CodeSumsArgs& args);
OCTET_X86_64(void, code_sums_vnni, const CodeSumsArgs& args);
OCTET_AARCH64(void, code_sums_neon, const CodeSumsArgs& args);
void code_lines_plain(const CodeLinesArgs& args);
OCTET_X86_64(void, code_lines_avx2, const CodeLinesArgs& args);
OCTET_X86_64(void, code_lines_vnni, const CodeLinesArgs& args);
OCTET_AARCH64(void, code_lines_neon, const CodeLinesArgs& args);

}  // namespace octet
