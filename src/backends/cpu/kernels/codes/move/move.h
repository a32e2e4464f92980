// SPDX-License-Identifier: Apache-2.0
// Elements change places: layout conversion, transposition, copies by axis maps. Elements of 1 or 4 bytes are fast paths;
// the rest goes element by element.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "arch/isa.h"
#include "core/thread_pool.h"
#include "octet/tensor.h"
#include "plan/offer.h"

namespace octet {

// dst[c * dst_stride + r] = src[r * src_stride + c] for r < rows, c < columns; strides in elements.
struct Matrix2d {
  const void* src;
  s64 src_stride;
  void* dst;
  s64 dst_stride;
  s64 rows;
  s64 columns;
  Isa isa = {};  // whose registers may be used
};
void transpose_matrix(const Matrix2d& matrix, size_t element_bytes) noexcept;

struct ConvertLayout {
  Shape shape;  // N, C, H, W
  size_t element_bytes;
  Placement input;
  Placement output;
  Isa isa = {};
};
// linear <-> nhwc of any placement, or nhwc -> nhwc.
void convert_layout(const ConvertLayout& convert, const std::byte* src, std::byte* dst,
                    ThreadPool& pool) noexcept;

// Output axis i is input axis perm[i]; dense row-major on both sides.
class Transposition {
 public:
  Transposition(const Shape& input, std::span<const int> perm, size_t element_bytes, Isa isa);
  void run(const std::byte* src, std::byte* dst, ThreadPool& pool) const noexcept;

 private:
  struct Dim {
    s64 size, src_stride, dst_stride;  // in elements
  };
  void run_item(const std::byte* src, std::byte* dst, s64 item) const noexcept;

  std::vector<Dim> outer_;
  Dim rows_{1, 1, 1};     // contiguous in dst; with columns_ of size 1, runs of contiguous elements
  Dim columns_{1, 1, 1};  // contiguous in src
  size_t bytes_;
  Isa isa_;
  s64 items_ = 1;      // of the outer dimensions
  s64 pieces_ = 1;     // of rows_
  bool runs_ = false;  // rows_ is contiguous in both: copy
};

// Images whose rows and columns come from other rows and columns, all channels at once: nearest Resize, Slice, Pad.
struct MapPixels {
  std::vector<s64> images;   // source image of each output image; -1: fill
  std::vector<s64> rows;     // likewise
  std::vector<s64> columns;  // likewise
  s64 first_channel = 0;     // of the source
  s64 channels = 0;
  size_t element_bytes = 1;
  std::array<std::byte, 8> fill{};
  Placement input;
  Placement output;

  void run(const std::byte* src, std::byte* dst, ThreadPool& pool) const noexcept;
};

}  // namespace octet
