// SPDX-License-Identifier: Apache-2.0
// Walking and copying dense tensors in another order: what Transpose, Slice, Expand and all broadcasting are made of.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "core/types.h"
#include "graph/op_def.h"
#include "octet/tensor.h"

namespace octet {

// Element (i0, i1, ...) of the destination, which is dense over `shape`, comes from offset + sum(i[d] * strides[d]).
struct StridedView {
  Shape shape;
  std::vector<s64> strides;  // in elements; 0 repeats, negative runs backwards
  s64 offset = 0;
};

// Copies into dense `dst`; contiguous runs go through memcpy. All offsets must be inside `src`.
void strided_copy(const StridedView& view, Dtype dtype, const void* src, void* dst);

// Output 0 is input 0 in another shape.
void eval_copy(const Eval& eval);

// Numpy broadcasting of up to three dense tensors: the output as rows, with each input's step inside a row 0 or 1.
class BroadcastRows {
 public:
  using Offsets = std::array<s64, 3>;

  BroadcastRows(const Shape& output, std::span<const Shape> inputs);

  s64 length() const { return length_; }  // elements of one row
  s64 step(size_t input) const { return steps_[input]; }
  // Calls row(offset in output, offsets in the inputs) for each row, in order.
  template <class F>
  void for_each(const F& row) const {
    if (count_ == 0) return;
    std::array<s64, Shape::kMaxRank> index{};
    Offsets offsets{};
    for (s64 n = 0; n < count_; ++n) {
      row(n * length_, offsets);
      advance(index, offsets);
    }
  }

 private:
  void advance(std::array<s64, Shape::kMaxRank>& index, Offsets& offsets) const;

  Shape outer_;                              // merged dimensions without the row
  std::array<std::vector<s64>, 3> strides_;  // of the outer dimensions
  Offsets steps_{};
  s64 length_ = 1;
  s64 count_ = 1;
};

// The shape that two shapes broadcast to; throws Error(invalid_model) naming both.
Shape broadcast_shapes(const Shape& a, const Shape& b);

}  // namespace octet
