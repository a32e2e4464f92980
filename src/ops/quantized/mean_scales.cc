// SPDX-License-Identifier: Apache-2.0
#include "ops/quantized/mean_scales.h"

#include "core/check.h"
#include "ops/attributes/reduction.h"

namespace octet {

MeanScales mean_scales(const Node& node) {
  const std::vector<f32> scales = attribute_of<&CodeScalesAttributes::scales>(node);
  if (scales.size() != 2) {
    fail(Error::Code::invalid_model, "attribute 'scales' has {} values, expected 2", scales.size());
  }
  return {scales[0], scales[1]};
}

}  // namespace octet
