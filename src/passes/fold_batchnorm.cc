// SPDX-License-Identifier: Apache-2.0
// BatchNormalization after a convolution: the scale goes into the weights, the shift into the bias. Weights that are codes behind a
// DequantizeLinear keep them: their scales take the factor, and codes of a channel with a negative factor change their sign.
#include <cmath>
#include <limits>
#include <optional>

#include "ops/quantized/epilogue.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/qdq.h"

namespace octet {
namespace {

struct Affine {
  std::vector<f64> scale;  // per channel
  std::vector<f64> shift;
};

bool read_affine(const Graph& graph, const Node& norm, Affine& affine) {
  const Tensor* parts[4];
  for (size_t i = 0; i < 4; ++i) {
    parts[i] = graph.constant_input(norm, i + 1);
    if (parts[i] == nullptr || parts[i]->dtype() != Dtype::f32) return false;
    if (parts[i]->elements() != parts[0]->elements()) return false;
  }
  const auto scale = parts[0]->as<f32>(), bias = parts[1]->as<f32>(), mean = parts[2]->as<f32>(),
             var = parts[3]->as<f32>();
  const f64 epsilon = static_cast<f64>(norm.attrs.f("epsilon", 1e-5f));
  for (size_t c = 0; c < scale.size(); ++c) {
    const f64 factor = static_cast<f64>(scale[c]) / std::sqrt(static_cast<f64>(var[c]) + epsilon);
    affine.scale.push_back(factor);
    affine.shift.push_back(static_cast<f64>(bias[c]) - static_cast<f64>(mean[c]) * factor);
  }
  return true;
}

// w is (O, I/g, ...): output channel first.
Tensor scaled_weights(const Tensor& w, const Affine& affine) {
  Tensor result = w.clone();
  auto data = result.mutable_as<f32>();
  const size_t row = data.size() / affine.scale.size();
  for (size_t i = 0; i < data.size(); ++i) {
    data[i] = static_cast<f32>(static_cast<f64>(data[i]) * affine.scale[i / row]);
  }
  return result;
}

Tensor folded_bias(const Tensor* bias, const Affine& affine) {
  Tensor result(Dtype::f32, {static_cast<s64>(affine.scale.size())});
  auto data = result.mutable_as<f32>();
  for (size_t c = 0; c < data.size(); ++c) {
    const f64 before = bias != nullptr ? static_cast<f64>(bias->as<f32>()[c]) : 0.0;
    data[c] = static_cast<f32>(before * affine.scale[c] + affine.shift[c]);
  }
  return result;
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

class Folder {
 public:
  Folder(Graph& graph, const Uses& uses) : graph_(graph), uses_(uses), edit_(graph) {}

  void run(Rewrites& rewrites) {
    for (at_ = 0; at_ < graph_.nodes.size(); ++at_) {
      if (is_op(graph_.nodes[at_], "BatchNormalization") && !fold(graph_.nodes[at_], rewrites))
        break;
    }
    edit_.apply();
  }

 private:
  // False when no more rewrites are allowed.
  bool fold(Node& norm, Rewrites& rewrites) {
    const Node* conv = producer_of(graph_, uses_, norm.inputs[0]);
    if (conv == nullptr || !is_op(*conv, "Conv")) return true;
    if (only_reader(graph_, uses_, norm.inputs[0]) == nullptr) return true;
    Affine affine;
    if (!read_affine(graph_, norm, affine) || !takes_affine(*conv, affine.scale.size()))
      return true;
    const std::string name = graph_.value(conv->inputs[1]).name;
    Node fused = *conv;
    fused.inputs.resize(3, kNoValue);
    const std::optional<Tensor> bias = real_bias(*conv);
    if (!bias) return true;
    const Tensor* weights = graph_.constant_input(*conv, 1);
    std::optional<CodedWeights> coded;
    if (weights == nullptr && !(coded = coded_weights(*conv, affine))) return true;
    if (!rewrites.allow()) return false;
    const Tensor shifted = folded_bias(*bias ? &*bias : nullptr, affine);
    fused.inputs[1] = coded
                          ? dequantized(*conv, *coded)
                          : graph_.add_constant(name + ".folded", scaled_weights(*weights, affine));
    fused.inputs[2] = graph_.add_constant(name + ".folded_bias", shifted);
    replace_fused(norm, std::move(fused), *conv);
    return true;
  }

  bool takes_affine(const Node& conv, size_t channels) const {
    const TensorType& w = graph_.value(conv.inputs[1]).type;
    return w.dtype == Dtype::f32 && !w.shape.is_unknown() && w.shape.rank() >= 3 &&
           w.shape[0] == static_cast<s64>(channels) && conv.input(3) == kNoValue &&
           conv.attrs.s("activation", "").empty();
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
    dq.attrs.set("axis", s64{0});
    dq.inputs = {
        graph_.add_constant(dq.name + ".codes", weights.codes),
        graph_.add_constant(dq.name + ".scales", Tensor::of<f32>({type.shape[0]}, weights.scales))};
    dq.outputs = {graph_.add_value(dq.name, type)};
    const ValueId result = dq.outputs[0];
    edit_.insert_before(static_cast<size_t>(uses_.producer(conv.outputs[0])), std::move(dq));
    return result;
  }

  Graph& graph_;
  const Uses& uses_;
  GraphEdit edit_;
  size_t at_ = 0;  // the node that is looked at
};

}  // namespace

void fold_batchnorm(Graph& graph, Rewrites& rewrites) {
  Folder(graph, rewrites.uses(graph)).run(rewrites);
}

}  // namespace octet
