// SPDX-License-Identifier: Apache-2.0
// Constant codes of 4 or 2 bits with one scale, or one for each channel, are codes of 8 bits with the same real values, which
// products of integers take.
#include "core/small_types.h"
#include "graph/op_traits.h"
#include "ops/attributes/codes.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace octet {
namespace {

bool is_small_constant(const Graph& graph, ValueId id) {
  return id != kNoValue && graph.is_constant(id) &&
         is_small_integer(graph.value(id).constant.dtype());
}

Tensor widened(const Tensor& small) {
  const Dtype from = small.dtype();
  const bool is_signed = small_integer_range(from).lowest < 0;
  Tensor wide(is_signed ? Dtype::s8 : Dtype::u8, small.shape());
  const auto* src = reinterpret_cast<const u8*>(small.data());
  auto* dst = reinterpret_cast<u8*>(wide.mutable_data());
  for (s64 i = 0; i < small.elements(); ++i)
    dst[i] = static_cast<u8>(static_cast<s8>(small_to_f32(from, src[i])));
  return wide;
}

}  // namespace

void widen_codes(Graph& graph, Rewrites& rewrites) {
  for (Node& node : graph.nodes) {
    if (!is_dequantize(node) || attribute_of<&ScaleAttributes::block_size>(node) != 0 ||
        !is_small_constant(graph, node.input(0)))
      continue;
    const ValueId zeros = node.input(2);
    if ((zeros != kNoValue && !is_small_constant(graph, zeros)) || !rewrites.allow()) continue;
    for (const size_t i : {size_t{0}, size_t{2}}) {
      if (node.input(i) == kNoValue) continue;
      const Value& small = graph.value(node.inputs[i]);
      node.inputs[i] = graph.add_constant(small.name + "_wide", widened(small.constant));
    }
  }
}

}  // namespace octet
