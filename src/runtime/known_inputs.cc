// SPDX-License-Identifier: Apache-2.0
// What an engine knows of its inputs.
#include "graph/op_traits.h"
#include "octet/input_profile.h"
#include "ops/quantized/quant_axis.h"
#include "runtime/inside.h"

namespace octet {
namespace {

// The least and the largest code.
std::optional<std::pair<f64, f64>> codes_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::u8:
      return std::pair(0.0, 255.0);
    case Dtype::s8:
      return std::pair(-128.0, 127.0);
    case Dtype::u16:
      return std::pair(0.0, 65535.0);
    case Dtype::s16:
      return std::pair(-32768.0, 32767.0);
    default:
      return std::nullopt;
  }
}

// Half a step beyond the ends still rounds to them.
std::optional<CodeSpan> span_of(const Value& value) {
  const auto codes = codes_of(value.type.dtype);
  if (!codes || !value.quant) return std::nullopt;
  const f64 zero = value.quant->zero_point, scale = static_cast<f64>(value.quant->scale);
  return CodeSpan{(codes->first - zero - 0.5) * scale, (codes->second - zero + 0.5) * scale};
}

}  // namespace

KnownInputs known_inputs(const Engine& engine) {
  const Model& model = Inside::model(engine);
  const Graph& graph = model.graph;
  KnownInputs known{engine.inputs(), model.calibrated_inputs, {}};
  known.codes.resize(graph.inputs.size());
  for (const Node& node : graph.nodes) {
    if (!is_quantize(node) || node.outputs.empty()) continue;
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      if (node.input(0) == graph.inputs[i]) known.codes[i] = span_of(graph.value(node.outputs[0]));
    }
  }
  return known;
}

}  // namespace octet
