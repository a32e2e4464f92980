// SPDX-License-Identifier: Apache-2.0
// Matrix transposition in register blocks of 16 bytes, which every processor has (words in wider ones where there are: words.h), and tensors as
// stacks of matrices.
#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/codes/move/move.h"
#include "backends/cpu/kernels/codes/move/words.h"

namespace octet {
namespace {

// Elements along the output's last axis that one item covers.
constexpr s64 kPiece = 4096;

using Bytes = u8 __attribute__((vector_size(16)));
using Halves = u16 __attribute__((vector_size(16)));
using Words = u32 __attribute__((vector_size(16)));
using Floats = f32 __attribute__((vector_size(16)));

template <class Vector, class T>
Vector load(const T* p) {
  Vector x;
  std::memcpy(&x, p, sizeof(x));
  return x;
}
template <class Vector, class T>
void store(T* p, Vector x) {
  std::memcpy(p, &x, sizeof(x));
}

// The elements of two lower or upper halves in turn.
Bytes low(Bytes a, Bytes b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
Bytes high(Bytes a, Bytes b) {
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                 31);
}
Halves low(Halves a, Halves b) { return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11); }
Halves high(Halves a, Halves b) {
  return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}
Words low(Words a, Words b) { return __builtin_shufflevector(a, b, 0, 4, 1, 5); }
Words high(Words a, Words b) { return __builtin_shufflevector(a, b, 2, 6, 3, 7); }

// kRows x kRows elements, a register each: to interleave row i with row i + kRows / 2, as often as kRows halves, is a transposition.
template <class Vector, size_t kRows, int kRounds, class T>
void transpose_rows(const T* src, s64 src_stride, T* dst, s64 dst_stride) {
  Vector a[kRows], b[kRows];
  for (size_t i = 0; i < kRows; ++i) a[i] = load<Vector>(src + static_cast<s64>(i) * src_stride);
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < kRows / 2; ++i) {
      b[2 * i] = low(a[i], a[i + kRows / 2]);
      b[2 * i + 1] = high(a[i], a[i + kRows / 2]);
    }
    std::copy(b, b + kRows, a);
  }
  for (size_t i = 0; i < kRows; ++i) store(dst + static_cast<s64>(i) * dst_stride, a[i]);
}

void block16(const u8* src, s64 src_stride, u8* dst, s64 dst_stride) {
  transpose_rows<Bytes, 16, 4>(src, src_stride, dst, dst_stride);
}

void block8(const u16* src, s64 src_stride, u16* dst, s64 dst_stride) {
  transpose_rows<Halves, 8, 3>(src, src_stride, dst, dst_stride);
}

void block4(const u32* src, s64 src_stride, u32* dst, s64 dst_stride) {
  transpose_rows<Words, 4, 2>(src, src_stride, dst, dst_stride);
}

template <class T>
void transpose_edge(const Matrix2d& m, s64 row, s64 last_row, s64 column, s64 last_column) {
  const T* src = static_cast<const T*>(m.src);
  T* dst = static_cast<T*>(m.dst);
  for (s64 r = row; r < last_row; ++r) {
    for (s64 c = column; c < last_column; ++c) {
      dst[c * m.dst_stride + r] = src[r * m.src_stride + c];
    }
  }
}

// One cache line of columns at a time: each line is read once, and few enough lines are written at a time to stay in L1, whatever
// the stride between them.
template <class T, s64 kBlock, class F>
void transpose(const Matrix2d& m, const F& block) {
  constexpr s64 kLine = 64 / s64{sizeof(T)};
  const s64 rows = m.rows / kBlock * kBlock, columns = m.columns / kBlock * kBlock;
  for (s64 line = 0; line < columns; line += kLine) {
    const s64 end = std::min(line + kLine, columns);
    for (s64 r = 0; r < rows; r += kBlock) {
      for (s64 c = line; c < end; c += kBlock) {
        block(static_cast<const T*>(m.src) + r * m.src_stride + c, m.src_stride,
              static_cast<T*>(m.dst) + c * m.dst_stride + r, m.dst_stride);
      }
    }
  }
  transpose_edge<T>(m, 0, rows, columns, m.columns);
  transpose_edge<T>(m, rows, m.rows, 0, m.columns);
}

// Three planes into dense pixels, as color images come: four pixels at a time as 4 x 4 words, each written over the surplus word of the
// one before. The last pixels go one by one, so nothing is written behind them.
void transpose_rgb(const Matrix2d& m) {
  const u32* src = static_cast<const u32*>(m.src);
  u32* dst = static_cast<u32*>(m.dst);
  s64 c = 0;
  for (; c + 4 < m.columns; c += 4) {
    const auto r = load<Words>(src + c), g = load<Words>(src + c + m.src_stride),
               b = load<Words>(src + c + m.src_stride * 2);
    const Words first = low(r, g), last = high(r, g), b_first = low(b, b), b_last = high(b, b);
    u32* out = dst + c * 3;
    store(out, __builtin_shufflevector(first, b_first, 0, 1, 4, 5));
    store(out + 3, __builtin_shufflevector(first, b_first, 2, 3, 6, 7));
    store(out + 6, __builtin_shufflevector(last, b_last, 0, 1, 4, 5));
    store(out + 9, __builtin_shufflevector(last, b_last, 2, 3, 6, 7));
  }
  transpose_edge<u32>(m, 0, 3, c, m.columns);
}

// Dense pixels of three into planes: four pixels are three registers.
void transpose_pixels_of_3(const Matrix2d& m) {
  const f32* src = static_cast<const f32*>(m.src);
  f32* dst = static_cast<f32*>(m.dst);
  s64 p = 0;
  for (; p + 4 <= m.rows; p += 4) {
    const auto a = load<Floats>(src + p * 3), b = load<Floats>(src + p * 3 + 4),
               c = load<Floats>(src + p * 3 + 8);
    const Floats b2_c1 = __builtin_shufflevector(b, c, 2, 2, 5, 5);
    const Floats a1_b0 = __builtin_shufflevector(a, b, 1, 1, 4, 4);
    const Floats b3_c2 = __builtin_shufflevector(b, c, 3, 3, 6, 6);
    const Floats a2_b1 = __builtin_shufflevector(a, b, 2, 2, 5, 5);
    store(dst + p, __builtin_shufflevector(a, b2_c1, 0, 3, 4, 6));
    store(dst + m.dst_stride + p, __builtin_shufflevector(a1_b0, b3_c2, 0, 2, 4, 6));
    store(dst + 2 * m.dst_stride + p, __builtin_shufflevector(a2_b1, c, 0, 2, 4, 7));
  }
  transpose_edge<u32>(m, p, m.rows, 0, 3);
}

void transpose_words(const Matrix2d& m) {
  const WordMatrix words{static_cast<const u32*>(m.src),
                         m.src_stride,
                         static_cast<u32*>(m.dst),
                         m.dst_stride,
                         m.rows,
                         m.columns};
  if (m.isa.has(Isa::vnni)) return transpose_words_vnni(words);
  if (m.isa.has(Isa::avx2)) return transpose_words_avx2(words);
  transpose<u32, 4>(m, block4);
}

void transpose_any(const Matrix2d& m, size_t bytes) {
  const auto* src = static_cast<const std::byte*>(m.src);
  auto* dst = static_cast<std::byte*>(m.dst);
  for (s64 r = 0; r < m.rows; ++r) {
    for (s64 c = 0; c < m.columns; ++c) {
      std::memcpy(dst + static_cast<size_t>(c * m.dst_stride + r) * bytes,
                  src + static_cast<size_t>(r * m.src_stride + c) * bytes, bytes);
    }
  }
}

}  // namespace

void transpose_matrix(const Matrix2d& matrix, size_t element_bytes) noexcept {
  if (element_bytes == 1) return transpose<u8, 16>(matrix, block16);
  if (element_bytes == 2) return transpose<u16, 8>(matrix, block8);
  if (element_bytes == 4 && matrix.rows == 3 && matrix.dst_stride == 3)
    return transpose_rgb(matrix);
  if (element_bytes == 4 && matrix.columns == 3 && matrix.src_stride == 3)
    return transpose_pixels_of_3(matrix);
  if (element_bytes == 4) return transpose_words(matrix);
  transpose_any(matrix, element_bytes);
}

Transposition::Transposition(const Shape& input, std::span<const int> perm, size_t element_bytes,
                             Isa isa)
    : bytes_(element_bytes), isa_(isa) {
  std::vector<s64> strides(perm.size());
  s64 stride = 1;
  for (int d = input.rank(); d-- > 0; stride *= input[d]) strides[static_cast<size_t>(d)] = stride;
  std::vector<Dim> dims;  // in the order of the output, merged where the input allows
  for (int axis : perm) {
    if (input[axis] == 1) continue;
    const Dim dim{input[axis], strides[static_cast<size_t>(axis)], 0};
    if (!dims.empty() && dims.back().src_stride == dim.src_stride * dim.size) {
      dims.back() = {dims.back().size * dim.size, dim.src_stride, 0};
    } else {
      dims.push_back(dim);
    }
  }
  stride = 1;
  for (size_t i = dims.size(); i-- > 0; stride *= dims[i].size) dims[i].dst_stride = stride;
  if (!dims.empty()) {
    rows_ = dims.back();
    dims.pop_back();
    runs_ = rows_.src_stride == 1;
    const auto column =
        std::find_if(dims.begin(), dims.end(), [](const Dim& dim) { return dim.src_stride == 1; });
    if (!runs_ && column != dims.end()) {
      columns_ = *column;
      dims.erase(column);
    }
  }
  outer_ = std::move(dims);
  for (const Dim& dim : outer_) items_ *= dim.size;
  pieces_ = (rows_.size + kPiece - 1) / kPiece;
}

// Item: one piece of the rows of one matrix, or a run of contiguous elements.
void Transposition::run_item(const std::byte* src, std::byte* dst, s64 item) const noexcept {
  const s64 first = item % pieces_ * kPiece, count = std::min(kPiece, rows_.size - first);
  item /= pieces_;
  s64 from = first * rows_.src_stride, to = first;
  for (size_t i = outer_.size(); i-- > 0; item /= outer_[i].size) {
    from += item % outer_[i].size * outer_[i].src_stride;
    to += item % outer_[i].size * outer_[i].dst_stride;
  }
  src += static_cast<size_t>(from) * bytes_;
  dst += static_cast<size_t>(to) * bytes_;
  if (runs_) {
    std::memcpy(dst, src, static_cast<size_t>(count) * bytes_);
    return;
  }
  transpose_matrix({src, rows_.src_stride, dst, columns_.dst_stride, count, columns_.size, isa_},
                   bytes_);
}

void Transposition::run(const std::byte* src, std::byte* dst, ThreadPool& pool) const noexcept {
  pool.parallel_for(items_ * pieces_, [&](s64 begin, s64 end, int) {
    for (s64 item = begin; item < end; ++item) run_item(src, dst, item);
  });
}

}  // namespace octet
