// SPDX-License-Identifier: Apache-2.0
// Formulas of work that several operators share (OpTraits::macs, OpTraits::work).
#pragma once

#include "graph/op_traits.h"
#include "ops/shared/window.h"

namespace octet {

// Every output element reads one filter: C/g x KH x KW.
f64 convolution_macs(const Node& node, TensorTypes inputs, TensorTypes outputs);
// Every input element meets one filter: O/g x KH x KW.
f64 transposed_convolution_macs(const Node& node, TensorTypes inputs, TensorTypes outputs);
// [.., m, k] x [.., k, n]
f64 matrix_product_macs(const Node& node, TensorTypes inputs, TensorTypes outputs);
// Every step multiplies its input and its state by all gates' weights.
f64 recurrence_macs(const Node& node, TensorTypes inputs, TensorTypes outputs);

// Pools: every output element reads one window.
f64 pool_work(const Node& node, TensorTypes inputs, TensorTypes outputs);
// Comparisons of sorting `count` elements.
f64 sorting_work(f64 count);

}  // namespace octet
