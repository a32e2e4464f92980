// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/interpolate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/check.h"
#include "ops/attributes/sampling.h"
#include "ops/shared/axes.h"
#include "ops/shared/dtypes.h"
#include "ops/shared/float_io.h"
#include "ops/shared/open_dims.h"

namespace octet {
namespace {

enum : size_t { kX, kRoi, kScales, kSizes };

// The values of a float input that shapes depend on; an empty tensor counts as omitted.
std::vector<f32> known_floats(const Inference& inference, size_t i, std::string_view what) {
  if (!inference.has_input(i) || inference.inputs[i].shape.elements() == 0) return {};
  require_dtype(inference, i, DtypeClass::real);
  if (inference.value(i) == nullptr) Inference::needs_data(i, what);
  const FloatInput values(view(*inference.value(i)));
  return {values.values().begin(), values.values().end()};
}

// Interpolates along one dimension: [outer][in][inner] -> [outer][out][inner].
std::vector<f32> along(const ResizeAxis& axis, std::span<const f32> src, s64 outer, s64 inner) {
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

template <class T>
T to_integer(f32 value) {
  using Limits = std::numeric_limits<T>;
  const f64 x = std::nearbyint(static_cast<f64>(value));
  if (!(x > static_cast<f64>(Limits::min()))) return std::isnan(x) ? T{0} : Limits::min();
  return x >= static_cast<f64>(Limits::max()) ? Limits::max() : static_cast<T>(x);
}

}  // namespace

std::vector<f32> read_numbers(const ConstView& view) {
  std::vector<f32> values;
  visit_number(view.dtype, [&]<class T>() {
    for (const T x : view.as<T>()) values.push_back(static_cast<f32>(x));
  });
  return values;
}

void store_numbers(const MutableView& view, std::span<const f32> values) {
  visit_number(view.dtype, [&]<class T>() {
    const std::span<T> dst = view.as<T>();
    for (size_t i = 0; i < dst.size(); ++i) {
      if constexpr (std::is_integral_v<T>) {
        dst[i] = to_integer<T>(values[i]);
      } else {
        dst[i] = static_cast<T>(values[i]);
      }
    }
  });
}

Shape resized_shape(const Inference& inference) {
  if (dims_are_open(inference, kScales) || dims_are_open(inference, kSizes))
    return open_shape(inference.inputs[kX].shape.rank());
  ResizeParameters parameters;
  parameters.scales = known_floats(inference, kScales, "scales");
  if (inference.has_input(kSizes) && inference.inputs[kSizes].shape.elements() != 0) {
    parameters.sizes = inference.required_ints(kSizes, "sizes");
  }
  if (parameters.scales.empty() == parameters.sizes.empty() &&
      inference.inputs[kX].shape.rank() > 0) {
    fail(Error::Code::invalid_model, "expected either scales or sizes");
  }
  if (inference.has_input(kRoi)) {
    require_dtype(inference, kRoi, DtypeClass::real);
    parameters.roi.resize(static_cast<size_t>(inference.inputs[kRoi].shape.elements()));
  }
  return resize_shape(inference.node, inference.inputs[kX].shape, parameters);
}

std::vector<f32> interpolate(const ResizeGeometry& geometry, Shape shape, std::vector<f32> values) {
  for (int i = 0; i < shape.rank(); ++i) {
    const ResizeAxis& axis = geometry.axes[static_cast<size_t>(i)];
    if (axis.identity) continue;
    values =
        along(axis, values, dims_product(shape, 0, i), dims_product(shape, i + 1, shape.rank()));
    shape[i] = axis.out;
  }
  return values;
}

// On the way an axis is as long as before or as after. With antialias a window may be the whole axis.
f64 resize_work(const Node& node, TensorTypes inputs, TensorTypes outputs) {
  constexpr f64 kCubicTaps = 4;
  const Shape &x = inputs[kX].shape, &y = outputs[0].shape;
  f64 elements = 1, longest = kCubicTaps;
  for (int i = 0; i < x.rank(); ++i) {
    elements *= static_cast<f64>(std::max(x[i], y[i]));
    longest = std::max(longest, static_cast<f64>(x[i]));
  }
  return elements * x.rank() *
         (attribute_of<&InterpolateAttributes::antialias>(node) ? longest : kCubicTaps);
}

}  // namespace octet
