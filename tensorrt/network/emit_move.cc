// SPDX-License-Identifier: Apache-2.0
// Layers that move elements: shuffles, joins, choices by index. Slices are in emit_slice.cc.
#include "tensorrt/network/emit.h"

namespace octet_trt {
namespace {

using octet::Dtype;
using Sizes = std::vector<int64_t>;

// The order of a transposition with the batch, where there is one; empty where nothing moves.
Sizes order_of(const Permutation& permutation, int32_t rank, int batch) {
  Sizes order;
  if (batch == 1) order.push_back(0);
  bool moves = false;
  for (int32_t i = 0; i < rank; ++i) {
    moves = moves || permutation.order[i] != i;
    order.push_back(permutation.order[i] + batch);
  }
  return moves ? order : Sizes();
}

std::string transposed(Emission& out, const std::string& value, const Sizes& order) {
  return order.empty() ? value : out.node("Transpose", {value}, {{"perm", order}});
}

int64_t axis_of_mask(uint32_t mask, const Emission& out) {
  const Sizes axes = out.axes(mask);
  if (axes.size() != 1) refuse("layer '" + out.layer().name + "': it works along one axis");
  return axes[0];
}

const char* coordinates(const IResizeLayer& layer) {
  switch (layer.getCoordinateTransformation()) {
    case ResizeCoordinateTransformation::kALIGN_CORNERS:
      return "align_corners";
    case ResizeCoordinateTransformation::kASYMMETRIC:
      return "asymmetric";
    case ResizeCoordinateTransformation::kHALF_PIXEL:
      break;
  }
  const bool upper = layer.getSelectorForSinglePixel() == ResizeSelector::kUPPER;
  return upper ? "pytorch_half_pixel" : "half_pixel";
}

constexpr const char* kRounding[] = {"round_prefer_ceil", "round_prefer_floor", "floor", "ceil"};
constexpr const char* kInterpolation[] = {"nearest", "linear", "cubic"};

std::vector<std::string> resize_inputs(const IResizeLayer& layer, Emission& out) {
  if (out.has(1)) return {out.in(0), "", "", out.in_as_int64(1)};
  float scales[Dims::MAX_DIMS];
  const int32_t known = layer.getScales(0, nullptr);
  const int32_t rank = out.dims(0).nbDims;
  if (known > 0) {
    layer.getScales(known, scales);
    if (known != rank)
      refuse("layer '" + out.layer().name + "': it has not one scale for each axis");
    std::vector<float> factors(scales, scales + known);
    if (out.batch() == 1) factors.insert(factors.begin(), 1.0F);
    const auto count = static_cast<int64_t>(factors.size());
    return {out.in(0), "", out.floats(factors, {count})};
  }
  Sizes sizes = to_vector(layer.getOutputDimensions());
  if (static_cast<int32_t>(sizes.size()) != rank)
    refuse("layer '" + out.layer().name + "': neither scales nor sizes are given for each axis");
  if (out.batch() == 0) return {out.in(0), "", "", out.integers(sizes)};
  // The batch is copied from the input.
  const std::string shape = out.node("Shape", {out.in(0)});
  const std::string batch =
      out.node("Slice", {shape, out.integers({0}), out.integers({1}), out.integers({0})});
  return {out.in(0), "", "",
          out.node("Concat", {batch, out.integers(sizes)}, {{"axis", int64_t{0}}})};
}

}  // namespace

void emit_layer(const IConcatenationLayer& layer, Emission& out) {
  std::vector<std::string> inputs;
  for (size_t i = 0; i < out.input_count(); ++i) inputs.push_back(out.in(i));
  out.last("Concat", inputs, {{"axis", out.axis(layer.getAxis())}});
}

void emit_layer(const IShuffleLayer& layer, Emission& out) {
  const int batch = out.batch();
  std::string value =
      transposed(out, out.in(0), order_of(layer.getFirstTranspose(), out.dims(0).nbDims, batch));
  const Dims reshape = layer.getReshapeDimensions();
  int32_t rank = out.dims(0).nbDims;
  if (out.has(1)) {
    value = out.node("Reshape", {value, out.in_as_int64(1)});
    const Dims length = out.dims(1);
    rank = length.nbDims == 1 && length.d[0] >= 0 ? static_cast<int32_t>(length.d[0]) : rank;
  } else if (is_valid(reshape)) {
    Sizes sizes = to_vector(reshape);
    if (batch == 1) sizes.insert(sizes.begin(), 0);
    value = out.node("Reshape", {value, out.integers(sizes)},
                     {{"allowzero", int64_t{batch == 0 && !layer.getZeroIsPlaceholder()}}});
    rank = reshape.nbDims;
  }
  const Sizes order = order_of(layer.getSecondTranspose(), rank, batch);
  if (order.empty()) {
    out.last("Identity", {value});
  } else {
    out.last("Transpose", {value}, {{"perm", order}});
  }
}

void emit_layer(const IShapeLayer&, Emission& out) {
#if NV_TENSORRT_MAJOR >= 10
  out.last("Shape", {out.in(0)});
#else
  out.last("Cast", {out.node("Shape", {out.in(0)})}, {{"to", onnx_type_of(Dtype::s32)}});
#endif
}

void emit_layer(const ITopKLayer& layer, Emission& out) {
  const bool largest = layer.getOperation() == TopKOperation::kMAX;
  const OnnxAttributes attributes = {{"axis", axis_of_mask(layer.getReduceAxes(), out)},
                                     {"largest", int64_t{largest}}};
  const std::string k = out.has(1) ? out.node("Reshape", {out.in_as_int64(1), out.integers({1})})
                                   : out.integers({layer.getK()});
  const std::string indices = out.out(1) + "~s64";
  out.node_with("TopK", {out.in(0), k}, {out.out(0), indices}, attributes);
  out.last("Cast", {indices}, {{"to", onnx_type_of(to_octet(indices_type(layer)))}}, 1);
}

void emit_layer(const IGatherLayer& layer, Emission& out) {
  const int64_t shared = layer.getNbElementWiseDims();
  switch (layer.getMode()) {
    case GatherMode::kELEMENT:
      out.last("GatherElements", {out.in(0), out.in(1)},
               {{"axis", out.axis(layer.getGatherAxis())}});
      return;
    case GatherMode::kND:
      out.last("GatherND", {out.in(0), out.in_as_int64(1)}, {{"batch_dims", out.axis(shared)}});
      return;
    case GatherMode::kDEFAULT:
      break;
  }
  if (shared != 0 || out.batch() != 0)
    refuse("layer '" + out.layer().name + "': a gather whose indices have a batch of their own");
  out.last("Gather", {out.in(0), out.in(1)}, {{"axis", int64_t{layer.getGatherAxis()}}});
}

// Elder clients ask for the type by setOutputType().
void emit_layer(const INonZeroLayer& layer, Emission& out) {
  const Dtype type = to_octet(out.output_type().value_or(indices_type(layer)));
  out.last("Cast", {out.node("NonZero", {out.in(0)})}, {{"to", onnx_type_of(type)}});
}

namespace {

// Reals of 16 bits are computed as f32.
Dtype computed(DataType type) {
  const Dtype dtype = to_octet(type);
  return dtype == Dtype::f16 || dtype == Dtype::bf16 ? Dtype::f32 : dtype;
}

}  // namespace

// An identity with a type of output is a conversion: clients wrote so before there was a layer for it.
void emit_layer(const IIdentityLayer&, Emission& out) {
  const auto asked = out.output_type();
  const bool converts =
      asked && to_octet(*asked) != out.dtype(0) && computed(*asked) != out.dtype(0);
  if (converts) {
    out.last("Cast", {out.in(0)}, {{"to", onnx_type_of(computed(*asked))}});
  } else {
    out.last("Identity", {out.in(0)});
  }
}

void emit_layer(const ISelectLayer&, Emission& out) {
  out.last("Where", {out.in(0), out.in(1), out.in(2)});
}

void emit_layer(const ICastLayer& layer, Emission& out) {
  out.last("Cast", {out.in(0)}, {{"to", onnx_type_of(computed(layer.getToType()))}});
}

void emit_layer(const IConstantLayer& layer, Emission& out) {
  Sizes sizes = to_vector(layer.getDimensions());
  if (out.batch() == 1) sizes.insert(sizes.begin(), 1);
  out.last("Identity", {out.weights(layer.getWeights(), sizes, "constant")});
}

void emit_layer(const IResizeLayer& layer, Emission& out) {
  const auto mode = static_cast<size_t>(layer.getResizeMode());
  const auto rounding = static_cast<size_t>(layer.getNearestRounding());
  OnnxAttributes attributes = {{"mode", std::string(kInterpolation[mode % 3])},
                               {"coordinate_transformation_mode", std::string(coordinates(layer))}};
  if (mode == 0) attributes.push_back({"nearest_mode", std::string(kRounding[rounding % 4])});
  if (mode == 2) {
    attributes.push_back({"cubic_coeff_a", layer.getCubicCoeff()});
    attributes.push_back({"exclude_outside", int64_t{layer.getExcludeOutside()}});
  }
  out.last("Resize", resize_inputs(layer, out), attributes);
}

#if NV_TENSORRT_MAJOR >= 10
namespace {

void range_of_integers(const IFillLayer& layer, Emission& out) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < layer.getDimensions().d[0]; ++i) {
    int64_t value = 0;
    if (__builtin_mul_overflow(i, layer.getBetaInt64(), &value) ||
        __builtin_add_overflow(value, layer.getAlphaInt64(), &value))
      refuse("layer '" + out.layer().name + "': its range leaves what 64 bits hold");
    values.push_back(value);
  }
  const auto type = onnx_type_of(to_octet(layer.getToType()));
  out.last("Cast", {out.integers(values)}, {{"to", type}});
}

}  // namespace
#endif

void emit_layer(const IFillLayer& layer, Emission& out) {
  if (out.input_count() > 0)
    refuse("layer '" + out.layer().name + "': fills of tensors are not supported");
  const Sizes sizes = to_vector(layer.getDimensions());
  const auto alpha = static_cast<float>(layer.getAlpha()),
             beta = static_cast<float>(layer.getBeta());
  if (layer.getOperation() == FillOperation::kRANDOM_UNIFORM) {
    out.last("RandomUniform", {}, {{"shape", sizes}, {"low", alpha}, {"high", beta}});
    return;
  }
  if (layer.getOperation() == FillOperation::kRANDOM_NORMAL) {
    out.last("RandomNormal", {}, {{"shape", sizes}, {"mean", alpha}, {"scale", beta}});
    return;
  }
  if (sizes.size() != 1)
    refuse("layer '" + out.layer().name + "': a range of numbers has one dimension");
#if NV_TENSORRT_MAJOR >= 10
  if (layer.isAlphaBetaInt64()) return range_of_integers(layer, out);
#endif
  std::vector<float> values;
  for (int64_t i = 0; i < sizes[0]; ++i) values.push_back(alpha + beta * static_cast<float>(i));
  const std::string line = out.floats(values, sizes);
  out.last("Cast", {line}, {{"to", onnx_type_of(computed(layer.getToType()))}});
}

void emit_layer(const IScatterLayer& layer, Emission& out) {
  if (layer.getMode() == ScatterMode::kND) {
    out.last("ScatterND", {out.in(0), out.in_as_int64(1), out.in(2)});
  } else {
    out.last("ScatterElements", {out.in(0), out.in(1), out.in(2)},
             {{"axis", out.axis(layer.getAxis())}});
  }
}

void emit_layer(const IOneHotLayer& layer, Emission& out) {
  out.last("OneHot", {out.in(0), out.in(2), out.in(1)}, {{"axis", int64_t{layer.getAxis()}}});
}

void emit_layer(const IReverseSequenceLayer& layer, Emission& out) {
  out.last("ReverseSequence", {out.in(0), out.in_as_int64(1)},
           {{"batch_axis", int64_t{layer.getBatchAxis()}},
            {"time_axis", int64_t{layer.getSequenceAxis()}}});
}

#if NV_TENSORRT_MAJOR >= 10
void emit_layer(const ISqueezeLayer&, Emission& out) {
  out.last("Squeeze", {out.in(0), out.in_as_int64(1)});
}

void emit_layer(const IUnsqueezeLayer&, Emission& out) {
  out.last("Unsqueeze", {out.in(0), out.in_as_int64(1)});
}
#endif

}  // namespace octet_trt
