// SPDX-License-Identifier: Apache-2.0
// What only a table reads needs codes only where the table's function moves: SiLU of anything below -6 is zero to a code of its
// result, so these codes serve better elsewhere.
#include <algorithm>
#include <cmath>

#include "graph/op_def.h"
#include "precision/precision.h"
#include "precision/roles.h"

namespace octet {
namespace {

constexpr size_t kPoints = 2048;
// Less is no tail but the last half code of a slope.
constexpr size_t kTail = kPoints / 64;

// The function on a grid over the range of its input; empty where it takes more than one run-time input.
std::vector<f32> sampled(const Graph& graph, const Node& node, f32 low, f32 high) {
  Tensor x(Dtype::f32, Shape{static_cast<s64>(kPoints)});
  for (size_t i = 0; i < kPoints; ++i) {
    const f32 at = static_cast<f32>(i) / static_cast<f32>(kPoints - 1);
    x.mutable_as<f32>()[i] = low + (high - low) * at;
  }
  std::vector<Tensor> inputs{x};
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    const Tensor* constant = graph.constant_input(node, i);
    if (constant == nullptr && node.input(i) != kNoValue) return {};
    if (constant != nullptr && constant->elements() != 1) return {};
    inputs.push_back(constant != nullptr ? constant->reshaped(Shape{}) : Tensor());
  }
  const Tensor y = eval_node(node, inputs)[0];
  const auto values = y.as<f32>();
  return {values.begin(), values.end()};
}

// How many points from the start stay within `allowed` of the last of them.
template <class Iterator>
size_t flat_prefix(Iterator begin, Iterator end, f32 allowed) {
  f32 least = *begin, most = *begin;
  size_t flat = 1;
  size_t count = 1;
  for (Iterator at = begin + 1; at != end; ++at, ++count) {
    least = std::min(least, *at);
    most = std::max(most, *at);
    if (std::max(most - *at, *at - least) <= allowed) flat = count + 1;
    if (most - least > 2 * allowed) break;
  }
  return flat;
}

void narrow(const Graph& graph, const Node& node, Range& range, const Range& output) {
  const f32 reach = static_cast<f32>(range.threshold);
  const f32 low = std::max(range.min, -reach), high = std::min(range.max, reach);
  if (!(low < high)) return;
  const std::vector<f32> y = sampled(graph, node, low, high);
  if (y.size() != kPoints) return;
  // Half a code of the result, as coarse as it may become.
  const f32 most = static_cast<f32>(output.threshold);
  const f32 span = std::min(output.max, most) - std::max(output.min, -most);
  const f32 allowed = std::max(span, 0.0f) / 255.0f / 2.0f;
  const f32 step = (high - low) / static_cast<f32>(kPoints - 1);
  size_t left = flat_prefix(y.begin(), y.end(), allowed) - 1;
  size_t right = flat_prefix(y.rbegin(), y.rend(), allowed) - 1;
  if (left < kTail) left = 0;
  if (right < kTail) right = 0;
  if (left + right + 1 >= kPoints) return;  // constant all over
  range.min = low + step * static_cast<f32>(left);
  range.max = high - step * static_cast<f32>(right);
  range.threshold = std::max(std::fabs(range.min), std::fabs(range.max));
}

}  // namespace

void narrow_table_inputs(const Graph& graph, Ranges& ranges) {
  const Uses uses(graph);
  for (const Node& node : graph.nodes) {
    if (node.decision.precision != Precision::int8 || node.op->quant.kind != QuantKind::table)
      continue;
    const auto input = ranges.find(node.inputs[0]);
    const auto output = ranges.find(node.outputs[0]);
    if (input == ranges.end() || output == ranges.end()) continue;
    if (uses.only_consumer(node.inputs[0]) < 0) continue;
    narrow(graph, node, input->second, output->second);
  }
}

}  // namespace octet
