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
};

// How a kernel reads a tile.
struct TileForm {
  bool from_registers;  // its first operand comes as a thread owns channels
  bool swizzled;  // here, not by who brings it: eight rows that are read at once meet no bank twice
};

s32 place_in_tile(s32 row, s32 k, bool swizzled) {
  constexpr s32 kAccess = 16;
  const s32 piece = swizzled ? k / kAccess ^ (row / 2 % 4) : k / kAccess;
  return row * kChannels + piece * kAccess + k % kAccess;
}

void append_tile(std::vector<std::byte>& all, const ConvRequest& conv, const TileOf& tile,
                 const TileForm& form) {
  const size_t first = all.size();
  all.resize(first + kTileBytes);
  for (s32 row = 0; row < kChannels; ++row) {
    const s64 channel = tile.group * kChannels + channel_of_row(row);
    for (s32 k = 0; k < kChannels; ++k) {
      const s64 c = tile.chunk * kChannels + (form.from_registers ? channel_of_byte(k) : k);
      const bool exists = channel < conv.cout() && c < conv.cin();
      all[first + static_cast<size_t>(place_in_tile(row, k, form.swizzled))] =
          static_cast<std::byte>(exists ? conv.weight(channel, tile.tap * conv.cin() + c) : 0);
    }
  }
}

// All groups of 64 channels, each with its taps and chunks.
void append_tiles(std::vector<std::byte>& all, const ConvRequest& conv, const TileForm& form) {
  for (s64 group = 0; group * kChannels < conv.cout(); ++group) {
    for (s64 tap = 0; tap < conv.geometry.window.kernel_elements(); ++tap) {
      for (s64 chunk = 0; chunk * kChannels < conv.cin(); ++chunk)
        append_tile(all, conv, {group, tap, chunk}, form);
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
void append_biases(std::vector<std::byte>& all, const WgmmaBottleneck& block) {
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

std::vector<std::byte> tiles_of(const WgmmaBottleneck& block) {
  constexpr TileForm kShared{false, false}, kRegisters{true, false};
  std::vector<std::byte> all;
  append_tiles(all, block.reduce, kShared);
  append_tiles(all, block.spatial, kShared);
  append_tiles(all, block.expand, kRegisters);
  if (block.projects()) append_tiles(all, block.project, kRegisters);
  if (!block.spec.bias_added) append_biases(all, block);
  return all;
}

std::vector<std::byte> mma_tiles_of(const Bottleneck& block) {
  constexpr TileForm kShared{false, true}, kRegisters{true, true};
  std::vector<std::byte> all;
  append_tiles(all, block.reduce, kRegisters);
  append_tiles(all, block.spatial, kShared);
  append_tiles(all, block.expand, kRegisters);
  if (block.projects()) append_tiles(all, block.project, kRegisters);
  return all;
}

std::vector<s32> mma_biases_of(const Bottleneck& block) {
  constexpr s32 kRealBits = 0x4B400000;  // of 1.5 * 2^23
  return of_ends<s32>(block, [](const ConvRequest& conv) {
    std::vector<s32> all = biases_of(conv.product, conv.cout(), conv.weight_sums());
    if (conv.sums_are_short()) {
      for (s32& bias : all) bias += kRealBits;
    }
    return all;
  });
}

// The constants of all parts, and what else their blobs depend on.
struct BlobSources {
  std::vector<Tensor> weights, multipliers;
  std::string key;
};
BlobSources sources_of(const Bottleneck& block, const std::string& form) {
  BlobSources all;
  all.key = fmt::format("bottleneck {} {}", static_cast<int>(block.shortcut), form);
  for (const ConvRequest* conv : parts_in_order(block)) {
    all.weights.insert(all.weights.end(), {conv->weights, conv->product.bias});
    all.multipliers.push_back(conv->product.multiplier);
    all.key += fmt::format(" {}x{} {}", conv->cin(), conv->cout(),
                           conv->product.epilogue.zero_point(kProductX));
  }
  return all;
}

BlobRecipe scales_blob(const Bottleneck& block, const BlobSources& sources) {
  return {"scales of a " + sources.key, sources.multipliers, [block] {
            return for_threads(of_ends<f32>(block, [](const ConvRequest& conv) {
              return multipliers_of(conv.product.multiplier, conv.cout());
            }));
          }};
}

}  // namespace

bool biases_have_digits(const Bottleneck& block) {
  constexpr s64 kLargest = kLargestDigit + kBase * kLargestDigit * (kDigits - 1);
  return std::ranges::all_of(biases_of_ends(block),
                             [](s32 bias) { return std::abs(s64{bias}) <= kLargest; });
}

std::vector<BlobRecipe> blobs_of(const WgmmaBottleneck& block) {
  const BlobSources sources = sources_of(block, block.spec.bias_added ? "added" : "digits");
  std::vector<BlobRecipe> all;
  all.push_back({sources.key, sources.weights, [block] { return tiles_of(block); }});
  all.push_back(scales_blob(block, sources));
  if (block.spec.bias_added) {
    all.push_back({"biases of a " + sources.key, sources.weights,
                   [block] { return for_threads(biases_of_ends(block)); }});
  }
  return all;
}

std::vector<BlobRecipe> mma_blobs_of(const Bottleneck& block) {
  const BlobSources sources = sources_of(block, "by mma.sync");
  std::vector<BlobRecipe> all;
  all.push_back({sources.key, sources.weights, [block] { return mma_tiles_of(block); }});
  all.push_back(scales_blob(block, sources));
  all.push_back({"biases of a " + sources.key, sources.weights,
                 [block] { return for_threads(mma_biases_of(block)); }});
  return all;
}

}  // namespace octet::cuda::bottleneck
