// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/move/strided_move.h"

#include <cstring>
#include <vector>

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

template <class T>
void copy_steps(const std::byte* src, std::byte* dst, s64 count, s64 src_step, s64 dst_step) {
  const T* from = reinterpret_cast<const T*>(src);
  T* to = reinterpret_cast<T*>(dst);
  for (s64 i = 0; i < count; ++i) to[i * dst_step] = from[i * src_step];
}

}  // namespace

StridedMove::StridedMove(const StridedBox& box, size_t element_bytes)
    : bytes_(element_bytes), src_offset_(box.src_offset), dst_offset_(box.dst_offset) {
  if (box.shape.elements() == 0) {  // the other dimensions may be of any size
    length_ = rows_ = 0;
    return;
  }
  const std::vector<Dim> dims = merged_dims(box);
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
  if (src_step_ == 1 && dst_step_ == 1) {
    std::memcpy(dst, src, static_cast<size_t>(length_) * bytes_);
    return;
  }
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

void StridedMove::run_rows(const std::byte* src, std::byte* dst, s64 begin,
                           s64 end) const noexcept {
  const s64 bytes = static_cast<s64>(bytes_);
  for (s64 r = begin; r < end; ++r) {
    s64 rest = r, from = src_offset_, to = dst_offset_;
    for (int d = outer_rank_; d-- > 0;) {
      const auto at = static_cast<size_t>(d);
      const s64 index = rest % dims_[at];
      rest /= dims_[at];
      from += index * src_strides_[at];
      to += index * dst_strides_[at];
    }
    row(src + from * bytes, dst + to * bytes);
  }
}

void StridedMove::run(const std::byte* src, std::byte* dst, ThreadPool& pool) const noexcept {
  if (length_ == 0) return;
  if (rows_ * length_ * static_cast<s64>(bytes_) < kSerialBytes)
    return run_rows(src, dst, 0, rows_);
  pool.parallel_for(rows_, [&](s64 begin, s64 end, int) { run_rows(src, dst, begin, end); });
}

}  // namespace octet
