// SPDX-License-Identifier: Apache-2.0
// What com.microsoft's operators of attention share: they are read as ONNX's Attention, on queries, keys and values of three axes.
#pragma once

#include "ops/shared/node_parser.h"

namespace octet {

// Queries, keys and values [batch, length, heads * size], their biases added; kNoValue where there is none.
struct ContribAttention {
  ValueId q = kNoValue, k = kNoValue, v = kNoValue;
  ValueId shown =
      kNoValue;  // s32: [batch, keys], above 0 where a key is seen, or [batch], how many are
  ValueId bias = kNoValue;  // added to the scores, broadcast to [batch, heads, queries, keys]
  ValueId past_k = kNoValue, past_v = kNoValue;
};

// The node becomes Attention; of its attributes `num_heads`, `scale`, `mask_filter_value` and `unidirectional` are read. Throws Error(invalid_model) where
// they cannot be.
void become_attention(NodeParser& parser, const ContribAttention& attention);

// How columns of queries, keys and values lie side by side along the last axis of a constant.
struct Columns {
  int rank = 1;
  std::vector<s64> sizes = {};  // of each; empty: equally many
  bool shared = false;          // one element may stand for all, as of scales
};

// Input i, a constant, in its three parts; kNoValue thrice where it is left out. Throws Error(unsupported) for what is computed, Error(invalid_model) where
// columns cannot be parted.
std::vector<ValueId> parts_of_three(NodeParser& parser, size_t i, const Columns& columns_of);

// `qkv_hidden_sizes` of com.microsoft's Attention and QAttention, empty where the node has none.
std::vector<s64> take_hidden_sizes(NodeParser& parser);

// Refuses what com.microsoft's Attention and QAttention may have and Octet does not read: a past that keys and values share, turned positions.
void refuse_shared_past(const NodeParser& parser, size_t past);

}  // namespace octet
