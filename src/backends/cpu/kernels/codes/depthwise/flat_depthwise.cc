// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/codes/depthwise/flat_depthwise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "backends/cpu/kernels/codes/epilogue_bounds.h"

namespace octet {
namespace {

// Each way in which the channels may lie in a register has constants of 2.4 KB.
constexpr s64 kMostPhases = 128;

PaddedRows padded_rows(const ConvGeometry& g) { return {g.window, g.in_channels}; }

// Whole quads of the 128 bytes from the first of them.
void pair_pieces(FlatConstants& k) {
  k.paired = true;
  for (s64 i = 0; i < k.piece_count; ++i) {
    for (s64 quad = 0; quad < kFlatBytes / 4; ++quad) {
      const u64 bytes = k.pieces[i].mask >> (4 * quad) & 15;
      const s64 from = k.pieces[i].offset + 4 * quad;
      if (bytes == 0) continue;
      if (bytes != 15 || from % 4 != 0 || from + 4 > kFlatPairBytes) k.paired = false;
      k.quads[quad] = static_cast<u32>(from / 4);
    }
  }
}

}  // namespace

const char* flat_depthwise_reject(const ConvGeometry& g, const EpilogueArgs& epilogue, Isa isa) {
  const WindowAxis& h = g.window.h();
  const WindowAxis& w = g.window.w();
  if (!isa.has(Isa::avx2)) return "the instruction set has no vectors";
  if (g.window.rank != 2 || !g.depthwise()) return "not a 2-D depthwise convolution";
  if (h.kernel != 3 || w.kernel != 3) return "the window is not 3x3";
  if (h.dilation != 1) return "rows are dilated";
  if (h.stride > 2) return "the vertical stride is above 2";
  if (epilogue.real) return "the output is f32";
  if (g.in_channels / std::gcd(kFlatBytes, g.in_channels) > kMostPhases)
    return "the channels begin registers in more than 128 ways";
  if (!isa.has(Isa::vnni) && g.in_channels % 4 != 0)
    return "the channels are no multiple of 4, the unit of AVX2's masks";
  if (w.stride > 1 && g.in_channels < 8) return "strided pixels of fewer than 8 channels";
  return padded_rows_reject(g.window, g.in_channels);
}

bool flat_depthwise_fits(const DepthwiseSpec& spec) {
  const s64 channels = spec.geometry.in_channels;
  const bool copied = window_border(spec.geometry.window) > spec.input.border;
  return (copied || spec.input.pixel_stride == channels) && spec.output.pixel_stride == channels &&
         (spec.residual.pixel_stride == 0 || spec.residual.pixel_stride == channels);
}

namespace {

// Channels from one beginning of a register to the next.
s64 phase_step(const ConvGeometry& g) { return std::gcd(kFlatBytes, g.in_channels); }

FlatConstants constants_of(const DepthwiseSpec& spec, s64 first) {
  const s64 channels = spec.geometry.in_channels;
  FlatConstants k{};
  for (s64 byte = 0; byte < kFlatBytes; ++byte) {
    const s64 channel = (first + byte) % channels;
    const s64 lane = byte / 16, j = byte % 16 / 4, i = byte % 4;
    for (s64 tap = 0; tap < 9; ++tap) {
      const s64 at = lane * 16 + i * 4 + tap % 3;
      k.weights[tap / 3][j][at] = spec.weights.part(channel * 9 + tap, 0);
      k.rest[tap / 3][j][at] = spec.weights.part(channel * 9 + tap, 1);
    }
    k.bias[j][lane * 4 + i] = depthwise_bias(spec, channel);
    k.multiplier[j][lane * 4 + i] =
        spec.multiplier[static_cast<size_t>(spec.multiplier.size() == 1 ? 0 : channel)];
  }
  // A pixel further on, the input is `stride` pixels further on.
  const s64 skip = (spec.geometry.window.w().stride - 1) * channels;
  if (skip == 0) {
    k.pieces[k.piece_count++] = {0, ~u64{0}};
    return k;
  }
  for (s64 byte = 0, pixel = 0; byte < kFlatBytes; ++pixel) {
    const s64 end = std::min(kFlatBytes, (pixel + 1) * channels - first);
    const u64 below_end = end == kFlatBytes ? ~u64{0} : (u64{1} << end) - 1;
    k.pieces[k.piece_count++] = {pixel * skip, below_end & ~((u64{1} << byte) - 1)};
    byte = end;
  }
  pair_pieces(k);
  return k;
}

}  // namespace

FlatDepthwise::Packed FlatDepthwise::pack(const FlatDepthwiseKernel&, const DepthwiseSpec& spec) {
  const ConvGeometry& g = spec.geometry;
  Packed packed;
  packed.reserve(static_cast<size_t>(g.in_channels / phase_step(g)));
  for (s64 c = 0; c < g.in_channels; c += phase_step(g)) packed.push_back(constants_of(spec, c));
  return packed;
}

std::string FlatDepthwise::pack_key(const FlatDepthwiseKernel&, const DepthwiseSpec& spec) {
  return fmt::format("{} flat, stride {}", depthwise_key(spec), spec.geometry.window.w().stride);
}

FlatDepthwise::FlatDepthwise(const FlatDepthwiseKernel& kernel, const DepthwiseSpec& spec,
                             std::shared_ptr<const Packed> packed)
    : kernel_(kernel),
      conv_(spec),
      copy_(window_border(spec.geometry.window) > spec.input.border),
      bounded_(epilogue_bounded(
          spec.multiplier, spec.epilogue,
          spec.weights.wide.empty() ? largest_sum(spec.geometry, spec.bias) : 0x1p31)),
      wide_(!spec.weights.wide.empty()),
      padding_(static_cast<u8>(spec.input_zero_point)),
      phase_step_(phase_step(spec.geometry)),
      packed_(std::move(packed)) {}

void FlatDepthwise::run(const Call& call) const noexcept {
  if (conv_.geometry.window.w().out == 0) return;
  const s64 rows = conv_.geometry.batch * conv_.geometry.window.h().out;
  call.pool.parallel_for(
      rows, [&](s64 begin, s64 end, int thread) { run_rows(call, begin, end, thread); });
}

// Output rows [first, first + rows) of one image, and where their windows lie.
struct FlatDepthwise::Band {
  s64 image, first, rows;
  const u8* src;
  s64 src_row;
};

void FlatDepthwise::run_rows(const Call& call, s64 first, s64 last, int thread) const noexcept {
  const WindowAxis& h = conv_.geometry.window.h();
  const PaddedRows padded = padded_rows(conv_.geometry);
  for (s64 row = first; row < last;) {
    const s64 image = row / h.out, y = row % h.out;
    s64 rows = std::min(last - row, h.out - y);
    const u8* src = call.x + image * conv_.input.image_stride;
    if (copy_) {
      u8* buffer = reinterpret_cast<u8*>(call.workspace) + thread * padded.buffer_bytes();
      rows = std::min(rows, padded.band_rows());
      padded.copy({src, conv_.input, padding_}, y, rows, buffer);
      run_band(call, {image, y, rows, buffer, padded.strides().row});
    } else {
      src += (y * h.stride - h.pad_begin) * conv_.input.row_stride -
             conv_.geometry.window.w().pad_begin * conv_.input.pixel_stride;
      run_band(call, {image, y, rows, src, conv_.input.row_stride});
    }
    row += rows;
  }
}

void FlatDepthwise::run_band(const Call& call, const Band& band) const noexcept {
  const WindowAxis& w = conv_.geometry.window.w();
  const s64 channels = conv_.geometry.in_channels;
  const s64 bytes = w.out * channels;
  FlatColumn column{};
  column.src_row = band.src_row;
  column.tap = w.dilation * channels;
  column.ahead = w.stride * kFlatBytes;
  column.dst_row = conv_.output.row_stride;
  column.residual_row = conv_.residual.row_stride;
  column.rows = band.rows;
  column.stride_y = conv_.geometry.window.h().stride;
  column.bounded = bounded_;
  column.wide = wide_;
  column.epilogue = &conv_.epilogue;
  u8* dst = call.y + band.image * conv_.output.image_stride + band.first * conv_.output.row_stride;
  for (s64 byte = 0; byte < bytes; byte += kFlatBytes) {
    const s64 channel = byte % channels;
    const s64 left = bytes - byte;
    const s64 first = byte / channels * w.stride * channels + channel;
    column.src = band.src + first;
    column.dst = dst + byte;
    if (call.residual != nullptr) {
      column.residual = call.residual + band.image * conv_.residual.image_stride +
                        band.first * conv_.residual.row_stride + byte;
    }
    column.mask = left >= kFlatBytes ? ~u64{0} : (u64{1} << left) - 1;
    column.constants = &(*packed_)[static_cast<size_t>(channel / phase_step_)];
    column.pairs = column.constants->paired &&
                   first + 2 * column.tap + kFlatPairBytes <= span_of(w) * channels;
    kernel_.run(column);
  }
}

}  // namespace octet
