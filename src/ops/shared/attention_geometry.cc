// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "core/check.h"
#include "core/checked.h"
#include "ops/attributes/attention.h"
#include "ops/shared/attention.h"

namespace octet {
namespace {

template <auto kHeads>
AttentionHeads heads_of(const Shape& shape, const Node& node) {
  if (shape.rank() == 4) return {shape[0], shape[1], shape[2], shape[3], false};
  const s64 heads = attribute_of<kHeads>(node);
  if (heads < 1 || shape[2] % heads != 0) {
    fail(Error::Code::invalid_model,
         "attribute '{}' is {}; it must divide the last dimension of {}", attribute_name<kHeads>(),
         heads, to_string(shape));
  }
  return {shape[0], heads, shape[1], shape[2] / heads, true};
}

void require(bool condition, std::span<const Shape> shapes) {
  if (condition) return;
  fail(Error::Code::invalid_model,
       "query {}, key {} and value {} do not fit each other in batch, heads, length or size",
       to_string(shapes[kAttentionQ]), to_string(shapes[kAttentionK]),
       to_string(shapes[kAttentionV]));
}

void require_past(const Node& node, std::span<const Shape> shapes, AttentionGeometry& geometry) {
  const bool has_key = node.input(kAttentionPastK) != kNoValue;
  if (has_key != (node.input(kAttentionPastV) != kNoValue)) {
    fail(Error::Code::invalid_model, "past key and past value go together; one is omitted");
  }
  if (!has_key) return;
  if (node.input(kAttentionNonpad) != kNoValue) {
    fail(Error::Code::invalid_model, "nonpad_kv_seqlen and a past key exclude each other");
  }
  const Shape& key = shapes[kAttentionPastK];
  geometry.past = key.rank() == 4 ? key[2] : 0;
  const AttentionHeads &k = geometry.k, &v = geometry.v;
  const bool fits = key == Shape{k.batch, k.heads, geometry.past, k.size} &&
                    shapes[kAttentionPastV] == Shape{v.batch, v.heads, geometry.past, v.size};
  if (!fits) {
    fail(Error::Code::invalid_model, "past key {} and past value {} do not fit key {} and value {}",
         to_string(key), to_string(shapes[kAttentionPastV]), to_string(shapes[kAttentionK]),
         to_string(shapes[kAttentionV]));
  }
}

// The mask broadcasts to [batch, heads, queries, keys]; its last dimension may be shorter.
void require_mask(const Shape& mask, const AttentionGeometry& geometry) {
  const std::array<s64, 4> full = {geometry.q.batch, geometry.q.heads, geometry.q.length,
                                   geometry.total};
  bool fits = mask.rank() >= 1 && mask.rank() <= 4 && mask[mask.rank() - 1] <= geometry.total;
  for (int i = 0; fits && i < mask.rank() - 1; ++i) {
    fits = mask[i] == 1 ||
           mask[i] == full[static_cast<size_t>(4 - mask.rank()) + static_cast<size_t>(i)];
  }
  if (fits) return;
  fail(Error::Code::invalid_model, "the mask is {}, expected to broadcast to {}x{}x{}x{}",
       to_string(mask), full[0], full[1], full[2], full[3]);
}

}  // namespace

AttentionGeometry attention_geometry(const Node& node, std::span<const Shape> shapes) {
  const int rank = shapes[kAttentionQ].rank();
  require((rank == 3 || rank == 4) && shapes[kAttentionK].rank() == rank &&
              shapes[kAttentionV].rank() == rank,
          shapes);
  AttentionGeometry geometry;
  AttentionHeads &q = geometry.q, &k = geometry.k, &v = geometry.v;
  q = heads_of<&HeadsAttributes::q_num_heads>(shapes[kAttentionQ], node);
  k = heads_of<&HeadsAttributes::kv_num_heads>(shapes[kAttentionK], node);
  v = heads_of<&HeadsAttributes::kv_num_heads>(shapes[kAttentionV], node);
  require(k.heads >= 1 && q.heads % k.heads == 0 && k.heads == v.heads, shapes);
  require(q.size >= 1 && v.size >= 1, shapes);
  require(q.batch == k.batch && k.batch == v.batch && k.length == v.length && q.size == k.size,
          shapes);
  geometry.group = q.heads / k.heads;
  require_past(node, shapes, geometry);
  const auto total = checked_add(geometry.past, k.length);
  if (!total) fail(Error::Code::invalid_model, "the keys and the past keys are too many");
  geometry.total = *total;
  if (node.input(kAttentionMask) != kNoValue) require_mask(shapes[kAttentionMask], geometry);
  if (node.input(kAttentionNonpad) != kNoValue && shapes[kAttentionNonpad] != Shape{q.batch}) {
    fail(Error::Code::invalid_model, "nonpad_kv_seqlen is {}, expected one length for each of {}",
         to_string(shapes[kAttentionNonpad]), q.batch);
  }
  return geometry;
}

}  // namespace octet
