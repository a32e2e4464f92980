// SPDX-License-Identifier: Apache-2.0
#include "ops/quantized/forms_of_codes.h"

#include "core/check.h"
#include "ops/shared/axes.h"

namespace octet {

const TensorType& input_of_codes(const Inference& inference) {
  const TensorType& x = inference.inputs[0];
  if (!is_code(x.dtype)) {
    fail(Error::Code::invalid_model, "input is {}, expected u8 or s8", to_string(x));
  }
  return x;
}

void infer_code_pairs(Inference& inference) {
  const TensorType& a = inference.inputs[0];
  const TensorType& b = inference.inputs[1];
  if (!is_code(a.dtype) || !is_code(b.dtype)) {
    fail(Error::Code::invalid_model, "inputs {} and {}, expected u8 or s8", to_string(a),
         to_string(b));
  }
  infer_code_output(inference, broadcast_shapes(a.shape, b.shape));
}

}  // namespace octet
