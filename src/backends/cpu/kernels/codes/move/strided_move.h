// SPDX-License-Identifier: Apache-2.0
// A box of elements copied between two strided tensors: what Concat, Split, Slice, Gather and Expand of linear tensors
// are made of. Everything is resolved once; a run allocates nothing.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "core/thread_pool.h"
#include "core/types.h"
#include "octet/tensor.h"

namespace octet {

// Offsets and strides in elements.
struct StridedBox {
  Shape shape;
  std::span<const s64> src_strides;
  std::span<const s64> dst_strides;
  s64 src_offset = 0;
  s64 dst_offset = 0;
};

class StridedMove {
 public:
  StridedMove(const StridedBox& box, size_t element_bytes);
  void run(const std::byte* src, std::byte* dst, ThreadPool& pool) const noexcept;

 private:
  void row(const std::byte* src, std::byte* dst) const noexcept;
  void line(const std::byte* src, std::byte* dst, s64 rows) const noexcept;
  void run_rows(const std::byte* src, std::byte* dst, s64 begin, s64 end) const noexcept;

  size_t bytes_;  // of what is moved as one
  s64 src_offset_, dst_offset_;
  int outer_rank_ = 0;
  std::array<s64, Shape::kMaxRank> dims_{}, src_strides_{}, dst_strides_{};  // outer dimensions
  s64 length_ = 1, src_step_ = 1, dst_step_ = 1;                             // of a row
  s64 rows_ = 1;
};

}  // namespace octet
