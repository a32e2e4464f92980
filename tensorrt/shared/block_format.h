// SPDX-License-Identifier: Apache-2.0
// TensorRT's formats of memory: rows as they are, channels in blocks, or channels last.
#pragma once

#include <span>
#include <string>

#include "tensorrt/shared/types.h"

namespace octet_trt {

struct FormatInfo {
  TensorFormat format;
  const char* name;
  const char* words;  // with %T for the type
  int64_t block;      // channels that lie together; 0: all of them
  int64_t multiple;   // to which channels are filled up, of formats with all channels together
  int32_t component;  // getTensorComponentsPerElement()
  int spatial;        // dimensions behind the channels
};
// Null for formats of other devices.
const FormatInfo* format_info(TensorFormat format);
std::span<const FormatInfo> known_formats();

// "Row major linear FP32 format (kLINEAR)".
std::string format_words(TensorFormat format, const std::string& type);

// How elements of (batches)xCx(rest) lie: blocks of `block` channels, the channel fastest within a block.
struct BlockLayout {
  int64_t batch = 1, channels = 1, inner = 1, block = 1, blocks = 1;

  int64_t elements() const { return batch * blocks * block * inner; }
  int64_t place(int64_t n, int64_t c, int64_t i) const {
    return ((n * blocks + c / block) * inner + i) * block + c % block;
  }
};
// Row-major where the sizes have no such channels.
BlockLayout block_layout(TensorFormat format, std::span<const int64_t> sizes);

// Calls visit(index in row-major order, index in the format) for every element.
template <class Visit>
void for_each_place(const BlockLayout& layout, const Visit& visit) {
  int64_t at = 0;
  for (int64_t n = 0; n < layout.batch; ++n)
    for (int64_t c = 0; c < layout.channels; ++c)
      for (int64_t i = 0; i < layout.inner; ++i) visit(at++, layout.place(n, c, i));
}

}  // namespace octet_trt
