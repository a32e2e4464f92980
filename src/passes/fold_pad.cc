// SPDX-License-Identifier: Apache-2.0
// Pad with zeros over the spatial dimensions moves into the pads of the convolution that reads it.
#include <algorithm>

#include "ops/attributes/moves.h"
#include "ops/attributes/window.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace octet {
namespace {

// The pads [begin..., end...] of every dimension, when the node pads with a constant zero; else empty.
std::vector<s64> zero_pads(const Graph& graph, const Node& pad) {
  if (attribute_of<&PadAttributes::mode>(pad) != PadMode::constant || pad.input(3) != kNoValue)
    return {};
  if (pad.input(2) != kNoValue && scalar_constant(graph, pad.inputs[2]) != 0.0f) return {};
  const Tensor* pads = graph.constant_input(pad, 1);
  if (pads == nullptr || pads->dtype() != Dtype::s64) return {};
  const auto values = pads->as<s64>();
  return {values.begin(), values.end()};
}

bool fold_into(Node& conv, const Node& pad, const std::vector<s64>& pads) {
  const size_t rank = pads.size() / 2, spatial = rank - 2;
  const auto window = attributes_of<ConvAttributes>(conv);
  if (rank < 3 || window.auto_pad != AutoPad::notset) return false;
  const bool outer = pads[0] == 0 && pads[1] == 0 && pads[rank] == 0 && pads[rank + 1] == 0;
  if (!outer || std::ranges::any_of(pads, [](s64 p) { return p < 0; })) return false;
  std::vector<s64> own = window.pads.value_or(std::vector<s64>(spatial * 2, 0));
  if (own.size() != spatial * 2) return false;
  for (size_t d = 0; d < spatial; ++d) {
    own[d] += pads[2 + d];
    own[spatial + d] += pads[rank + 2 + d];
  }
  set_attribute<&ConvAttributes::pads>(conv.attrs, own);
  conv.inputs[0] = pad.inputs[0];
  prepend_origins(conv, pad);
  return true;
}

}  // namespace

void fold_pad(Graph& graph, Rewrites& rewrites) {
  const Uses& uses = rewrites.uses(graph);
  for (Node& node : graph.nodes) {
    if (!is_op(node, "Conv")) continue;
    const Node* pad = producer_of(graph, uses, node.inputs[0]);
    if (pad == nullptr || !is_op(*pad, "Pad")) continue;
    const std::vector<s64> pads = zero_pads(graph, *pad);
    if (pads.empty() || !rewrites.allow()) continue;
    fold_into(node, *pad, pads);
  }
}

}  // namespace octet
