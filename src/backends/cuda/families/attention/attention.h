// SPDX-License-Identifier: Apache-2.0
// Attention of codes as the kernel sees it: of all heads of a batch, queries, keys and values as QMatMul reads them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/lower/heads.h"
#include "backends/cuda/lower/product.h"
#include "ops/quantized/code_rows.h"
#include "ops/shared/matmul_views.h"

namespace octet::cuda {

struct Heads {
  Product scores, context;
  MatMulViews by_keys, by_values;
  size_t queries = 0, keys = 0, values = 0;        // inputs of the chain
  s64 queries_at = 0, keys_at = 0, values_at = 0;  // where they begin in it
  bool keys_s8 = false, values_s8 = false, shares_s8 = false;
  RowScales shares;
  CodeRange range;  // of the shares' codes
  ScoreMask mask;

  s64 query_count() const { return by_keys.geometry.m; }
  s64 key_count() const { return by_keys.geometry.n; }
  s64 head() const { return by_keys.geometry.k; }
};

// Input `i` of a node of a graph.
struct NodeInput {
  u32 node;
  size_t i;
};
// The node that produces it, if it is an `op`; else -1.
s32 producer_of(const Graph& graph, const Uses& uses, const NodeInput& input, std::string_view op);

// Queries by keys, perhaps a sum with a mask, Softmax, shares by values: nodes in this order, where `last` is the last of them.
std::vector<u32> find_attention(const Graph& graph, const Uses& uses, u32 last);
// The same with what moves its operands, which the kernel reads where they lay before; none where nothing does.
std::vector<u32> find_moved_attention(const Graph& graph, const Uses& uses, u32 last);
// Of a chain that ends with attention. Empty, or why no kernel takes it.
std::string read_heads(const LowerRequest& chain, Heads& heads);
// The cheapest first; none where no tile fits the chip.
Candidates heads_candidates(const LowerRequest& request, const Heads& heads);

}  // namespace octet::cuda
