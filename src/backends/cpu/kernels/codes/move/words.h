// SPDX-License-Identifier: Apache-2.0
// Matrices of four-byte elements, transposed by wide registers. Plain data only, since instruction-set files include it.
#pragma once

#include "arch/kernel.h"

namespace octet {

// dst[c * dst_stride + r] = src[r * src_stride + c]; strides in elements.
struct WordMatrix {
  const unsigned* src;
  long src_stride;
  unsigned* dst;
  long dst_stride;
  long rows;
  long columns;
};

OCTET_X86_64(void, transpose_words_avx2, const WordMatrix& matrix);
OCTET_X86_64(void, transpose_words_vnni, const WordMatrix& matrix);

}  // namespace octet
