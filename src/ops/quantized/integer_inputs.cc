// SPDX-License-Identifier: Apache-2.0
#include "ops/quantized/integer_inputs.h"

#include "core/check.h"
#include "ops/quantized/epilogue.h"

namespace octet {

std::vector<s16> centered_operand(const Eval& eval, size_t input, size_t zero_point, s64 inner) {
  const ConstView& operand = eval.inputs[input];
  if (!eval.has_input(zero_point)) return centered_codes(operand, 0);
  const ConstView& zero_points = eval.inputs[zero_point];
  const size_t count = static_cast<size_t>(zero_points.shape.elements());
  if (count == 1) return centered_codes(operand, code_at(zero_points, 0));
  std::vector<s16> centered = centered_codes(operand, 0);
  for (size_t i = 0; i < centered.size(); ++i) {
    const size_t index = i / static_cast<size_t>(inner) % count;
    centered[i] = static_cast<s16>(centered[i] - code_at(zero_points, index));
  }
  return centered;
}

void check_operand(const Inference& inference, size_t input, size_t zero_point, s64 count) {
  const TensorType& operand = inference.inputs[input];
  if (!is_code(operand.dtype)) {
    fail(Error::Code::invalid_model, "input {} is {}, expected u8 or s8", input,
         to_string(operand));
  }
  if (!inference.has_input(zero_point)) return;
  const TensorType& type = inference.inputs[zero_point];
  const s64 elements = type.shape.elements();
  if (type.dtype == operand.dtype && (elements == 1 || elements == count)) return;
  fail(Error::Code::unsupported,
       "the zero point of input {} is {}, expected {} with 1 or {} elements", input,
       to_string(type), dtype_name(operand.dtype), count);
}

}  // namespace octet
