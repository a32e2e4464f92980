// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/conv/conv_pairs.h"

#include <algorithm>
#include <array>

namespace octet {
namespace {

constexpr size_t kPairings = 3;
// Bytes of a chunk in the order of each pairing.
constexpr std::array<std::array<size_t, 4>, kPairings> kOrders = {
    {{0, 1, 2, 3}, {0, 2, 1, 3}, {0, 3, 1, 2}}};

// One chunk of 16 channels: [channel][byte].
using Step = std::array<s8, kConvLanes * kConvChunk>;

Step in_order(const Step& step, size_t pairing) {
  Step result;
  for (size_t c = 0; c < step.size(); c += kConvChunk) {
    for (size_t i = 0; i < kConvChunk; ++i) result[c + i] = step[c + kOrders[pairing][i]];
  }
  return result;
}

// Of weights with different signs one product alone is the extreme, and it fits.
bool exact(const Step& step) {
  s32 most = 0;
  for (size_t i = 0; i < step.size(); i += 2)
    most = std::max(most, std::abs(step[i] + step[i + 1]));
  return most <= 128;
}

// The steps of one pairing.
struct Steps {
  std::vector<s64> offsets;
  std::vector<Step> weights;

  void add(s64 offset, const Step& step) {
    offsets.push_back(offset);
    weights.push_back(step);
  }
};

void sort(s64 offset, const Step& step, std::array<Steps, kPairings>& sorted) {
  for (size_t pairing = 0; pairing < kPairings; ++pairing) {
    const Step ordered = in_order(step, pairing);
    if (exact(ordered)) return sorted[pairing].add(offset, ordered);
  }
  Step half = step, rest = step;
  for (size_t i = 0; i < step.size(); ++i) {
    half[i] = static_cast<s8>(step[i] / 2);
    rest[i] = static_cast<s8>(step[i] - half[i]);
  }
  sorted[0].add(offset, half);
  sorted[0].add(offset, rest);
}

Step step_of(const ConvWeights& weights, const s64* sources, ChannelRange channels) {
  Step step{};
  for (s64 i = 0; i < kConvChunk; ++i) {
    if (sources[i] < 0) continue;
    const s8* src = weights.data.data() + channels.first * weights.channel_stride +
                    sources[i] * weights.k_stride;
    for (s64 c = 0; c < channels.count; ++c)
      step[static_cast<size_t>(c * kConvChunk + i)] = src[c * weights.channel_stride];
  }
  return step;
}

}  // namespace

void append_pairs(const ConvWeights& weights, const ConvChunks& chunks, ChannelRange channels,
                  PackedConv& packed) {
  for (s64 c = 0; c < channels.count; c += kConvLanes) {
    std::array<Steps, kPairings> sorted;
    const ChannelRange block{channels.first + c, std::min(kConvLanes, channels.count - c)};
    for (size_t k = 0; k < chunks.offsets.size(); ++k) {
      sort(chunks.offsets[k], step_of(weights, chunks.sources.data() + k * kConvChunk, block),
           sorted);
    }
    ConvPairBlock entry{
        static_cast<s64>(packed.offsets.size()), static_cast<s64>(packed.weights.size()), {}};
    for (size_t pairing = 0; pairing < kPairings; ++pairing) {
      const Steps& steps = sorted[pairing];
      entry.steps[pairing] = static_cast<s64>(steps.offsets.size());
      packed.offsets.insert(packed.offsets.end(), steps.offsets.begin(), steps.offsets.end());
      for (const Step& step : steps.weights) {
        for (s8 w : step) packed.weights.push_back(static_cast<u8>(w));
      }
    }
    packed.pair_blocks.push_back(entry);
  }
}

}  // namespace octet
