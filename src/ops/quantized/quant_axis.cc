// SPDX-License-Identifier: Apache-2.0
#include "ops/quantized/quant_axis.h"

#include <cmath>
#include <type_traits>

#include "core/check.h"
#include "core/small_types.h"
#include "core/visit.h"
#include "ops/attributes/codes.h"
#include "ops/shared/axes.h"

namespace octet {
namespace {

QuantAxis blocked_axis(const Shape& data, const Shape& scale, int axis, s64 block) {
  Shape expected = data;
  if (block > 0 && data[axis] > 0) expected[axis] = (data[axis] - 1) / block + 1;
  if (block < 1 || scale != expected) {
    fail(Error::Code::invalid_model,
         "the scale is {}, expected {} for {} in blocks of {} along axis {}", to_string(scale),
         to_string(expected), to_string(data), block, axis);
  }
  return {data[axis], dims_product(data, axis + 1, data.rank()), block};
}

}  // namespace

QuantAxis quant_axis(const Node& node, const Shape& data, const Shape& scale) {
  const auto [axis_attr, block] = attributes_of<ScaleAttributes>(node);
  if (block != 0) {
    return blocked_axis(data, scale, normalize_axis(axis_attr, data.rank()), block);
  }
  if (scale.rank() > 1) {
    fail(Error::Code::unsupported, "the scale is {}; only scalars and vectors are supported",
         to_string(scale));
  }
  if (scale.elements() == 1) return {};
  const int axis = normalize_axis(axis_attr, data.rank());
  if (scale.elements() != data[axis]) {
    fail(Error::Code::invalid_model, "there are {} scales for the {} indices along axis {} of {}",
         scale.elements(), data[axis], axis, to_string(data));
  }
  return {data[axis], dims_product(data, axis + 1, data.rank())};
}

// Zero, negative and non-finite scales come from broken exporters; every result would be garbage.
void check_scale_values(const Tensor& scale) {
  visit_dtype(scale.dtype(), [&]<class T>() {
    if constexpr (!std::is_integral_v<T>) {
      for (T value : scale.as<T>()) {
        const auto real = static_cast<f64>(static_cast<f32>(value));
        if (real > 0 && std::isfinite(real)) continue;
        fail(Error::Code::invalid_model, "a scale is {}, expected a positive finite number", real);
      }
    }
  });
}

void check_quant_inputs(const Inference& inference) {
  require_dtype(inference, 1, DtypeClass::real);
  quant_axis(inference.node, inference.inputs[0].shape, inference.inputs[1].shape);
  if (inference.value(1) != nullptr) check_scale_values(*inference.value(1));
  if (!inference.has_input(2)) return;
  const s64 zero_points = inference.inputs[2].shape.elements();
  if (zero_points == 1 || zero_points == inference.inputs[1].shape.elements()) return;
  fail(Error::Code::invalid_model, "there are {} zero points for {} scales", zero_points,
       inference.inputs[1].shape.elements());
}

bool is_quantized_dtype(Dtype dtype) {
  return dtype == Dtype::u8 || dtype == Dtype::s8 || dtype == Dtype::u16 || dtype == Dtype::s16;
}

bool is_small_code_dtype(Dtype dtype) { return is_small_dtype(dtype) && dtype != Dtype::e8m0; }

}  // namespace octet
