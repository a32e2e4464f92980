// SPDX-License-Identifier: Apache-2.0
// Elements in blocks of as many as a kernel takes at once, the last of them through buffers. Included by instruction-set files.
#pragma once

#include <string.h>

#include "core/types.h"

namespace octet {
namespace {

template <s64 kBlock, class From, class To, class Block>
inline void in_blocks(const From* src, To* dst, s64 count, const Block& block) {
  s64 i = 0;
  for (; i + kBlock <= count; i += kBlock) block(src + i, dst + i);
  if (i == count) return;
  From last[kBlock] = {};
  To results[kBlock];
  const size_t rest = static_cast<size_t>(count - i);
  memcpy(last, src + i, rest * sizeof(From));
  block(last, results);
  memcpy(dst + i, results, rest * sizeof(To));
}

}  // namespace
}  // namespace octet
