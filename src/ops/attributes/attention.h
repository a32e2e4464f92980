// SPDX-License-Identifier: Apache-2.0
// Attributes of attention.
#pragma once

#include <optional>

#include "graph/attributes.h"

namespace octet {

// Heads of queries, and of keys and values, where an input of three axes holds them side by side.
struct HeadsAttributes {
  s64 q_num_heads = 0;
  s64 kv_num_heads = 0;

  OCTET_ATTRIBUTES(q_num_heads, kv_num_heads)
};

struct AttentionAttributes : HeadsAttributes {
  bool is_causal = false;
  s64 left_window_size = -1;  // keys before the query that it sees; below 0: all
  s64 right_window_size = -1;
  s64 qk_matmul_output_mode = 0;
  std::optional<f32> scale;  // absent: 1 / sqrt(size of a head)
  f32 softcap = 0.0f;        // 0: none

  OCTET_MORE_ATTRIBUTES(HeadsAttributes, is_causal, left_window_size, right_window_size,
                        qk_matmul_output_mode, scale, softcap)
};

}  // namespace octet
