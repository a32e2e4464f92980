// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/codes/conv/conv_excess.h"

#include <algorithm>
#include <cstdlib>

namespace octet {
namespace {

constexpr size_t kLanes = kPairLanes;

// Of what a pair has above kMostOfPair one of its two weights gives up all, to a step that reads the four bytes from the
// second of one pair to the first of the pair after the next, so that it serves three pairs of neighbouring chunks.
class Excess {
 public:
  Excess(const std::vector<s64>& offsets, const PairColumns* chunks,
         const std::vector<u32>& pairings)
      : offsets_(offsets), pairs_(2 * offsets.size()) {
    for (size_t k = 0; k < offsets.size(); ++k)
      steps_.push_back({offsets[k], chunks[k], pairings[k]});
    for (size_t pair = 0; pair < pairs_.size(); ++pair) {
      if (pairings[pair / 2] != 0) continue;
      for (size_t c = 0; c < kLanes; ++c) {
        const s32 sum = weight(pair, c, 0) + weight(pair, c, 1);
        pairs_[pair][c] = sum - std::clamp(sum, -kMostOfPair, kMostOfPair);
      }
    }
  }

  std::vector<PairStep> steps() {
    for (size_t pair = 0; pair < pairs_.size(); ++pair) {
      if (pairs_[pair] == Lanes{}) continue;
      const size_t chunk = pair / 2;
      const bool touching =
          chunk + 1 < offsets_.size() && offsets_[chunk + 1] == offsets_[chunk] + kConvChunk;
      PairColumns step{};
      s64 offset = offsets_[chunk];
      if (touching) {
        move_three(pair, step);
        offset += 2 * static_cast<s64>(pair % 2) + 1;
      } else {
        for (size_t c = 0; c < 2 * kLanes; ++c)
          move({2 * chunk + c % 2, c / 2, 1}, step, 2 * (c % 2) + 1);
      }
      steps_.push_back({offset, step, 0});
    }
    return std::move(steps_);
  }

 private:
  using Lanes = std::array<s32, kLanes>;
  struct Place {
    size_t pair, channel, byte;  // of the two
  };

  s16& weight(size_t pair, size_t channel, size_t byte) {
    return steps_[pair / 2].weights[2 * (pair % 2) + byte][channel];
  }

  void move(const Place& from, PairColumns& step, size_t to) {
    s32& excess = pairs_[from.pair][from.channel];
    s16& source = weight(from.pair, from.channel, from.byte);
    source = static_cast<s16>(source - excess);
    step[to][from.channel] = static_cast<s16>(excess);
    excess = 0;
  }

  static bool fits(s32 a, s32 b) { return std::abs(a + b) <= kMostOfPair; }

  // The pair in the middle has both its bytes in the step: its excess goes where the neighbour's leaves room. Where neither
  // does, the third pair waits for another step.
  void move_three(size_t pair, PairColumns& step) {
    const Lanes &first = pairs_[pair], &second = pairs_[pair + 1], &third = pairs_[pair + 2];
    bool all = true;
    for (size_t c = 0; c < kLanes; ++c)
      all = all && (fits(first[c], second[c]) || fits(second[c], third[c]));
    for (size_t c = 0; c < kLanes; ++c) {
      const size_t byte = fits(first[c], second[c]) ? 0 : 1;
      move({pair, c, 1}, step, 0);
      move({pair + 1, c, byte}, step, 1 + byte);
      if (all) move({pair + 2, c, 0}, step, 3);
    }
  }

  const std::vector<s64>& offsets_;
  std::vector<Lanes> pairs_;
  std::vector<PairStep> steps_;
};

}  // namespace

std::vector<PairStep> steps_in_place(const std::vector<s64>& offsets, const PairColumns* chunks,
                                     const std::vector<u32>& pairings) {
  return Excess(offsets, chunks, pairings).steps();
}

}  // namespace octet
