// SPDX-License-Identifier: Apache-2.0
// Elementwise steps as rows: up to three broadcast operands over one output, in the output's memory order, with
// dimensions merged wherever the operands allow it. A dense tensor is one long row.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "core/thread_pool.h"
#include "core/types.h"
#include "octet/tensor.h"
#include "plan/offer.h"

namespace octet {

// Elements between neighbours along each logical dimension (N, C, H, W for nhwc too).
std::vector<s64> value_strides(const Shape& shape, const Placement& placement);

struct RowOperand {
  Shape shape;  // broadcasts to the output's
  Placement placement;
};

class Rows {
 public:
  static constexpr size_t kMaxOperands = 4;
  using Offsets = std::array<s64, kMaxOperands>;  // of operand 0, 1, ...

  Rows() = default;
  // Operand 0 is the output. Fails an OCTET_CHECK where an operand steps by neither 0 nor 1 inside a row.
  explicit Rows(std::span<const RowOperand> operands);
  // Whether the constructor would succeed: every operand steps by 0 or 1 inside a row.
  static bool possible(std::span<const RowOperand> operands);

  s64 step(size_t operand) const { return steps_[operand]; }  // inside a row: 0 or 1

  // Calls row(offsets, elements) for pieces of rows on all threads of the pool.
  template <class F>
  void for_each(ThreadPool& pool, const F& row) const noexcept {
    const s64 pieces = (length_ + kPiece - 1) / kPiece;
    const auto body = [&](s64 begin, s64 end, int) { walk(begin, end, pieces, row); };
    // Small steps cost less than waking a thread.
    if (count_ * length_ < kSerial) return body(0, count_ * pieces, 0);
    pool.parallel_for(count_ * pieces, body);
  }

 private:
  static constexpr s64 kPiece = 8192;
  static constexpr s64 kSerial = 16384;

  bool merge(std::span<const RowOperand> operands);
  Offsets offsets_of(s64 row, s64 start) const;

  template <class F>
  void walk(s64 begin, s64 end, s64 pieces, const F& row) const noexcept {
    for (s64 item = begin; item < end; ++item) {
      const s64 start = item % pieces * kPiece;
      row(offsets_of(item / pieces, start), std::min(kPiece, length_ - start));
    }
  }

  int rank_ = 0;  // of the outer dimensions
  std::array<s64, Shape::kMaxRank> dims_{};
  std::array<std::array<s64, Shape::kMaxRank>, kMaxOperands> strides_{};
  Offsets steps_{};
  s64 length_ = 1;
  s64 count_ = 1;
};

}  // namespace octet
