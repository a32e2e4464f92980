// SPDX-License-Identifier: Apache-2.0
// Resize: inputs X, roi, scales, sizes. Nearest copies elements of any type; linear and cubic compute in f32, and are read as
// Interpolate where they can be.
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
#include "ops/shared/interpolate.h"
#include "ops/shared/node_parser.h"

namespace octet {
namespace {

enum : size_t { kX, kRoi, kScales };

// Opset 10 had inputs X and scales, and one way to place pixels.
void parse_old(NodeParser& parser) {
  Node& node = parser.node;
  node.inputs.resize(2, kNoValue);
  node.inputs.insert(node.inputs.begin() + 1, kNoValue);
  node.attrs.set("coordinate_transformation_mode", std::string("asymmetric"));
  const Tensor* scales = parser.constant(kScales);
  const bool enlarges = scales != nullptr && scales->dtype() == Dtype::f32 &&
                        std::ranges::all_of(scales->as<f32>(), [](f32 s) { return s >= 1.0f; });
  node.attrs.set("nearest_mode", std::string(enlarges ? "floor" : "simple"));
}

// What computes its elements is an operator of its own, with an integer form; scales that a run computes would look like
// activations there, sizes are integers.
void parse(NodeParser& parser) {
  Node& node = parser.node;
  if (node.attrs.s("mode", "nearest") == "bilinear") node.attrs.set("mode", std::string("linear"));
  if (parser.opset < 11) parse_old(parser);
  const bool crops = node.attrs.s("coordinate_transformation_mode", "") == "tf_crop_and_resize";
  const bool known = !parser.has_input(kScales) || parser.constant(kScales) != nullptr;
  const std::string mode = node.attrs.s("mode", "nearest");
  if ((mode == "linear" || mode == "cubic") && !crops && known) parser.become("Interpolate");
}

void infer(Inference& inference) {
  const Shape shape = resized_shape(inference);
  if (!resize_moves_elements(inference.node)) require_dtype(inference, kX, DtypeClass::number);
  inference.output(inference.inputs[kX].dtype, shape);
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
  const Shape& shape = eval.inputs[kX].shape;
  std::vector<f32> x = read_numbers(eval.inputs[kX]), y;
  if (geometry.nearest) {
    y.resize(static_cast<size_t>(geometry.output.elements()));
    nearest(geometry, shape, x.data(), y.data());
  } else {
    y = interpolate(geometry, shape, std::move(x));
  }
  extrapolate(geometry, y);
  store_numbers(eval.outputs[0], y);
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

// Scales that turn out constant make it Interpolate.
constexpr FloatAttribute kFloats[] = {{"extrapolation_value", FloatDomain::any}};
constexpr OpTraits kTraits{.work = resize_work, .parse_again = true, .floats = kFloats};

}  // namespace

extern constinit const OpDef kResize{.name = "Resize",
                                     .inputs = {1, 4},
                                     .parse = parse,
                                     .infer = infer,
                                     .eval = eval,
                                     .quant = {.kind = QuantKind::move_codes, .quantize = quantize},
                                     .traits = &kTraits};
}  // namespace octet
