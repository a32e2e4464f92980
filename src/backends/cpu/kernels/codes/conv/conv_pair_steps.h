// SPDX-License-Identifier: Apache-2.0
// The steps of a pair kernel's blocks before they are packed: which are added up by twos in s16.
#pragma once

#include <stddef.h>

#include <array>
#include <vector>

#include "backends/cpu/kernels/codes/conv/conv_args.h"

namespace octet {

struct PairSingle {
  std::array<s8, kPairLanes * kConvChunk> weights;  // [channel][byte]
  s32 position;
  size_t chunk;
  u32 variant;  // of conv_pairs.cc
};

struct PairSteps {
  std::vector<PairSingle> doubles;  // the two of each one behind the other
  std::vector<PairSingle> singles;
  std::vector<PairSingle> swapped[2];
  std::vector<size_t> words;  // chunks
};

// Singles whose sums fit s16 together become doubles.
void pair_up(PairSteps& steps);

}  // namespace octet
