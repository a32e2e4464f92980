// SPDX-License-Identifier: Apache-2.0
// BatchNormalization after a product: the scale goes into the weights, the shift into the bias. A convolution's weights that are codes behind
// a DequantizeLinear keep them: their scales take the factor, and codes of a channel with a negative factor change their sign.
// Of other images (sums, concatenations, what others read too) it becomes a convolution of each channel alone, which has an integer form and
// takes an activation.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "ops/attributes/codes.h"
#include "ops/attributes/normalization.h"
#include "ops/attributes/window.h"
#include "ops/quantized/epilogue.h"
#include "ops/registry.h"
#include "passes/affine.h"
#include "passes/graph_pass.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/qdq.h"

namespace octet {
namespace {

bool read_affine(const Graph& graph, const Node& norm, Affine& affine) {
  const Tensor* parts[4];
  for (size_t i = 0; i < 4; ++i) {
    parts[i] = graph.constant_input(norm, i + 1);
    if (parts[i] == nullptr || parts[i]->dtype() != Dtype::f32) return false;
    if (parts[i]->elements() != parts[0]->elements()) return false;
  }
  const auto scale = parts[0]->as<f32>(), bias = parts[1]->as<f32>(), mean = parts[2]->as<f32>(),
             var = parts[3]->as<f32>();
  const f64 epsilon = static_cast<f64>(attribute_of<&NormAttributes::epsilon>(norm));
  for (size_t c = 0; c < scale.size(); ++c) {
    const f64 factor = static_cast<f64>(scale[c]) / std::sqrt(static_cast<f64>(var[c]) + epsilon);
    affine.scale.push_back(factor);
    affine.shift.push_back(static_cast<f64>(bias[c]) - static_cast<f64>(mean[c]) * factor);
  }
  return true;
}

// s8 codes without a zero point, with one scale for each of their channels.
struct CodedWeights {
  Tensor codes;
  std::vector<f32> scales;
};

// The codes are -127..127 in the channels that change their sign.
std::optional<CodedWeights> scaled_codes(const Tensor& codes, const QuantizedInput& given,
                                         const Affine& affine) {
  CodedWeights result{codes.clone(), {}};
  const auto scales = given.scale.as<f32>();
  const auto data = result.codes.mutable_as<s8>();
  const size_t row = data.size() / affine.scale.size();
  for (size_t c = 0; c < affine.scale.size(); ++c) {
    const f64 factor = affine.scale[c];
    const f64 scale = static_cast<f64>(scales[scales.size() == 1 ? 0 : c]) * std::fabs(factor);
    if (!(scale <= static_cast<f64>(std::numeric_limits<f32>::max()))) return {};
    const bool vanishes = scale < static_cast<f64>(std::numeric_limits<f32>::min());
    result.scales.push_back(vanishes ? 1.0f : static_cast<f32>(scale));
    for (s8& code : data.subspan(c * row, row)) {
      if (factor < 0 && code == std::numeric_limits<s8>::lowest()) return {};
      if (factor < 0) code = static_cast<s8>(-code);
      if (vanishes) code = 0;
    }
  }
  return result;
}

class Folder : EditingPass {
 public:
  using EditingPass::EditingPass;

  void run() {
    for (at_ = 0; at_ < graph_.nodes.size(); ++at_) {
      if (is_op(graph_.nodes[at_], "BatchNormalization") && !fold(graph_.nodes[at_])) break;
    }
    edit_.apply();
  }

 private:
  // False when no more rewrites are allowed.
  bool fold(Node& norm) {
    Affine affine;
    if (!read_affine(graph_, norm, affine)) return true;
    const Node* before = producer_of(graph_, uses_, norm.inputs[0]);
    if (before == nullptr) return true;  // what enters as f32 is scaled before it is rounded
    if (Node* rows = product_of_rows(norm, *before)) {
      if (std::optional<Node> product = folded(*before, *rows, affine)) {
        replace_fused_under(norm, *before, *rows, *std::move(product));
        return true;
      }
    }
    if (std::optional<Node> product = folded_here(norm, *before, affine)) {
      replace_fused(norm, *std::move(product), *before);
    } else if (is_image(norm, affine)) {
      if (!rewrites_.allow()) return false;
      become_convolution(norm, affine);
    }
    return true;
  }

  // The product whose rows `reshape` puts into one matrix for the normalization, both read by nobody else; or null. Networks of tokens
  // that normalize by batches write so (LeViT).
  Node* product_of_rows(const Node& norm, const Node& reshape) {
    if (!reshape.op->traits->permutes) return nullptr;
    Node* product = producer_of(graph_, uses_, reshape.inputs[0]);
    if (product == nullptr || only_reader(graph_, uses_, norm.inputs[0]) == nullptr) return nullptr;
    const Shape& rows = graph_.value(reshape.inputs[0]).type.shape;
    const Shape& matrix = graph_.value(norm.inputs[0]).type.shape;
    if (rows.is_unknown() || matrix.is_unknown() || matrix.rank() != 2) return nullptr;
    // What changes the rank does not transpose.
    if (rows.rank() == 2) return nullptr;
    const bool same_channels = rows.rank() > 0 && rows[rows.rank() - 1] == matrix[1];
    const bool by_rows = output_channel_axis(graph_, *product) == rows.rank() - 1;
    return same_channels && by_rows ? product : nullptr;
  }

  // The reshaping gives what the normalization gave; the old one loses its reader and dies.
  static void replace_fused_under(Node& norm, const Node& reshape, Node& product, Node fused) {
    fused.outputs = product.outputs;
    fused.origins = product.origins;
    append_origins(fused, norm);
    product = std::move(fused);
    const std::vector<ValueId> result = norm.outputs;
    norm = reshape;
    norm.outputs = result;
  }

  std::optional<Node> folded_here(const Node& norm, const Node& product, const Affine& affine) {
    if (output_channel_axis(graph_, product) != 1) return {};
    return folded(norm, product, affine);
  }

  // The product that does what the normalization does too; `reader` alone reads its result.
  std::optional<Node> folded(const Node& reader, const Node& product, const Affine& affine) {
    if (!takes_affine(graph_, product, affine.scale.size())) return {};
    if (only_reader(graph_, uses_, reader.inputs[0]) == nullptr) return {};
    const std::optional<Tensor> bias = real_bias(product);
    if (!bias) return {};
    const std::string name = graph_.value(product.inputs[1]).name;
    const Tensor* weights = graph_.constant_input(product, 1);
    std::optional<CodedWeights> coded;
    if (weights == nullptr && !(coded = coded_weights(product, affine))) return {};
    if (!rewrites_.allow()) return {};
    Node fused = product;
    fused.inputs.resize(3, kNoValue);
    const Tensor shifted = folded_bias(*bias ? &*bias : nullptr, affine);
    fused.inputs[1] =
        coded ? dequantized(product, *coded)
              : graph_.add_constant(name + ".folded", scaled_weights(product, *weights, affine));
    fused.inputs[2] = graph_.add_constant(name + ".folded_bias", shifted);
    return fused;
  }

  bool is_image(const Node& norm, const Affine& affine) const {
    const TensorType& x = graph_.value(norm.inputs[0]).type;
    const auto finite = [](f64 value) { return std::isfinite(static_cast<f32>(value)); };
    return x.dtype == Dtype::f32 && !x.shape.is_unknown() && x.shape.rank() == 4 &&
           std::ranges::all_of(affine.scale, finite) && std::ranges::all_of(affine.shift, finite);
  }

  void become_convolution(Node& norm, const Affine& affine) {
    const s64 channels = std::ssize(affine.scale);
    const std::string name = graph_.value(norm.outputs[0]).name;
    Tensor factors(Dtype::f32, {channels, 1, 1, 1});
    std::ranges::transform(affine.scale, factors.mutable_as<f32>().begin(),
                           [](f64 factor) { return static_cast<f32>(factor); });
    norm.op = find_op("Conv");
    norm.attrs = {};
    set_attribute<&ConvAttributes::group>(norm.attrs, channels);
    set_attribute<&ConvAttributes::kernel_shape>(norm.attrs, {1, 1});
    norm.inputs = {norm.inputs[0], graph_.add_constant(name + ".factors", std::move(factors)),
                   graph_.add_constant(name + ".shifts", folded_bias(nullptr, affine))};
  }

  // The convolution's bias, empty where it has none; nothing where it is computed. Behind a DequantizeLinear it becomes real.
  std::optional<Tensor> real_bias(const Node& conv) {
    if (conv.input(2) == kNoValue) return Tensor();
    if (const Tensor* bias = graph_.constant_input(conv, 2)) return *bias;
    const Node* dq = producer_of(graph_, uses_, conv.inputs[2]);
    if (dq == nullptr || !is_dequantize(*dq)) return {};
    std::vector<Tensor> inputs;
    for (ValueId id : dq->inputs) {
      if (id != kNoValue && !graph_.is_constant(id)) return {};
      inputs.push_back(id == kNoValue ? Tensor() : graph_.value(id).constant);
    }
    return eval_node(*dq, inputs)[0];
  }

  std::optional<CodedWeights> coded_weights(const Node& conv, const Affine& affine) {
    if (!is_op(conv, "Conv")) return {};
    const Node* dq = producer_of(graph_, uses_, conv.inputs[1]);
    if (dq == nullptr || !is_dequantize(*dq) || !graph_.is_constant(dq->inputs[0])) return {};
    const Tensor& codes = graph_.value(dq->inputs[0]).constant;
    const auto given = read_dequantize(graph_, *dq);
    if (!given || codes.dtype() != Dtype::s8 || given->zero_point != 0) return {};
    const s64 scales = given->scale.elements();
    const bool by_output = scales == std::ssize(affine.scale) && given->axis == 0;
    return scales == 1 || by_output ? scaled_codes(codes, *given, affine) : std::nullopt;
  }

  ValueId dequantized(const Node& conv, const CodedWeights& weights) {
    Node dq = *producer_of(graph_, uses_, conv.inputs[1]);
    const TensorType type = graph_.value(dq.outputs[0]).type;
    dq.name += "_folded";
    set_attribute<&ScaleAttributes::axis>(dq.attrs, 0);
    dq.inputs = {
        graph_.add_constant(dq.name + ".codes", weights.codes),
        graph_.add_constant(dq.name + ".scales", Tensor::of<f32>({type.shape[0]}, weights.scales))};
    dq.outputs = {graph_.add_value(dq.name, type)};
    const ValueId result = dq.outputs[0];
    edit_.insert_before(static_cast<size_t>(uses_.producer(conv.outputs[0])), std::move(dq));
    return result;
  }
};

}  // namespace

void fold_batchnorm(Graph& graph, Rewrites& rewrites) { Folder(graph, rewrites).run(); }

}  // namespace octet
