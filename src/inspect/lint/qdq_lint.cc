// SPDX-License-Identifier: Apache-2.0
#include "inspect/lint/qdq_lint.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <unordered_set>

#include "graph/op_def.h"
#include "inspect/lint/qdq_fate.h"
#include "inspect/lint/qdq_view.h"
#include "ops/attributes/codes.h"
#include "ops/attributes/products.h"

namespace octet {
namespace {

constexpr std::array<std::string_view, 4> kRoles{"activation", "weights", "bias", "lone_quantize"};

bool any_nonzero(const Tensor& tensor) {
  const std::span bytes(tensor.data(), tensor.bytes());
  return std::ranges::any_of(bytes, [](std::byte byte) { return byte != std::byte{0}; });
}

class Linter {
 public:
  Linter(const Graph& imported, const Graph& built, std::span<const std::string> defaults)
      : graph_(imported),
        view_(imported),
        fates_(built),
        defaults_(defaults.begin(), defaults.end()) {}

  QdqLint run() {
    for (const Node& node : graph_.nodes) {
      if (is_dequantize(node)) add_pair(node);
      if (is_quantize(node) && is_lone(node)) add_lone(node);
    }
    note_layers(view_, lint_.notes);
    if (!lint_.pairs.empty()) note_model();
    return std::move(lint_);
  }

 private:
  std::vector<const Node*> readers(const Node& node) const {
    std::vector<const Node*> nodes;
    for (u32 at : view_.uses.consumers(node.outputs[0])) nodes.push_back(&graph_.nodes[at]);
    return nodes;
  }

  bool is_lone(const Node& quantize) const {
    return std::ranges::none_of(readers(quantize),
                                [](const Node* node) { return is_dequantize(*node); });
  }

  void add_pair(const Node& dequantize) {
    QdqPair pair;
    pair.dequantize = dequantize.name;
    const Node* quantize = view_.producer(dequantize.input(kLinearX));
    if (quantize != nullptr && is_quantize(*quantize)) pair.quantize = quantize->name;
    const ValueId source =
        pair.quantize.empty() ? dequantize.input(kLinearX) : quantize->input(kLinearX);
    pair.tensor = source == kNoValue ? "" : graph_.value(source).name;
    pair.role = role_of(dequantize);
    const std::vector<const Node*> by = readers(dequantize);
    tell_fate(pair, by);
    note_parameters(dequantize, pair);
    if (!pair.quantize.empty()) note_parameters(*quantize, pair);
    note_role(dequantize, by, pair);
    if (!pair.quantize.empty() && pair.role == QdqRole::activation)
      note_redundant(*quantize, dequantize, pair);
    lint_.pairs.push_back(std::move(pair));
  }

  void add_lone(const Node& quantize) {
    QdqPair pair;
    pair.role = QdqRole::lone_quantize;
    pair.quantize = quantize.name;
    pair.tensor = graph_.value(quantize.input(kLinearX)).name;
    pair.int8 = true;
    pair.fate = view_.uses.is_output(quantize.outputs[0]) ? "its codes are an output of the model"
                                                          : "its codes are read as they are";
    note_parameters(quantize, pair);
    lint_.pairs.push_back(std::move(pair));
  }

  QdqRole role_of(const Node& dequantize) const {
    if (!view_.is_constant_codes(dequantize)) return QdqRole::activation;
    for (const Node* reader : readers(dequantize)) {
      if (view_.is_weighted(*reader) && reader->input(2) == dequantize.outputs[0])
        return QdqRole::bias;
    }
    return QdqRole::weights;
  }

  void tell_fate(QdqPair& pair, const std::vector<const Node*>& by) const {
    std::vector<std::string> codes, reals;
    for (const Node* reader : by) {
      const bool inside = fates_.computes_on_codes(reader->name) || is_quantize(*reader);
      (inside ? codes : reals).push_back(fates_.describe(reader->name));
    }
    pair.int8 = reals.empty() && !codes.empty();
    std::string text;
    if (!codes.empty()) text = fmt::format("its codes are read by {}", listed(codes));
    if (!reals.empty())
      text += fmt::format("{}made real for {}", text.empty() ? "" : "; ", listed(reals));
    if (by.empty()) text = "nobody reads it but the caller";
    const Node* quantize = pair.quantize.empty() ? nullptr : fates_.find(pair.quantize);
    if (quantize != nullptr && is_quantize(*quantize))
      text += "; the codes are made by a step of their own";
    pair.fate = std::move(text);
  }

  static std::string listed(std::vector<std::string> names) {
    constexpr size_t kShown = 3;
    const size_t count = names.size();
    if (count > kShown) names.resize(kShown);
    return fmt::format("{}{}", fmt::join(names, ", "),
                       count > kShown ? fmt::format(" and {} more", count - kShown) : "");
  }

  static void add(QdqPair& pair, const char* rule, const char* runtime, bool blocks,
                  std::string text) {
    pair.notes.push_back({rule, runtime, blocks, std::move(text)});
  }

  // Type, zero point, scale and axis of one node.
  void note_parameters(const Node& node, QdqPair& pair) const {
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

  void note_scale(const Node& node, const Tensor& scale, QdqPair& pair) const {
    if (scale.dtype() == Dtype::f32 &&
        std::ranges::any_of(scale.as<f32>(), [](f32 s) { return !(s > 0); }))
      add(pair, "6.1", kTensorRT, true, fmt::format("a scale of '{}' is not positive", node.name));
    if (scale.elements() < 2) return;
    if (!has_attribute<&ScaleAttributes::axis>(node))
      add(pair, "6.1", kTensorRT, false,
          fmt::format(
              "'{}' has {} scales and no axis: ONNX takes axis 1, TensorRT axis 0: write it",
              node.name, scale.elements()));
    if (pair.role == QdqRole::activation || pair.role == QdqRole::lone_quantize) {
      for (const char* runtime : {kTensorRT, kOnnxRuntime})
        add(pair, "R10", runtime, true,
            fmt::format("'{}' has a scale for each channel of an activation; only weights may",
                        node.name));
    }
  }

  void note_role(const Node& dequantize, const std::vector<const Node*>& by, QdqPair& pair) const {
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
  void note_weight_axis(const Node& dequantize, const Node& reader, QdqPair& pair) const {
    const Tensor* scale = graph_.constant_input(dequantize, kLinearScale);
    if (scale == nullptr || scale->elements() < 2 || reader.input(1) != dequantize.outputs[0])
      return;
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

  void note_reader(const Node& reader, QdqPair& pair) const {
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
  void note_redundant(const Node& quantize, const Node& dequantize, QdqPair& pair) const {
    for (const Node* reader : readers(dequantize)) {
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

  void note_model() {
    const bool biases = std::ranges::any_of(
        lint_.pairs, [](const QdqPair& pair) { return pair.role == QdqRole::bias; });
    lint_.notes.push_back({"R1", kTensorRT, false,
                           "Q/DQ in the model: calibrators, caches and ranges by hand are ignored, "
                           "and INT8 must be allowed up to version 10"});
    if (!biases)
      lint_.notes.push_back({"R6", kOnnxRuntime, false,
                             "biases are real: ONNX Runtime makes codes of them when it loads the "
                             "model; an export for ONNX Runtime writes them"});
    lint_.notes.push_back({"", kOnnxRuntime, false,
                           "on x86 without VNNI sums of u8 by s8 saturate at 16 bits there; "
                           "results differ from those of other machines and from Octet's"});
  }

  const Graph& graph_;
  const QdqView view_;
  const Fates fates_;
  const std::unordered_set<std::string> defaults_;
  QdqLint lint_;
};

}  // namespace

std::string_view to_string(QdqRole role) { return kRoles.at(static_cast<size_t>(role)); }

int64_t count_blocking(const QdqLint& lint, std::string_view runtime) {
  const auto blocks = [&](const QdqNote& note) { return note.blocks && note.runtime == runtime; };
  int64_t count = std::ranges::count_if(lint.notes, blocks);
  for (const QdqPair& pair : lint.pairs) count += std::ranges::count_if(pair.notes, blocks);
  return count;
}

QdqLint lint_qdq(const Graph& imported, const Graph& built,
                 std::span<const std::string> default_zero_points) {
  return Linter(imported, built, default_zero_points).run();
}

}  // namespace octet
