// SPDX-License-Identifier: Apache-2.0
// Layers that compute element by element, along axes, or products.
#include <algorithm>
#include <cstring>

#include "tensorrt/network/emit.h"

namespace octet_trt {
namespace {

using octet::Dtype;
using Sizes = std::vector<int64_t>;

std::string activation(const IActivationLayer& layer) {
  switch (layer.getActivationType()) {
    case ActivationType::kRELU:
      return "Relu";
    case ActivationType::kSIGMOID:
      return "Sigmoid";
    case ActivationType::kTANH:
      return "Tanh";
    case ActivationType::kLEAKY_RELU:
      return "LeakyRelu";
    case ActivationType::kELU:
      return "Elu";
    case ActivationType::kSELU:
      return "Selu";
    case ActivationType::kSOFTSIGN:
      return "Softsign";
    case ActivationType::kCLIP:
      return "Clip";
    case ActivationType::kHARD_SIGMOID:
      return "HardSigmoid";
    case ActivationType::kTHRESHOLDED_RELU:
      return "ThresholdedRelu";
    default:
      return "";
  }
}

OnnxAttributes activation_attributes(const IActivationLayer& layer) {
  const OnnxAttribute alpha = {"alpha", layer.getAlpha()};
  switch (layer.getActivationType()) {
    case ActivationType::kLEAKY_RELU:
    case ActivationType::kELU:
    case ActivationType::kTHRESHOLDED_RELU:
      return {alpha};
    case ActivationType::kSELU:
      return {alpha, {"gamma", layer.getBeta()}};
    case ActivationType::kHARD_SIGMOID:
      return {alpha, {"beta", layer.getBeta()}};
    default:
      return {};
  }
}

const char* elementwise(ElementWiseOperation operation) {
  switch (operation) {
    case ElementWiseOperation::kSUM:
      return "Add";
    case ElementWiseOperation::kPROD:
      return "Mul";
    case ElementWiseOperation::kMAX:
      return "Max";
    case ElementWiseOperation::kMIN:
      return "Min";
    case ElementWiseOperation::kSUB:
      return "Sub";
    case ElementWiseOperation::kDIV:
    case ElementWiseOperation::kFLOOR_DIV:
      return "Div";
    case ElementWiseOperation::kPOW:
      return "Pow";
    case ElementWiseOperation::kAND:
      return "And";
    case ElementWiseOperation::kOR:
      return "Or";
    case ElementWiseOperation::kXOR:
      return "Xor";
    case ElementWiseOperation::kEQUAL:
      return "Equal";
    case ElementWiseOperation::kGREATER:
      return "Greater";
    case ElementWiseOperation::kLESS:
      return "Less";
  }
  refuse("an elementwise operation of an unknown number");
}

constexpr const char* kUnary[] = {"Exp",   "Log",   "Sqrt",  "Reciprocal", "Abs",   "Neg",  "Sin",
                                  "Cos",   "Tan",   "Sinh",  "Cosh",       "Asin",  "Acos", "Atan",
                                  "Asinh", "Acosh", "Atanh", "Ceil",       "Floor", "Erf",  "Not",
                                  "Sign",  "Round", "IsInf", "IsNaN"};

constexpr const char* kReduce[] = {"ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin",
                                   "ReduceMean"};

std::vector<float> floats_of(const Weights& weights) {
  std::vector<float> values(static_cast<size_t>(weights.count));
  const std::string raw = as_f32(weights);
  if (!raw.empty()) std::memcpy(values.data(), raw.data(), raw.size());
  return values;
}

bool is_one_everywhere(const Weights& weights) {
  const std::vector<float> values = floats_of(weights);
  return std::ranges::all_of(values, [](float value) { return value == 1.0F; });
}

// The sizes of the weights of a scale layer, as they are spread over the input.
Sizes spread(const IScaleLayer& layer, const Emission& out) {
  const Sizes input = to_vector(out.dims(0));
  Sizes sizes(input.size(), 1);
  if (layer.getMode() == ScaleMode::kCHANNEL) {
    const auto at = static_cast<size_t>(layer.getChannelAxis());
    if (at >= sizes.size() || input[at] < 0)
      refuse("layer '" + out.layer().name + "': its channel axis has no known size");
    sizes[at] = input[at];
  } else if (layer.getMode() == ScaleMode::kELEMENTWISE) {
    sizes = input;
    if (out.batch() == 0) sizes[0] = 1;
  }
  return sizes;
}

// Scale and shift of channels are a normalization with mean 0 and variance 1, which passes fold into the convolution before it.
std::string normalized(const IScaleLayer& layer, Emission& out, int64_t channels, bool is_last) {
  const auto of = [&](const Weights& weights, float otherwise, const char* role) {
    if (weights.count > 0) return out.weights(weights, {channels}, role);
    return out.floats(std::vector<float>(static_cast<size_t>(channels), otherwise), {channels});
  };
  const auto same = [&](float value) {
    return out.floats(std::vector<float>(static_cast<size_t>(channels), value), {channels});
  };
  const std::vector<std::string> inputs = {out.in(0), of(layer.getScale(), 1, "scale"),
                                           of(layer.getShift(), 0, "shift"), same(0), same(1)};
  const OnnxAttributes attributes = {{"epsilon", 0.0F}};
  if (!is_last) return out.node("BatchNormalization", inputs, attributes);
  out.last("BatchNormalization", inputs, attributes);
  return out.out();
}

std::string spread_scale(const IScaleLayer& layer, Emission& out) {
  const Sizes sizes = spread(layer, out);
  std::string value = out.in(0);
  if (layer.getScale().count > 0)
    value = out.node("Mul", {value, out.weights(layer.getScale(), sizes, "scale")});
  if (layer.getShift().count > 0)
    value = out.node("Add", {value, out.weights(layer.getShift(), sizes, "shift")});
  return value;
}

}  // namespace

namespace {

// Those that ONNX writes with several nodes.
void emit_composed(const IActivationLayer& layer, Emission& out) {
  const std::string x = out.in(0);
  switch (layer.getActivationType()) {
    case ActivationType::kSOFTPLUS: {
      // alpha * log(exp(beta * x) + 1)
      const std::string inner = out.node("Mul", {x, out.scalar(layer.getBeta())});
      out.last("Mul", {out.node("Softplus", {inner}), out.scalar(layer.getAlpha())});
      return;
    }
    case ActivationType::kSCALED_TANH: {
      const std::string inner = out.node("Mul", {x, out.scalar(layer.getBeta())});
      out.last("Mul", {out.node("Tanh", {inner}), out.scalar(layer.getAlpha())});
      return;
    }
#if NV_TENSORRT_MAJOR >= 10
    case ActivationType::kGELU_ERF: {
      const std::string erf = out.node("Erf", {out.node("Div", {x, out.scalar(1.41421356F)})});
      const std::string product = out.node("Mul", {x, out.node("Add", {erf, out.scalar(1)})});
      out.last("Mul", {product, out.scalar(0.5F)});
      return;
    }
    case ActivationType::kGELU_TANH: {
      const std::string cube = out.node("Pow", {x, out.scalar(3)});
      const std::string sum = out.node("Add", {x, out.node("Mul", {cube, out.scalar(0.044715F)})});
      const std::string tanh = out.node("Tanh", {out.node("Mul", {sum, out.scalar(0.79788456F)})});
      const std::string product = out.node("Mul", {x, out.node("Add", {tanh, out.scalar(1)})});
      out.last("Mul", {product, out.scalar(0.5F)});
      return;
    }
#endif
    default:
      refuse("an activation of an unknown number");
  }
}

}  // namespace

void emit_layer(const IActivationLayer& layer, Emission& out) {
  const std::string op = activation(layer);
  if (op == "Clip") {
    out.last(op, {out.in(0), out.scalar(layer.getAlpha()), out.scalar(layer.getBeta())});
    return;
  }
  if (!op.empty()) {
    out.last(op, {out.in(0)}, activation_attributes(layer));
    return;
  }
  emit_composed(layer, out);
}

void emit_layer(const ILRNLayer& layer, Emission& out) {
  out.last("LRN", {out.in(0)},
           {{"size", int64_t{layer.getWindowSize()}},
            {"alpha", layer.getAlpha()},
            {"beta", layer.getBeta()},
            {"bias", layer.getK()}});
}

void emit_layer(const IScaleLayer& layer, Emission& out) {
  const bool powers = layer.getPower().count > 0 && !is_one_everywhere(layer.getPower());
  const Dims input = out.dims(0);
  const bool by_channel = layer.getMode() == ScaleMode::kCHANNEL &&
                          out.axis(layer.getChannelAxis()) == 1 && input.nbDims + out.batch() >= 2;
  std::string value;
  if (by_channel) {
    const int64_t channels = spread(layer, out)[static_cast<size_t>(layer.getChannelAxis())];
    value = normalized(layer, out, channels, !powers);
    if (!powers) return;
  } else {
    value = spread_scale(layer, out);
  }
  if (powers) {
    out.last("Pow", {value, out.weights(layer.getPower(), spread(layer, out), "power")});
  } else {
    out.last("Identity", {value});
  }
}

void emit_layer(const ISoftMaxLayer& layer, Emission& out) {
  const std::vector<int64_t> axes = out.axes(layer.getAxes());
  if (axes.size() != 1) refuse("layer '" + out.layer().name + "': a softmax is along one axis");
  out.last("Softmax", {out.in(0)}, {{"axis", axes[0]}});
}

void emit_layer(const IElementWiseLayer& layer, Emission& out) {
  std::string a = out.in(0), b = out.in(1);
  if (is_integer(out.dtype(0)) && is_integer(out.dtype(1)) && out.dtype(0) != out.dtype(1)) {
    a = out.in_as_int64(0);
    b = out.in_as_int64(1);
  }
  const char* op = elementwise(layer.getOperation());
  if (layer.getOperation() != ElementWiseOperation::kFLOOR_DIV) {
    out.last(op, {a, b});
  } else if (!is_integer(out.dtype(0))) {
    out.last("Floor", {out.node(op, {a, b})});
  } else {
    // ONNX divides integers toward zero; its remainder has the divisor's sign.
    out.last(op, {out.node("Sub", {a, out.node("Mod", {a, b})}), b});
  }
}

void emit_layer(const IUnaryLayer& layer, Emission& out) {
  const auto at = static_cast<size_t>(layer.getOperation());
  if (at >= std::size(kUnary)) refuse("a unary operation of an unknown number");
  out.last(kUnary[at], {out.in(0)});
}

void emit_layer(const IReduceLayer& layer, Emission& out) {
  const auto at = static_cast<size_t>(layer.getOperation());
  if (at >= std::size(kReduce)) refuse("a reduction of an unknown number");
  const std::vector<int64_t> axes = out.axes(layer.getReduceAxes());
  const OnnxAttribute keep = {"keepdims", int64_t{layer.getKeepDimensions()}};
  if (layer.getOperation() == ReduceOperation::kSUM) {
    out.last(kReduce[at], {out.in(0), out.integers(axes)}, {keep});
  } else {
    out.last(kReduce[at], {out.in(0)}, {{"axes", axes}, keep});
  }
}

void emit_layer(const IMatrixMultiplyLayer& layer, Emission& out) {
  std::vector<std::string> operands;
  std::vector<int64_t> squeezed;
  for (int32_t i = 0; i < 2; ++i) {
    const auto at = static_cast<size_t>(i);
    std::string value = out.in(at);
    const auto rank = static_cast<int64_t>(out.dims(at).nbDims + out.batch());
    if (layer.getOperation(i) == MatrixOperation::kTRANSPOSE) {
      std::vector<int64_t> order(static_cast<size_t>(rank));
      for (int64_t axis = 0; axis < rank; ++axis) order[static_cast<size_t>(axis)] = axis;
      std::swap(order[static_cast<size_t>(rank - 1)], order[static_cast<size_t>(rank - 2)]);
      value = out.node("Transpose", {value}, {{"perm", order}});
    } else if (layer.getOperation(i) == MatrixOperation::kVECTOR) {
      value = out.node("Unsqueeze", {value, out.integers({i == 0 ? -2 : -1})});
      squeezed.push_back(i == 0 ? -2 : -1);
    }
    operands.push_back(value);
  }
  if (squeezed.empty()) {
    out.last("MatMul", operands);
  } else {
    out.last("Squeeze", {out.node("MatMul", operands), out.integers(squeezed)});
  }
}

void emit_layer(const IParametricReLULayer&, Emission& out) {
  out.last("PRelu", {out.in(0), out.in(1)});
}

void emit_layer(const IEinsumLayer& layer, Emission& out) {
  std::vector<std::string> inputs;
  for (size_t i = 0; i < out.input_count(); ++i) inputs.push_back(out.in(i));
  out.last("Einsum", inputs, {{"equation", std::string(layer.getEquation())}});
}

namespace {

// Whether scale and bias are those of groups, as addNormalization() has them, and not of channels.
bool has_groups(const INormalizationLayer& layer, const Emission& out, int64_t groups) {
#if NV_TENSORRT_MAJOR >= 10
  if (layer.isV2()) return false;
#else
  static_cast<void>(layer);
#endif
  return out.dims(0).d[1] != groups && volume(out.dims(1)) == groups;
}

}  // namespace

void emit_layer(const INormalizationLayer& layer, Emission& out) {
  std::string x = out.in(0);
  const std::vector<int64_t> axes = out.axes(layer.getAxes());
  const Dims input = out.dims(0);
  const int64_t groups = layer.getNbGroups();
  std::vector<int64_t> sizes = to_vector(input);
  if (groups != 1) {
    // Groups of channels become a batch; the sizes are copied, the last inferred.
    if (sizes.size() < 2 || sizes[1] < 0 || groups <= 0 || sizes[1] % groups != 0)
      refuse("layer '" + out.layer().name + "': channels that are not the groups it asks for");
    x = out.node("Reshape", {x, out.integers({0, groups, -1})});
  }
  const std::vector<int64_t> over = groups == 1 ? axes : std::vector<int64_t>{2};
  const std::string mean = out.node("ReduceMean", {x}, {{"axes", over}});
  const std::string off = out.node("Sub", {x, mean});
  const std::string square = out.node("Mul", {off, off});
  const std::string variance = out.node("ReduceMean", {square}, {{"axes", over}});
  const std::string epsilon = out.node("Add", {variance, out.scalar(layer.getEpsilon())});
  std::string y = out.node("Div", {off, out.node("Sqrt", {epsilon})});
  if (groups != 1 && has_groups(layer, out, groups)) {
    const auto grouped = [&](size_t i) {
      return out.node("Reshape", {out.in(i), out.integers({1, groups, 1})});
    };
    y = out.node("Add", {out.node("Mul", {y, grouped(1)}), grouped(2)});
    out.last("Reshape", {y, out.node("Shape", {out.in(0)})});
    return;
  }
  if (groups != 1) y = out.node("Reshape", {y, out.node("Shape", {out.in(0)})});
  out.last("Add", {out.node("Mul", {y, out.in(1)}), out.in(2)});
}

#if NV_TENSORRT_MAJOR >= 10
void emit_layer(const ICumulativeLayer& layer, Emission& out) {
  out.last(
      "CumSum", {out.in(0), out.in_as_int64(1)},
      {{"exclusive", int64_t{layer.getExclusive()}}, {"reverse", int64_t{layer.getReverse()}}});
}
#endif

}  // namespace octet_trt
