// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/codes/conv/conv.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "backends/cpu/kernels/codes/conv/conv_pairs.h"
#include "backends/cpu/kernels/codes/epilogue_bounds.h"
#include "core/divide.h"

namespace octet {
namespace {

// Weights that stay in L2 while all pixels of a part pass by.
constexpr s64 kWeightBudget = 512 << 10;

s64 align64(s64 n) { return (n + 63) / 64 * 64; }

PaddedRows padded_rows(const ConvGeometry& g) { return {g.window, g.in_channels}; }

s64 scratch_bytes(const ConvKernel& kernel, const ConvGeometry& g) {
  if (!kernel.copies) return 0;
  const s64 taps = g.window.h().kernel * g.window.w().kernel;
  const s64 chunks = taps * ceil_div(g.in_channels_per_group(), kConvChunk);
  if (kernel.pairs) return pair_row_bytes(chunks) * kernel.pixels;
  return align64(packed_depth(kernel, chunks)) * kernel.pixels * 2;
}

bool short_runs(const ConvGeometry& g, bool dense_pixels) {
  const bool merged = g.groups == 1 && g.window.w().dilation == 1 && dense_pixels;
  const s64 bytes = g.in_channels_per_group() * (merged ? g.window.w().kernel : 1);
  return bytes < kConvChunk && g.in_channels < kConvChunk;
}

bool must_copy(const ConvGeometry& g, const Placement& input) {
  return window_border(g.window) > input.border ||
         short_runs(g, input.pixel_stride == g.in_channels);
}

ImageStrides strides_read(const ConvGeometry& g, const Placement& input) {
  if (must_copy(g, input)) return padded_rows(g).strides();
  return {input.pixel_stride, input.row_stride};
}

}  // namespace

const char* conv_depth_reject(const ConvGeometry& g) {
  constexpr s64 kMostDepth = std::numeric_limits<s32>::max() / (kPairVariants + 2) / 64 * 64;
  const s64 taps = g.window.h().kernel * g.window.w().kernel;
  const s64 padded = taps * ceil_div(g.in_channels_per_group(), kConvChunk) * kConvChunk;
  return padded > kMostDepth ? "a sum has more than 200 million products" : nullptr;
}

const char* conv_reject(const ConvGeometry& g) {
  if (g.window.rank != 2) return "only 2-D convolutions have a kernel";
  if (const char* reason = conv_depth_reject(g)) return reason;
  return padded_rows_reject(g.window, g.in_channels);
}

s64 conv_workspace_bytes(const ConvKernel& kernel, const ConvGeometry& g, int threads) {
  const bool may_copy = window_border(g.window) > 0 || short_runs(g, false);
  return threads * (scratch_bytes(kernel, g) + (may_copy ? padded_rows(g).buffer_bytes() : 0));
}

struct DenseConv::Part {
  s64 first_pixel, last_pixel;
  s64 first_block, last_block;
  int thread;
};

struct DenseConv::Source {
  const u8* base;  // the window of output pixel (image, row, 0)
  s64 image, row;
  ImageStrides strides;
  s64 image_stride;
};

PackedConv DenseConv::pack(const ConvKernel& kernel, const ConvSpec& spec) {
  return pack_conv(kernel, spec.geometry, strides_read(spec.geometry, spec.input),
                   spec.constants());
}

std::string DenseConv::pack_key(const ConvKernel& kernel, const ConvSpec& spec) {
  const ConvGeometry& g = spec.geometry;
  const ImageStrides strides = strides_read(g, spec.input);
  std::string key = fmt::format("{} {} runs of {}", kernel.name, constants_key(g, spec.constants()),
                                conv_run_bytes(g, strides));
  // Pairs are sorted by the places of their chunks; the strides tell those of the first window.
  if (!kernel.pairs) return key;
  const s64 row = g.window.h().kernel > 1 ? g.window.h().dilation * strides.row : 0;
  const s64 pixel = g.window.w().kernel > 1 ? g.window.w().dilation * strides.pixel : 0;
  return key + fmt::format(" at {},{}", row, pixel);
}

DenseConv::DenseConv(const ConvKernel& kernel, const ConvSpec& spec,
                     std::shared_ptr<const Packed> packed)
    : kernel_(kernel),
      conv_(spec),
      copy_(must_copy(spec.geometry, spec.input)),
      thread_bytes_(scratch_bytes(kernel, spec.geometry) +
                    (copy_ ? padded_rows(spec.geometry).buffer_bytes() : 0)),
      padding_(static_cast<u8>(spec.input_zero_point)),
      bounded_(
          epilogue_bounded(spec.multiplier, spec.epilogue, largest_sum(spec.geometry, spec.bias))),
      plain_(bounded_ && !spec.epilogue.leaky && !spec.epilogue.real && !spec.epilogue.sums),
      packed_(std::move(packed)) {
  if (!kernel.pairs)
    offsets_ = chunk_offsets(spec.geometry, strides_read(spec.geometry, spec.input));
}

void DenseConv::run(const Call& call) const noexcept {
  const s64 pixels =
      conv_.geometry.batch * conv_.geometry.window.h().out * conv_.geometry.window.w().out;
  if (pixels == 0) return;
  const s64 tiles = ceil_div(pixels, kernel_.pixels);
  const s64 blocks = ceil_div(conv_.geometry.out_channels_per_group(), kernel_.channels);
  const s64 threads = call.pool.size();
  const s64 input_bytes =
      conv_.geometry.batch * conv_.geometry.window.in_elements() * conv_.geometry.in_channels;
  // Late layers have more weights than activations: each thread streams its share of the weights.
  const bool even = blocks % threads == 0 || blocks >= 4 * threads;
  const bool heavy = conv_.geometry.groups == 1 && packed_->group_bytes > input_bytes && even;
  if (heavy || (tiles < threads && blocks > tiles)) {
    call.pool.parallel_for(blocks, [&](s64 begin, s64 end, int thread) {
      run_part(call, {0, pixels, begin, end, thread});
    });
    return;
  }
  call.pool.parallel_for(tiles, [&](s64 begin, s64 end, int thread) {
    const s64 last = std::min(end * kernel_.pixels, pixels);
    run_part(call, {begin * kernel_.pixels, last, 0, blocks, thread});
  });
}

void DenseConv::run_part(const Call& call, const Part& part) const noexcept {
  if (copy_) return run_copied(call, part);
  const Window& window = conv_.geometry.window;
  const u8* base = call.x - window.h().pad_begin * conv_.input.row_stride -
                   window.w().pad_begin * conv_.input.pixel_stride;
  run_pixels(
      call, part,
      {base, 0, 0, {conv_.input.pixel_stride, conv_.input.row_stride}, conv_.input.image_stride});
}

// Band by band: the padded rows of the next output rows into this thread's buffer, then their pixels.
void DenseConv::run_copied(const Call& call, const Part& part) const noexcept {
  const Window& window = conv_.geometry.window;
  const PaddedRows padded = padded_rows(conv_.geometry);
  u8* buffer = reinterpret_cast<u8*>(call.workspace) + part.thread * thread_bytes_ +
               scratch_bytes(kernel_, conv_.geometry);
  for (s64 pixel = part.first_pixel; pixel < part.last_pixel;) {
    const PixelCursor at(window, pixel);
    const s64 rows = std::min(padded.band_rows(), window.h().out - at.y);
    const s64 end = (at.image * window.h().out + at.y + rows) * window.w().out;
    const s64 last = std::min(end, part.last_pixel);
    padded.copy({call.x + at.image * conv_.input.image_stride, conv_.input, padding_}, at.y, rows,
                buffer);
    run_pixels(call, {pixel, last, part.first_block, part.last_block, part.thread},
               {buffer, at.image, at.y, padded.strides(), 0});
    pixel = last;
  }
}

void DenseConv::run_pixels(const Call& call, const Part& part,
                           const Source& source) const noexcept {
  const Window& window = conv_.geometry.window;
  const s64 block_bytes =
      kernel_.channels * packed_depth(kernel_, packed_->chunks) * kernel_.weight_bytes;
  const s64 blocks = std::max<s64>(1, kWeightBudget / block_bytes);
  const s64 element = conv_.epilogue.real ? 4 : 1;
  const s64 src_step = window.w().stride * source.strides.pixel;
  const s64 dst_step = element * conv_.output.pixel_stride;
  const u8* src[kConvMaxPixels];
  const u8* residual[kConvMaxPixels];
  u8* dst[kConvMaxPixels];
  ConvTile tile{};
  tile.src = src;
  tile.dst = dst;
  tile.residual = call.residual != nullptr ? residual : nullptr;
  tile.bounded = bounded_;
  tile.plain = plain_ && call.residual == nullptr;
  tile.scratch = call.workspace + part.thread * thread_bytes_;
  for (s64 block = part.first_block; block < part.last_block; block += blocks) {
    PixelCursor at(window, part.first_pixel);
    for (s64 pixel = part.first_pixel; pixel < part.last_pixel; pixel += kernel_.pixels) {
      tile.pixels = std::min(kernel_.pixels, part.last_pixel - pixel);
      // From one pixel of a row to the next all addresses move by a constant: narrow layers feel it.
      for (s64 m = 0; m < tile.pixels; ++m, at.next(window)) {
        if (m > 0 && at.x > 0) {
          src[m] = src[m - 1] + src_step;
          dst[m] = dst[m - 1] + dst_step;
          if (call.residual != nullptr) residual[m] = residual[m - 1] + conv_.residual.pixel_stride;
          continue;
        }
        src[m] = source.base + (at.image - source.image) * source.image_stride +
                 (at.y - source.row) * window.h().stride * source.strides.row + at.x * src_step;
        dst[m] = call.y + element * at.offset(conv_.output);
        if (call.residual != nullptr) residual[m] = call.residual + at.offset(conv_.residual);
      }
      run_tile(tile, block, std::min(block + blocks, part.last_block));
    }
  }
}

void DenseConv::run_tile(ConvTile& tile, s64 first_block, s64 last_block) const noexcept {
  const s64 channels = conv_.geometry.out_channels_per_group();
  const s64 first = first_block * kernel_.channels;
  const s64 k_bytes = packed_depth(kernel_, packed_->chunks) * kernel_.weight_bytes;
  tile.chunks = packed_->chunks;
  tile.epilogue = &conv_.epilogue;
  tile.channels = std::min(last_block * kernel_.channels, channels) - first;
  for (s64 group = 0; group < conv_.geometry.groups; ++group) {
    const s64 packed = group * packed_->padded_channels + first;
    if (kernel_.pairs) {
      tile.weights = packed_->weights.data();
      tile.pair_runs = packed_->pair_runs.data();
      tile.pair_rows = &packed_->pair_rows[static_cast<size_t>(group)];
      tile.pair_blocks =
          packed_->pair_blocks.data() + group * ceil_div(channels, kPairLanes) + first / kPairLanes;
      tile.pair_positions = packed_->pair_positions.data();
    } else {
      tile.offsets = offsets_.data() + group * packed_->chunks;
      tile.weights = packed_->weights.data() + group * packed_->group_bytes + first * k_bytes;
    }
    tile.bias = packed_->bias.data() + packed;
    tile.multiplier = packed_->multiplier.data() + packed;
    tile.first_channel = group * channels + first;
    kernel_.run(tile);
  }
}

}  // namespace octet
