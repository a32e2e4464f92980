// SPDX-License-Identifier: Apache-2.0
#include "inspect/tensorrt/kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <string_view>

#include "graph/op_traits.h"
#include "inspect/tensorrt/formats.h"
#include "ops/attributes/normalization.h"
#include "ops/attributes/sampling.h"
#include "ops/quantized/epilogue.h"
#include "ops/shared/conv.h"
#include "ops/shared/permutation.h"
#include "ops/shared/pool.h"

namespace octet {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kPaddingMode = "kEXPLICIT_ROUND_DOWN";

std::string_view op_name(const TensorRtNode& layer) { return layer.node.op->name; }

// One number for each spatial axis of the tensor.
template <class F>
Json axes_of(const Window& window, const F& get) {
  Json list = Json::array();
  for (size_t i = 3 - static_cast<size_t>(window.rank); i < 3; ++i)
    list.push_back(get(window.axes[i]));
  return list;
}

void add_padding(const Window& window, Json& to) {
  to["PaddingMode"] = kPaddingMode;
  to["PrePadding"] = axes_of(window, [](const WindowAxis& axis) { return axis.pad_begin; });
  to["PostPadding"] = axes_of(window, [](const WindowAxis& axis) { return axis.pad_end; });
  to["Stride"] = axes_of(window, [](const WindowAxis& axis) { return axis.stride; });
}

// Two activations may be multiplied: then there are no weights.
bool has_constant(const TensorRtNode& layer, size_t input) {
  return layer.graph.is_constant(layer.node.input(input));
}

Json weights_of(const TensorRtNode& layer, size_t input) {
  if (!has_constant(layer, input)) return {{"Type", "Float"}, {"Count", 0}};
  const TensorType& type = layer.inputs[input];
  return {{"Type", tensorrt_type_name(type.dtype)},
          {"Count", type.shape.is_static() ? type.shape.elements() : int64_t{0}}};
}

// The last thing that a product does to its result: a clamp from zero on, with or without an upper bound.
struct Clamp {
  std::string_view name = "NONE";
  std::string bounds = {};  // "[0.000000,6.000000]", where both count
};

Clamp clamp_of(f64 low, f64 high, bool bounded) {
  if (low != 0.0) return {};
  if (!bounded) return {"RELU"};
  return {"CLIPPED_RELU", fmt::format("[{:.6f},{:.6f}]", low, high)};
}

Clamp clamp_of_codes(const TensorRtNode& layer, const Epilogue& epilogue) {
  const CodeRange& range = epilogue.sum ? epilogue.sum->range : epilogue.range;
  const Dtype dtype = layer.outputs[0].dtype;
  const auto& quant = layer.graph.value(layer.node.outputs[0]).quant;
  if (range.lo != range.zero_point || !is_code(dtype)) return {};
  const bool bounded = quant && range.hi < code_range(dtype).hi;
  return clamp_of(0.0, bounded ? f64{quant->scale} * (range.hi - range.zero_point) : 0.0, bounded);
}

Clamp clamp_of(const TensorRtNode& layer) {
  if (layer.node.op->traits->product_epilogue) {
    const Epilogue epilogue = epilogue_of(layer.node);
    if (!epilogue.real()) return clamp_of_codes(layer, epilogue);
    const Activation& a = epilogue.activation;
    return a.is_clamp() ? clamp_of(a.min, a.max, std::isfinite(a.max)) : Clamp{};
  }
  if (!layer.node.op->traits->takes_activation) return {};
  const Activation a = activation_of(layer.node);
  return a.is_clamp() ? clamp_of(a.min, a.max, std::isfinite(a.max)) : Clamp{};
}

// What convolutions and products of matrices have in common.
void add_product(const TensorRtNode& layer, Json& to) {
  const bool has_bias = has_constant(layer, kProductBias);
  to["Weights"] = weights_of(layer, kProductWeights);
  to["Bias"] = weights_of(layer, kProductBias);
  to["HasSparseWeights"] = 0;
  const Clamp clamp = clamp_of(layer);
  if (!clamp.bounds.empty()) to["ParameterSubType"] = clamp.bounds;
  to["Activation"] = clamp.name;
  to["HasBias"] = has_bias ? 1 : 0;
  to["HasReLU"] = clamp.name == "NONE" ? 0 : 1;
}

void add_geometry(const ConvGeometry& geometry, Json& to) {
  const Window& window = geometry.window;
  to["Kernel"] = axes_of(window, [](const WindowAxis& axis) { return axis.kernel; });
  add_padding(window, to);
  to["Dilation"] = axes_of(window, [](const WindowAxis& axis) { return axis.dilation; });
  to["OutMaps"] = geometry.out_channels;
  to["Groups"] = geometry.groups;
}

// `geometry_of`: of the node, its input and its weights.
template <class GeometryOf>
TensorRtKind convolution_of(const TensorRtNode& layer, const char* type,
                            const GeometryOf& geometry_of) {
  Json parameters = {{"ParameterType", "Convolution"}};
  if (layer.is_static())
    add_geometry(geometry_of(layer.node, layer.inputs[0].shape, layer.inputs[1].shape), parameters);
  add_product(layer, parameters);
  return {type, std::move(parameters)};
}

TensorRtKind convolution(const TensorRtNode& layer) {
  return convolution_of(layer, "CaskConvolution", conv_geometry);
}

TensorRtKind deconvolution(const TensorRtNode& layer) {
  return convolution_of(layer, "CaskDeconvolutionV2", conv_transpose_geometry);
}

TensorRtKind matrix_product(const TensorRtNode& layer) {
  Json parameters = {{"ParameterType", "MatrixMultiply"}};
  add_product(layer, parameters);
  return {"gemm", std::move(parameters)};
}

Json pooling_parameters(std::string_view what, const Window& window, bool excludes_padding) {
  Json parameters = {{"ParameterType", "Pooling"}, {"PoolingType", what}};
  parameters["WindowSize"] = axes_of(window, [](const WindowAxis& axis) { return axis.kernel; });
  add_padding(window, parameters);
  parameters["BlendFactor"] = 0;
  parameters["AverageCountExcludesPadding"] = excludes_padding ? 1 : 0;
  return parameters;
}

TensorRtKind pooling(const TensorRtNode& layer, std::string_view what) {
  Json parameters = {{"ParameterType", "Pooling"}, {"PoolingType", what}};
  if (layer.is_static()) {
    const PoolGeometry geometry = pool_geometry(layer.node, layer.inputs[0].shape);
    parameters = pooling_parameters(what, geometry.window, !geometry.count_include_pad);
  }
  return {"CaskPooling", std::move(parameters)};
}

TensorRtKind max_pooling(const TensorRtNode& layer) { return pooling(layer, "MAX"); }
TensorRtKind average_pooling(const TensorRtNode& layer) { return pooling(layer, "AVERAGE"); }

TensorRtKind reduction(const TensorRtNode& layer) {
  const int kept = layer.outputs[0].shape.rank() == layer.inputs[0].shape.rank() ? 1 : 0;
  return {"Reduce",
          {{"ParameterType", "Reduce"}, {"Operation", op_name(layer)}, {"KeepDims", kept}}};
}

// A reduction of whole images is a pooling, as TensorRT has it.
TensorRtKind over_image(const TensorRtNode& layer, std::string_view what) {
  const Shape &x = layer.inputs[0].shape, &y = layer.outputs[0].shape;
  const bool image = layer.is_static() && x.rank() == 4 && y.rank() == 4 && x[0] == y[0] &&
                     x[1] == y[1] && y[2] == 1 && y[3] == 1 && x[2] * x[3] > 1;
  if (!image) return reduction(layer);
  Window window;
  window.axes[1] = {.in = x[2], .kernel = x[2]};
  window.axes[2] = {.in = x[3], .kernel = x[3]};
  return {"CaskPooling", pooling_parameters(what, window, true)};
}

TensorRtKind mean(const TensorRtNode& layer) { return over_image(layer, "AVERAGE"); }
TensorRtKind maximum(const TensorRtNode& layer) { return over_image(layer, "MAX"); }

// Axes as a bit mask.
TensorRtKind softmax(const TensorRtNode& layer, bool log) {
  const int rank = std::max(layer.inputs[0].shape.rank(), 1);
  s64 axis = attribute_of<&SoftmaxAttributes::axis>(layer.node);
  axis = std::clamp<s64>(axis < 0 ? axis + rank : axis, 0, rank - 1);
  return {"CudaSoftMax",
          {{"ParameterType", "SoftMax"}, {"Axes", s64{1} << axis}, {"HasLog", log ? 1 : 0}}};
}

TensorRtKind soft_max(const TensorRtNode& layer) { return softmax(layer, false); }
TensorRtKind log_soft_max(const TensorRtNode& layer) { return softmax(layer, true); }

Json sizes_of(const Shape& shape) {
  Json dims = Json::array();
  for (const int64_t dim : shape) dims.push_back(dim);
  return dims;
}

TensorRtKind slice(const TensorRtNode& layer) {
  return {"Slice", {{"ParameterType", "Slice"}, {"Size", sizes_of(layer.outputs[0].shape)}}};
}

TensorRtKind resize(const TensorRtNode& layer) {
  const ResizeMode mode = attribute_of<&ResizeAttributes::mode>(layer.node);
  return {"Resize",
          {{"ParameterType", "Resize"},
           {"ResizeMode", mode == ResizeMode::nearest
                              ? "kNEAREST"
                              : (mode == ResizeMode::cubic ? "kCUBIC" : "kLINEAR")}}};
}

TensorRtKind pointwise(const TensorRtNode& layer) {
  Json inputs = Json::array(), outputs = Json::array();
  for (size_t i = 0; i < layer.node.inputs.size(); ++i) {
    if (layer.has_input(i)) inputs.push_back(fmt::format("arg{}", inputs.size()));
  }
  for (size_t i = 0; i < layer.node.outputs.size(); ++i) outputs.push_back(fmt::format("var{}", i));
  return {"PointWiseV2",
          {{"ParameterType", "PointWise"},
           {"ParameterSubType", "PointWiseExpression"},
           {"NbInputArgs", inputs.size()},
           {"InputArgs", inputs},
           {"NbOutputVars", outputs.size()},
           {"OutputVars", outputs},
           {"NbParams", 0},
           {"NbLiterals", 0},
           {"NbOperations", 1},
           {"Operations", Json::array({op_name(layer)})}}};
}

Json unmoved_axes(const Shape& shape) {
  std::vector<int> axes(static_cast<size_t>(std::max(shape.rank(), 0)));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

// Reads in another order of axes, or writes as another shape; never both.
TensorRtKind shuffled(const Json& first, std::string_view reshape, const Json& second) {
  return {"Shuffle",
          {{"ParameterType", "Shuffle"},
           {"FirstTranspose", first},
           {"Reshape", reshape},
           {"SecondTranspose", second},
           {"ZeroIsPlaceholder", 0}}};
}

TensorRtKind transpose(const TensorRtNode& layer) {
  const Shape& shape = layer.inputs[0].shape;
  Json first = unmoved_axes(shape);
  if (shape.rank() > 0) first = permutation_of(layer.node, shape.rank());
  return shuffled(first, "nbDims=-1", unmoved_axes(layer.outputs[0].shape));
}

TensorRtKind shuffle(const TensorRtNode& layer) {
  const Shape& shape = layer.outputs[0].shape;
  return shuffled(unmoved_axes(layer.inputs[0].shape), fmt::format("nbDims={}", shape.rank()),
                  unmoved_axes(shape));
}

using Describe = TensorRtKind (*)(const TensorRtNode&);

const std::map<std::string_view, Describe>& kinds() {
  static const std::map<std::string_view, Describe> kinds = {
#define KIND(op, describe) {op, describe},
#include "inspect/tensorrt/kinds.def"
#undef KIND
  };
  return kinds;
}

}  // namespace

bool TensorRtNode::is_static() const {
  const auto known = [](const TensorType& type) { return type.shape.is_static(); };
  return std::ranges::all_of(inputs, known) && std::ranges::all_of(outputs, known);
}

TensorRtKind tensorrt_reformat(bool of_model) {
  return {"Reformat", {{"ParameterType", "Reformat"}, {"Origin", of_model ? "QDQ" : "REFORMAT"}}};
}

TensorRtKind tensorrt_kind(const TensorRtNode& layer) {
  const Node& node = layer.node;
  if (is_quantize(node) || is_dequantize(node)) return tensorrt_reformat(!node.origins.empty());
  if (const auto found = kinds().find(op_name(layer)); found != kinds().end())
    return found->second(layer);
  const OpTraits& traits = *node.op->traits;
  if (traits.permutes) return shuffle(layer);
  if (traits.elementwise || is_table(node) || node.op->quant.kind == QuantKind::table)
    return pointwise(layer);
  return {std::string(op_name(layer)), {{"ParameterType", op_name(layer)}}};
}

}  // namespace octet
