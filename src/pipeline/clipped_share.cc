// SPDX-License-Identifier: Apache-2.0
#include "pipeline/clipped_share.h"

#include <algorithm>
#include <optional>
#include <set>

#include "graph/op_def.h"
#include "passes/qdq.h"

namespace octet {
namespace {

// Half a step beyond the ends still rounds to them.
CodeSpan span_of_codes(f32 scale, s32 zero_point, Dtype dtype) {
  const f64 lo = dtype == Dtype::u8 ? 0 : -128, hi = dtype == Dtype::u8 ? 255 : 127;
  const f64 step = static_cast<f64>(scale);
  return {(lo - zero_point - 0.5) * step, (hi - zero_point + 0.5) * step};
}

std::vector<CodeSpan> ends_of(const Graph& graph, const Node& quantize) {
  if (const auto type = code_type(graph, quantize))
    return {span_of_codes(type->params.scale, type->params.zero_point, type->dtype)};
  std::vector<CodeSpan> ends;
  if (const auto channels = channel_codes(graph, quantize)) {
    for (const f32 scale : channels->scales)
      ends.push_back(span_of_codes(scale, channels->zero_point, channels->dtype));
  }
  return ends;
}

// Null where no node gives it.
const Node* node_before(const Graph& graph, const Uses& uses, ValueId id) {
  if (id == kNoValue || uses.producer(id) < 0) return nullptr;
  return &graph.nodes[static_cast<size_t>(uses.producer(id))];
}

bool repeats_codes(const Graph& graph, const Uses& uses, const Node& quantize) {
  const Node* mover = node_before(graph, uses, quantize.input(0));
  if (mover == nullptr || mover->op->quant.kind != QuantKind::move_codes) return false;
  const auto type = code_type(graph, quantize);
  const Node* before = node_before(graph, uses, mover->input(0));
  return type && before != nullptr && is_dequantize(*before) && code_type(graph, *before) == type;
}

f64 share_beyond(const TensorStatistics& seen, f64 end) {
  u64 all = 0, beyond = 0;
  for (size_t bin = 0; bin < seen.histogram.size(); ++bin) {
    all += seen.histogram[bin];
    if (static_cast<f64>(bin) * static_cast<f64>(seen.bin_width) >= end)
      beyond += seen.histogram[bin];
  }
  return all == 0 ? 0 : static_cast<f64>(beyond) / static_cast<f64>(all);
}

}  // namespace

CodeSpan Quantized::widest() const {
  CodeSpan widest = ends.at(0);
  for (const CodeSpan& span : ends) {
    widest.min = std::min(widest.min, span.min);
    widest.max = std::max(widest.max, span.max);
  }
  return widest;
}

std::vector<Quantized> quantized_values(const Graph& graph) {
  const Uses uses(graph);
  std::set<ValueId> known;
  std::vector<Quantized> values;
  for (const Node& node : graph.nodes) {
    if (!is_quantize(node) || node.outputs.empty() || graph.is_constant(node.input(0))) continue;
    if (graph.value(node.input(0)).type.dtype != Dtype::f32 || repeats_codes(graph, uses, node))
      continue;
    Quantized value{node.input(0), ends_of(graph, node)};
    if (value.ends.empty()) continue;
    if (known.insert(value.real).second) values.push_back(std::move(value));
  }
  return values;
}

std::map<std::string, f64> clipped_in_calibration(const Graph& with_qdq, const Graph& counted,
                                                  const Ranges& ranges) {
  std::map<std::string, const Range*> seen;
  for (const auto& [id, range] : ranges) {
    if (range.seen != nullptr && !range.seen->histogram.empty())
      seen.emplace(counted.value(id).name, &range);
  }
  std::map<std::string, f64> shares;
  for (const Quantized& value : quantized_values(with_qdq)) {
    const auto of = seen.find(with_qdq.value(value.real).name);
    if (of == seen.end() || value.ends.size() != 1) continue;
    const f64 end = std::max(-value.ends[0].min, value.ends[0].max);
    shares.emplace(of->first, share_beyond(*of->second->seen, end));
  }
  return shares;
}

}  // namespace octet
