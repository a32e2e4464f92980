// SPDX-License-Identifier: Apache-2.0
#include "ops/quantized/quantize_sum.h"

#include <vector>

#include "ops/attributes/codes.h"
#include "ops/quantized/quantize_node.h"

namespace octet {

QuantizeResult quantize_sum(const QuantizeRequest& request, f32 sign) {
  QuantizeResult result = code_node(request, "QAdd", 2);
  if (!result.reject.empty()) return result;
  const std::vector<f32> multipliers = {
      request.inputs[0].scalar_scale() / request.output.scale,
      sign * (request.inputs[1].scalar_scale() / request.output.scale)};
  if (!all_finite(multipliers)) result.reject = "the quotient of two scales overflows f32";
  set_attribute<&QAddAttributes::multipliers>(result.node.attrs, multipliers);
  return result;
}

}  // namespace octet
