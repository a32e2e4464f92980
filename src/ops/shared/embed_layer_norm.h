// SPDX-License-Identifier: Apache-2.0
// com.microsoft's EmbedLayerNormalization and QEmbedLayerNormalization: LayerNormalization of the sum of a word's, its position's and its segment's vectors.
#pragma once

#include "ops/shared/node_parser.h"

namespace octet {

// Tables [entries, size] of reals and what picks their rows, [batch, length]; kNoValue for what there is not.
struct EmbeddedTokens {
  ValueId words = kNoValue, segments = kNoValue, positions = kNoValue;
  ValueId word_table = kNoValue, position_table = kNoValue, segment_table = kNoValue;
  ValueId gamma = kNoValue, beta = kNoValue;
  ValueId shown = kNoValue;  // [batch, length]: 1 for a token, 0 for padding
};

// The node becomes LayerNormalization of the sum. Its output 1 is how many tokens each image shows, 0 without a mask; output 2 is the sum.
void become_embedding(NodeParser& parser, const EmbeddedTokens& tokens);

}  // namespace octet
