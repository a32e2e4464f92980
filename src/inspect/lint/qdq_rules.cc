// SPDX-License-Identifier: Apache-2.0
#include "inspect/lint/qdq_rules.h"

#include <algorithm>

#include "graph/op_def.h"
#include "ops/attributes/codes.h"
#include "ops/attributes/products.h"

namespace octet {
namespace {

bool any_nonzero(const Tensor& tensor) {
  const std::span bytes(tensor.data(), tensor.bytes());
  return std::ranges::any_of(bytes, [](std::byte byte) { return byte != std::byte{0}; });
}

void add(QdqPair& pair, const char* rule, const char* runtime, bool blocks, std::string text) {
  pair.notes.push_back({rule, runtime, blocks, std::move(text)});
}

}  // namespace

void PairRules::note_pair(const Node* quantize, const Node& dequantize,
                          const std::vector<const Node*>& by, QdqPair& pair) const {
  note_parameters(dequantize, pair);
  if (quantize != nullptr) note_parameters(*quantize, pair);
  note_role(dequantize, by, pair);
  if (quantize != nullptr && pair.role == QdqRole::activation) note_redundant(*quantize, by, pair);
}

void PairRules::note_parameters(const Node& node, QdqPair& pair) const {
  const Tensor* scale = graph_.constant_input(node, kLinearScale);
  const Tensor* zero = graph_.constant_input(node, kLinearZeroPoint);
  if (scale == nullptr) {
    add(pair, "6.1", kTensorRT, true,
        fmt::format("the scale of '{}' is computed at run time", node.name));
    return;
  }
  note_scale(node, *scale, pair);
  const bool is_default = defaults_.contains(node.name);
  if (is_default && is_quantize(node))
    add(pair, "6.1", kTensorRT, false,
        fmt::format("'{}' has no zero point: ONNX takes u8, TensorRT 10 takes s8, and 8.6 "
                    "refuses it: write one",
                    node.name));
  if (zero == nullptr || is_default) return;
  if (zero->dtype() == Dtype::u8 || zero->dtype() == Dtype::u16)
    add(pair, "6.1", kTensorRT, true,
        fmt::format("'{}' has {} codes; TensorRT takes s8 alone: an export for TensorRT brings "
                    "them there",
                    node.name, dtype_name(zero->dtype())));
  if (any_nonzero(*zero))
    add(pair, "6.1", kTensorRT, true,
        fmt::format("the zero point of '{}' is not 0, and TensorRT is symmetric", node.name));
}

void PairRules::note_scale(const Node& node, const Tensor& scale, QdqPair& pair) const {
  if (scale.dtype() == Dtype::f32 &&
      std::ranges::any_of(scale.as<f32>(), [](f32 s) { return !(s > 0); }))
    add(pair, "6.1", kTensorRT, true, fmt::format("a scale of '{}' is not positive", node.name));
  if (scale.elements() < 2) return;
  if (!has_attribute<&ScaleAttributes::axis>(node))
    add(pair, "6.1", kTensorRT, false,
        fmt::format("'{}' has {} scales and no axis: ONNX takes axis 1, TensorRT axis 0: write it",
                    node.name, scale.elements()));
  if (pair.role == QdqRole::activation || pair.role == QdqRole::lone_quantize) {
    for (const char* runtime : {kTensorRT, kOnnxRuntime})
      add(pair, "R10", runtime, true,
          fmt::format("'{}' has a scale for each channel of an activation; only weights may",
                      node.name));
  }
}

void PairRules::note_role(const Node& dequantize, const std::vector<const Node*>& by,
                          QdqPair& pair) const {
  if (pair.role == QdqRole::bias) {
    add(pair, "R6", kTensorRT, true,
        fmt::format(
            "bias '{}' is in codes; TensorRT wants it real: an export for TensorRT writes it so",
            pair.tensor));
  } else if (pair.role == QdqRole::weights) {
    if (pair.quantize.empty())
      add(pair, "R13", kTensorRT, false,
          "codes of weights without a QuantizeLinear are read by newer versions only");
    for (const Node* reader : by) note_weight_axis(dequantize, *reader, pair);
  } else {
    for (const Node* reader : by) note_reader(*reader, pair);
  }
}

// One scale for each output channel, whose axis follows from the operator.
void PairRules::note_weight_axis(const Node& dequantize, const Node& reader, QdqPair& pair) const {
  const Tensor* scale = graph_.constant_input(dequantize, kLinearScale);
  if (scale == nullptr || scale->elements() < 2 || reader.input(1) != dequantize.outputs[0]) return;
  const Shape& shape = graph_.value(dequantize.input(kLinearX)).type.shape;
  const bool matrix = shape.rank() == 2;
  s64 axis = attribute_of<&ScaleAttributes::axis>(dequantize);
  if (axis < 0) axis += shape.rank();
  const s64 wanted = matrix ? (attribute_of<&GemmAttributes::transB>(reader) ? 0 : 1) : axis;
  if (axis == wanted) return;
  add(pair, "R12", kTensorRT, true,
      fmt::format("the scales of '{}' follow axis {}, but the columns of {} are axis {}",
                  pair.tensor, axis, describe(reader), wanted));
}

void PairRules::note_reader(const Node& reader, QdqPair& pair) const {
  const QuantKind kind = reader.op->quant.kind;
  if (kind == QuantKind::move_codes) {
    add(pair, "R3", kTensorRT, false,
        fmt::format("{} only moves elements: Q and DQ pass it, and it runs on codes",
                    describe(reader)));
  } else if (kind == QuantKind::table) {
    add(pair, "R3", kTensorRT, false,
        fmt::format("{} is computed in real numbers there; here it is a table of codes where a "
                    "QuantizeLinear follows",
                    describe(reader)));
  } else if (kind == QuantKind::none && !view_.is_weighted(reader) && !is_quantize(reader)) {
    add(pair, "R10", "octet", false,
        fmt::format("{} has no form that reads codes", describe(reader)));
  }
}

// DequantizeLinear, then QuantizeLinear with the same parameters.
void PairRules::note_redundant(const Node& quantize, const std::vector<const Node*>& by,
                               QdqPair& pair) const {
  for (const Node* reader : by) {
    if (!is_quantize(*reader)) continue;
    const Tensor* scale = graph_.constant_input(*reader, kLinearScale);
    const Tensor* own = graph_.constant_input(quantize, kLinearScale);
    const bool same = scale != nullptr && own != nullptr && scale->type() == own->type() &&
                      std::ranges::equal(std::span(scale->data(), scale->bytes()),
                                         std::span(own->data(), own->bytes()));
    add(pair, "R8", kTensorRT, false,
        same ? fmt::format("'{}' quantizes again with the same scale: both vanish", reader->name)
             : fmt::format("'{}' quantizes again with another scale: a rounding more",
                           reader->name));
  }
}

}  // namespace octet
