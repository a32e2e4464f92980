// SPDX-License-Identifier: Apache-2.0
// com.microsoft's EmbedLayerNormalization and QEmbedLayerNormalization: LayerNormalization of the sum of a word's, its position's and its segment's vectors.
#pragma once

#include "ops/shared/node_parser.h"

namespace octet {

// Inputs of both, in this order; the segments and their table, and the mask, may be left out.
enum EmbedInput : size_t {
  kEmbedWords,
  kEmbedSegments,
  kEmbedWordTable,
  kEmbedPositionTable,
  kEmbedSegmentTable,
  kEmbedGamma,
  kEmbedBeta,
  kEmbedMask
};

// The node becomes LayerNormalization of the sum. Its output 1 is how many tokens each image shows, 0 without a mask; output 2 is the sum. `real` gives
// a table, gamma or beta as reals; `positions` picks the rows of the positions' table, kNoValue: 0, 1, .. for the words of each image.
void become_embedding(NodeParser& parser, ValueId (*real)(NodeParser&, size_t), ValueId positions);

}  // namespace octet
