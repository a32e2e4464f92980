// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "backends/cuda/families/bottleneck/bottleneck.h"
#include "core/divide.h"

namespace octet::cuda::bottleneck {
namespace {

constexpr s32 kLargestDigit = 127;

struct TileOf {
  s64 group, tap, chunk;
  bool from_registers;
};

void append_tile(std::vector<std::byte>& all, const ConvRequest& conv, const TileOf& tile) {
  for (s32 row = 0; row < kChannels; ++row) {
    const s64 channel = tile.group * kChannels + channel_of_row(row);
    for (s32 k = 0; k < kChannels; ++k) {
      const s64 c = tile.chunk * kChannels + (tile.from_registers ? channel_of_byte(k) : k);
      const bool exists = channel < conv.cout() && c < conv.cin();
      all.push_back(
          static_cast<std::byte>(exists ? conv.weight(channel, tile.tap * conv.cin() + c) : 0));
    }
  }
}

// All groups of 64 channels, each with its taps and chunks.
void append_tiles(std::vector<std::byte>& all, const ConvRequest& conv, bool from_registers) {
  for (s64 group = 0; group * kChannels < conv.cout(); ++group) {
    for (s64 tap = 0; tap < conv.geometry.window.kernel_elements(); ++tap) {
      for (s64 chunk = 0; chunk * kChannels < conv.cin(); ++chunk)
        append_tile(all, conv, {group, tap, chunk, from_registers});
    }
  }
}

std::vector<const ConvRequest*> parts_in_order(const Bottleneck& block) {
  std::vector<const ConvRequest*> parts{&block.reduce, &block.spatial, &block.expand};
  if (block.projects()) parts.push_back(&block.project);
  return parts;
}

// Of the channels of all ends, filled up with zeros to whole groups.
template <class T, class Values>
std::vector<T> of_ends(const Bottleneck& block, const Values& values) {
  std::vector<T> all;
  for (const ConvRequest* conv : parts_in_order(block)) {
    const std::vector<T> own = values(*conv);
    all.insert(all.end(), own.begin(), own.end());
    all.resize(static_cast<size_t>(ceil_div(static_cast<s64>(all.size()), kChannels) * kChannels));
  }
  return all;
}

std::vector<s32> biases_of_ends(const Bottleneck& block) {
  return of_ends<s32>(block, [](const ConvRequest& conv) {
    return biases_of(conv.product, conv.cout(), conv.weight_sums());
  });
}

// place_of_end().
template <class T>
std::vector<std::byte> for_threads(const std::vector<T>& channels) {
  std::vector<T> all(channels.size());
  for (size_t i = 0; i < all.size(); ++i) {
    const size_t in = i % kChannels;
    all[i - in + static_cast<size_t>(place_of_end(static_cast<s32>(in)))] = channels[i];
  }
  return bytes_of<T>(all);
}

// The bias is the sum of 1 * digits[0] and 255 * each other.
void write_digits(s32 bias, std::byte* digits) {
  s32 rest = static_cast<s32>(std::floor(static_cast<f64>(bias) / kBase + 0.5));
  digits[0] = static_cast<std::byte>(bias - kBase * rest);
  for (s32 i = 1; i < kDigits; ++i) {
    const s32 digit = std::clamp<s32>(rest, -kLargestDigit, kLargestDigit);
    digits[i] = static_cast<std::byte>(digit);
    rest -= digit;
  }
}

// Two groups in a tile: 32 bytes of each row for each.
void append_biases(std::vector<std::byte>& all, const Bottleneck& block) {
  const std::vector<s32> biases = biases_of_ends(block);
  const size_t first = all.size();
  all.resize(static_cast<size_t>(tiles(block.spec).all) * kTileBytes);
  for (s32 end = 0; end < ends(block.spec); ++end) {
    std::byte* tile = all.data() + first + end / 2 * kTileBytes + end % 2 * kDigits;
    for (s32 row = 0; row < kChannels; ++row)
      write_digits(biases[static_cast<size_t>(end * kChannels + channel_of_row(row))],
                   tile + row * kChannels);
  }
}

std::vector<std::byte> tiles_of(const Bottleneck& block) {
  std::vector<std::byte> all;
  append_tiles(all, block.reduce, false);
  append_tiles(all, block.spatial, false);
  append_tiles(all, block.expand, true);
  if (block.projects()) append_tiles(all, block.project, true);
  if (!block.spec.bias_added) append_biases(all, block);
  return all;
}

}  // namespace

bool biases_have_digits(const Bottleneck& block) {
  constexpr s64 kLargest = kLargestDigit + kBase * kLargestDigit * (kDigits - 1);
  return std::ranges::all_of(biases_of_ends(block),
                             [](s32 bias) { return std::abs(s64{bias}) <= kLargest; });
}

std::vector<BlobRecipe> blobs_of(const Bottleneck& block) {
  std::vector<Tensor> weights, multipliers;
  std::string sizes;  // and zero points
  for (const ConvRequest* conv : parts_in_order(block)) {
    weights.insert(weights.end(), {conv->weights, conv->product.bias});
    multipliers.push_back(conv->product.multiplier);
    sizes += fmt::format(" {}x{} {}", conv->cin(), conv->cout(),
                         conv->product.epilogue.zero_point(kProductX));
  }
  const std::string key = fmt::format("bottleneck {} {}{}", static_cast<int>(block.spec.shortcut),
                                      block.spec.bias_added ? "added" : "digits", sizes);
  std::vector<BlobRecipe> all;
  all.push_back({key, weights, [block] { return tiles_of(block); }});
  all.push_back({"scales of a " + key, multipliers, [block] {
                   return for_threads(of_ends<f32>(block, [](const ConvRequest& conv) {
                     return multipliers_of(conv.product.multiplier, conv.cout());
                   }));
                 }});
  if (block.spec.bias_added) {
    all.push_back(
        {"biases of a " + key, weights, [block] { return for_threads(biases_of_ends(block)); }});
  }
  return all;
}

}  // namespace octet::cuda::bottleneck
