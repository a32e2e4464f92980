// SPDX-License-Identifier: Apache-2.0
#include "graph/op_traits.h"

#include <algorithm>

namespace octet {

constinit const OpTraits kPlainTraits;

f64 element_count(const Shape& shape) {
  if (!shape.is_static()) return 0;
  f64 count = 1;
  for (const s64 dim : shape) count *= static_cast<f64>(dim);
  return count;
}

s64 count_macs(const Node& node, TensorTypes inputs, TensorTypes outputs) {
  constexpr f64 kMost = static_cast<f64>(s64{1} << 62);
  const WorkFormula macs = node.op->traits->macs;
  return macs == nullptr ? 0 : static_cast<s64>(std::min(macs(node, inputs, outputs), kMost));
}

f64 work_of(const Node& node, TensorTypes inputs, TensorTypes outputs) {
  const OpTraits& traits = *node.op->traits;
  if (traits.work != nullptr) return traits.work(node, inputs, outputs);
  f64 steps = traits.macs == nullptr ? 0 : traits.macs(node, inputs, outputs);
  if (!traits.reads_types_only) {
    for (const TensorType& type : inputs) steps += element_count(type.shape);
  }
  for (const TensorType& type : outputs) steps += element_count(type.shape);
  return steps;
}

}  // namespace octet
