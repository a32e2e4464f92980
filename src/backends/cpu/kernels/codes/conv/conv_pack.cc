// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/codes/conv/conv_pack.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cpu/kernels/codes/conv/conv.h"
#include "backends/cpu/kernels/codes/conv/conv_pairs.h"

namespace octet {
namespace {

s64 round_up(s64 n, s64 to) { return (n + to - 1) / to * to; }

// Bytes of the image that lie one behind the other: the channels of a tap, or with neighbouring taps touching, a row of
// taps ("reduced lowering": a 3-channel 3x3 has 3 runs of 9 bytes, not 9 of 3).
struct Run {
  s64 offset;
  s64 bytes;
  s64 y, x;  // first tap
};

// Appends the chunks of a run. A tail of fewer than four bytes is read by a chunk that ends with the run and overlaps
// bytes already read; those meet zero weights, so nothing outside the run is touched.
void append_run(ConvChunks& chunks, const ConvGeometry& g, const Run& run, s64 group) {
  const s64 channels = g.in_channels_per_group();
  const s64 taps_y = g.window.h().kernel, taps_x = g.window.w().kernel;
  const auto source = [&](s64 byte) {
    if (byte < 0 || byte >= run.bytes) return s64{-1};
    return (byte % channels * taps_y + run.y) * taps_x + run.x + byte / channels;
  };
  const auto append = [&](s64 byte, s64 from) {
    chunks.offsets.push_back(run.offset + byte);
    for (s64 i = 0; i < kConvChunk; ++i) {
      chunks.sources.push_back(byte + i < from ? -1 : source(byte + i));
    }
  };
  s64 byte = 0;
  for (; byte + kConvChunk <= run.bytes; byte += kConvChunk) append(byte, byte);
  if (byte == run.bytes) return;
  if (run.bytes >= kConvChunk) return append(run.bytes - kConvChunk, byte);
  // A run shorter than a chunk: move the chunk so that it stays within the pixel. (Images of fewer than four channels
  // are copied to a buffer with room behind it.)
  const s64 first_channel = group * channels;
  const s64 back = std::clamp<s64>(first_channel + kConvChunk - g.in_channels, 0, first_channel);
  append(-back, 0);
}

struct Packer {
  const ConvKernel& kernel;
  const ConvWeights& weights;
  const ConvChunks& chunks;

  // One block: [chunks * 4 / group][width][group] of T.
  template <class T>
  void block(s64 first, s64 channels, s64 width, T* dst) const {
    const s64 group = kernel.pack_group;
    const s64 steps = static_cast<s64>(chunks.sources.size()) / group;
    for (s64 step = 0; step < steps; ++step) {
      const s64* sources = chunks.sources.data() + step * group;
      T* row = dst + step * width * group;
      for (s64 i = 0; i < group; ++i) {
        if (sources[i] < 0) continue;
        const s8* src =
            weights.data.data() + first * weights.channel_stride + sources[i] * weights.k_stride;
        for (s64 c = 0; c < channels; ++c) row[c * group + i] = src[c * weights.channel_stride];
      }
    }
  }

  void all(s64 first, s64 channels, u8* dst) const {
    for (s64 c = 0; c < channels; c += kernel.channels) {
      const s64 count = std::min(kernel.channels, channels - c);
      const s64 width = round_up(count, kConvLanes);
      if (kernel.weight_bytes == 1) {
        block(first + c, count, width, reinterpret_cast<s8*>(dst));
      } else {
        block(first + c, count, width, reinterpret_cast<s16*>(dst));
      }
      dst += width * static_cast<s64>(chunks.sources.size()) * kernel.weight_bytes;
    }
  }
};

}  // namespace

s64 conv_run_bytes(const ConvGeometry& g, const ImageStrides& strides) {
  const s64 channels = g.in_channels_per_group();
  const bool merged = g.groups == 1 && g.window.w().dilation == 1 && strides.pixel == channels;
  return merged ? g.window.w().kernel * channels : channels;
}

ConvChunks conv_chunks(const ConvGeometry& g, const ImageStrides& strides, s64 group) {
  const WindowAxis& h = g.window.h();
  const WindowAxis& w = g.window.w();
  const s64 channels = g.in_channels_per_group();
  const s64 run_bytes = conv_run_bytes(g, strides);
  const bool merged = run_bytes > channels;
  ConvChunks chunks;
  for (s64 y = 0; y < h.kernel; ++y) {
    for (s64 x = 0; x < w.kernel; x += merged ? w.kernel : 1) {
      const s64 offset =
          y * h.dilation * strides.row + x * w.dilation * strides.pixel + group * channels;
      append_run(chunks, g, {offset, run_bytes, y, x}, group);
    }
  }
  return chunks;
}

std::vector<s64> chunk_offsets(const ConvGeometry& g, const ImageStrides& strides) {
  std::vector<s64> offsets;
  for (s64 group = 0; group < g.groups; ++group) {
    const ConvChunks chunks = conv_chunks(g, strides, group);
    offsets.insert(offsets.end(), chunks.offsets.begin(), chunks.offsets.end());
  }
  return offsets;
}

namespace {

// Neighbours are added up in pieces whose sums fit 32 bits: wider lanes would halve the speed.
s64 sum_of(const s8* src, s64 count) {
  constexpr s64 kPiece = 1 << 16;
  s64 sum = 0;
  for (s64 first = 0; first < count; first += kPiece) {
    s32 piece = 0;
    for (s64 i = first; i < std::min(first + kPiece, count); ++i) piece += src[i];
    sum += piece;
  }
  return sum;
}

}  // namespace

s32 folded_bias(const ConvConstants& constants, const ConvGeometry& g, s64 channel) {
  const ConvWeights& w = constants.weights;
  const s64 k = g.in_channels_per_group() * g.window.h().kernel * g.window.w().kernel;
  const s8* src = w.data.data() + channel * w.channel_stride;
  s64 sum = 0;
  if (w.k_stride == 1) {
    sum = sum_of(src, k);
  } else {
    for (s64 i = 0; i < k; ++i) sum += src[i * w.k_stride];
  }
  const s64 bias = constants.bias.empty() ? 0 : constants.bias[static_cast<size_t>(channel)];
  return static_cast<s32>(static_cast<u32>(bias - sum * constants.input_zero_point));
}

std::string constants_key(const ConvGeometry& g, const ConvConstants& constants) {
  return fmt::format("{}x{} g{} {}>{} by {},{} zero {}", g.window.h().kernel, g.window.w().kernel,
                     g.groups, g.in_channels, g.out_channels, constants.weights.channel_stride,
                     constants.weights.k_stride, constants.input_zero_point);
}

PackedConv pack_conv(const ConvKernel& kernel, const ConvGeometry& g, const ImageStrides& strides,
                     const ConvConstants& constants) {
  PackedConv packed;
  const s64 channels = g.out_channels_per_group();
  packed.padded_channels = round_up(channels, kConvLanes);
  packed.bias.resize(static_cast<size_t>(g.groups * packed.padded_channels));
  packed.multiplier.resize(packed.bias.size());
  for (s64 group = 0; group < g.groups; ++group) {
    const ConvChunks chunks = conv_chunks(g, strides, group);
    const s64 first = group * channels;
    if (kernel.pairs) {
      packed.chunks = static_cast<s64>(chunks.offsets.size());
      packed.group_bytes = packed.padded_channels * packed.chunks * kConvChunk;
      const std::span<s32> bias(packed.bias.data() + group * packed.padded_channels,
                                static_cast<size_t>(channels));
      append_pairs(constants.weights, chunks, {first, channels}, packed, bias);
    } else if (group == 0) {
      packed.chunks = static_cast<s64>(chunks.offsets.size());
      packed.group_bytes =
          packed.padded_channels * packed.chunks * kConvChunk * kernel.weight_bytes;
      packed.weights.resize(static_cast<size_t>(g.groups * packed.group_bytes));
    }
    if (!kernel.pairs) {
      Packer{kernel, constants.weights, chunks}.all(
          first, channels, packed.weights.data() + group * packed.group_bytes);
    }
    for (s64 c = 0; c < channels; ++c) {
      const auto at = static_cast<size_t>(group * packed.padded_channels + c);
      const auto channel = static_cast<size_t>(constants.multiplier.size() == 1 ? 0 : first + c);
      // Wraps, see folded_bias().
      const auto bias = static_cast<u32>(folded_bias(constants, g, first + c));
      packed.bias[at] = static_cast<s32>(static_cast<u32>(packed.bias[at]) + bias);
      packed.multiplier[at] = constants.multiplier[channel];
    }
  }
  return packed;
}

}  // namespace octet
