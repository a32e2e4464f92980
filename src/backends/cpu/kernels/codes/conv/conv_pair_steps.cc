// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/codes/conv/conv_pair_steps.h"

#include <algorithm>

namespace octet {
namespace {

constexpr size_t kSums = 4 * kPairLanes;

// Of the weights of each sign in each pair.
using Sums = std::array<u8, kSums>;

Sums sums_of(const PairSingle& step) {
  Sums sums;
  for (size_t i = 0; i < kSums / 2; ++i) {
    const s32 a = step.weights[2 * i], b = step.weights[2 * i + 1];
    sums[2 * i] = static_cast<u8>(std::max(a, 0) + std::max(b, 0));
    sums[2 * i + 1] = static_cast<u8>(-std::min(a, 0) - std::min(b, 0));
  }
  return sums;
}

// 255 * 128 is a s16.
bool fit(const Sums& a, const Sums& b) {
  u8 most = 0;
  for (size_t i = 0; i < kSums; ++i)  // half: both together may be 256
    most = std::max(most, static_cast<u8>((a[i] + b[i] + 1) / 2));
  return most <= 64;
}

}  // namespace

// Each takes the first that fits among the next ones.
void pair_up(PairSteps& steps) {
  constexpr size_t kWindow = 96;
  std::vector<PairSingle> left;
  std::vector<Sums> sums;
  for (const PairSingle& step : steps.singles) sums.push_back(sums_of(step));
  std::vector<bool> taken(sums.size());
  for (size_t i = 0; i < sums.size(); ++i) {
    if (taken[i]) continue;
    const size_t end = std::min(sums.size(), i + kWindow);
    size_t j = i + 1;
    while (j < end && (taken[j] || !fit(sums[i], sums[j]))) ++j;
    if (j >= end) {
      left.push_back(steps.singles[i]);
      continue;
    }
    taken[j] = true;
    steps.doubles.push_back(steps.singles[i]);
    steps.doubles.push_back(steps.singles[j]);
  }
  steps.singles = std::move(left);
}

}  // namespace octet
