// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/codes/move/move.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/codes/move/pixel_bytes.h"

namespace octet {
namespace {

size_t bytes_of(s64 elements, size_t element) { return static_cast<size_t>(elements) * element; }

// Pixels that a thread converts at once.
constexpr s64 kPixels = 256;

struct Job {
  const ConvertLayout& convert;
  const std::byte* src;
  std::byte* dst;

  s64 at(const Placement& p, s64 n, s64 h, s64 w) const {
    const Shape& s = convert.shape;
    if (p.layout == Layout::linear) return (n * s[1] * s[2] + h) * s[3] + w;
    return n * p.image_stride + h * p.row_stride + w * p.pixel_stride;
  }

  // One piece of one row of an image.
  void piece(s64 n, s64 h, s64 w, s64 pixels) const {
    const Shape& s = convert.shape;
    const s64 channels = s[1], plane = s[2] * s[3];
    const size_t element = convert.element_bytes;
    const bool from_planes = convert.input.layout == Layout::linear;
    const bool to_planes = convert.output.layout == Layout::linear;
    const std::byte* from = src + bytes_of(at(convert.input, n, h, w), element);
    std::byte* to = dst + bytes_of(at(convert.output, n, h, w), element);
    if (from_planes && !to_planes) {
      transpose_matrix(
          {from, plane, to, convert.output.pixel_stride, channels, pixels, convert.isa}, element);
    } else if (!from_planes && to_planes) {
      transpose_matrix({from, convert.input.pixel_stride, to, plane, pixels, channels, convert.isa},
                       element);
    } else {
      copy_runs(from, to, pixels);
    }
  }

  void copy_runs(const std::byte* from, std::byte* to, s64 pixels) const {
    const size_t element = convert.element_bytes;
    const bool planes = convert.input.layout == Layout::linear;
    const s64 runs = planes ? convert.shape[1] : pixels;
    const s64 length = planes ? pixels : convert.shape[1];
    const s64 plane = convert.shape[2] * convert.shape[3];
    const size_t from_step = bytes_of(planes ? plane : convert.input.pixel_stride, element);
    const size_t to_step = bytes_of(planes ? plane : convert.output.pixel_stride, element);
    with_copy(bytes_of(length, element), [&](const auto& copy) {
      for (s64 i = 0; i < runs; ++i) {
        copy(to + bytes_of(i, to_step), from + bytes_of(i, from_step));
      }
    });
  }
};

// Whether rows follow each other, so that an image is one long row.
bool dense_rows(const Placement& p, const Shape& shape) {
  return p.layout == Layout::linear || p.row_stride == p.pixel_stride * shape[3];
}

void fill_pixels(std::byte* dst, std::span<const std::byte> value, s64 count) {
  const auto same = [&](std::byte b) { return b == value[0]; };
  if (std::all_of(value.begin(), value.end(), same)) {
    std::memset(dst, std::to_integer<int>(value[0]), bytes_of(count, value.size()));
    return;
  }
  for (s64 i = 0; i < count; ++i, dst += value.size()) {
    std::memcpy(dst, value.data(), value.size());
  }
}

}  // namespace

void convert_layout(const ConvertLayout& convert, const std::byte* src, std::byte* dst,
                    ThreadPool& pool) noexcept {
  ConvertLayout flat = convert;
  if (dense_rows(convert.input, convert.shape) && dense_rows(convert.output, convert.shape)) {
    flat.shape[3] *= flat.shape[2];
    flat.shape[2] = 1;
  }
  const Job job{flat, src, dst};
  const s64 height = flat.shape[2], width = flat.shape[3];
  const s64 pieces = (width + kPixels - 1) / kPixels;
  pool.parallel_for(flat.shape[0] * height * pieces, [&](s64 begin, s64 end, int) {
    for (s64 i = begin; i < end; ++i) {
      const s64 w = i % pieces * kPixels, row = i / pieces;
      job.piece(row / height, row % height, w, std::min(kPixels, width - w));
    }
  });
}

void MapPixels::run(const std::byte* src, std::byte* dst, ThreadPool& pool) const noexcept {
  const auto height = static_cast<s64>(rows.size()), width = static_cast<s64>(columns.size());
  const size_t pixel_bytes = bytes_of(channels, element_bytes);
  const auto row = [&](s64 n, s64 y) {
    const s64 image = images[static_cast<size_t>(n)], from_row = rows[static_cast<size_t>(y)];
    const std::byte* from =
        src +
        bytes_of(1, element_bytes) *
            static_cast<size_t>(std::max<s64>(image, 0) * input.image_stride +
                                std::max<s64>(from_row, 0) * input.row_stride + first_channel);
    std::byte* to = dst + bytes_of(n * output.image_stride + y * output.row_stride, element_bytes);
    const size_t to_step = bytes_of(output.pixel_stride, element_bytes);
    const size_t from_step = bytes_of(input.pixel_stride, element_bytes);
    const bool outside = image < 0 || from_row < 0;
    with_copy(pixel_bytes, [&](const auto& copy) {
      for (s64 x = 0; x < width; ++x, to += to_step) {
        const s64 column = columns[static_cast<size_t>(x)];
        if (outside || column < 0) {
          fill_pixels(to, std::span(fill).first(element_bytes), channels);
        } else {
          copy(to, from + static_cast<size_t>(column) * from_step);
        }
      }
    });
  };
  pool.parallel_for(static_cast<s64>(images.size()) * height, [&](s64 begin, s64 end, int) {
    for (s64 i = begin; i < end; ++i) row(i / height, i % height);
  });
}

}  // namespace octet
