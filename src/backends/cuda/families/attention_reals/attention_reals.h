// SPDX-License-Identifier: Apache-2.0
// Attention of reals in a graph: queries by keys, a factor, a mask that is added, Softmax, by values; with what moves, rounds and scales its operands, and what rounds and moves its result.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "backends/cuda/device/number.h"
#include "backends/cuda/lower/heads.h"
#include "backends/cuda/lower/step.h"

namespace octet::cuda {

struct RealAttentionNodes {
  std::vector<u32> end;  // behind the product by values, the last first
  u32 context = 0, softmax = 0, scores = 0;
  std::vector<u32> rounding;  // of scores and shares; and what gives their batch other axes
  s32 shares_rounding = -1;   // the one of shares that counts
  std::vector<u32> guard;  // IsNaN and Where behind Softmax, by which shares that are NaN become 0
  std::vector<u32> before_mask, after_mask;  // factors of scores
  s32 mask = -1;                             // the sum
  size_t masked = 0;                         // which input of it the scores are
  std::vector<u32> mask_reads;               // what reads a mask of 16 bits
  std::array<std::vector<u32>, 3> operands;  // of queries, keys, values: the nearest first
  std::vector<u32> split;                    // of which the three are parts

  std::vector<u32> sorted() const;
};

// Of a graph, with this node as the last; false where it is none.
bool find_real_attention(const Graph& graph, const Uses& uses, u32 last, RealAttentionNodes& found);

struct RealHeads {
  MatMulViews by_keys, by_values;  // y as the chain leaves it
  std::array<size_t, 3> inputs{};  // of the chain: queries, keys, values
  std::array<s64, 3> at{};         // where they begin in it
  ScoreMask mask;
  std::array<Number, 3> types{};   // as they are stored
  std::array<CodeScale, 3> codes;  // of those that have codes
  Number type = Number::f16;       // as which they are multiplied
  Number mask_type = Number::f32, y = Number::f32, rounded = Number::f32;
  CodeScale y_codes;
  f64 scale = 1, mask_scale = 1;
  f32 hidden = 0;      // in the place of scores that a mask of bytes names
  bool hides = false;  // where they are not zero
  bool guarded = false;

  s64 query_count() const { return by_keys.geometry.m; }
  s64 key_count() const { return by_keys.geometry.n; }
  s64 head() const { return by_keys.geometry.k; }
};

// Of a chain that ends with it. Empty, or why no kernel takes it.
std::string read_real_heads(const LowerRequest& chain, RealHeads& heads);

std::vector<u32> find_attention_reals(const Graph& graph, const Uses& uses, u32 last);
Offer offer_attention_reals(const LowerRequest& chain);

}  // namespace octet::cuda
