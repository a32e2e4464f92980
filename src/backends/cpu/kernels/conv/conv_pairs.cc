// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/conv/conv_pairs.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

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

constexpr size_t kHalf = kConvLanes / 2;
constexpr s32 kMost = 128;  // of two weights in a pair

// The chunks that no pairing makes exact stay as they lie, in pairs. What a pair has above kMost, one of its two weights
// gives up, to a step of its own: that reads the four bytes from the second of one pair to the first of the pair after the
// next, so that it serves three pairs of neighbouring chunks. For 8 of the 16 channels: most steps are needed by one half only.
class Excess {
 public:
  Excess(const std::vector<s64>& offsets, std::vector<Step>& weights, size_t first_channel)
      : offsets_(offsets),
        weights_(weights),
        first_channel_(first_channel),
        pairs_(2 * offsets.size()) {}

  void find(size_t chunk) {
    for (size_t pair = 2 * chunk; pair < 2 * chunk + 2; ++pair) {
      for (size_t c = 0; c < kHalf; ++c) {
        const s32 sum = weight(pair, c, 0) + weight(pair, c, 1);
        pairs_[pair][c] = sum - std::clamp(sum, -kMost, kMost);
      }
    }
  }

  // Takes it from the weights.
  void move_to(Steps& steps) {
    for (size_t pair = 0; pair < pairs_.size(); ++pair) {
      if (pairs_[pair] == Lanes{}) continue;
      const size_t chunk = pair / 2;
      const bool touching =
          chunk + 1 < offsets_.size() && offsets_[chunk + 1] == offsets_[chunk] + kConvChunk;
      Step step{};
      if (touching) {
        move_three(pair, step);
        steps.add(offsets_[chunk] + 2 * static_cast<s64>(pair % 2) + 1, step);
      } else {
        for (size_t c = 0; c < kHalf; ++c) {
          for (size_t i = 0; i < 2; ++i) move({2 * chunk + i, c, 1}, step, 2 * i + 1);
        }
        steps.add(offsets_[chunk], step);
      }
    }
  }

 private:
  using Lanes = std::array<s32, kHalf>;
  struct Place {
    size_t pair, channel, byte;  // of the two
  };

  s8& weight(size_t pair, size_t channel, size_t byte) {
    return weights_[pair / 2][kConvChunk * (first_channel_ + channel) + 2 * (pair % 2) + byte];
  }

  void move(const Place& from, Step& step, size_t to) {
    s32& excess = pairs_[from.pair][from.channel];
    s8& source = weight(from.pair, from.channel, from.byte);
    source = static_cast<s8>(source - excess);
    step[kConvChunk * (first_channel_ + from.channel) + to] = static_cast<s8>(excess);
    excess = 0;
  }

  static bool fits(s32 a, s32 b) { return std::abs(a + b) <= kMost; }

  // The pair in the middle has both its bytes in the step: its excess goes where the neighbour's leaves room. Where neither
  // does, the third pair waits for another step.
  void move_three(size_t pair, Step& step) {
    const Lanes &first = pairs_[pair], &second = pairs_[pair + 1], &third = pairs_[pair + 2];
    bool all = true;
    for (size_t c = 0; c < kHalf; ++c)
      all = all && (fits(first[c], second[c]) || fits(second[c], third[c]));
    for (size_t c = 0; c < kHalf; ++c) {
      const size_t byte = fits(first[c], second[c]) ? 0 : 1;
      move({pair, c, 1}, step, 0);
      move({pair + 1, c, byte}, step, 1 + byte);
      if (all) move({pair + 2, c, 0}, step, 3);
    }
  }

  const std::vector<s64>& offsets_;
  std::vector<Step>& weights_;
  size_t first_channel_;  // in a Step
  std::vector<Lanes> pairs_;
};

// The first exact pairing, or none.
size_t exact_pairing(const Step& step) {
  for (size_t pairing = 0; pairing < kPairings; ++pairing) {
    if (exact(in_order(step, pairing))) return pairing;
  }
  return kPairings;
}

// Of each pairing, then what one half of the channels needs more.
using SortedSteps = std::array<Steps, kPairings + 2>;

SortedSteps sort(const std::vector<s64>& offsets, std::vector<Step> weights) {
  SortedSteps sorted;
  std::vector<size_t> pairings;
  Excess low(offsets, weights, 0), high(offsets, weights, kHalf);
  for (size_t k = 0; k < offsets.size(); ++k) {
    pairings.push_back(exact_pairing(weights[k]));
    if (pairings[k] < kPairings) continue;
    low.find(k);
    high.find(k);
  }
  low.move_to(sorted[kPairings]);
  high.move_to(sorted[kPairings + 1]);
  for (size_t k = 0; k < offsets.size(); ++k) {
    const size_t pairing = pairings[k] % kPairings;
    sorted[pairing].add(offsets[k], in_order(weights[k], pairing));
  }
  return sorted;
}

void append(const Steps& steps, size_t first_byte, size_t bytes, PackedConv& packed) {
  packed.offsets.insert(packed.offsets.end(), steps.offsets.begin(), steps.offsets.end());
  for (const Step& step : steps.weights) {
    for (size_t i = 0; i < bytes; ++i)
      packed.weights.push_back(static_cast<u8>(step[first_byte + i]));
  }
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
    const ChannelRange block{channels.first + c, std::min(kConvLanes, channels.count - c)};
    std::vector<Step> lying;
    for (size_t k = 0; k < chunks.offsets.size(); ++k) {
      lying.push_back(step_of(weights, chunks.sources.data() + k * kConvChunk, block));
    }
    const auto sorted = sort(chunks.offsets, std::move(lying));
    ConvPairBlock entry{
        static_cast<s64>(packed.offsets.size()), static_cast<s64>(packed.weights.size()), {}};
    constexpr size_t kBytes = std::tuple_size_v<Step>;
    for (size_t i = 0; i < sorted.size(); ++i)
      entry.steps[i] = static_cast<s64>(sorted[i].offsets.size());
    for (size_t pairing = 0; pairing < kPairings; ++pairing)
      append(sorted[pairing], 0, kBytes, packed);
    append(sorted[kPairings], 0, kBytes / 2, packed);
    append(sorted[kPairings + 1], kBytes / 2, kBytes / 2, packed);
    packed.pair_blocks.push_back(entry);
  }
}

}  // namespace octet
