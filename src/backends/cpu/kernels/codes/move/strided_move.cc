// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/codes/move/strided_move.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "backends/cpu/kernels/codes/move/pixel_bytes.h"

namespace octet {
namespace {

// Below this many bytes a copy is done before another thread wakes.
constexpr s64 kSerialBytes = 1 << 17;

struct Dim {
  s64 size, src, dst;
};

// Dimensions of size 1 go; neighbours that both tensors walk as one become one.
std::vector<Dim> merged_dims(const StridedBox& box) {
  std::vector<Dim> dims;
  for (int i = 0; i < box.shape.rank(); ++i) {
    const auto at = static_cast<size_t>(i);
    const Dim dim{box.shape[i], box.src_strides[at], box.dst_strides[at]};
    if (dim.size == 1) continue;
    const bool joins = !dims.empty() && dims.back().src == dim.src * dim.size &&
                       dims.back().dst == dim.dst * dim.size;
    if (joins) {
      dims.back() = {dims.back().size * dim.size, dim.src, dim.dst};
    } else {
      dims.push_back(dim);
    }
  }
  return dims;
}

// Rows of 2, 4 or 8 adjacent bytes are elements of that size, if everything else is counted in whole ones: two codes of each of
// four thousand boxes are one row of words, not four thousand of bytes.
void widen(std::vector<Dim>& dims, size_t& bytes, s64& src_offset, s64& dst_offset) {
  if (dims.size() < 2 || dims.back().src != 1 || dims.back().dst != 1) return;
  const s64 count = dims.back().size;
  if (count != 2 && count != 4 && count != 8) return;
  const s64 wide = count * static_cast<s64>(bytes);
  const auto whole = [&](const Dim& dim) { return dim.src % count == 0 && dim.dst % count == 0; };
  if (wide > 8 || src_offset % count != 0 || dst_offset % count != 0 ||
      !std::all_of(dims.begin(), dims.end() - 1, whole))
    return;
  dims.pop_back();
  for (Dim& dim : dims) dim = {dim.size, dim.src / count, dim.dst / count};
  bytes = static_cast<size_t>(wide);
  src_offset /= count;
  dst_offset /= count;
}

template <class T>
void copy_steps(const std::byte* src, std::byte* dst, s64 count, s64 src_step, s64 dst_step) {
  constexpr s64 kBytes = sizeof(T);
  for (s64 i = 0; i < count; ++i)
    std::memcpy(dst + i * dst_step * kBytes, src + i * src_step * kBytes, sizeof(T));
}

}  // namespace

StridedMove::StridedMove(const StridedBox& box, size_t element_bytes)
    : bytes_(element_bytes), src_offset_(box.src_offset), dst_offset_(box.dst_offset) {
  if (box.shape.elements() == 0) {  // the other dimensions may be of any size
    length_ = rows_ = 0;
    return;
  }
  std::vector<Dim> dims = merged_dims(box);
  widen(dims, bytes_, src_offset_, dst_offset_);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i + 1 == dims.size()) {
      length_ = dims[i].size;
      src_step_ = dims[i].src;
      dst_step_ = dims[i].dst;
    } else {
      dims_[i] = dims[i].size;
      src_strides_[i] = dims[i].src;
      dst_strides_[i] = dims[i].dst;
      rows_ *= dims[i].size;
      ++outer_rank_;
    }
  }
}

void StridedMove::row(const std::byte* src, std::byte* dst) const noexcept {
  switch (bytes_) {
    case 1:
      return copy_steps<u8>(src, dst, length_, src_step_, dst_step_);
    case 2:
      return copy_steps<u16>(src, dst, length_, src_step_, dst_step_);
    case 4:
      return copy_steps<u32>(src, dst, length_, src_step_, dst_step_);
    default:
      return copy_steps<u64>(src, dst, length_, src_step_, dst_step_);
  }
}

// Rows along the last of the outer dimensions.
void StridedMove::line(const std::byte* src, std::byte* dst, s64 rows) const noexcept {
  const auto last = static_cast<size_t>(std::max(outer_rank_ - 1, 0));
  const s64 bytes = static_cast<s64>(bytes_);
  const s64 src_row = src_strides_[last] * bytes, dst_row = dst_strides_[last] * bytes;
  if (src_step_ != 1 || dst_step_ != 1) {
    for (s64 i = 0; i < rows; ++i) row(src + i * src_row, dst + i * dst_row);
    return;
  }
  with_copy(static_cast<size_t>(length_ * bytes), [&](const auto& copy) {
    for (s64 i = 0; i < rows; ++i) copy(dst + i * dst_row, src + i * src_row);
  });
}

void StridedMove::run_rows(const std::byte* src, std::byte* dst, s64 begin,
                           s64 end) const noexcept {
  const s64 bytes = static_cast<s64>(bytes_);
  for (s64 r = begin; r < end;) {
    s64 rest = r, from = src_offset_, to = dst_offset_, rows = 1;
    for (int d = outer_rank_; d-- > 0;) {
      const auto at = static_cast<size_t>(d);
      const s64 index = rest % dims_[at];
      rest /= dims_[at];
      from += index * src_strides_[at];
      to += index * dst_strides_[at];
      if (d == outer_rank_ - 1) rows = std::min(end - r, dims_[at] - index);
    }
    line(src + from * bytes, dst + to * bytes, rows);
    r += rows;
  }
}

void StridedMove::run(const std::byte* src, std::byte* dst, ThreadPool& pool) const noexcept {
  if (length_ == 0) return;
  if (rows_ * length_ * static_cast<s64>(bytes_) < kSerialBytes)
    return run_rows(src, dst, 0, rows_);
  pool.parallel_for(rows_, [&](s64 begin, s64 end, int) { run_rows(src, dst, begin, end); });
}

}  // namespace octet
