// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/work.h"

#include <algorithm>
#include <cmath>

#include "ops/shared/pool.h"

namespace octet {
namespace {

// Elements of one filter: all dimensions of the weights but the first.
f64 filter_elements(const Shape& weights) {
  return weights.rank() < 1 ? 0 : element_count(Shape(weights.dims().subspan(1)));
}

}  // namespace

f64 convolution_macs(const Node&, TensorTypes inputs, TensorTypes outputs) {
  return element_count(outputs[0].shape) * filter_elements(inputs[1].shape);
}

f64 transposed_convolution_macs(const Node&, TensorTypes inputs, TensorTypes) {
  return element_count(inputs[0].shape) * filter_elements(inputs[1].shape);
}

f64 matrix_product_macs(const Node&, TensorTypes inputs, TensorTypes outputs) {
  const Shape& a = inputs[0].shape;
  return a.rank() < 1 ? 0 : element_count(outputs[0].shape) * static_cast<f64>(a[a.rank() - 1]);
}

f64 recurrence_macs(const Node&, TensorTypes inputs, TensorTypes) {
  const Shape &x = inputs[0].shape, &w = inputs[1].shape, &r = inputs[2].shape;
  if (x.rank() != 3 || w.rank() != 3 || r.rank() != 3) return 0;
  return static_cast<f64>(x[0]) * static_cast<f64>(x[1]) * (element_count(w) + element_count(r));
}

f64 pool_work(const Node& node, TensorTypes inputs, TensorTypes outputs) {
  f64 taps = 1;
  for (const WindowAxis& axis : pool_geometry(node, inputs[0].shape).window.axes)
    taps *= static_cast<f64>(std::min(axis.kernel, axis.in));  // taps outside are not visited
  return element_count(outputs[0].shape) * std::max(taps, 1.0);
}

f64 sorting_work(f64 count) { return count * std::max(std::log2(count), 1.0); }

}  // namespace octet
