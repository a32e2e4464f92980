// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/bitwise.h"

#include "core/check.h"

namespace octet {

void require_integers(const Inference& inference) {
  const Dtype dtype = inference.inputs[0].dtype;
  const bool integer = visit_dtype(
      dtype, []<class T>() { return std::is_integral_v<T> && !std::is_same_v<T, bool>; });
  if (!integer) {
    fail(Error::Code::invalid_model, "input 0 is {}, expected integers", dtype_name(dtype));
  }
}

void infer_bitwise(Inference& inference) {
  require_integers(inference);
  infer_broadcast(inference);
}

}  // namespace octet
