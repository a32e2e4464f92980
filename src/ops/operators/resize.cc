// SPDX-License-Identifier: Apache-2.0
// Resize: inputs X, roi, scales, sizes. Nearest copies elements of any type; linear and cubic work axis by axis in f32.
#include "ops/shared/resize.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "core/check.h"
#include "graph/op_traits.h"
#include "ops/shared/axes.h"
#include "ops/shared/dtypes.h"
#include "ops/shared/float_io.h"
#include "ops/shared/node_parser.h"
#include "ops/shared/open_dims.h"

namespace octet {
namespace {

enum : size_t { kX, kRoi, kScales, kSizes };

// Opset 10 had inputs X and scales, and one way to place pixels.
void parse(NodeParser& parser) {
  Node& node = parser.node;
  if (node.attrs.s("mode", "nearest") == "bilinear") node.attrs.set("mode", std::string("linear"));
  if (parser.opset >= 11) return;
  node.inputs.resize(2, kNoValue);
  node.inputs.insert(node.inputs.begin() + 1, kNoValue);
  node.attrs.set("coordinate_transformation_mode", std::string("asymmetric"));
  const Tensor* scales = parser.constant(kScales);
  const bool enlarges = scales != nullptr && scales->dtype() == Dtype::f32 &&
                        std::ranges::all_of(scales->as<f32>(), [](f32 s) { return s >= 1.0f; });
  node.attrs.set("nearest_mode", std::string(enlarges ? "floor" : "simple"));
}

// The values of a float input that shapes depend on; an empty tensor counts as omitted.
std::vector<f32> known_floats(const Inference& inference, size_t i, std::string_view what) {
  if (!inference.has_input(i) || inference.inputs[i].shape.elements() == 0) return {};
  require_dtype(inference, i, DtypeClass::real);
  if (inference.value(i) == nullptr) Inference::needs_data(i, what);
  const FloatInput values(view(*inference.value(i)));
  return {values.values().begin(), values.values().end()};
}

void infer(Inference& inference) {
  if (dims_are_open(inference, kScales) || dims_are_open(inference, kSizes)) {
    inference.output(inference.inputs[kX].dtype, open_shape(inference.inputs[kX].shape.rank()));
    return;
  }
  ResizeParameters parameters;
  parameters.scales = known_floats(inference, kScales, "scales");
  if (inference.has_input(kSizes) && inference.inputs[kSizes].shape.elements() != 0) {
    parameters.sizes = inference.required_ints(kSizes, "sizes");
  }
  if (parameters.scales.empty() == parameters.sizes.empty() &&
      inference.inputs[kX].shape.rank() > 0) {
    fail(Error::Code::invalid_model, "expected either scales or sizes");
  }
  if (!resize_moves_elements(inference.node)) require_dtype(inference, kX, DtypeClass::real);
  if (inference.has_input(kRoi)) {
    require_dtype(inference, kRoi, DtypeClass::real);
    parameters.roi.resize(static_cast<size_t>(inference.inputs[kRoi].shape.elements()));
  }
  inference.output(inference.inputs[kX].dtype,
                   resize_shape(inference.node, inference.inputs[kX].shape, parameters));
}

// Output coordinates of a dense tensor, advanced in row-major order.
struct Position {
  const Shape& shape;
  std::array<s64, Shape::kMaxRank> at{};

  void advance() {
    for (int i = shape.rank() - 1; i >= 0; --i) {
      if (++at[static_cast<size_t>(i)] < shape[i]) return;
      at[static_cast<size_t>(i)] = 0;
    }
  }
};

template <class T>
void nearest(const ResizeGeometry& geometry, const Shape& input, const T* src, T* dst) {
  const std::vector<s64> strides = dense_strides(input);
  Position position{geometry.output};
  for (s64 n = geometry.output.elements(); n > 0; --n, position.advance()) {
    s64 offset = 0;
    for (size_t i = 0; i < strides.size(); ++i) {
      const ResizeAxis& axis = geometry.axes[i];
      const s64 o = position.at[i];
      offset += (axis.identity ? o : axis.index[static_cast<size_t>(o)]) * strides[i];
    }
    *dst++ = src[offset];
  }
}

// Interpolates along one dimension: [outer][in][inner] -> [outer][out][inner].
std::vector<f32> interpolate(const ResizeAxis& axis, std::span<const f32> src, s64 outer,
                             s64 inner) {
  std::vector<f32> dst(static_cast<size_t>(outer * axis.out * inner), 0.0f);
  for (s64 row = 0; row < outer * axis.out; ++row) {
    const f32* plane = src.data() + row / axis.out * axis.in * inner;
    f32* out = dst.data() + row * inner;
    for (s64 k = 0; k < axis.taps; ++k) {
      const size_t tap = static_cast<size_t>(row % axis.out * axis.taps + k);
      const f32* in = plane + axis.index[tap] * inner;
      for (s64 i = 0; i < inner; ++i) out[i] += axis.weight[tap] * in[i];
    }
  }
  return dst;
}

void extrapolate(const ResizeGeometry& geometry, std::span<f32> dst) {
  Position position{geometry.output};
  for (f32& value : dst) {
    for (size_t i = 0; i < geometry.axes.size(); ++i) {
      const auto& outside = geometry.axes[i].outside;
      if (!outside.empty() && outside[static_cast<size_t>(position.at[i])] != 0) {
        value = geometry.extrapolation_value;
      }
    }
    position.advance();
  }
}

void compute(const Eval& eval, const ResizeGeometry& geometry) {
  const FloatInput x(eval, kX);
  const FloatOutput y(eval.outputs[0]);
  if (geometry.nearest) {
    nearest(geometry, eval.inputs[kX].shape, x.data(), y.data());
  } else {
    std::vector<f32> values(x.values().begin(), x.values().end());
    Shape shape = eval.inputs[kX].shape;
    for (int i = 0; i < shape.rank(); ++i) {
      const ResizeAxis& axis = geometry.axes[static_cast<size_t>(i)];
      if (axis.identity) continue;
      values = interpolate(axis, values, dims_product(shape, 0, i),
                           dims_product(shape, i + 1, shape.rank()));
      shape[i] = axis.out;
    }
    std::copy(values.begin(), values.end(), y.data());
  }
  extrapolate(geometry, y.values());
  y.store();
}

void eval(const Eval& eval) {
  if (eval.outputs[0].shape.elements() == 0) return;
  const ConstView& x = eval.inputs[kX];
  const ResizeGeometry geometry = resize_geometry(eval.node, x.shape, resize_parameters(eval));
  require_shape(eval.outputs[0].shape, geometry.output);
  if (!resize_moves_elements(eval.node)) return compute(eval, geometry);
  visit_size(x.dtype, [&]<class T>() {
    nearest(geometry, x.shape, static_cast<const T*>(x.data),
            static_cast<T*>(eval.outputs[0].data));
  });
}

// Says only whether the node moves codes as it stands.
QuantizeResult quantize(const QuantizeRequest& request) {
  if (resize_moves_elements(request.node)) return {.node = request.node, .reject = {}};
  return {.node = {}, .reject = "only nearest Resize without a crop moves codes"};
}

// Axis by axis; on the way an axis is as long as before or as after. With antialias a window may be the whole axis.
f64 work(const Node& node, TensorTypes inputs, TensorTypes outputs) {
  constexpr f64 kCubicTaps = 4;
  const Shape &x = inputs[kX].shape, &y = outputs[0].shape;
  f64 elements = 1, longest = kCubicTaps;
  for (int i = 0; i < x.rank(); ++i) {
    elements *= static_cast<f64>(std::max(x[i], y[i]));
    longest = std::max(longest, static_cast<f64>(x[i]));
  }
  return elements * x.rank() * (node.attrs.i("antialias", 0) != 0 ? longest : kCubicTaps);
}

constexpr OpTraits kTraits{.work = work};

}  // namespace

extern constinit const OpDef kResize{.name = "Resize",
                                     .domain = "",
                                     .inputs = {1, 4},
                                     .outputs = {1, 1},
                                     .parse = parse,
                                     .infer = infer,
                                     .eval = eval,
                                     .quant = {.kind = QuantKind::move_codes, .quantize = quantize},
                                     .traits = &kTraits};
}  // namespace octet
