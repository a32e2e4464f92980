// SPDX-License-Identifier: Apache-2.0
// A unary function between two quantized tensors is a 256-entry table (docs/numerics.md section 5).
#pragma once

#include <functional>

#include "core/types.h"
#include "graph/op_def.h"

namespace octet {

// Entry i belongs to the code i (u8) or i - 128 (s8).
struct TableSpec {
  Dtype input_dtype = Dtype::u8;
  QuantParams input;
  Dtype output_dtype = Dtype::u8;
  QuantParams output;
};

// In f64, rounded once: clamp(rne(f(real) / scale_y) + zp_y). NaN becomes zp_y.
Tensor make_table(const TableSpec& spec, const std::function<f64(f64)>& f);

// The QTable node of a unary float node.
QuantizeResult quantize_table(const QuantizeRequest& request, const std::function<f64(f64)>& f);
QuantizeResult quantize_table(const QuantizeRequest& request, f64 (*f)(f64 x, const Node& node));

}  // namespace octet
