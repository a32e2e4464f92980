// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/codes/conv/conv_pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "backends/cpu/kernels/codes/conv/conv.h"
#include "backends/cpu/kernels/codes/conv/conv_pairs.h"
#include "backends/cpu/kernels/codes/move/move.h"

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

  s64 depth() const { return packed_depth(kernel, static_cast<s64>(chunks.offsets.size())); }

  // One block: [depth / group][width][group] of T.
  template <class T>
  void block(s64 first, s64 channels, s64 width, T* dst) const {
    const s64 group = kernel.pack_group;
    const s64 bytes = static_cast<s64>(chunks.sources.size());
    for (s64 at = 0; at < bytes; at += group) {
      const s64* sources = chunks.sources.data() + at;
      T* row = dst + at * width;
      for (s64 i = 0; i < std::min(group, bytes - at); ++i) {
        if (sources[i] < 0) continue;
        const s8* src =
            weights.data.data() + first * weights.channel_stride + sources[i] * weights.k_stride;
        for (s64 c = 0; c < channels; ++c) row[c * group + i] = src[c * weights.channel_stride];
      }
    }
  }

  void all(s64 first, s64 channels, u8* dst) const {
    const WordPacker words(weights, chunks, kernel.isa);
    for (s64 c = 0; c < channels; c += kernel.channels) {
      const s64 count = std::min(kernel.channels, channels - c);
      const s64 width = round_up(count, kConvLanes);
      if (kernel.weight_bytes == 1 && kernel.pack_group == kConvChunk) {
        words.pack(first + c, count, width, dst);
      } else if (kernel.weight_bytes == 1) {
        block(first + c, count, width, reinterpret_cast<s8*>(dst));
      } else {
        block(first + c, count, width, reinterpret_cast<s16*>(dst));
      }
      dst += width * depth() * kernel.weight_bytes;
    }
  }
};

}  // namespace

WordPacker::WordPacker(const ConvWeights& weights, const ConvChunks& chunks, Isa isa)
    : weights_(weights), chunks_(chunks), isa_(isa), taps_(taps_side_by_side()) {}

// Some channels at a time, whose bytes stay in the first caches.
void WordPacker::pack(s64 first, s64 channels, s64 width, u8* dst) const {
  constexpr s64 kAtOnce = 16;
  const auto values = static_cast<s64>(chunks_.sources.size());
  const bool in_place = taps_ == 1 && weights_.channel_stride % kConvChunk == 0;
  std::vector<s8> gathered(static_cast<size_t>(in_place ? 0 : kAtOnce * values));
  for (s64 c = 0; c < channels; c += kAtOnce, dst += kAtOnce * kConvChunk) {
    const s64 count = std::min(kAtOnce, channels - c);
    const s8* src = weights_.data.data() + (first + c) * weights_.channel_stride;
    for (s64 i = 0; !in_place && i < count; ++i)
      gather(src + i * weights_.channel_stride, gathered.data() + i * values);
    const s64 stride = in_place ? weights_.channel_stride : values;
    transpose_matrix({in_place ? src : gathered.data(), stride / kConvChunk, dst, width, count,
                      values / kConvChunk, isa_},
                     kConvChunk);
  }
}

s64 WordPacker::taps_side_by_side() const {
  const auto values = static_cast<s64>(chunks_.sources.size());
  if (weights_.k_stride != 1 || values < 2) return 0;
  const s64 taps = chunks_.sources[1] - chunks_.sources[0];
  if (taps < 1 || values % taps != 0) return 0;
  const s64 inputs = values / taps;
  s64 at = 0;
  const auto follows = [&](s64 source) {
    const bool same = source == at % inputs * taps + at / inputs;
    ++at;
    return same;
  };
  return std::ranges::all_of(chunks_.sources, follows) ? taps : 0;
}

void WordPacker::gather(const s8* src, s8* dst) const {
  if (taps_ == 0) {
    for (const s64 source : chunks_.sources)
      *dst++ = source < 0 ? s8{0} : src[source * weights_.k_stride];
    return;
  }
  const s64 inputs = static_cast<s64>(chunks_.sources.size()) / taps_;
  for (s64 t = 0; t < taps_; ++t, dst += inputs) {
    for (s64 i = 0; i < inputs; ++i) dst[i] = src[i * taps_ + t];
  }
}

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

// Eight neighbours at a time, as numbers from 0 to 255 in lanes of 16 bits: a piece's sums fit these.
s64 sum_of(const s8* src, s64 count) {
  constexpr s64 kPiece = 8 * 128;
  constexpr u64 kLow = 0x00ff00ff00ff00ff, kSigns = 0x8080808080808080;
  s64 sum = 0, i = 0;
  while (count - i >= 8) {
    const s64 end = std::min(i + kPiece, count - 7), first = i;
    u64 lanes = 0;
    for (; i < end; i += 8) {
      u64 bytes;
      std::memcpy(&bytes, src + i, sizeof bytes);
      bytes ^= kSigns;
      lanes += (bytes & kLow) + (bytes >> 8 & kLow);
    }
    for (int lane = 0; lane < 64; lane += 16) sum += static_cast<s64>(lanes >> lane & 0xffff);
    sum -= 128 * (i - first);
  }
  for (; i < count; ++i) sum += src[i];
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
  ConvConstants met = constants;  // by the codes that the kernel multiplies
  met.input_zero_point -= kernel.shift;
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
          packed.padded_channels * packed_depth(kernel, packed.chunks) * kernel.weight_bytes;
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
      const auto bias = static_cast<u32>(folded_bias(met, g, first + c));
      packed.bias[at] = static_cast<s32>(static_cast<u32>(packed.bias[at]) + bias);
      packed.multiplier[at] = constants.multiplier[channel];
    }
  }
  return packed;
}

}  // namespace octet
