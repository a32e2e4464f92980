// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/codes/depthwise/depthwise.h"

#include <algorithm>
#include <utility>

namespace octet {
namespace {

constexpr s64 kMaxScratch = 1 << 20;

PaddedRows padded_rows(const ConvGeometry& g) { return {g.window, g.in_channels}; }

s64 columns_of(const WindowAxis& w, s64 pixels) { return (pixels - 1) * w.stride + w.extent(); }

s64 interleaved_bytes(const ConvGeometry& g) {
  const s64 groups = (g.window.h().kernel + 3) / 4;
  const s64 pixels = std::min(kDepthwisePixels, g.window.w().out);
  return columns_of(g.window.w(), std::max<s64>(pixels, 1)) * groups * 256;
}

s64 scratch_bytes(const DepthwiseKernel& kernel, const ConvGeometry& g) {
  return kernel.interleaves ? interleaved_bytes(g) : 0;
}

}  // namespace

const char* depthwise_reject(const ConvGeometry& g) {
  if (g.window.rank != 2) return "only 2-D convolutions have a kernel";
  if (!g.depthwise()) return "input and output channels differ from the groups";
  const WindowAxis& w = g.window.w();
  if (w.extent() + kDepthwisePixels * w.stride > kMaxScratch / 256 ||
      g.window.h().kernel > kMaxScratch / 256 || interleaved_bytes(g) > kMaxScratch) {
    return "the window is too large for the depthwise kernel's buffer";
  }
  return padded_rows_reject(g.window, g.in_channels);
}

s64 depthwise_workspace_bytes(const DepthwiseKernel& kernel, const ConvGeometry& g, int threads) {
  const s64 rows = window_border(g.window) > 0 ? padded_rows(g).buffer_bytes() : 0;
  return threads * (scratch_bytes(kernel, g) + rows);
}

DepthwiseConv::DepthwiseConv(const DepthwiseKernel& kernel, const DepthwiseSpec& spec,
                             std::shared_ptr<const Packed> packed)
    : kernel_(kernel),
      conv_(spec),
      copy_(window_border(spec.geometry.window) > spec.input.border),
      parts_(spec.weights.parts()),
      thread_bytes_(scratch_bytes(kernel, spec.geometry) +
                    (copy_ ? padded_rows(spec.geometry).buffer_bytes() : 0)),
      padding_(static_cast<u8>(spec.input_zero_point)),
      packed_(std::move(packed)) {}

void DepthwiseConv::run(const Call& call) const noexcept {
  const s64 rows = conv_.geometry.batch * conv_.geometry.window.h().out;
  call.pool.parallel_for(
      rows, [&](s64 begin, s64 end, int thread) { run_rows(call, begin, end, thread); });
}

// Output rows [first, last) of one image, and where their windows lie.
struct DepthwiseConv::Band {
  s64 image, first, last;
  const u8* src;  // first tap of pixel (first, 0)
  ImageStrides strides;
  std::byte* scratch;
};

void DepthwiseConv::run_rows(const Call& call, s64 first, s64 last, int thread) const noexcept {
  const WindowAxis& h = conv_.geometry.window.h();
  const PaddedRows padded = padded_rows(conv_.geometry);
  std::byte* scratch = call.workspace + thread * thread_bytes_;
  u8* buffer = reinterpret_cast<u8*>(scratch) + scratch_bytes(kernel_, conv_.geometry);
  for (s64 row = first; row < last;) {
    const s64 image = row / h.out, y = row % h.out;
    s64 rows = std::min(last - row, h.out - y);
    const u8* src = call.x + image * conv_.input.image_stride;
    if (copy_) {
      rows = std::min(rows, padded.band_rows());
      padded.copy({src, conv_.input, padding_}, y, rows, buffer);
      run_band(call, {image, y, y + rows, buffer, padded.strides(), scratch});
    } else {
      src += (y * h.stride - h.pad_begin) * conv_.input.row_stride -
             conv_.geometry.window.w().pad_begin * conv_.input.pixel_stride;
      run_band(
          call,
          {image, y, y + rows, src, {conv_.input.pixel_stride, conv_.input.row_stride}, scratch});
    }
    row += rows;
  }
}

void DepthwiseConv::run_band(const Call& call, const Band& band) const noexcept {
  const WindowAxis& h = conv_.geometry.window.h();
  const WindowAxis& w = conv_.geometry.window.w();
  const s64 element = conv_.epilogue.real ? 4 : 1;
  DepthwiseRow row{.tap_y = h.dilation * band.strides.row,
                   .column = band.strides.pixel,
                   .kernel_y = h.kernel,
                   .kernel_x = w.kernel,
                   .stride_x = w.stride,
                   .dilation_x = w.dilation,
                   .dst_stride = element * conv_.output.pixel_stride,
                   .residual_stride = conv_.residual.pixel_stride,
                   .channels = conv_.geometry.in_channels,
                   .parts = parts_,
                   .weights = packed_->weights.data(),
                   .bias = packed_->bias.data(),
                   .multiplier = packed_->multiplier.data(),
                   .scratch = band.scratch,
                   .epilogue = &conv_.epilogue};
  for (s64 y = band.first; y < band.last; ++y) {
    for (s64 x = 0; x < w.out; x += kDepthwisePixels) {
      row.pixels = std::min(kDepthwisePixels, w.out - x);
      row.columns = columns_of(w, row.pixels);
      row.src = band.src + (y - band.first) * h.stride * band.strides.row +
                x * w.stride * band.strides.pixel;
      row.dst = call.y + element * (band.image * conv_.output.image_stride +
                                    y * conv_.output.row_stride + x * conv_.output.pixel_stride);
      if (call.residual != nullptr) {
        row.residual = call.residual + band.image * conv_.residual.image_stride +
                       y * conv_.residual.row_stride + x * conv_.residual.pixel_stride;
      }
      kernel_.run(row);
    }
  }
}

}  // namespace octet
