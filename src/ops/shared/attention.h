// SPDX-License-Identifier: Apache-2.0
// Shapes of Attention: where the rows of its heads lie, as [batch, heads, length, size] or [batch, length, heads * size].
#pragma once

#include "core/types.h"
#include "graph/op_def.h"

namespace octet {

enum AttentionInput : size_t {
  kAttentionQ,
  kAttentionK,
  kAttentionV,
  kAttentionMask,
  kAttentionPastK,
  kAttentionPastV,
  kAttentionNonpad,
};

struct AttentionHeads {
  s64 batch = 0;
  s64 heads = 1;
  s64 length = 0;
  s64 size = 0;
  bool flat = false;  // 3-D

  s64 row(s64 image, s64 head, s64 position) const {
    return flat ? ((image * length + position) * heads + head) * size
                : ((image * heads + head) * length + position) * size;
  }
  Shape shape() const {
    return flat ? Shape{batch, length, heads * size} : Shape{batch, heads, length, size};
  }
};

struct AttentionGeometry {
  AttentionHeads q, k, v;  // k and v without the past
  s64 past = 0;
  s64 total = 0;  // keys with the past
  s64 group = 1;  // query heads that share a key head

  AttentionHeads output() const { return {q.batch, q.heads, q.length, v.size, q.flat}; }
};

// Checks the shapes of all inputs; `shape(i)` of an omitted input is not asked for.
AttentionGeometry attention_geometry(const Node& node, std::span<const Shape> shapes);

}  // namespace octet
