// SPDX-License-Identifier: Apache-2.0
#include "pipeline/export_form.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/rounding.h"
#include "ops/attributes/codes.h"
#include "ops/quantized/epilogue.h"
#include "ops/quantized/quantize_weights.h"
#include "ops/registry.h"
#include "passes/match.h"
#include "passes/qdq.h"

namespace octet {
namespace {

enum : size_t { kCodes, kScale, kZeroPoint };
enum : size_t { kX, kWeights, kBias };

Node linear_node(const OpDef* op, const std::string& name, std::vector<ValueId> inputs) {
  return {.op = op,
          .name = name,
          .inputs = std::move(inputs),
          .outputs = {},
          .attrs = {},
          .origins = {},
          .decision = {}};
}

// s8 codes with zero point 0 that reach as far.
CodeType symmetric(const CodeType& type) {
  const CodeRange range = code_range(type.dtype);
  const s32 reach = std::max(type.params.zero_point - range.lo, range.hi - type.params.zero_point);
  const auto s8_most = static_cast<f64>(code_range(Dtype::s8).hi);
  return {{static_cast<f32>(f64{type.params.scale} * reach / s8_most), 0}, Dtype::s8};
}

bool is_symmetric(const CodeType& type) {
  return type.dtype == Dtype::s8 && type.params.zero_point == 0;
}

Tensor real_of(const Tensor& codes, const CodeType& type) {
  Tensor real(Dtype::f32, codes.shape());
  const ConstView source = view(codes);
  const auto values = real.mutable_as<f32>();
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = dequantize(code_at(source, i), type.params.scale, type.params.zero_point);
  return real;
}

class Former {
 public:
  Former(ExportTarget target, Graph& graph, ExportReport& report)
      : target_(target), graph_(graph), report_(report), uses_(graph), edit_(graph) {}

  void run() {
    // Before any changes: a DequantizeLinear reads what its QuantizeLinear gives.
    for (const Node& node : graph_.nodes) {
      const bool linear = is_quantize(node) || is_dequantize(node);
      types_.push_back(linear ? code_type(graph_, node) : std::nullopt);
    }
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      Node& node = graph_.nodes[n];
      if (is_quantize(node) || is_dequantize(node)) form(n, node);
      // TensorRT's scales are others than the engine's.
      if (target_ != ExportTarget::tensorrt) round_bias(n, node);
    }
    // A bias is rounded by the codes that its node reads.
    if (target_ == ExportTarget::openvino) leave_out_repeated();
    edit_.apply();
  }

 private:
  void form(size_t at, Node& node) {
    if (target_ == ExportTarget::tensorrt) {
      if (const auto& type = types_[at]; type && !is_symmetric(*type)) make_symmetric(node, *type);
      if (is_dequantize(node)) split_weights(at, node);
    }
    give_zero_point(node);
  }

  // What moves codes gives codes of the same parameters: to quantize those once more changes nothing, and OpenVINO's own passes over
  // precisions do not survive it between a Concat and a Relu.
  void leave_out_repeated() {
    std::unordered_map<ValueId, ValueId> plain;
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!is_dequantize(graph_.nodes[n]) || uses_.is_output(graph_.nodes[n].outputs[0])) continue;
      const Node* quantize = producer_of(graph_, uses_, graph_.nodes[n].inputs[kCodes]);
      if (quantize != nullptr && types_[n] && repeats(*quantize, *types_[n]))
        plain.emplace(graph_.nodes[n].outputs[0], quantize->inputs[kCodes]);
    }
    for (Node& node : graph_.nodes) {
      for (ValueId& id : node.inputs) {
        if (const auto at = plain.find(id); at != plain.end()) id = at->second;
      }
    }
  }

  bool repeats(const Node& quantize, const CodeType& type) {
    const Node* mover = producer_of(graph_, uses_, quantize.inputs[kCodes]);
    if (mover == nullptr || mover->op->quant.kind != QuantKind::move_codes) return false;
    if (code_type(graph_, quantize) != type) return false;
    for (size_t i : moved_inputs(*mover)) {
      const Node* before = producer_of(graph_, uses_, mover->input(i));
      if (before == nullptr || !is_dequantize(*before) || code_type(graph_, *before) != type)
        return false;
    }
    return true;
  }

  // The parameters of s8 codes; constant codes are made anew. Weights are exact: u8 with zero point 128 is s8 shifted.
  void make_symmetric(Node& node, const CodeType& type) {
    const bool constant = is_dequantize(node) && graph_.is_constant(node.inputs[kCodes]);
    const bool shifted = type.dtype == Dtype::u8 && type.params.zero_point == 128;
    const CodeType wanted = shifted ? CodeType{{type.params.scale, 0}, Dtype::s8} : symmetric(type);
    const std::string name = node.name;
    if (constant) {
      const Tensor real = real_of(graph_.value(node.inputs[kCodes]).constant, type);
      node.inputs[kCodes] = graph_.add_constant(graph_.value(node.inputs[kCodes]).name + ".s8",
                                                quantize_tensor(real, wanted));
    } else if (is_quantize(node)) {
      graph_.value(node.outputs[0]).type.dtype = Dtype::s8;
      graph_.value(node.outputs[0]).quant = wanted.params;
      if (!shifted) report_.coarser.push_back(graph_.value(node.inputs[kCodes]).name);
    }
    node.inputs.resize(3, kNoValue);
    node.inputs[kScale] =
        graph_.add_constant(name + ".s8.scale", Tensor::scalar<f32>(wanted.params.scale));
    node.inputs[kZeroPoint] = graph_.add_constant(name + ".s8.zero_point", Tensor::scalar<s8>(0));
  }

  // Versions that know no codes as weights want real ones with a QuantizeLinear, which gives these codes again.
  void split_weights(size_t at, Node& node) {
    const Tensor* codes = graph_.constant_input(node, kCodes);
    const Tensor* scales = graph_.constant_input(node, kScale);
    if (codes == nullptr || codes->dtype() != Dtype::s8 || scales == nullptr) return;
    const Tensor codes_kept = *codes;
    const std::string name = graph_.value(node.inputs[kCodes]).name;
    const ValueId real =
        graph_.add_constant(name + ".real", eval_node(node, constants_of(node))[0]);
    Node quantize = linear_node(find_op("QuantizeLinear"), name + ".quantized", node.inputs);
    quantize.inputs[kCodes] = real;
    quantize.outputs = {graph_.add_value(name + ".quantized", codes_kept.type())};
    quantize.attrs = node.attrs;
    node.inputs[kCodes] = quantize.outputs[0];
    give_zero_point(quantize);
    edit_.insert_before(at, std::move(quantize));
  }

  std::vector<Tensor> constants_of(const Node& node) const {
    std::vector<Tensor> tensors;
    for (ValueId id : node.inputs)
      tensors.push_back(id == kNoValue ? Tensor() : graph_.value(id).constant);
    return tensors;
  }

  // Where none is given it is 0 of the codes' type, which not all runtimes assume.
  void give_zero_point(Node& node) {
    const Tensor* scale = graph_.constant_input(node, kScale);
    if (node.input(kZeroPoint) != kNoValue || scale == nullptr) return;
    const Dtype dtype =
        graph_.value(is_quantize(node) ? node.outputs[0] : node.inputs[kCodes]).type.dtype;
    if (dtype == Dtype::s32) return;
    node.inputs.resize(3, kNoValue);
    node.inputs[kZeroPoint] =
        graph_.add_constant(node.name + ".zero_point", Tensor(dtype, scale->shape()));
  }

  // What the DequantizeLinear behind an input of a product says, its scales one for each channel.
  std::optional<QuantizedInput> codes_behind(ValueId id) {
    const Node* dq = producer_of(graph_, uses_, id);
    return dq == nullptr || !is_dequantize(*dq) ? std::nullopt : read_dequantize(graph_, *dq);
  }

  // A bias of s32 codes, one scale for each.
  struct CodedBias {
    std::vector<s32> codes;
    std::vector<f32> scales;
  };

  // At the scale of the accumulator: exactly what the integer operator adds. Nothing where no such operator is made.
  std::optional<CodedBias> coded_bias(const Node& node) {
    const Tensor* bias = graph_.constant_input(node, kBias);
    if (node.op->traits->integer_product == nullptr || bias == nullptr ||
        bias->dtype() != Dtype::f32)
      return std::nullopt;
    const auto x = codes_behind(node.input(kX)), weights = codes_behind(node.input(kWeights));
    if (!x || !weights || !graph_.is_constant(weights->codes) || x->scale.elements() != 1)
      return std::nullopt;
    if (node.decision.precision == Precision::f32) return std::nullopt;
    const std::vector<f64> real(bias->as<f32>().begin(), bias->as<f32>().end());
    std::vector<f32> weight_scales;
    CodedBias coded;
    for (size_t c = 0; c < real.size(); ++c) {
      weight_scales.push_back(weights->scale.as<f32>()[weights->scale.elements() == 1 ? 0 : c]);
      coded.scales.push_back(x->scalar_scale() * weight_scales.back());
    }
    coded.codes = quantize_bias(real, weight_scales, {.scale = x->scalar_scale()});
    return coded;
  }

  // What the integer operator adds, as codes, or where those are not wanted as the real numbers that they stand for.
  void round_bias(size_t at, Node& node) {
    const std::optional<CodedBias> bias = coded_bias(node);
    if (!bias) return;
    const std::string name = graph_.value(node.inputs[kBias]).name;
    if (target_ == ExportTarget::onnxruntime) {
      insert_bias_codes(at, node, *bias, name);
      return;
    }
    std::vector<f32> real;
    for (size_t c = 0; c < bias->codes.size(); ++c)
      real.push_back(dequantize(bias->codes[c], bias->scales[c], 0));
    node.inputs[kBias] =
        graph_.add_constant(name + ".rounded", Tensor::of<f32>({std::ssize(real)}, real));
  }

  void insert_bias_codes(size_t at, Node& node, const CodedBias& bias, const std::string& name) {
    const s64 count = std::ssize(bias.codes);
    Node dequantize =
        linear_node(find_op("DequantizeLinear"), name + ".dequantized",
                    {graph_.add_constant(name + ".codes", Tensor::of<s32>({count}, bias.codes)),
                     graph_.add_constant(name + ".scales", Tensor::of<f32>({count}, bias.scales))});
    set_attribute<&ScaleAttributes::axis>(dequantize.attrs, 0);
    dequantize.outputs = {graph_.add_value(name + ".dequantized", {Dtype::f32, {count}})};
    node.inputs[kBias] = dequantize.outputs[0];
    edit_.insert_before(at, std::move(dequantize));
    ++report_.biases;
  }

  const ExportTarget target_;
  Graph& graph_;
  ExportReport& report_;
  Uses uses_;
  GraphEdit edit_;
  std::vector<std::optional<CodeType>> types_;  // of each node
};

}  // namespace

Graph in_form_of(ExportTarget target, Graph graph, ExportReport& report) {
  Former(target, graph, report).run();
  remove_dead_nodes(graph);
  const Uses uses(graph);
  for (const Node& node : graph.nodes) {
    report.quantize += is_quantize(node);
    report.dequantize += is_dequantize(node);
    if (!is_dequantize(node)) continue;
    // Constant codes, or what a QuantizeLinear makes of constants.
    const Node* quantize = producer_of(graph, uses, node.inputs[kCodes]);
    const ValueId source = quantize != nullptr && is_quantize(*quantize) ? quantize->inputs[kCodes]
                                                                         : node.inputs[kCodes];
    if (graph.is_constant(source) && graph.value(source).type.dtype != Dtype::s32) ++report.weights;
  }
  return graph;
}

}  // namespace octet
